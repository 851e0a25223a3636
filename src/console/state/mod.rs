//! All that the console knows: plain data, a fold over events, keys and time.
//!
//! No channel, clock, file or terminal is used here. `update` is the only one that changes it.

pub mod agents;
pub mod asks;
pub mod cell;
pub mod composer;
pub mod dialog;
pub mod editor;
pub mod history;
pub mod notices;
pub mod offers;
pub mod story;
pub mod tasks;
pub mod transcript;
pub mod ui;
pub mod words;

use std::sync::Arc;

use self::agents::{Agent, Agents, Group, Kind};
use self::asks::{Asks, Waiting};
use self::composer::Composer;
use self::dialog::Dialog;
use self::notices::Notices;
use self::offers::Offers;
use self::story::Story;
use self::tasks::{Claim, Tasks};
use self::ui::{Focus, Size, Ui};
use super::keys::{Context, Keymap};
use crate::protocol::ask::GrantRecord;
use crate::protocol::event::Level;
use crate::protocol::ids::AgentId;
use crate::protocol::liveness;
use crate::protocol::task::Task;
use crate::protocol::time::Stamp;

#[derive(Debug, Clone)]
pub struct State {
    pub now: Stamp,
    pub size: Size,
    /// What is shown of the session as a whole.
    pub about: About,
    pub agents: Agents,
    /// Whom the composer talks to and whose pane stands out.
    pub selected: AgentId,
    pub asks: Asks,
    pub tasks: Tasks,
    pub composer: Composer,
    /// What lies over the screen, the topmost last. An ask lies over all of them.
    pub layers: Vec<Dialog>,
    pub notices: Notices,
    pub ui: Ui,
    pub keymap: Keymap,
    /// The files of the project, once they were looked up.
    pub files: Option<Arc<[String]>>,
    /// What can be chosen from.
    pub offers: Offers,
    /// The name of the theme.
    pub theme: String,
    /// What is rehearsed, if it is a rehearsal.
    pub story: Option<Story>,
}

/// What a session is called and has cost.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct About {
    pub session: String,
    pub project: String,
    pub team: Option<String>,
    pub usd: Option<f64>,
    /// What was given while the session ran.
    pub grants: Vec<GrantRecord>,
    /// The newest event that was taken in.
    pub seq: u64,
    /// Nothing more comes of it.
    pub is_over: bool,
    /// It is a recorded one: nothing can be asked of it.
    pub is_replay: bool,
}

/// What a console is opened with.
#[derive(Debug, Clone)]
pub struct Opening {
    pub lead: AgentId,
    pub now: Stamp,
    pub session: String,
    pub project: String,
    pub keymap: Keymap,
    pub mouse: bool,
    pub theme: String,
}

impl State {
    pub fn new(opening: Opening) -> Self {
        Self {
            now: opening.now,
            size: Size { columns: 80, rows: 24 },
            about: About { session: opening.session, project: opening.project, ..About::default() },
            agents: Agents::led_by(opening.lead.clone()),
            selected: opening.lead,
            asks: Asks::default(),
            tasks: Tasks::default(),
            composer: Composer::default(),
            layers: Vec::new(),
            notices: Notices::default(),
            ui: Ui { mouse: opening.mouse, ..Ui::default() },
            keymap: opening.keymap,
            files: None,
            offers: Offers::default(),
            theme: opening.theme,
            story: None,
        }
    }

    pub fn selected_agent(&self) -> Option<&Agent> {
        self.agents.get(&self.selected)
    }

    /// What Enter would send now that nothing is written.
    pub fn offered(&self) -> Option<&str> {
        let to_lead = self.lead().is_none_or(|lead| *lead == self.selected);
        let offer = self.composer.offer.as_deref();
        offer.filter(|_| to_lead && self.composer.draft.is_empty())
    }

    pub fn lead(&self) -> Option<&AgentId> {
        self.agents.lead().map(|lead| &lead.id)
    }

