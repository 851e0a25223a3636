//! Everything the person is asked, in one queue, oldest first. Nothing leaves it but by a verdict.
//!
//! An ask that was answered here stays, hidden, until the session confirms the verdict: one that
//! was refused shows up again. What is seen of a single ask is `dialog`; what keys do to it is in
//! `update::asks`.

pub mod dialog;
pub mod gist;
pub mod keys;
pub mod scope;
pub mod words;

use std::sync::Arc;

use crate::protocol::ask::{Ask, Judge, Permit, Question, Verdict};
use crate::protocol::event::{Event, Fact};
use crate::protocol::ids::{AgentId, AskId};
use crate::protocol::scope::{Reach, suggested};
use crate::protocol::time::Stamp;
use crate::settings::layers::AskOpening;

pub use dialog::{AskDialog, Stage, Way};
pub use keys::ASK_KEYS;

/// So long no key is pressed before a dialog opens by itself.
pub const QUIET: i64 = 1_000;
/// So long a dialog is seen before its letters mean anything.
pub const VISIBLE: i64 = 300;
/// So long a letter stands alone before it means anything: quicker letters are typing.
pub const ALONE: i64 = 150;
/// So long a dialog says that somebody else was quicker.
pub const FAREWELL: i64 = 2_000;

#[derive(Debug, Clone, Default)]
pub struct Asks {
    queue: Vec<Waiting>,
    /// The line of the queue panel that is selected.
    selected: Option<AskId>,
    pub dialog: Option<AskDialog>,
    /// Whether dialogs open by themselves; they do where nothing is set.
    pub opening: Option<AskOpening>,
    /// Typing went past a dialog into the composer: none opens by itself until that is sent.
    pub stepped_back: bool,
}

/// One ask in the queue.
#[derive(Debug, Clone)]
pub struct Waiting {
    pub ask: Arc<Ask>,
    /// It says something else than it did when it was first shown.
    pub changed: bool,
    pub marked: bool,
    /// The person wants to see it later: it does not open by itself.
    pub put_off: bool,
    /// It was answered, and the session has not confirmed it yet.
    pub sent: bool,
    /// Why the session did not take the last answer.
    pub refused: Option<String>,
}

impl Waiting {
    fn new(ask: Arc<Ask>) -> Self {
        Self { ask, changed: false, marked: false, put_off: false, sent: false, refused: None }
    }

    pub fn asker(&self) -> Option<&AgentId> {
        self.ask.chain.first()
    }
}

/// What an event did to the queue.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// A new question, or a new version of one.
    Asked(AskId),
    /// It is settled, and this is how, in words. `here` where the answer was ours.
    Settled { ask: AskId, how: String, here: bool },
}

impl Asks {
    /// Takes note of what happened; everything but asks and verdicts is none of our business.
    pub fn absorb(&mut self, event: &Event) -> Option<News> {
        if let Fact::Asked { ask } = &event.fact {
            return self.asked(ask);
        }
        if let Fact::Settled { ask, rev: _, verdict, by } = &event.fact {
            return self.settled(ask, verdict, by);
        }
        None
    }

    fn asked(&mut self, ask: &Ask) -> Option<News> {
        match self.queue.iter_mut().find(|known| known.ask.id == ask.id) {
            Some(known) if known.ask.rev >= ask.rev => return None,
            // A new version keeps its place; what was decided about the old one is void.
            Some(known) => {
                *known = Waiting { changed: true, ..Waiting::new(Arc::new(ask.clone())) };
            }
            None => self.queue.push(Waiting::new(Arc::new(ask.clone()))),
        }
        Some(News::Asked(ask.id.clone()))
    }

    fn settled(&mut self, id: &AskId, verdict: &Verdict, by: &Judge) -> Option<News> {
        let at = self.queue.iter().position(|known| known.ask.id == *id)?;
        // The selection stays where it was on the screen.
        if self.selected.as_ref() == Some(id) {
            let next = self.queue.get(at + 1).or_else(|| self.queue.get(at.checked_sub(1)?));
            self.selected = next.map(|next| next.ask.id.clone());
        }
        let gone = self.queue.remove(at);
        let how = gist::outcome(verdict, by);
        Some(News::Settled { ask: id.clone(), how, here: gone.sent })
    }

    /// Everything that waits for the person, oldest first.
    pub fn open(&self) -> impl DoubleEndedIterator<Item = &Waiting> {
        self.queue.iter().filter(|known| !known.sent)
    }

    pub fn len(&self) -> usize {
        self.open().count()
    }

    pub fn is_empty(&self) -> bool {
        self.open().next().is_none()
    }

    pub fn oldest(&self) -> Option<&Waiting> {
        self.open().next()
    }

    /// What this agent asks, and whoever asks through it.
    pub fn of<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Waiting> {
        self.open().filter(move |known| known.ask.chain.contains(agent))
    }

    /// What this very agent asks.
    pub fn by<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Waiting> {
        self.open().filter(move |known| known.asker() == Some(agent))
    }

    pub fn get(&self, id: &AskId) -> Option<&Waiting> {
        self.queue.iter().find(|known| known.ask.id == *id)
    }

