//! `quarterdeck team status`: what every agent of a session is doing, told from its signs of life
//! in the session's journal.

use serde_json::{Value, json};

use super::asks::session;
use super::failure::Failure;
use super::out::{Out, table};
use super::printable::one_line;
use crate::protocol::ask::dollars;
use crate::protocol::ids::{AgentId, SessionId};
use crate::protocol::liveness::{Evidence, State, state};
use crate::protocol::standing::{Standing, Standings};
use crate::protocol::task::Task;
use crate::protocol::time::Stamp;
use crate::settings::layers::{self, STALLED_AFTER};
use crate::store::journal::{is_running, read_after};
use crate::store::{Store, files};

pub fn run(store: &Store, name: &str, out: &mut Out) -> Result<(), Failure> {
    let session = session_of(store, name)?;
    let journal = store.home().journal(&session);
    let batch = read_after(&journal, 0)?;
    let standings = Standings::of(&batch.events);
    let project = std::env::current_dir()?;
    let settings = layers::load(&layers::files(&project));
    let settings = settings.map_err(|error| Failure::bad_input(error.to_string()))?;
    let patience = settings.stalled_after.map_or(STALLED_AFTER, |seconds| seconds as u64);
    let look = Look { now: files::now(), patience, runs: is_running(&journal) };
    let agents: Vec<Value> =
        standings.agents().map(|(id, one)| look.value(id, one, standings.task_of(id))).collect();
    let value = json!({ "session": session, "running": look.runs, "agents": agents });
    out.answer(&value, || {
        let head =
            ["AGENT", "STATE", "TASK", "TOKEN", "TOOL", "MAIL IN", "MAIL OUT", "CONTEXT", "COST"];
        let mut rows = vec![head.map(str::to_owned)];
        let all = standings.agents();
        rows.extend(all.map(|(id, one)| look.row(id, one, standings.task_of(id))));
        let how = if look.runs { "running" } else { "not running" };
        format!("session {session}, {how}\n\n{}", table(&rows))
    })
}

/// The session that leads a team, or the one of this name.
fn session_of(store: &Store, name: &str) -> Result<SessionId, Failure> {
    if let Ok(dir) = store.rosters().find(name) {
        let team = store.rosters().team(&dir)?;
        let led = team.lead_session_id.clone();
        let id = led.ok_or_else(|| {
            Failure::no("session_not_found", format!("team `{name}` has no session"))
        })?;
        let known = store.home().journal(&SessionId::found(&id)).exists();
        return match known {
            true => Ok(SessionId::found(&id)),
            false => Err(Failure::no(
                "session_not_found",
                format!(
                    "the session of team `{name}` keeps no journal here: another program runs it"
                ),
            )),
        };
    }
    session(store, name)
}

/// From when, and how patiently, it is looked at.
struct Look {
    now: Stamp,
    patience: u64,
    /// Whether any process runs the session.
    runs: bool,
}

impl Look {
    /// What an agent is doing, and more about it.
    fn state(&self, evidence: &Evidence) -> (&'static str, Option<String>) {
        let state = state(evidence, self.now, self.patience);
        let goes_on = match state {
            State::WaitingForYou | State::Failed(_) | State::Ended => false,
            State::Working
            | State::Stalled { .. }
            | State::Retrying { .. }
            | State::WaitingForPeer(_)
            | State::Idle
            | State::Paused => true,
        };
        // What a program that is gone was doing, nobody does any more.
        if goes_on && !self.runs { ("not running", None) } else { in_words(&state) }
    }

    fn value(&self, id: &AgentId, one: &Standing, task: Option<&Task>) -> Value {
        let evidence = &one.evidence;
        let about = one.about.as_ref();
        let (state, why) = self.state(evidence);
        json!({
            "agent": id, "name": id.name, "type": about.map(|about| &about.agent_type),
            "color": about.and_then(|about| about.color.clone()), "member": one.is_member,
            "state": state, "why": why,
            "task": task.map(|task| json!({ "id": task.id, "subject": task.subject })),
            "openAsks": evidence.open_asks.len(), "toolsRunning": evidence.tools_running,
            "lastToken": evidence.last_token, "lastTool": evidence.last_tool,
            "lastMailIn": evidence.last_mail_in, "lastMailOut": evidence.last_mail_out,
            "contextTokens": evidence.context, "contextWindow": evidence.window,
            "contextShare": share(evidence), "usd": evidence.usd,
        })
    }

    fn row(&self, id: &AgentId, one: &Standing, task: Option<&Task>) -> [String; 9] {
        let evidence = &one.evidence;
        let (state, why) = self.state(evidence);
        let why = why.map(|why| format!(" ({})", one_line(&why))).unwrap_or_default();
        let task = task
            .map_or("–".to_owned(), |task| format!("#{} {}", task.id, one_line(&task.subject)));
        let share =
            share(evidence).map_or("–".to_owned(), |share| format!("{:.0} %", share * 100.0));
        [
            id.name.to_string(),
            format!("{state}{why}"),
            task,
            self.ago(evidence.last_token),
            self.ago(evidence.last_tool),
            self.ago(evidence.last_mail_in),
            self.ago(evidence.last_mail_out),
            share,
            evidence.usd.map_or("–".to_owned(), dollars),
        ]
    }

    /// How long ago, in the largest unit that says enough.
    fn ago(&self, at: Option<Stamp>) -> String {
        let Some(at) = at else { return "–".to_owned() };
        let seconds = (self.now.millis().saturating_sub(at.millis()) / 1000).max(0);
        match seconds {
            0..120 => format!("{seconds} s"),
            120..7200 => format!("{} min", seconds / 60),
            _ => format!("{} h", seconds / 3600),
        }
    }
}

/// How full the model's window is.
fn share(evidence: &Evidence) -> Option<f64> {
    let window = evidence.window.filter(|window| *window > 0)?;
    Some(evidence.context as f64 / window as f64)
}

fn in_words(state: &State) -> (&'static str, Option<String>) {
    match state {
        State::Working => ("working", None),
        State::WaitingForYou => ("waiting for you", None),
        State::WaitingForPeer(peer) => ("waiting for a peer", Some(peer.clone())),
        State::Idle => ("idle", None),
        State::Retrying { why, until } => ("retrying", Some(format!("{why}, until {until}"))),
        State::Stalled { seconds } => ("stalled", Some(format!("silent for {seconds} s"))),
        State::Failed(why) => ("failed", Some(why.clone())),
        State::Paused => ("paused", None),
        State::Ended => ("ended", None),
    }
}
