//! The team of a session while it lasts: its name, its mail, who of it works in this process.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::activity::Activities;
use super::member::Member;
use super::post::Post;
use super::shutdown::Request;
use crate::agent::context::Agent;
use crate::protocol::event::Level;
use crate::protocol::ids::{AgentName, TeamDir, TeamName};
use crate::protocol::message::Message;

/// How soon an inbox that could not be read is tried again.
const TRY_AGAIN: Duration = Duration::from_secs(1);

pub struct Roll {
    pub name: TeamName,
    pub dir: TeamDir,
    pub post: Arc<Post>,
    members: Mutex<BTreeMap<AgentName, Arc<Member>>>,
    /// Who waits for a task, the one that waits longest first.
    free: Mutex<VecDeque<AgentName>>,
    /// The state of the task list that free teammates were offered last.
    offered: AtomicU64,
    /// Who works, as far as the roster does not say it yet.
    pub activities: Activities,
    /// Requests to end that are not answered yet.
    requests: Mutex<HashMap<AgentName, Request>>,
    /// How much the runtime has under way that somebody waits for.
    errands: AtomicUsize,
}

/// Something that the runtime has under way; while it lasts the team is not quiet.
pub struct Errand(Arc<Roll>);

impl Drop for Errand {
    fn drop(&mut self) {
        self.0.errands.fetch_sub(1, Ordering::SeqCst);
        self.0.post.moved();
    }
}

impl Roll {
    pub fn new(name: TeamName, dir: TeamDir, post: Arc<Post>) -> Self {
        Self {
            name,
            dir,
            post,
            members: Mutex::default(),
            free: Mutex::default(),
            offered: AtomicU64::new(u64::MAX),
            activities: Activities::default(),
            requests: Mutex::default(),
            errands: AtomicUsize::new(0),
        }
    }

    pub fn errand(self: &Arc<Self>) -> Errand {
        self.errands.fetch_add(1, Ordering::SeqCst);
        Errand(Arc::clone(self))
    }

    pub fn enter(&self, member: &Arc<Member>) {
        lock(&self.members).insert(member.name.clone(), Arc::clone(member));
        self.post.moved();
    }

    pub fn remove(&self, name: &AgentName) {
        lock(&self.members).remove(name);
        self.no_longer_free(name);
        lock(&self.requests).remove(name);
        self.post.moved();
    }

    pub fn member(&self, name: &AgentName) -> Option<Arc<Member>> {
        lock(&self.members).get(name).cloned()
    }

    pub fn members(&self) -> Vec<Arc<Member>> {
        lock(&self.members).values().cloned().collect()
    }

    /// A member has nothing to do and would take a task.
    pub fn is_free(&self, name: &AgentName) {
        let mut free = lock(&self.free);
        if !free.contains(name) {
            free.push_back(name.clone());
        }
        drop(free);
        self.post.offer_again();
    }

    pub fn no_longer_free(&self, name: &AgentName) {
        lock(&self.free).retain(|known| known != name);
    }

    /// Who would take a task, in turn.
    pub fn free(&self) -> Vec<AgentName> {
        lock(&self.free).iter().cloned().collect()
    }

    /// Everyone was offered what is free in this state of the list.
    pub fn dispatched(&self, state: u64) {
        self.offered.store(state, Ordering::SeqCst);
        self.post.moved();
    }

    pub fn requests(&self) -> MutexGuard<'_, HashMap<AgentName, Request>> {
        lock(&self.requests)
    }

    /// Whether nobody in this process works, and no mail is on its way. Whoever needs to be sure
    /// compares the moves before and after.
    pub fn is_quiet(&self) -> bool {
        let lead = self.post.tray(&AgentName::lead());
        let offered = self.offered.load(Ordering::SeqCst) == *self.post.tasks().borrow();
        lead.is_quiet()
            && offered
            && self.errands.load(Ordering::SeqCst) == 0
            && self.post.is_marked()
            && self.activities.is_written()
            && self.members().iter().all(|member| member.is_resting())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Carries the mail of one reader from its tray into its queue, until it ends.
pub async fn carry(post: Arc<Post>, name: AgentName, agent: Arc<Agent>, sort: Sorter) {
    let tray = post.tray(&name);
    // Whether it is known that the file cannot be read.
    let mut trouble = false;
    loop {
        let (pushed, look) = tray.take();
        let mut mail = Vec::new();
        if look {
            let (reader, name) = (Arc::clone(&post), name.clone());
            match tokio::task::spawn_blocking(move || reader.unread(&name)).await {
                Ok(Ok(unread)) => {
                    tray.has_seen(&unread);
                    trouble = false;
                    mail = unread;
                }
                Ok(Err(error)) => {
                    if !std::mem::replace(&mut trouble, true) {
                        let me = &agent.cx.me.name;
                        let text = format!("The mail of {me} cannot be read: {error}");
                        agent.notice(Level::Warning, text);
                    }
                    tray.look_again();
                }
                Err(_) => tray.look_again(),
            }
        }
        // What was pushed is in the file, too, and stands there in its order.
        for message in mail.into_iter().chain(pushed) {
            if !agent.queue.has_room() {
                // The rest stays in the file until some of it has been heard.
                tray.look_again();
                break;
            }
            let id = message.id();
            if tray.is_new(&id) && !sort(&message, &agent) {
                tray.put_back(&id);
            }
        }
        tray.carried();
        post.moved();
        tokio::select! {
            () = tray.rung() => {}
            () = tokio::time::sleep(TRY_AGAIN), if tray.wants_look() => {}
            () = agent.life.cancelled() => return,
            () = post.closed.cancelled() => return,
        }
    }
}

/// Puts a message where it belongs; `false` where the reader takes nothing more.
pub type Sorter = Box<dyn Fn(&Message, &Arc<Agent>) -> bool + Send + Sync>;