    pub fn say(&mut self, level: Level, text: impl Into<String>) {
        self.notices.push(self.now, level, text);
    }

    pub fn info(&mut self, text: impl Into<String>) {
        self.say(Level::Info, text);
    }

    /// What an agent is to the person now.
    pub fn group(&self, agent: &Agent) -> Group {
        match agent.state(self.now) {
            liveness::State::Ended if agent.evidence.failed.is_some() && !agent.failure_seen => {
                Group::NeedsYou
            }
            liveness::State::Ended => Group::Ended,
            liveness::State::Failed(_)
            | liveness::State::Stalled { .. }
            | liveness::State::WaitingForYou => Group::NeedsYou,
            liveness::State::Working | liveness::State::Retrying { .. } => Group::Working,
            liveness::State::WaitingForPeer(_)
            | liveness::State::Idle
            | liveness::State::Paused => Group::Idle,
        }
    }

    /// What waits for the person in the name of an agent: its own asks, and those of subagents
    /// that work for it. Through the lead everybody asks; that does not make it the lead's.
    pub fn asks_of<'a>(&'a self, agent: &'a AgentId) -> impl Iterator<Item = &'a Waiting> {
        let in_team =
            |id: &&AgentId| self.agents.get(id).is_some_and(|agent| agent.kind != Kind::Subagent);
        self.asks.of(agent).filter(move |known| known.ask.chain.iter().find(in_team) == Some(agent))
    }

    /// Agents that would lose something if everything ended now.
    pub fn working(&self) -> usize {
        self.agents.all().filter(|agent| agent.is_busy()).count()
    }

    pub fn top(&self) -> Option<&Dialog> {
        self.layers.last()
    }

    pub fn is_zoomed(&self) -> bool {
        self.layers.iter().any(|layer| matches!(layer, Dialog::Zoom))
    }

    /// Whether the composer has the keys and nothing lies over it.
    pub fn is_composing(&self) -> bool {
        self.layers.is_empty() && self.ui.focus == Focus::Composer
    }

    /// Where keys are read, from the focused surface outwards.
    pub fn contexts(&self) -> Vec<Context> {
        if self.ui.prefix {
            return vec![Context::Prefix];
        }
        let inner: &[Context] = match self.top() {
            Some(Dialog::Help { .. } | Dialog::Sheet(_)) => &[Context::Sheet],
            Some(Dialog::Picker(_)) => &[Context::List],
            Some(Dialog::Zoom) => &[Context::Pane],
            Some(Dialog::Tasks) => &[Context::Tasks],
            Some(Dialog::Queue) => &[Context::Queue],
            Some(Dialog::Find(_)) => &[Context::Find],
            None => match self.ui.focus {
                Focus::Composer if self.composer.search.is_some() => &[Context::History],
                Focus::Composer if self.composer.completion.is_some() => {
                    &[Context::Completion, Context::Composer]
                }
                Focus::Composer => &[Context::Composer],
                Focus::Pane => &[Context::Pane],
                Focus::Tasks => &[Context::Tasks],
                Focus::Queue => &[Context::Queue],
            },
        };
        inner.iter().copied().chain([Context::Everywhere]).collect()
    }

    /// The agents that the person steps through, in order.
    pub fn rotation(&self) -> Vec<AgentId> {
        self.agents.team().map(|agent| agent.id.clone()).collect()
    }

    /// Whether the owner of a task still works on it.
    pub fn claim(&self, task: &Task) -> Option<Claim> {
        let owner = task.owner().and_then(|owner| self.agents.named(owner.as_str()));
        self.tasks.claim(task, owner.map(|owner| owner.state(self.now)).as_ref())
    }

    /// Whether there is a team, or only the lead.
    pub fn has_team(&self) -> bool {
        self.agents.all().any(|agent| agent.kind == Kind::Teammate)
    }
}
