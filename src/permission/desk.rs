//! The ask desk: the one queue of a session for everything that somebody must decide.
//!
//! An ask is on disk before anyone hears of it, is settled exactly once by whichever process is
//! first, and whoever raised it gets that verdict, also when this process was restarted in
//! between. What is given with a verdict is on disk before the verdict is told. The journal has
//! one `Asked` for each version of an ask and one `Settled`: a client that reads it from its
//! beginning knows all, so after a restart nothing is said again that it says already.

mod inner;

use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use tokio::sync::watch;
use tokio::task;
use tokio_util::sync::CancellationToken;

use super::View;
use super::grant::Gift;
use crate::protocol::ask::{Ask, GrantRecord, Judge, Lasts, Permit, Verdict};
use crate::protocol::event::Level;
use crate::protocol::ids::{AgentId, AskId, SessionId};
use crate::settings::grants::GrantFiles;
use crate::store::asks::{AskRecord, AskState, OpenAsks, SettleError, Stale};
use crate::store::asks_watch::{AskWatch, Hint, SCAN};
use crate::store::journal::Journal;
use crate::store::{Store, StoreError};
use inner::{Inner, Placed};

/// How soon a verdict is tried again that the disk did not take.
const TRY_AGAIN: Duration = Duration::from_secs(1);

#[derive(Debug)]
pub struct AskDesk {
    /// Ends before the rest does.
    _watch: AskWatch,
    inner: Arc<Inner>,
}

/// What became of an ask, and through whom.
#[derive(Debug, Clone, PartialEq)]
pub struct Settled {
    pub rev: u32,
    pub verdict: Verdict,
    pub by: Judge,
}

impl Settled {
    fn withdrawn(rev: u32, why: impl Into<String>) -> Self {
        Self { rev, verdict: Verdict::Withdrawn { why: why.into() }, by: Judge::Asker }
    }

    /// What the file of an ask says; `None` while it is open.
    fn of(record: &AskRecord) -> Option<Self> {
        match &record.state {
            AskState::Open => None,
            AskState::Settled { verdict, by, .. } => {
                Some(Self { rev: record.ask.rev, verdict: verdict.clone(), by: by.clone() })
            }
        }
    }
}

impl AskDesk {
    /// The desk of a session whose grants are written to no settings file.
    pub fn open(
        store: &Store,
        session: &SessionId,
        journal: Arc<Journal>,
    ) -> Result<Arc<Self>, StoreError> {
        Self::open_for(store, session, journal, GrantFiles::default())
    }

    /// The desk of a session, with the files that lasting grants are written to. Takes up what
    /// an earlier process left: open asks stay open, and verdicts given meanwhile are told.
    /// Blocks: it reads the journal and the asks.
    pub fn open_for(
        store: &Store,
        session: &SessionId,
        journal: Arc<Journal>,
        files: GrantFiles,
    ) -> Result<Arc<Self>, StoreError> {
        let inner = Arc::new(Inner::open(store, session, journal, files)?);
        let dir = store.home().asks(session);
        let heard: Weak<Inner> = Arc::downgrade(&inner);
        let watch = AskWatch::start(&dir, SCAN, move |hint: &Hint| {
            if let Some(inner) = heard.upgrade() {
                inner.heed(hint);
            }
        });
        let watch = watch.map_err(|source| StoreError::io("watch", &dir, source))?;
        // Only now: what changes after the look is told by the watch.
        inner.catch_up()?;
        Ok(Arc::new(Self { _watch: watch, inner }))
    }

    /// What an agent may do: its own view, with the grants of the session, from where it works.
    pub fn view(&self, base: &Arc<View>, agent: &AgentId, cwd: &Path) -> Arc<View> {
        self.inner.grants.view(base, agent, cwd)
    }

    /// Puts a question and waits for its verdict: see `put`.
    pub async fn raise(
        &self,
        ask: Ask,
        covered: &(dyn Fn() -> Option<String> + Send + Sync),
        views: watch::Receiver<Arc<View>>,
        stop: &CancellationToken,
    ) -> Verdict {
        self.put(ask, covered, views, stop).await.verdict
    }

    /// Puts a question and waits for its verdict. `covered` says which rule or mode would let it
    /// through by now; it is asked again whenever grants or `views` change. An ask of this id
    /// that is there already, from before a restart, is gone on with, or its verdict taken.
    ///
    /// `stop` withdraws the question. Dropping the future does not: the ask stays open for
    /// whoever resumes the agent. When the disk fails the question counts as withdrawn, and a
    /// notice says why.
    pub async fn put(
        &self,
        ask: Ask,
        covered: &(dyn Fn() -> Option<String> + Send + Sync),
        views: watch::Receiver<Arc<View>>,
        stop: &CancellationToken,
    ) -> Settled {
        let (id, agent) = (ask.id.clone(), ask.chain.first().cloned());
        // Before the question is put: what comes after that wakes us.
        let waiter = Waiter {
            verdicts: self.inner.news.subscribe(),
            changes: self.inner.changes.subscribe(),
            views,
            has_views: true,
        };
        let placed = self.off_thread(move |inner| inner.place(&ask)).await;
        let rev = match placed {
            Some(Ok(Placed::Open(rev))) => rev,
            Some(Ok(Placed::Settled(settled))) => return settled,
            Some(Err(error)) => {
                let why = format!("the question could not be asked: {error}");
                self.inner.notice(
                    Level::Error,
                    agent.as_ref(),
                    format!("An agent cannot ask: {error}."),
                );
                return Settled::withdrawn(0, why);
            }
            None => return Settled::withdrawn(0, "the session is ending"),
        };
        self.wait(&id, rev, covered, waiter, stop).await
    }

