//! A run of a playbook of `tests/playbooks/team`, and what its files say.

use std::fs;
use std::path::{Path, PathBuf};

use quarterdeck::protocol::ids::{AgentName, SessionId, TeamDir};
use quarterdeck::protocol::liveness::Evidence;
use quarterdeck::protocol::message::{Body, Message};
use quarterdeck::protocol::standing::Standings;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::asks::Asks;
use quarterdeck::store::journal::read_after;
use quarterdeck::store::mailbox::stamp;
use quarterdeck::store::{Durability, Store};
use serde_json::Value;

use crate::support::rig::{Going, Ran, Rig, until};

pub struct Stage {
    pub rig: Rig,
}

impl Stage {
    pub fn new(playbook: &str) -> Self {
        let rig = Rig::with_actors("");
        let books = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/playbooks/team");
        fs::copy(books.join(playbook), rig.book()).unwrap();
        Self { rig }
    }

    /// With these settings of the project.
    pub fn with_settings(playbook: &str, settings: &str) -> Self {
        let stage = Self::new(playbook);
        let dir = stage.rig.project.join(".quarterdeck");
        fs::create_dir(&dir).unwrap();
        fs::write(dir.join("settings.json"), settings).unwrap();
        stage
    }

    pub fn has(&self, file: &str) -> bool {
        self.rig.project.join(file).exists()
    }

    /// How many files of the project begin so.
    pub fn count(&self, start: &str) -> usize {
        let entries = fs::read_dir(&self.rig.project).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.starts_with(start)).count()
    }

    /// A run that speaks as stream, with questions left open.
    pub fn waiting(&self, args: &[&str]) -> Going {
        self.rig.start(&[&["--output-format", "stream-json", "--on-ask", "wait"], args].concat())
    }

    /// A run that goes on until its input is closed.
    pub fn held(&self, words: &str, args: &[&str]) -> Going {
        let mut going = self.waiting(&[&["--input-format", "stream-json"], args].concat());
        let said =
            serde_json::json!({"type": "user", "message": {"role": "user", "content": words}});
        going.write(&format!("{said}\n"));
        going
    }

    pub fn store(&self) -> Store {
        Store::open(Home::at(self.rig.home()), Durability::ProcessCrash)
    }

    /// The one team there is.
    pub fn team(&self) -> TeamDir {
        until("a team", || {
            let entry = fs::read_dir(self.rig.home().join("teams")).ok()?.next()?.ok()?;
            TeamDir::found(&entry.file_name().into_string().ok()?)
        })
    }

    pub fn inbox(&self, agent: &str) -> Vec<Message> {
        let store = self.store();
        store.mail(&self.team()).read(&AgentName::found(agent)).unwrap().messages
    }

    /// The bodies of this type in an inbox, with whether each was read.
    pub fn bodies(&self, agent: &str, kind: &str) -> Vec<(Value, bool)> {
        let mail = self.inbox(agent);
        let bodies = mail.iter().filter_map(|message| {
            let body: Value = serde_json::from_str(&message.text).ok()?;
            (body["type"] == kind).then_some((body, message.read))
        });
        bodies.collect()
    }

    /// Mail of a process that is none of ours.
    pub fn post(&self, from: &str, to: &str, body: &str) {
        let message = Message::with_body(&AgentName::found(from), &Body::parse(body), stamp());
        let store = self.store();
        store.mail(&self.team()).send_typed(&AgentName::found(to), message).unwrap();
    }

    /// The open ask that fits, once it is there.
    pub fn ask(&self, fits: impl Fn(&Value) -> bool) -> Value {
        until("the ask", || self.open().into_iter().find(|ask| fits(ask)))
    }

    /// What is open, read from the files: a process for each look would be a load.
    pub fn open(&self) -> Vec<Value> {
        let Some(session) = self.session() else { return Vec::new() };
        let open = Asks::new(&self.store(), &session).open().unwrap();
        open.asks.iter().map(|ask| serde_json::to_value(ask).unwrap()).collect()
    }

    /// The one session there is, once it is.
    fn session(&self) -> Option<SessionId> {
        let entry = fs::read_dir(self.rig.home().join("quarterdeck/sessions")).ok()?.next()?;
        Some(SessionId::found(&entry.ok()?.file_name().into_string().ok()?))
    }

    /// Waits until the journal shows this of an agent.
    pub fn until(&self, what: &str, name: &str, fits: impl Fn(&Evidence) -> bool) {
        until(what, || {
            let batch = read_after(&self.store().home().journal(&self.session()?), 0).unwrap();
            let standings = Standings::of(&batch.events);
            let (_, one) = standings.agents().find(|(id, _)| id.name == *name)?;
            fits(&one.evidence).then_some(())
        });
    }

    pub fn asks(&self, args: &[&str]) -> Ran {
        self.rig.quarterdeck(&[&["asks"], args].concat())
    }

    pub fn approve(&self, ask: &Value, more: &[&str]) {
        let id = ask["id"].as_str().unwrap();
        self.asks(&[&["approve", "latest", id], more].concat()).code(0);
    }

    pub fn deny(&self, ask: &Value, why: &str) {
        let id = ask["id"].as_str().unwrap();
        self.asks(&["deny", "latest", id, "--why", why]).code(0);
    }

    /// The plan files there are.
    pub fn plans(&self) -> Vec<PathBuf> {
        let entries = fs::read_dir(self.rig.home().join("plans")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    }

    /// What `team status` says.
    pub fn status(&self) -> Value {
        let told = self.rig.quarterdeck(&["--json", "team", "status"]).code(0);
        serde_json::from_str(&told.stdout).unwrap()
    }

    pub fn status_of(&self, name: &str) -> Value {
        let status = self.status();
        let agents = status["agents"].as_array().unwrap().clone();
        let found = agents.into_iter().find(|agent| agent["name"] == name);
        found.unwrap_or_else(|| panic!("no {name} in {status}"))
    }
}

pub fn is_plan(ask: &Value) -> bool {
    ask["question"]["kind"] == "plan"
}

/// The lines of an agent that hold a text.
pub fn lines_with(ran: &Ran, agent: &str, text: &str) -> usize {
    let lines = ran.lines();
    lines.iter().filter(|line| line["agent"] == agent && line.to_string().contains(text)).count()
}

/// The texts of notices.
pub fn notices(ran: &Ran) -> Vec<String> {
    let lines = ran.lines();
    let notices = lines.iter().filter(|line| line["type"] == "notice");
    notices.map(|line| line["text"].as_str().unwrap_or_default().to_owned()).collect()
}
