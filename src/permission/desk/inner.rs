//! What the desk keeps between the files and those who wait. Everything here blocks.
//!
//! Order of locks: `told` before `queue`, and both before none of the store's is ever let go.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::watch;

use super::Settled;
use crate::permission::grant::{Gift, Grants, Outcome};
use crate::permission::told::Told;
use crate::protocol::ask::{Ask, GrantRecord, Judge, Verdict};
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, AskId, SessionId};
use crate::settings::grants::GrantFiles;
use crate::store::asks::{AskRecord, AskState, Asks, GRANTS_CHANGED, SettleError};
use crate::store::asks_watch::Hint;
use crate::store::journal::Journal;
use crate::store::{Store, StoreError};

#[derive(Debug)]
pub(super) struct Inner {
    session: SessionId,
    pub(super) asks: Asks,
    journal: Arc<Journal>,
    pub(super) grants: Grants,
    /// Held while something is told, so that it is told once and in order.
    told: Mutex<Told>,
    queue: Mutex<Queue>,
    /// Counts verdicts.
    pub(super) news: watch::Sender<u64>,
    /// Counts changes of what is granted.
    pub(super) changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Queue {
    /// What is open, by the stem of its file.
    open: HashMap<String, Ask>,
    /// What was settled in this process, newest version each.
    settled: HashMap<AskId, Settled>,
    /// Asks whose verdict somebody acted upon.
    spent: HashSet<AskId>,
}

/// Where a question stands after it was put.
#[derive(Debug)]
pub(super) enum Placed {
    /// Open in this version.
    Open(u32),
    Settled(Settled),
}

impl Inner {
    pub(super) fn open(
        store: &Store,
        session: &SessionId,
        journal: Arc<Journal>,
        files: GrantFiles,
    ) -> Result<Self, StoreError> {
        let mut told = Told::read(journal.path())?;
        let spent = std::mem::take(&mut told.spent);
        Ok(Self {
            session: session.clone(),
            asks: Asks::new(store, session),
            journal,
            grants: Grants::open(store, session, files)?,
            told: Mutex::new(told),
            queue: Mutex::new(Queue { spent, ..Queue::default() }),
            news: watch::Sender::new(0),
            changes: watch::Sender::new(0),
        })
    }

    /// Both are whole after every step, so what a panic left behind can be used.
    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes up what is on disk and was not told yet.
    pub(super) fn catch_up(&self) -> Result<(), StoreError> {
        let done = self.told().done();
        let mut problems = Vec::new();
        let mut found = self.asks.each(|stem| !done.contains(stem), &mut problems)?;
        found.sort_by(|one, two| (one.ask.at, &one.ask.id).cmp(&(two.ask.at, &two.ask.id)));
        for problem in problems {
            self.notice(Level::Warning, None, format!("An ask cannot be read: {problem}."));
        }
        for record in found {
            self.tell_asked(&mut self.told(), &record.ask);
            match record.state {
                AskState::Open => {
                    self.queue().open.insert(record.ask.id.file_stem(), record.ask);
                }
                AskState::Settled { .. } => self.absorb(&record),
            }
        }
        let mut told = self.told();
        for grant in self.grants.list() {
            if told.granted.insert(grant.id.clone()) {
                self.journal.emit(grant.agent.clone().as_ref(), Fact::Granted { grant });
            }
        }
        Ok(())
    }

    fn tell_asked(&self, told: &mut Told, ask: &Ask) {
        if told.asks(&ask.id, ask.rev) {
            self.journal.emit(ask.chain.first(), Fact::Asked { ask: Box::new(ask.clone()) });
        }
    }

    /// Puts a question down, or finds what became of it.
    pub(super) fn place(&self, ask: &Ask) -> Result<Placed, StoreError> {
        // Held from the file to the event: no verdict is told before its question.
        let mut told = self.told();
        let spent = self.queue().spent.contains(&ask.id);
        let record = self.asks.put_forward(ask, spent)?;
        self.tell_asked(&mut told, &record.ask);
        drop(told);
        if let Some(settled) = Settled::of(&record) {
            self.absorb(&record);
            self.queue().spent.insert(ask.id.clone());
            return Ok(Placed::Settled(settled));
        }
        let (stem, rev) = (record.ask.id.file_stem(), record.ask.rev);
        {
            let mut queue = self.queue();
            queue.spent.remove(&record.ask.id);
            queue.settled.retain(|id, settled| *id != record.ask.id || settled.rev >= rev);
            queue.open.insert(stem.clone(), record.ask);
        }
        // Whoever waits for an earlier version waits in vain.
        self.news.send_modify(|count| *count += 1);
        // It may have been settled before it was in the queue, where the watch looks.
        self.look(&stem);
        Ok(Placed::Open(rev))
    }

    /// The verdict on a version, for the one who waits for it.
    pub(super) fn verdict(&self, id: &AskId, rev: u32) -> Option<Settled> {
        let mut queue = self.queue();
        let settled = queue.settled.get(id).filter(|settled| settled.rev >= rev).cloned();
        let newer = queue.open.get(&id.file_stem()).is_some_and(|open| open.rev > rev);
        match settled {
            Some(settled) if settled.rev == rev => {
                queue.spent.insert(id.clone());
                Some(settled)
            }
            Some(_) => Some(Settled::withdrawn(rev, "another question took its place")),
            None if newer => Some(Settled::withdrawn(rev, "another question took its place")),
            None => None,
        }
    }

