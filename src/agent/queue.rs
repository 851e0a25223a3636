//! What waits for an agent: words of the person, news of background work. One queue per agent,
//! the urgent first; the agent takes from it at its next safe boundary.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::model::Stop;
use crate::protocol::op::When;

/// Something that waits to be put into an agent's conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Item {
    /// Counts up within a queue.
    pub id: u64,
    pub when: When,
    /// Whose words these are: `user`, or a name.
    pub from: String,
    pub text: String,
}

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
    /// No turn goes on from here, not even one that is just about to begin.
    halted: bool,
}

impl Queue {
    /// Puts something in. What is wanted *now* interrupts the turn that is going on. `None` when
    /// the agent has ended.
    pub fn push(&self, when: When, from: &str, text: String) -> Option<u64> {
        let mut state = self.state();
        if state.closed {
            return None;
        }
        state.last += 1;
        let id = state.last;
        let at = state.waiting.partition_point(|known| known.when <= when);
        state.waiting.insert(at, Item { id, when, from: from.to_owned(), text });
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

    /// Everything that waits, the urgent first.
    pub fn take(&self) -> Vec<Item> {
        std::mem::take(&mut self.state().waiting)
    }

    pub fn is_empty(&self) -> bool {
        self.state().waiting.is_empty()
    }

    /// Waits until there is something to take. One agent waits on its queue.
    pub async fn filled(&self) {
        while self.is_idle() {
            self.changed.notified().await;
        }
    }

    fn is_idle(&self) -> bool {
        let state = self.state();
        state.waiting.is_empty() && state.compact.is_none()
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

    /// Ends the turn that is going on, and every later one at its beginning. What waits is
    /// dropped, and nothing can be put in any more.
    pub fn halt(&self) {
        let mut state = self.state();
        (state.closed, state.halted, state.compact) = (true, true, None);
        state.waiting.clear();
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
        let order: String = queue.take().into_iter().map(|item| item.text).collect();
        assert_eq!(order, "abcde");
        queue.turn_ends();
        assert!(queue.is_empty() && !queue.interrupt());
        assert!(queue.close_if_empty());
        assert_eq!(queue.push(When::Now, "user", "late".to_owned()), None);
    }
}