    async fn wait(
        &self,
        id: &AskId,
        rev: u32,
        covered: &(dyn Fn() -> Option<String> + Send + Sync),
        mut waiter: Waiter,
        stop: &CancellationToken,
    ) -> Settled {
        let mut woken = Woken::Recheck;
        loop {
            if let Some(settled) = self.inner.verdict(id, rev) {
                return settled;
            }
            let allow = Verdict::Allow { input: None, grant: None, remark: None };
            let tried = match woken {
                Woken::Stopped => {
                    let gone = Verdict::Withdrawn { why: "interrupted".to_owned() };
                    let tried = self.settle_for(id, rev, gone, Judge::Asker).await;
                    let settled = self.inner.verdict(id, rev);
                    if tried.is_err() || settled.is_none() {
                        return settled.unwrap_or_else(|| Settled::withdrawn(rev, "interrupted"));
                    }
                    continue;
                }
                Woken::Recheck => match covered() {
                    Some(name) => {
                        Some(self.settle_for(id, rev, allow, Judge::Policy { name }).await)
                    }
                    None => None,
                },
                Woken::News => None,
            };
            let again = match tried {
                Some(Ok(())) => {
                    woken = Woken::News;
                    continue;
                }
                Some(Err(())) => true,
                None => false,
            };
            woken = waiter.next(stop, again).await;
        }
    }

    /// Settles for a waiter. What others did first is taken note of; an error means that the
    /// disk took nothing, which has been told.
    async fn settle_for(
        &self,
        id: &AskId,
        rev: u32,
        verdict: Verdict,
        by: Judge,
    ) -> Result<(), ()> {
        let wanted = id.clone();
        let done = self.off_thread(move |inner| match inner.settle(&wanted, rev, verdict, by) {
            Err(SettleError::Stale(
                Stale::Unknown { .. } | Stale::Changed { .. } | Stale::Settled { .. },
            )) => {
                inner.look(&wanted.file_stem());
                Ok(())
            }
            other => other,
        });
        match done.await {
            Some(Ok(())) => Ok(()),
            Some(Err(error)) => {
                self.inner.notice(
                    Level::Warning,
                    None,
                    format!("A verdict could not be saved yet: {error}."),
                );
                Err(())
            }
            None => Err(()),
        }
    }

    /// Does file work beside the runtime. `None` when the runtime is ending.
    async fn off_thread<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Inner) -> T + Send + 'static,
    ) -> Option<T> {
        let inner = Arc::clone(&self.inner);
        task::spawn_blocking(move || work(&inner)).await.ok()
    }

    /// Settles an ask in the version that the judge saw. The first verdict counts. Blocks.
    pub fn settle(
        &self,
        id: &AskId,
        rev: u32,
        verdict: Verdict,
        by: Judge,
    ) -> Result<(), SettleError> {
        self.inner.settle(id, rev, verdict, by)
    }

    /// Takes back what is open under this id, in whichever version. Blocks.
    pub fn withdraw(&self, id: &AskId, why: &str) -> Result<(), SettleError> {
        let Some(AskRecord { ask, state: AskState::Open }) = self.inner.asks.get(id)? else {
            return Ok(());
        };
        let gone = Verdict::Withdrawn { why: why.to_owned() };
        self.inner.settle(id, ask.rev, gone, Judge::Asker)
    }

    /// What waits for a verdict, also of agents that have not been resumed yet. Blocks.
    pub fn open_asks(&self) -> Result<OpenAsks, StoreError> {
        self.inner.asks.open()
    }

    /// What was given and still holds.
    pub fn grants(&self) -> Vec<GrantRecord> {
        self.inner.grants.list()
    }

    /// Gives something beside any ask; `None` is for all agents. Open asks that it covers are
    /// settled. Blocks.
    pub fn give(&self, permit: &Permit, agent: Option<&AgentId>, lasts: Lasts) -> Vec<GrantRecord> {
        self.inner.give(&Gift { permit, agent, lasts, ask: None })
    }

    /// Takes a grant back. `None`: there is none of this id. Blocks.
    pub fn revoke(&self, id: &str) -> Result<Option<GrantRecord>, StoreError> {
        self.inner.revoke(id)
    }

    /// The session ends for good: what waits is withdrawn, what was given for it is forgotten.
    /// Blocks.
    pub fn end_session(&self) -> Result<(), StoreError> {
        self.inner.end_session()
    }
}

/// What a waiter listens to.
struct Waiter {
    verdicts: watch::Receiver<u64>,
    changes: watch::Receiver<u64>,
    views: watch::Receiver<Arc<View>>,
    /// Nobody changes the view any more once its sender is gone.
    has_views: bool,
}

enum Woken {
    /// There may be a verdict.
    News,
    /// A rule may cover it by now.
    Recheck,
    Stopped,
}

impl Waiter {
    async fn next(&mut self, stop: &CancellationToken, again: bool) -> Woken {
        tokio::select! {
            biased;
            () = stop.cancelled() => Woken::Stopped,
            _ = self.verdicts.changed() => Woken::News,
            _ = self.changes.changed() => Woken::Recheck,
            changed = self.views.changed(), if self.has_views => {
                self.has_views = changed.is_ok();
                Woken::Recheck
            }
            () = tokio::time::sleep(TRY_AGAIN), if again => Woken::Recheck,
        }
    }
}
