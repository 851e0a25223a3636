//! What an agent is doing, told from evidence alone: when it last gave a sign of life, and what
//! it is known to wait for. One pure function, so that the screen can never be of two minds.

use std::collections::BTreeSet;

use super::event::{Event, Fact};
use super::ids::AskId;
use super::message::Body;
use super::task::{Status, Task};
use super::time::Stamp;

/// What is known of an agent.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Evidence {
    pub ended: bool,
    /// Why it failed, if it did.
    pub failed: Option<String>,
    /// Whether a turn is going on.
    pub in_turn: bool,
    pub paused: bool,
    /// Asks of its own that wait for the person.
    pub open_asks: BTreeSet<AskId>,
    pub turn_since: Option<Stamp>,
    pub last_token: Option<Stamp>,
    pub last_tool: Option<Stamp>,
    pub last_mail_in: Option<Stamp>,
    pub last_mail_out: Option<Stamp>,
    /// The colleague whose answer it waits for.
    pub waits_for: Option<String>,
    /// Whose mail it heard last: a message to them is an answer.
    pub mail_from: Vec<String>,
    /// Whether it finished a task in this turn: then it waits for nobody.
    pub finished: bool,
    /// Trying again: why, and when.
    pub retrying: Option<(String, Stamp)>,
    /// How many tools run; they may be silent for long.
    pub tools_running: usize,
    /// Tokens of its conversation, and how many fit.
    pub context: u64,
    pub window: Option<u64>,
    /// What its own answers cost.
    pub usd: Option<f64>,
}

impl Evidence {
    /// It begins, or is back. What it asked stays open over a restart, and nobody tells of it
    /// again.
    fn begin(&mut self) {
        let open_asks = std::mem::take(&mut self.open_asks);
        *self = Self { usd: self.usd, open_asks, ..Self::default() };
    }

    fn end_turn(&mut self) {
        (self.in_turn, self.retrying, self.tools_running) = (false, None, 0);
        if std::mem::take(&mut self.finished) {
            self.waits_for = None;
        }
    }

    fn hear(&mut self, from: &str, text: &str) {
        // A reminder of the list is no answer.
        if from != "task-list" {
            self.waits_for = None;
        }
        self.mail_from = senders(text);
    }

    /// It waits for an answer, unless this is one.
    fn write_to(&mut self, name: &str) {
        if !self.mail_from.iter().any(|from| from == name) {
            self.waits_for = Some(name.to_owned());
        }
    }

    /// Takes in an event of this agent.
    pub fn absorb(&mut self, event: &Event) {
        let at = Some(event.at);
        match &event.fact {
            Fact::AgentStarted { .. } => self.begin(),
            Fact::AgentEnded { status, why } => {
                (self.ended, self.in_turn) = (true, false);
                if status == "failed" {
                    self.failed = Some(why.clone());
                }
            }
            Fact::TurnStarted => {
                (self.in_turn, self.turn_since, self.finished) = (true, at, false);
                (self.failed, self.retrying, self.tools_running) = (None, None, 0);
            }
            Fact::TurnEnded { outcome, why, .. } => {
                self.end_turn();
                if outcome == "failed" {
                    self.failed = Some(why.clone());
                }
            }
            Fact::Speaking { .. } | Fact::Thinking { .. } | Fact::Restarted { .. } => {
                (self.last_token, self.retrying) = (at, None);
            }
            Fact::Spoke { context, window, own_usd, .. } => {
                (self.last_token, self.retrying) = (at, None);
                (self.context, self.window) = (*context, *window);
                self.usd = own_usd.or(self.usd);
            }
            Fact::Retrying { why, wait_ms, .. } => {
                let wait = i64::try_from(*wait_ms).unwrap_or(i64::MAX);
                let until = event.at.millis().saturating_add(wait);
                self.retrying = Some((why.clone(), Stamp::from_millis(until)));
            }
            Fact::ToolStarted { .. } => {
                (self.last_tool, self.tools_running) = (at, self.tools_running + 1)
            }
            Fact::ToolOutput { .. } => self.last_tool = at,
            Fact::ToolEnded { .. } => {
                (self.last_tool, self.tools_running) = (at, self.tools_running.saturating_sub(1));
            }
            Fact::Heard { from, message, .. } if from != "tools" && from != "system" => {
                self.last_mail_in = at;
                self.hear(from, &message.content.text());
            }
            Fact::MailSent { to, message } => {
                self.last_mail_out = at;
                if !to.is_lead() && matches!(message.body(), Body::Plain(_)) {
                    self.write_to(to.as_str());
                }
            }
            Fact::Asked { ask } => {
                self.open_asks.insert(ask.id.clone());
            }
            Fact::Settled { ask, .. } => {
                self.open_asks.remove(ask);
            }
            Fact::Paused => self.paused = true,
            Fact::Unpaused => self.paused = false,
            Fact::WentIdle { reason, why } => {
                if reason == "failed" {
                    self.failed = Some(why.clone());
                }
            }
            Fact::Compacted { after, .. } => self.context = *after,
            Fact::TaskChanged { task } => self.finished |= finishes(event, task),
            Fact::Heard { .. }
            | Fact::Queued { .. }
            | Fact::ModeChanged { .. }
            | Fact::TeamCreated { .. }
            | Fact::TeamDeleted { .. }
            | Fact::MemberJoined { .. }
            | Fact::MemberLeft { .. }
            | Fact::TaskDeleted { .. }
            | Fact::Decided { .. }
            | Fact::Granted { .. }
            | Fact::Revoked { .. }
            | Fact::Notice { .. }
            | Fact::Unknown(_) => {}
        }
    }
}

