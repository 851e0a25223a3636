//! Keeps what a session is resumed with while it runs, whoever looks at it: the mode of the lead,
//! what everything cost, how long everybody worked. What happens between two looks is in the
//! journal.

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;

use crate::agent::books::Cost;
use crate::agent::budget::Kept;
use crate::agent::context::Agent;
use crate::agent::office::Office;
use crate::protocol::event::{Fact, Level};
use crate::store::StoreError;
use crate::store::state::StateFile;

/// The members of the session's state.
const COST: &str = "cost";
const PURSE: &str = "purse";

/// How long the state may lag behind while much happens.
const GATHER: Duration = Duration::from_millis(200);

/// What was kept.
pub fn kept(state: &StateFile) -> Result<(Cost, Kept), StoreError> {
    Ok((state.read(COST)?.unwrap_or_default(), state.read(PURSE)?.unwrap_or_default()))
}

/// Keeps the state from now on.
pub async fn follow(office: Arc<Office>, lead: Arc<Agent>, after: u64) {
    let mut events = office.journal.after(after);
    while let Some(event) = events.next().await {
        if !matters(&event.fact) {
            continue;
        }
        // What is told up to here is in the books already.
        let known = office.journal.latest();
        keep(&office, &lead).await;
        tokio::time::sleep(GATHER).await;
        events = office.journal.after(known);
    }
}

/// Whether anything that is kept may have changed.
fn matters(fact: &Fact) -> bool {
    matches!(
        fact,
        Fact::Spoke { .. }
            | Fact::TurnEnded { .. }
            | Fact::Settled { .. }
            | Fact::Compacted { .. }
            | Fact::ModeChanged { .. }
    )
}

pub async fn keep(office: &Office, lead: &Agent) {
    let (state, mode) = (office.state(), lead.mode());
    let (cost, purse) = (office.books.cost(), office.books.purse.keep());
    let kept = tokio::task::spawn_blocking(move || {
        state.write("mode", &mode)?;
        state.write(COST, &cost)?;
        state.write(PURSE, &purse)
    });
    if let Ok(Err(error)) = kept.await {
        lead.notice(Level::Warning, format!("The session's state could not be saved: {error}"));
    }
}
