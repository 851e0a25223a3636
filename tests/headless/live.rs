//! A session in this process: ops in, events out.

use std::path::PathBuf;
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::BoxStream;
use quarterdeck::agent::brains::Brains;
use quarterdeck::agent::context::Limits;
use quarterdeck::agent::definition::{Sources, Watcher};
use quarterdeck::agent::office::Policy;
use quarterdeck::model::rehearsal::Rehearsal;
use quarterdeck::model::rehearsal::playbook::{Pace, Playbook};
use quarterdeck::model::rehearsal::player::Unmatched;
use quarterdeck::permission::View;
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::{AgentId, SessionId};
use quarterdeck::protocol::op::{Mode, Op, When};
use quarterdeck::session::Refused;
use quarterdeck::session::live::{Definitions, Live, Start, StartError};
use quarterdeck::settings::models::{Catalog, REHEARSAL};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::{Durability, Store};

use super::rig::{PATIENCE, Rig};

pub struct Session {
    pub live: Live,
    pub events: BoxStream<'static, Arc<Event>>,
}

pub async fn begin(rig: &Rig, mode: Mode, id: Option<&SessionId>) -> Result<Session, StartError> {
    let store = Store::open(Home::at(rig.home()), Durability::ProcessCrash);
    let (view, _) = View::load(store.home(), Some(mode), &rig.project, &[]);
    let catalog = Catalog::load(None).unwrap();
    let playbook = Playbook::load(&PathBuf::from(rig.book())).unwrap();
    let model = Rehearsal::new(Arc::new(playbook), Unmatched::Fail).at_pace(Pace::AtOnce);
    let chosen = catalog.resolve(REHEARSAL).unwrap();
    let brains = Brains::only(catalog, Arc::new(model), chosen.clone());
    let brain = brains.open(chosen).unwrap();
    let sources =
        Sources { project: vec![rig.project.join(".claude/agents")], ..Sources::default() };
    let start = Start {
        team: quarterdeck::team::policy::Policy::default(),
        store,
        session: id.cloned(),
        project: rig.project.clone(),
        view,
        mode_is_given: id.is_none(),
        model_is_given: false,
        brains,
        brain,
        definitions: Definitions::Files(Watcher::new(sources)),
        lead: None,
        tools: None,
        disallowed: Vec::new(),
        policy: Policy::default(),
        limits: Limits::default(),
        limit_usd: None,
        budgets: quarterdeck::settings::budgets::Budgets::default(),
    };
    let live = Live::start(start).await?;
    let events = live.events(live.began_after);
    Ok(Session { live, events })
}

impl Session {
    pub fn lead(&self) -> AgentId {
        self.live.lead().cx.me.clone()
    }

    pub async fn say(&self, text: &str) -> Result<(), Refused> {
        self.say_to(self.lead(), text, When::Next).await
    }

    pub async fn say_to(&self, to: AgentId, text: &str, when: When) -> Result<(), Refused> {
        self.live.submit(Op::Say { to, text: text.to_owned(), when }).await
    }

    /// The next event that `wanted` finds something in.
    #[track_caller]
    pub fn wait<'a, T>(
        &'a mut self,
        mut wanted: impl FnMut(&Event) -> Option<T> + 'a,
    ) -> impl Future<Output = T> + 'a {
        let caller = std::panic::Location::caller();
        async move {
            let found = async {
                loop {
                    let event = self.events.next().await.expect("an event");
                    if let Some(found) = wanted(&event) {
                        return found;
                    }
                }
            };
            let found = tokio::time::timeout(PATIENCE, found).await;
            found.unwrap_or_else(|_| panic!("waited in vain at {caller}"))
        }
    }

    /// How the next turn of the lead ends.
    pub async fn turn(&mut self) -> String {
        let lead = self.lead();
        self.wait(|event| match &event.fact {
            Fact::TurnEnded { outcome, .. } if event.agent.as_ref() == Some(&lead) => {
                Some(outcome.clone())
            }
            _ => None,
        })
        .await
    }

    /// The next whole answer of the lead, in words.
    pub async fn answer(&mut self) -> String {
        let lead = self.lead();
        self.wait(|event| match &event.fact {
            Fact::Spoke { message, .. } if event.agent.as_ref() == Some(&lead) => {
                Some(message.content.text())
            }
            _ => None,
        })
        .await
    }
}
