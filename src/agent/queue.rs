//! What waits for an agent: words of the person, news of background work. One queue per agent,
//! the urgent first; the agent takes from it at its next safe boundary.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use super::solo::NEWS;
use crate::model::Stop;
use crate::protocol::ids::MessageId;
use crate::protocol::op::When;
use crate::tools::context::Lent;

/// Something that waits to be put into an agent's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Counts up within a queue.
    pub id: u64,
    pub when: When,
    pub rank: Rank,
    /// Whose words these are: `user`, or a name.
    pub from: String,
    pub text: String,
    /// The message of an inbox that this is; it counts as read once it is in the transcript.
    pub mail: Option<MessageId>,
    /// What may be done without asking in the turn that hears it.
    pub lent: Option<Lent>,
}

/// In which order equally urgent things are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    User,
    Shutdown,
    Lead,
    Peer,
    /// A task that was claimed, and news of background work.
    Work,
}

/// As much may wait in a queue; more mail stays where it is until there is room.
const MOST: usize = 1024;

#[derive(Debug, Default)]
pub struct Queue {
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// By urgency, then in the order of arrival.
    waiting: Vec<Item>,
    last: u64,
    /// What ends the turn that is going on.
    turn: Option<Stop>,
    /// Somebody wants the conversation summarised, perhaps in a certain way.
    compact: Option<Option<String>>,
    /// The agent has ended and takes nothing more.
    closed: bool,
    /// No turn goes on from here, not even one that is just about to begin. News still come in,
    /// for the transcript.
    halted: bool,
    /// The turn that is going on ends after the tools that run now.
    finishing: bool,
    /// The person holds the agent: it takes nothing and asks nothing until they let go.
    paused: bool,
}

impl Rank {
    /// The rank of words that are no mail.
    pub fn of(from: &str) -> Self {
        if from == "user" { Self::User } else { Self::Work }
    }
}

impl Queue {
    /// Puts something in. What is wanted *now* interrupts the turn that is going on. `None` when
    /// the agent has ended.
    pub fn push(&self, when: When, from: &str, text: String) -> Option<u64> {
        self.push_told(when, from, text, |_| {})
    }

    /// As `push`; `tell` hears of it before the agent can.
    pub fn push_told(
        &self,
        when: When,
        from: &str,
        text: String,
        tell: impl FnOnce(u64),
    ) -> Option<u64> {
        self.push_lending(when, from, text, None, tell)
    }

    /// As `push_told`, with what is lent for the turn.
    pub fn push_lending(
        &self,
        when: When,
        from: &str,
        text: String,
        lent: Option<Lent>,
        tell: impl FnOnce(u64),
    ) -> Option<u64> {
        let (rank, from) = (Rank::of(from), from.to_owned());
        self.insert(Item { id: 0, when, rank, from, text, mail: None, lent }, tell)
    }

    /// Puts a message of the agent's inbox in.
    pub fn push_mail(&self, rank: Rank, from: &str, text: String, mail: MessageId) -> Option<u64> {
        let (from, mail) = (from.to_owned(), Some(mail));
        self.insert(Item { id: 0, when: When::Next, rank, from, text, mail, lent: None }, |_| {})
    }

    fn insert(&self, item: Item, tell: impl FnOnce(u64)) -> Option<u64> {
        let mut state = self.state();
        if state.closed || (state.halted && item.from != NEWS) {
            return None;
        }
        state.last += 1;
        let (id, when) = (state.last, item.when);
        tell(id);
        let place = (item.when, item.rank);
        let at = state.waiting.partition_point(|known| (known.when, known.rank) <= place);
        state.waiting.insert(at, Item { id, ..item });
        if when == When::Now
            && let Some(turn) = &state.turn
        {
            turn.cancel();
        }
        drop(state);
        self.changed.notify_one();
        Some(id)
    }

    /// Has the conversation summarised at the next boundary.
    pub fn want_compact(&self, wishes: Option<String>) {
        self.state().compact = Some(wishes);
        self.changed.notify_one();
    }

    pub fn take_compact(&self) -> Option<Option<String>> {
        self.state().compact.take()
    }

    /// Ends the queue, unless something waits in it. From then on nothing can be put in.
    pub fn close_if_empty(&self) -> bool {
        let mut state = self.state();
        state.closed = state.waiting.is_empty();
        state.closed
    }

