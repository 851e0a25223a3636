//! What enters an agent's conversation, and news about it and its team.

use super::Transcript;
use super::frames::{self, Part};
use crate::console::state::cell::{Kind, Resting};
use crate::console::state::words::{Words, beginning, brief};
use crate::protocol::content::{ChatMessage, Content, Known};
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentName, LEAD};
use crate::protocol::json;
use crate::protocol::message::{Body, IdleReason, Message};
use crate::protocol::time::Stamp;

impl Transcript {
    pub(super) fn heard(&mut self, at: Stamp, from: &str, message: &ChatMessage, queued: &[u64]) {
        let delivered =
            |kind: &Kind| matches!(kind, Kind::Queued { waiting, .. } if queued.contains(waiting));
        self.waiting.retain(|cell| !delivered(&cell.kind));
        match &message.content {
            Content::Text(text) => self.words(at, from, text),
            Content::Blocks(_) => {
                for block in message.content.known() {
                    self.block(at, from, &block);
                }
            }
        }
    }

    fn block(&mut self, at: Stamp, from: &str, block: &Known) {
        match block {
            Known::Text { text } => self.words(at, from, text),
            Known::ToolResult { tool_use_id, content, is_error } => {
                let text = content.as_ref().map(Content::text).unwrap_or_default();
                self.result(tool_use_id, &text, is_error.unwrap_or_default());
            }
            Known::Image { .. } => {
                self.add(at, Kind::Prompt { from: brief(from), text: Words::new("[a picture]") });
            }
            Known::Thinking { .. } | Known::RedactedThinking { .. } | Known::ToolUse { .. } => {}
        }
    }

    fn words(&mut self, at: Stamp, from: &str, text: &str) {
        for part in frames::parts(text) {
            let kind = match part {
                Part::Plain(text) if from == "system" || from == "tools" => {
                    Kind::Notice { level: Level::Info, text: beginning(text) }
                }
                Part::Plain(text) => Kind::Prompt { from: brief(from), text: Words::new(text) },
                Part::Mail { from, text, .. } if from == "system" => {
                    let text = beginning(&Body::parse(&text).in_words());
                    Kind::Notice { level: Level::Info, text }
                }
                Part::Mail { from, color, summary, text } => {
                    let summary = summary.as_deref().map(brief);
                    match self.mail(brief(&from), color, summary, &Body::parse(&text)) {
                        Some(kind) => kind,
                        None => continue,
                    }
                }
                Part::Note { status, summary, result } => {
                    let result = Words::new(&result);
                    Kind::Finished { good: status == "completed", summary: brief(&summary), result }
                }
            };
            self.add(at, kind);
        }
    }

    /// What came from another agent. Those that are idle share a line while nothing else comes.
    fn mail(
        &mut self,
        from: String,
        color: Option<String>,
        summary: Option<String>,
        body: &Body,
    ) -> Option<Kind> {
        let words = body.in_words();
        if let Some(said) = idle(body) {
            let one = Resting { name: from, color, said: brief(said) };
            return self.rests(one);
        }
        let (head, rest) = words.split_once('\n').unwrap_or((&words, ""));
        let (summary, text) = match (summary, body) {
            // The task is the summary, what is to be done the text.
            (None, Body::TaskAssignment(_)) if !rest.is_empty() => (Some(brief(head)), rest),
            (summary, _) => (summary, words.as_str()),
        };
        Some(Kind::Mail { from, color, summary, text: Words::new(text) })
    }

    /// Joins the line of those that are idle if it is the last; else it is a new one.
    fn rests(&mut self, one: Resting) -> Option<Kind> {
        let last = self.cells.iter().rev().find(|cell| !is_end_of_turn(&cell.kind));
        let Some(id) =
            last.filter(|cell| matches!(cell.kind, Kind::Idle { .. })).map(|cell| cell.id)
        else {
            return Some(Kind::Idle { who: vec![one] });
        };
        self.change(id, |cell| {
            if let Kind::Idle { who } = &mut cell.kind {
                who.retain(|known| known.name != one.name);
                who.push(one);
            }
        });
        None
    }

