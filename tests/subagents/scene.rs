//! A session in this process, for moments that must be forced.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use quarterdeck::agent::brains::Brains;
use quarterdeck::agent::context::Limits;
use quarterdeck::agent::definition::{Catalog as Kinds, Sources};
use quarterdeck::agent::office::Policy;
use quarterdeck::model::rehearsal::Rehearsal;
use quarterdeck::model::rehearsal::playbook::{Pace, Playbook};
use quarterdeck::model::rehearsal::player::Unmatched;
use quarterdeck::permission::View;
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::op::{Mode, Op, When};
use quarterdeck::session::live::{Definitions, Live, Start};
use quarterdeck::settings::models::{Catalog, REHEARSAL};
use quarterdeck::settings::paths::Home;
use quarterdeck::store::{Durability, Store};
use tempfile::TempDir;

/// Far more than anything here takes.
const LIMIT: Duration = Duration::from_secs(60);

pub struct Scene {
    pub live: Live,
    /// Removed at the end.
    _dir: TempDir,
}

impl Scene {
    pub async fn start(playbook: &str) -> Self {
        Self::with(playbook, Policy::default()).await
    }

    pub async fn with(playbook: &str, policy: Policy) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir_all(&project).unwrap();
        let project = project.canonicalize().unwrap();
        Self::at(dir, project, playbook, policy).await
    }

    /// In a project that is there already, below `dir`.
    pub async fn at(dir: TempDir, project: PathBuf, playbook: &str, policy: Policy) -> Self {
        let playbook = Playbook::parse(playbook).unwrap_or_else(|wrong| panic!("{wrong:?}"));
        let model = Rehearsal::new(Arc::new(playbook), Unmatched::Fail).at_pace(Pace::AtOnce);
        let catalog = Catalog::load(None).unwrap();
        let chosen = catalog.resolve(REHEARSAL).unwrap();
        let brains = Brains::only(catalog, Arc::new(model), chosen.clone());
        let brain = brains.open(chosen).unwrap();
        let sources = Sources {
            policy: vec![],
            command_line: None,
            project: vec![],
            user: vec![],
            plugins: vec![],
        };
        let start = Start {
            team: quarterdeck::team::policy::Policy::default(),
            store: Store::open(Home::at(dir.path().join("home")), Durability::ProcessCrash),
            session: None,
            view: View::new(Mode::BypassPermissions, &project, None),
            project,
            mode_is_given: true,
            model_is_given: false,
            brains,
            brain,
            definitions: Definitions::Fixed(Kinds::load(&sources)),
            lead: None,
            tools: None,
            disallowed: vec![],
            policy,
            limits: Limits::default(),
            limit_usd: None,
            budgets: quarterdeck::settings::budgets::Budgets::default(),
        };
        Self { live: Live::start(start).await.unwrap(), _dir: dir }
    }

    pub fn lead(&self) -> AgentId {
        self.live.lead().cx.me.clone()
    }

    pub fn project(&self) -> PathBuf {
        self.live.office.project.clone()
    }

    pub fn touch(&self, name: &str) {
        std::fs::write(self.project().join(name), "").unwrap();
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project().join(name)).unwrap_or_default()
    }

    /// Waits for a file that an agent makes.
    pub async fn appears(&self, name: &str) {
        let (path, deadline) = (self.project().join(name), Instant::now() + LIMIT);
        while !path.exists() {
            assert!(Instant::now() < deadline, "{name} never appears");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The notifications that reached the lead.
    pub async fn notes(&self) -> Vec<String> {
        let mut notes = self.heard().await;
        notes.retain(|text| text.contains("<task-notification>"));
        notes
    }

    pub async fn say(&self, text: &str) {
        let op = Op::Say { to: self.lead(), text: text.to_owned(), when: When::Next };
        self.live.submit(op).await.unwrap();
    }

    /// Until nobody has anything to do.
    pub async fn idle(&self) {
        let (mut doing, mut background) = (self.live.doing(), self.live.background());
        let deadline = Instant::now() + LIMIT;
        while !self.live.is_idle() {
            assert!(Instant::now() < deadline, "it never comes to rest");
            // The pause only bounds how long a change that neither tells of stays unseen.
            tokio::select! {
                _ = doing.changed() => {}
                _ = background.changed() => {}
                () = tokio::time::sleep(Duration::from_millis(20)) => {}
            }
        }
    }

    /// The first event after `after` that is what is looked for.
    pub async fn event<T>(&self, after: u64, find: impl Fn(&Event) -> Option<T>) -> (u64, T) {
        let mut events = self.live.events(after);
        let found = async {
            while let Some(event) = events.next().await {
                if let Some(found) = find(&event) {
                    return (event.seq, found);
                }
            }
            panic!("the events ended");
        };
        tokio::time::timeout(LIMIT, found).await.expect("it never happens")
    }

    /// The next agent that starts: its id and the call that started it.
    pub async fn started(&self, after: u64) -> (u64, (AgentId, String)) {
        let lead = self.lead();
        self.event(after, move |event| match (&event.agent, &event.fact) {
            (Some(agent), Fact::AgentStarted { about }) if *agent != lead => {
                Some((agent.clone(), about.use_id.clone().unwrap_or_default()))
            }
            _ => None,
        })
        .await
    }

    /// Everything that happened so far.
    pub async fn history(&self) -> Vec<Arc<Event>> {
        let latest = self.live.office.journal.latest();
        let mut events = self.live.events(0);
        let mut all = Vec::new();
        while let Some(event) = events.next().await {
            let seq = event.seq;
            all.push(event);
            if seq >= latest {
                break;
            }
        }
        all
    }

    /// What was said to the lead, piece by piece: results of its calls and words.
    pub async fn heard(&self) -> Vec<String> {
        let lead = self.lead();
        let mut heard = Vec::new();
        for event in self.history().await {
            if let (Some(agent), Fact::Heard { message, .. }) = (&event.agent, &event.fact)
                && *agent == lead
            {
                let content = serde_json::to_value(message).unwrap()["content"].clone();
                match content.as_array() {
                    Some(blocks) => heard.extend(blocks.iter().map(ToString::to_string)),
                    None => heard.push(content.to_string()),
                }
            }
        }
        heard
    }
}