/// Whether an agent has done its own task with this.
fn finishes(event: &Event, task: &Task) -> bool {
    let own = event.agent.as_ref().is_some_and(|me| task.owner() == Some(&me.name));
    own && task.status == Status::Completed
}

/// Who wrote the letters in a text that a teammate hears.
fn senders(text: &str) -> Vec<String> {
    let names = text.split("<teammate-message teammate_id=\"").skip(1);
    names.filter_map(|rest| Some(rest.split_once('"')?.0.to_owned())).collect()
}

/// What that means.
#[derive(Debug, Clone, PartialEq)]
pub enum State {
    Working,
    WaitingForYou,
    WaitingForPeer(String),
    Idle,
    Retrying {
        why: String,
        until: Stamp,
    },
    /// No sign of life for so many seconds while it should be working.
    Stalled {
        seconds: u64,
    },
    Failed(String),
    Paused,
    Ended,
}

/// The state that the evidence shows at a moment. The first that holds counts.
pub fn state(evidence: &Evidence, now: Stamp, patience_seconds: u64) -> State {
    if evidence.ended {
        return State::Ended;
    }
    if let Some(why) = &evidence.failed {
        return State::Failed(why.clone());
    }
    if !evidence.open_asks.is_empty() {
        return State::WaitingForYou;
    }
    if evidence.paused {
        return State::Paused;
    }
    if !evidence.in_turn {
        return match &evidence.waits_for {
            Some(peer) => State::WaitingForPeer(peer.clone()),
            None => State::Idle,
        };
    }
    // Behind that moment it is tried again, and silence counts from there.
    let retries = evidence.retrying.as_ref();
    if let Some((why, until)) = retries.filter(|(_, until)| now < *until) {
        return State::Retrying { why: why.clone(), until: *until };
    }
    let signs = [
        evidence.turn_since,
        evidence.last_token,
        evidence.last_tool,
        evidence.last_mail_out,
        retries.map(|(_, until)| *until),
    ];
    let silent = signs.into_iter().flatten().max().map(|last| seconds_between(last, now));
    match silent {
        Some(seconds) if seconds >= patience_seconds && evidence.tools_running == 0 => {
            State::Stalled { seconds }
        }
        Some(_) | None => State::Working,
    }
}

