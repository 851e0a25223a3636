//! Agents that work for a call: what they do is told below it.

use super::Transcript;
use crate::console::state::cell::{Call, Child, Phase, Step};
use crate::console::state::words::brief;
use crate::protocol::content::Known;
use crate::protocol::event::{Event, Fact};
use crate::protocol::ids::AgentId;

/// Steps of a child that are kept.
const MOST_STEPS: usize = 64;

impl Transcript {
    /// Takes in an event of an agent that works for the call `use_id` of this one.
    pub fn absorb_child(&mut self, use_id: &str, event: &Event) {
        let Some(agent) = &event.agent else { return };
        let cwd = self.cwd.clone();
        // What the person had started stands below no call of the agent: it gets a line, too.
        if let Fact::AgentStarted { about } = &event.fact
            && !self.calls.contains_key(use_id)
        {
            let description = brief(&about.description);
            self.call_of(event.at, use_id, "Agent", |call| {
                (call.summary, call.phase) = (description, Phase::Running);
                call.started = Some(event.at);
                call.by_person = true;
            });
        }
        self.known_call(use_id, |call| {
            if let Some(child) = child(call, agent) {
                child.absorb(&event.fact, &cwd);
            }
            if let (true, Fact::AgentEnded { status, .. }) = (call.by_person, &event.fact) {
                call.phase = if status == "completed" { Phase::Done } else { Phase::Failed };
                let millis = call.started.map_or(0, |then| event.at.millis() - then.millis());
                call.millis = u64::try_from(millis).ok();
            }
        });
    }
}

fn child<'a>(call: &'a mut Call, agent: &AgentId) -> Option<&'a mut Child> {
    let name = agent.to_string();
    let known = call.children.iter().position(|child| child.agent == name);
    if known.is_none() {
        call.children.push(Child {
            agent: name,
            kind: String::new(),
            description: String::new(),
            steps: Vec::new(),
            count: 0,
            tokens: 0,
            asks: false,
            ended: None,
            said: String::new(),
        });
    }
    let last = call.children.len().checked_sub(1);
    call.children.get_mut(known.or(last)?)
}

impl Child {
    fn absorb(&mut self, fact: &Fact, cwd: &str) {
        match fact {
            Fact::AgentStarted { about } => {
                self.kind = brief(&about.agent_type);
                self.description = brief(&about.description);
                self.ended = None;
            }
            Fact::AgentEnded { status, .. } => {
                self.ended = Some(status.clone());
                self.asks = false;
            }
            Fact::Asked { .. } => self.asks = true,
            Fact::Settled { .. } => self.asks = false,
            Fact::Decided { use_id, tool, decision, reason, .. } => {
                if decision == "deny" {
                    self.step(use_id, tool).phase = Phase::Denied(brief(reason));
                }
            }
            Fact::ToolStarted { use_id, tool, summary, .. } => {
                let summary = brief(summary).replace(&format!("{cwd}/"), "");
                let step = self.step(use_id, tool);
                (step.summary, step.phase) = (summary, Phase::Running);
            }
            Fact::ToolEnded { use_id, failed, .. } => {
                self.step(use_id, "").phase = if *failed { Phase::Failed } else { Phase::Done };
            }
            Fact::Spoke { message, context, .. } => {
                self.tokens = *context;
                for block in message.content.known() {
                    if let Known::Text { text } = block {
                        self.said = last_line(&text);
                    }
                }
            }
            Fact::Speaking { text } => {
                let line = last_line(text);
                if !line.is_empty() {
                    self.said = line;
                }
            }
            Fact::Queued { .. }
            | Fact::TurnStarted
            | Fact::Heard { .. }
            | Fact::Thinking { .. }
            | Fact::Restarted { .. }
            | Fact::Retrying { .. }
            | Fact::TurnEnded { .. }
            | Fact::Compacted { .. }
            | Fact::ModeChanged { .. }
            | Fact::TeamCreated { .. }
            | Fact::TeamDeleted { .. }
            | Fact::WentIdle { .. }
            | Fact::Paused
            | Fact::Unpaused
            | Fact::MemberJoined { .. }
            | Fact::MemberLeft { .. }
            | Fact::MailSent { .. }
            | Fact::TaskChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::ToolOutput { .. }
            | Fact::Granted { .. }
            | Fact::Revoked { .. }
            | Fact::Notice { .. }
            | Fact::Unknown(_) => {}
        }
    }

    /// The step of that call; a new one if it is not known.
    fn step(&mut self, use_id: &str, tool: &str) -> &mut Step {
        let known = self.steps.iter().rposition(|step| step.use_id == use_id);
        let at = known.unwrap_or_else(|| {
            if self.steps.len() >= MOST_STEPS {
                self.steps.remove(0);
            }
            let (use_id, tool) = (use_id.to_owned(), brief(tool));
            self.steps.push(Step { use_id, tool, summary: String::new(), phase: Phase::Wanted });
            self.count += 1;
            self.steps.len() - 1
        });
        &mut self.steps[at]
    }
}

fn last_line(text: &str) -> String {
    let line = text.trim_end().lines().next_back().unwrap_or_default();
    line.chars().take(400).collect()
}
