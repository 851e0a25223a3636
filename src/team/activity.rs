//! Who of a team works, on its roster. Changes are gathered: a busy team must not write its
//! roster at the beginning and the end of every turn, nor have its turns wait for that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::crew::until_abandoned;
use super::roll::Roll;
use crate::agent::office::Office;
use crate::protocol::ids::AgentName;
use crate::store::roster::Activity;

/// How long the roster may lag behind while much happens.
const GATHER: Duration = Duration::from_millis(50);

/// What the roster does not say yet.
#[derive(Debug, Default)]
pub struct Activities {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    wanted: HashMap<AgentName, Activity>,
    /// Somebody sees to it that what is wanted gets written.
    minded: bool,
    writing: bool,
}

impl Activities {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the roster says all there is to say.
    pub fn is_written(&self) -> bool {
        let state = self.state();
        state.wanted.is_empty() && !state.writing
    }

    fn begin(&self) -> Option<HashMap<AgentName, Activity>> {
        let mut state = self.state();
        state.writing = !state.wanted.is_empty();
        state.minded = state.writing;
        state.writing.then(|| std::mem::take(&mut state.wanted))
    }

    fn end(&self) {
        self.state().writing = false;
    }
}

/// Has the roster say whether a member works, soon.
pub fn note(office: &Arc<Office>, roll: &Arc<Roll>, name: &AgentName, activity: Activity) {
    {
        let mut state = roll.activities.state();
        state.wanted.insert(name.clone(), activity);
        if std::mem::replace(&mut state.minded, true) {
            return;
        }
    }
    let work = write(Arc::clone(office), Arc::clone(roll));
    office.tasks.spawn(until_abandoned(office, work));
}

async fn write(office: Arc<Office>, roll: Arc<Roll>) {
    while let Some(these) = roll.activities.begin() {
        let (store, dir) = (office.store.clone(), roll.dir.clone());
        let set = tokio::task::spawn_blocking(move || store.rosters().set_activities(&dir, &these));
        if let Ok(Err(error)) = set.await {
            tracing::warn!(%error, "the roster does not say who works");
        }
        roll.activities.end();
        roll.post.moved();
        // A closed team has nobody left to write of.
        if roll.post.closed.run_until_cancelled(tokio::time::sleep(GATHER)).await.is_none() {
            return;
        }
    }
    roll.post.moved();
}
