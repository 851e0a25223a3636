//! The ask desk: the one queue of a session for everything that somebody must decide.
//!
//! An ask is on disk before anyone hears of it, is settled exactly once, and whoever raised it
//! gets that verdict, also when the process was restarted in between.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::View;
use crate::protocol::ask::{Ask, Judge, Verdict};
use crate::protocol::event::Fact;
use crate::protocol::ids::{AgentId, AskId, SessionId};
use crate::store::asks::{AskState, Asks, SettleError};
use crate::store::journal::Journal;
use crate::store::{Store, StoreError};

#[derive(Debug)]
pub struct AskDesk {
    asks: Asks,
    journal: Arc<Journal>,
    /// Counts what may have settled an ask: verdicts and grants.
    news: watch::Sender<u64>,
}

impl AskDesk {
    pub fn open(
        store: &Store,
        session: &SessionId,
        journal: Arc<Journal>,
    ) -> Result<Arc<Self>, StoreError> {
        let asks = Asks::new(store, session);
        Ok(Arc::new(Self { asks, journal, news: watch::Sender::new(0) }))
    }

    /// What an agent may do: its own view, with the grants of the session, from where it works.
    pub fn view(&self, base: &View, _agent: &AgentId, cwd: &Path) -> View {
        let mut view = base.clone();
        view.cwd = cwd.to_owned();
        view
    }

    /// Puts a question and waits for its verdict. `covered` says which rule or mode would let it
    /// through by now; it is asked again whenever grants or `views` change. An ask of this id
    /// that is there already, from before a restart, is gone on with, or its verdict taken.
    pub async fn raise(
        &self,
        ask: Ask,
        covered: &(dyn Fn() -> Option<String> + Send + Sync),
        mut views: watch::Receiver<Arc<View>>,
        stop: &CancellationToken,
    ) -> Verdict {
        let mut news = self.news.subscribe();
        let agent = ask.chain.first().cloned();
        if self.asks.raise(&ask).is_ok() {
            self.journal.emit(agent.as_ref(), Fact::Asked { ask: Box::new(ask.clone()) });
        }
        loop {
            if let Ok(Some(record)) = self.asks.get(&ask.id)
                && let AskState::Settled { verdict, .. } = record.state
            {
                return verdict;
            }
            if let Some(rule) = covered() {
                let allow = Verdict::Allow { input: None, grant: None, remark: None };
                let _ = self.settle(&ask.id, ask.rev, allow, Judge::Policy { name: rule });
                continue;
            }
            tokio::select! {
                _ = news.changed() => {}
                _ = views.changed() => {}
                () = stop.cancelled() => {
                    let gone = Verdict::Withdrawn { why: "interrupted".to_owned() };
                    let _ = self.settle(&ask.id, ask.rev, gone, Judge::Asker);
                }
            }
        }
    }

    /// Settles an ask in the version that the judge saw. The first verdict counts.
    pub fn settle(
        &self,
        id: &AskId,
        rev: u32,
        verdict: Verdict,
        by: Judge,
    ) -> Result<(), SettleError> {
        let record = self.asks.settle(id, rev, verdict.clone(), by.clone())?;
        let agent = record.ask.chain.first();
        self.journal.emit(agent, Fact::Settled { ask: id.clone(), rev, verdict, by });
        self.news.send_modify(|count| *count += 1);
        Ok(())
    }
}