    pub(super) fn settle(
        &self,
        id: &AskId,
        rev: u32,
        verdict: Verdict,
        by: Judge,
    ) -> Result<(), SettleError> {
        let record = self.asks.settle(id, rev, verdict, by)?;
        self.absorb(&record);
        Ok(())
    }

    /// Tells a verdict, once, whichever process gave it: what it grants is on disk first.
    fn absorb(&self, record: &AskRecord) {
        let ask = &record.ask;
        let Some(settled) = Settled::of(record) else { return };
        let mut told = self.told();
        if !told.settles(&ask.id, ask.rev) {
            return;
        }
        let outcome = match &settled.verdict {
            Verdict::Allow { grant: Some(grant), .. } => self.grants.take(ask, grant),
            Verdict::Allow { grant: None, .. }
            | Verdict::Deny { .. }
            | Verdict::Chose { .. }
            | Verdict::Answered { .. }
            | Verdict::Withdrawn { .. } => Outcome::default(),
        };
        let Settled { rev, verdict, by } = settled.clone();
        let fact = Fact::Settled { ask: ask.id.clone(), rev, verdict, by };
        self.journal.emit(ask.chain.first(), fact);
        {
            let mut queue = self.queue();
            queue.open.remove(&ask.id.file_stem());
            queue.settled.insert(ask.id.clone(), settled);
        }
        self.tell(&mut told, outcome);
        self.news.send_modify(|count| *count += 1);
    }

    /// Tells what came of giving and taking, and has everybody look whether it concerns them.
    fn tell(&self, told: &mut Told, outcome: Outcome) {
        let Outcome { given, taken, notices } = outcome;
        let changed = !given.is_empty() || !taken.is_empty();
        for grant in given {
            told.granted.insert(grant.id.clone());
            self.journal.emit(grant.agent.clone().as_ref(), Fact::Granted { grant });
        }
        for grant in taken {
            self.journal.emit(grant.agent.clone().as_ref(), Fact::Revoked { grant });
        }
        for text in notices {
            self.notice(Level::Warning, None, text);
        }
        if changed {
            self.changes.send_modify(|count| *count += 1);
        }
    }

    pub(super) fn notice(&self, level: Level, agent: Option<&AgentId>, text: String) {
        self.journal.emit(agent, Fact::Notice { level, text });
    }

    /// Something happened among the files.
    pub(super) fn heed(&self, hint: &Hint) {
        match hint {
            Hint::File(name) if name == GRANTS_CHANGED => self.look_at_grants(),
            Hint::File(name) => {
                if let Some(stem) = name.strip_suffix(".json") {
                    self.look(stem);
                }
            }
            Hint::Everything => {
                let stems: Vec<String> = self.queue().open.keys().cloned().collect();
                for stem in stems {
                    self.look(&stem);
                }
                self.look_at_grants();
            }
        }
    }

    fn look_at_grants(&self) {
        let mut told = self.told();
        let outcome = self.grants.reload();
        self.tell(&mut told, outcome);
    }

    /// Looks what became of an open ask. A file that is gone or broken is put down again: a
    /// question leaves the queue with an answer only.
    pub(super) fn look(&self, stem: &str) {
        let Some(ask) = self.queue().open.get(stem).cloned() else { return };
        match self.asks.get(&ask.id) {
            Ok(Some(record)) => self.absorb(&record),
            Ok(None) | Err(StoreError::Broken { .. }) => self.put_again(&ask),
            Err(error) => tracing::warn!(%error, "an ask cannot be looked at"),
        }
    }

    fn put_again(&self, ask: &Ask) {
        match self.asks.put_forward(ask, false) {
            Ok(record) => self.absorb(&record),
            Err(error) => tracing::warn!(%error, "an ask is gone and cannot be put again"),
        }
    }

    pub(super) fn give(&self, gift: &Gift<'_>) -> Vec<GrantRecord> {
        let mut told = self.told();
        let mut outcome = Outcome::default();
        self.grants.give(gift, &mut outcome);
        let given = outcome.given.clone();
        self.tell(&mut told, outcome);
        given
    }

    pub(super) fn revoke(&self, id: &str) -> Result<Option<GrantRecord>, StoreError> {
        let mut told = self.told();
        let outcome = self.grants.revoke(&self.session, id)?;
        let taken = outcome.taken.first().cloned();
        self.tell(&mut told, outcome);
        Ok(taken)
    }

    pub(super) fn end_session(&self) -> Result<(), StoreError> {
        for ask in self.asks.open()?.asks {
            let gone = Verdict::Withdrawn { why: "the session has ended".to_owned() };
            match self.settle(&ask.id, ask.rev, gone, Judge::Asker) {
                // Somebody was quicker.
                Ok(()) | Err(SettleError::Stale(_)) => {}
                Err(SettleError::Store(error)) => return Err(error),
            }
        }
        let _told = self.told();
        self.grants.end_session()?;
        self.changes.send_modify(|count| *count += 1);
        Ok(())
    }
}