fn seconds_between(earlier: Stamp, later: Stamp) -> u64 {
    u64::try_from(later.millis().saturating_sub(earlier.millis()) / 1000).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_state_follows_from_the_evidence() {
        let at = |seconds: i64| Stamp::from_millis(seconds * 1000);
        let base = Evidence { in_turn: true, last_token: Some(at(100)), ..Evidence::default() };
        let retrying = Some(("overloaded".to_owned(), at(230)));
        let asks = || BTreeSet::from([AskId::found("a")]);
        let retried = |until: i64| Some(("overloaded".to_owned(), at(until)));
        let table: [(Evidence, State); 14] = [
            (
                Evidence { retrying: retried(190), last_token: Some(at(0)), ..base.clone() },
                State::Working,
            ),
            (
                Evidence { retrying: retried(70), last_token: Some(at(0)), ..base.clone() },
                State::Stalled { seconds: 130 },
            ),
            (Evidence::default(), State::Idle),
            (base.clone(), State::Working),
            (
                Evidence { last_token: Some(at(79)), ..base.clone() },
                State::Stalled { seconds: 121 },
            ),
            (
                Evidence { last_token: Some(at(79)), last_tool: Some(at(190)), ..base.clone() },
                State::Working,
            ),
            (
                Evidence { last_token: Some(at(0)), tools_running: 1, ..base.clone() },
                State::Working,
            ),
            (Evidence { last_token: Some(at(300)), ..base.clone() }, State::Working),
            (
                Evidence { open_asks: asks(), last_token: Some(at(0)), ..base.clone() },
                State::WaitingForYou,
            ),
            (Evidence { open_asks: asks(), ended: true, ..base.clone() }, State::Ended),
            (
                Evidence { failed: Some("no".into()), open_asks: asks(), ..base.clone() },
                State::Failed("no".into()),
            ),
            (
                Evidence { retrying, last_token: Some(at(0)), ..base.clone() },
                State::Retrying { why: "overloaded".into(), until: at(230) },
            ),
            (
                Evidence { waits_for: Some("bob".into()), ..Evidence::default() },
                State::WaitingForPeer("bob".into()),
            ),
            (Evidence { paused: true, ..base }, State::Paused),
        ];
        for (evidence, wanted) in table {
            assert_eq!(state(&evidence, at(200), 120), wanted, "{evidence:?}");
        }
    }

    #[test]
    fn who_asks_a_colleague_waits_and_who_answers_or_is_done_does_not() {
        let task = r#""taskChanged","task":{"id":"1","subject":"s","description":"","status":"completed","owner":"bob","blocks":[],"blockedBy":[]}"#;
        let heard = |from: &str| {
            let text = r#"<teammate-message teammate_id=\"FROM\">\nx\n</teammate-message>"#;
            let text = text.replace("FROM", from);
            let from = if from == "task-list" { from } else { "mail" };
            let message = format!(r#"{{"role":"user","content":"{text}"}}"#);
            format!(r#""heard","from":"{from}","message":{message}"#)
        };
        let sent = r#""mailSent","to":"ann","message":{"from":"bob","text":"x","timestamp":"2026-01-01T00:00:00.000Z","read":false}"#;
        let (began, ended) =
            (r#""turnStarted""#, r#""turnEnded","outcome":"done","rounds":1,"millis":1"#);
        let of = |facts: &[&str]| {
            let mut evidence = Evidence::default();
            for fact in facts {
                let at = "2026-01-01T00:00:00.000Z";
                let event = format!(
                    r#"{{"seq":1,"at":"{at}","agent":"bob@crew","fact":{{"kind":{fact}}}}}"#
                );
                evidence.absorb(&serde_json::from_str(&event).unwrap());
            }
            state(&evidence, Stamp::from_millis(0), 120)
        };
        let waits = State::WaitingForPeer("ann".into());
        assert_eq!(of(&[&heard("task-list"), began, sent, ended]), waits);
        // The list's reminder is no answer.
        let reminded = [began, sent, ended, &heard("task-list"), began, ended];
        assert_eq!(of(&reminded), waits);
        assert_eq!(of(&[began, sent, ended, &heard("ann"), began, ended]), State::Idle);
        assert_eq!(of(&[&heard("ann"), began, sent, ended]), State::Idle, "an answer");
        assert_eq!(of(&[began, task, sent, ended]), State::Idle, "handed over");
        assert_eq!(of(&[began, sent, task, ended]), State::Idle, "handed over");
    }

    #[test]
    fn what_was_asked_stays_open_when_the_asker_comes_back() {
        let about = r#"{"agentType":"t","model":"m","mode":"default","cwd":"/","background":true}"#;
        let ask = r#"{"id":"q","rev":1,"chain":["bob@crew"],"at":"2026-01-01T00:00:00.000Z","cwd":"/","why":{},"risk":"low","question":{"kind":"noAnswerToShutdown"},"choices":[]}"#;
        let mut evidence = Evidence::default();
        let mut absorb = |fact: &str| {
            let at = "2026-01-01T00:00:00.000Z";
            let event =
                format!(r#"{{"seq":1,"at":"{at}","agent":"bob@crew","fact":{{"kind":{fact}}}}}"#);
            evidence.absorb(&serde_json::from_str(&event).unwrap());
            state(&evidence, Stamp::from_millis(0), 120)
        };
        absorb(&format!(r#""asked","ask":{ask}"#));
        absorb(&format!(r#""agentStarted","about":{about}"#));
        assert_eq!(absorb(r#""turnStarted""#), State::WaitingForYou);
        let settled =
            r#""settled","ask":"q","rev":1,"verdict":{"kind":"deny"},"by":{"kind":"human"}"#;
        assert_eq!(absorb(settled), State::Working);
    }
}