    pub fn get_mut(&mut self, id: &AskId) -> Option<&mut Waiting> {
        self.queue.iter_mut().find(|known| known.ask.id == *id)
    }

    /// The ask that the dialog shows.
    pub fn shown(&self) -> Option<&Waiting> {
        self.get(&self.dialog.as_ref()?.ask)
    }

    /// Where an ask stands among those that wait, counted from one.
    pub fn place(&self, id: &AskId) -> Option<usize> {
        self.open().position(|known| known.ask.id == *id).map(|at| at + 1)
    }

    /// The selected line of the queue; the oldest where none was selected.
    pub fn selected(&self) -> Option<&Waiting> {
        let chosen = self.selected.as_ref().and_then(|id| self.get(id));
        chosen.filter(|known| !known.sent).or_else(|| self.oldest())
    }

    pub fn select(&mut self, id: &AskId) {
        self.selected = self.get(id).map(|known| known.ask.id.clone());
    }

    /// Moves the selection by so many lines; it stops at both ends.
    pub fn select_by(&mut self, lines: isize) {
        let open: Vec<AskId> = self.open().map(|known| known.ask.id.clone()).collect();
        let at = self.selected().and_then(|now| open.iter().position(|id| *id == now.ask.id));
        let next = at.unwrap_or_default().saturating_add_signed(lines);
        self.selected = open.get(next.min(open.len().saturating_sub(1))).cloned();
    }

    /// The ask that stands so many places from this one, round the ends.
    pub fn beside(&self, id: &AskId, steps: isize) -> Option<AskId> {
        let open: Vec<&AskId> = self.open().map(|known| &known.ask.id).collect();
        let at = open.iter().position(|other| *other == id)?;
        let many = isize::try_from(open.len()).ok()?;
        let next = isize::try_from(at).ok()?.checked_add(steps)?.rem_euclid(many);
        open.get(usize::try_from(next).ok()?).map(|id| (*id).clone())
    }

    pub fn marked(&self) -> impl Iterator<Item = &Waiting> {
        self.open().filter(|known| known.marked)
    }

    pub fn unmark(&mut self) {
        for known in &mut self.queue {
            known.marked = false;
        }
    }

    /// Marks this one and all that are like it. How many there are now.
    pub fn mark_alike(&mut self, id: &AskId) -> usize {
        let Some(model) = self.get(id).map(|known| Arc::clone(&known.ask)) else { return 0 };
        for known in self.queue.iter_mut().filter(|known| !known.sent) {
            known.marked = known.ask.id == *id || alike(&model, &known.ask);
        }
        self.marked().count()
    }

    /// What a verdict on this one answers: all that are marked if it is one of them.
    pub fn together_with(&self, id: &AskId) -> Vec<Arc<Ask>> {
        match self.get(id) {
            Some(known) if known.marked => {
                self.marked().map(|known| Arc::clone(&known.ask)).collect()
            }
            Some(known) => vec![Arc::clone(&known.ask)],
            None => Vec::new(),
        }
    }

    pub fn opens_by_itself(&self) -> bool {
        self.opening != Some(AskOpening::Manual)
    }

    /// The next that may open by itself.
    pub fn next_up(&self) -> Option<&Waiting> {
        self.open().find(|known| !known.put_off)
    }

    /// Nothing of what is known now opens by itself any more.
    pub fn put_off_all(&mut self) {
        for known in &mut self.queue {
            known.put_off = true;
        }
    }

    /// When time alone changes something next, if the last key was pressed then.
    pub fn wake(&self, now: Stamp, last_key: Option<Stamp>) -> Option<Stamp> {
        let after = |from: Stamp, wait: i64| Stamp::from_millis(from.millis().saturating_add(wait));
        let at = match &self.dialog {
            Some(dialog) => match (&dialog.stage, &dialog.held) {
                (Stage::Gone { since, .. }, _) => after(*since, FAREWELL),
                (_, Some(held)) => after(held.at, ALONE),
                (_, None) => after(dialog.shown_at, VISIBLE),
            },
            None if self.opens_by_itself() && self.next_up().is_some() => after(last_key?, QUIET),
            None => return None,
        };
        (at > now).then_some(at)
    }
}

/// Whether one decision may hold for both: the same use of the same tool, or something that a
/// rule narrower than the whole tool would cover together.
pub fn alike(one: &Ask, two: &Ask) -> bool {
    let (Question::Tool { name, input, .. }, Question::Tool { name: other, input: second, .. }) =
        (&one.question, &two.question)
    else {
        return false;
    };
    if name != other {
        return false;
    }
    let same = input == second && one.cwd == two.cwd;
    same || narrow(one).any(|permits| narrow(two).any(|other| other == permits))
}

fn narrow(ask: &Ask) -> impl Iterator<Item = &[Permit]> {
    let scopes = ask.scopes.iter().filter(|scope| scope.reach != Reach::Tool);
    let suggested = suggested(ask).map(|grant| grant.permits.as_slice());
    scopes.map(|scope| scope.permits.as_slice()).chain(suggested)
}