    /// Ends the queue. What still waits is handed back.
    pub fn close(&self) -> Vec<Item> {
        let mut state = self.state();
        state.closed = true;
        std::mem::take(&mut state.waiting)
    }

    /// Puts back what waited when the program ended.
    pub fn restore(&self, items: Vec<Item>) {
        let mut state = self.state();
        let newest = items.iter().map(|item| item.id).max().unwrap_or_default();
        state.last = state.last.max(newest);
        state.waiting.extend(items);
        state.waiting.sort_by_key(|item| item.when);
        drop(state);
        self.changed.notify_one();
    }

    /// Everything that waits, the urgent first.
    pub fn take(&self) -> Vec<Item> {
        std::mem::take(&mut self.state().waiting)
    }

    /// Whether more mail may be put in before some was taken.
    pub fn has_room(&self) -> bool {
        self.state().waiting.len() < MOST
    }

    /// Whether words of this one wait that nobody has heard yet.
    pub fn has_from(&self, from: &str) -> bool {
        let state = self.state();
        !state.halted && state.waiting.iter().any(|item| item.from == from)
    }

    /// Whether nothing waits that begins a turn.
    pub fn is_empty(&self) -> bool {
        let state = self.state();
        state.halted || state.waiting.is_empty()
    }

    /// Waits until there is something to take. One agent waits on its queue.
    pub async fn filled(&self) {
        while self.is_idle() {
            self.changed.notified().await;
        }
    }

    /// Whether nothing is to be done: nothing waits, and nobody wants a summary.
    pub fn is_idle(&self) -> bool {
        let state = self.state();
        state.halted || state.paused || (state.waiting.is_empty() && state.compact.is_none())
    }

    /// Holds the agent, or lets it go on. `false` when it was so already.
    pub fn pause(&self, paused: bool) -> bool {
        let before = std::mem::replace(&mut self.state().paused, paused);
        self.changed.notify_one();
        before != paused
    }

    pub fn is_paused(&self) -> bool {
        self.state().paused
    }

    /// Ends the turn that is going on after the tools that run now, and every later one.
    pub fn finish(&self) {
        self.state().finishing = true;
    }

    pub fn is_finishing(&self) -> bool {
        self.state().finishing
    }

    /// Waits until nobody holds the agent.
    pub async fn unpaused(&self) {
        while self.is_paused() {
            self.changed.notified().await;
        }
    }

    /// A turn begins; `stop` ends it.
    pub fn turn_begins(&self, stop: Stop) {
        let mut state = self.state();
        if state.halted {
            stop.cancel();
        }
        state.turn = Some(stop);
    }

    pub fn turn_ends(&self) {
        self.state().turn = None;
    }

    /// Ends the turn that is going on. `false` when there is none.
    pub fn interrupt(&self) -> bool {
        match &self.state().turn {
            Some(turn) => {
                turn.cancel();
                true
            }
            None => false,
        }
    }

    /// Ends the turn that is going on, and every later one at its beginning. Words that wait are
    /// dropped, and none can be put in any more.
    pub fn halt(&self) {
        let mut state = self.state();
        (state.halted, state.compact) = (true, None);
        state.waiting.retain(|item| item.from == NEWS);
        if let Some(turn) = &state.turn {
            turn.cancel();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_urgent_comes_first_and_equals_keep_their_order() {
        let queue = Queue::default();
        let stop = Stop::new();
        queue.turn_begins(stop.clone());
        for (when, text) in
            [(When::Later, "d"), (When::Next, "b"), (When::Later, "e"), (When::Next, "c")]
        {
            queue.push(when, "user", text.to_owned());
        }
        assert!(!stop.is_cancelled());
        queue.push(When::Now, "user", "a".to_owned());
        assert!(stop.is_cancelled(), "now means now");
        let mail = |id: &str| MessageId::of(Some(id), "", "", "");
        queue.push_mail(Rank::Peer, "bob", "z".to_owned(), mail("1"));
        queue.push_mail(Rank::Lead, "team-lead", "y".to_owned(), mail("2"));
        queue.push_mail(Rank::Shutdown, "team-lead", "x".to_owned(), mail("3"));
        let order: String = queue.take().into_iter().map(|item| item.text).collect();
        assert_eq!(order, "abcxyzde", "the user, requests to end, the lead, peers, news");
        queue.turn_ends();
        assert!(queue.is_empty() && !queue.interrupt());
        assert!(queue.close_if_empty());
        assert_eq!(queue.push(When::Now, "user", "late".to_owned()), None);
    }
}