    /// Facts that become a line, or nothing.
    pub(super) fn news(&mut self, at: Stamp, fact: &Fact) {
        match fact {
            Fact::Notice { level, text } => self.notice(at, *level, text),
            Fact::ModeChanged { mode } => {
                let mode = json::to_compact(mode);
                self.notice(at, Level::Info, format!("mode is now {}", mode.trim_matches('"')));
            }
            Fact::TeamCreated { name, .. } => {
                self.notice(at, Level::Info, format!("team {name} created"));
            }
            Fact::TeamDeleted { name } => {
                self.notice(at, Level::Info, format!("team {name} deleted"));
            }
            Fact::WentIdle { reason, why } if reason == "failed" => {
                self.notice(at, Level::Error, format!("failed: {why}"));
            }
            Fact::Paused => self.notice(at, Level::Warning, "paused"),
            Fact::Unpaused => self.notice(at, Level::Info, "resumes"),
            Fact::MemberJoined { member } => {
                let (name, color) = (brief(member.name.as_str()), member.color.clone());
                self.add(at, Kind::Member { name, color, joined: true });
            }
            Fact::MemberLeft { name } => {
                self.add(
                    at,
                    Kind::Member { name: brief(name.as_str()), color: None, joined: false },
                );
            }
            Fact::MailSent { to, message } => self.sent(at, to, message),
            Fact::Revoked { grant } => {
                self.notice(at, Level::Info, format!("no longer allowed: {}", grant.permit));
            }
            // Told elsewhere: in a turn, the task list, a decision.
            Fact::WentIdle { .. }
            | Fact::TaskChanged { .. }
            | Fact::TaskDeleted { .. }
            | Fact::Granted { .. }
            | Fact::Unknown(_)
            | Fact::AgentStarted { .. }
            | Fact::AgentEnded { .. }
            | Fact::Queued { .. }
            | Fact::TurnStarted
            | Fact::Heard { .. }
            | Fact::Speaking { .. }
            | Fact::Thinking { .. }
            | Fact::Restarted { .. }
            | Fact::Retrying { .. }
            | Fact::Spoke { .. }
            | Fact::TurnEnded { .. }
            | Fact::Compacted { .. }
            | Fact::Asked { .. }
            | Fact::Settled { .. }
            | Fact::Decided { .. }
            | Fact::ToolStarted { .. }
            | Fact::ToolOutput { .. }
            | Fact::ToolEnded { .. } => {}
        }
    }

    fn sent(&mut self, at: Stamp, to: &AgentName, message: &Message) {
        // That an agent is idle stands above its own transcript.
        if idle(&message.body()).is_some() {
            return;
        }
        let words = message.body().in_words();
        let first = words.lines().next().unwrap_or_default().to_owned();
        let summary = brief(message.summary.as_deref().unwrap_or(&first));
        let text = Words::new(if words.trim() == summary.trim() { "" } else { &words });
        let color = message.color.clone().or_else(|| self.color.clone());
        let (from, to) = (short(message.from.as_str()), short(to.as_str()));
        self.add(at, Kind::Sent { from, color, to, summary, text });
    }
}

/// The last words of an agent that is idle and has nothing to complain of.
fn idle(body: &Body) -> Option<&str> {
    let Body::IdleNotification(idle) = body else { return None };
    let is_well = matches!(idle.idle_reason, Some(IdleReason::Available) | None);
    let said = idle.last_message.as_deref().or(idle.summary.as_deref()).unwrap_or_default();
    (is_well && idle.failure_reason.is_none()).then_some(said)
}

fn is_end_of_turn(kind: &Kind) -> bool {
    matches!(kind, Kind::TurnEnd { outcome, .. } if outcome == "done")
}

/// As the console calls them: the lead has no other name.
fn short(name: &str) -> String {
    brief(if name == LEAD { "lead" } else { name })
}
