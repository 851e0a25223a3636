//! A session's desk on a home of its own, opened as often as a test wants.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use quarterdeck::permission::desk::{AskDesk, Settled};
use quarterdeck::permission::question::{Asker, question};
use quarterdeck::permission::{Access, Decision, View, decide};
use quarterdeck::protocol::ask::{Ask, Grant, Grantee, Lasts, Permit, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::{AgentId, AskId, SessionId};
use quarterdeck::protocol::op::Mode;
use quarterdeck::protocol::time::Stamp;
use quarterdeck::settings::grants::GrantFiles;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::asks::Asks;
use quarterdeck::store::journal::{Journal, read_after};
use quarterdeck::store::{Durability, Store, StoreError};
use serde_json::json;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

const PATIENCE: Duration = Duration::from_secs(20);

pub struct Bench {
    /// Removed with the rest.
    _dir: tempfile::TempDir,
    pub root: PathBuf,
    pub project: PathBuf,
    pub views: watch::Sender<Arc<View>>,
}

pub fn session() -> SessionId {
    SessionId::found("5e551011-0000-4000-8000-000000000000")
}

pub fn agent(name: &str) -> AgentId {
    AgentId::parse(&format!("{name}@crew")).unwrap()
}

/// The store of one more process on the same files.
pub fn store(root: &Path) -> Store {
    Store::open(Home::at(root.join("home")), Durability::ProcessCrash)
}

pub fn desk_at(root: &Path) -> Result<Arc<AskDesk>, StoreError> {
    let store = store(root);
    let journal = Journal::open(store.home(), &session(), Durability::ProcessCrash)?;
    let project = root.join("project/.quarterdeck/settings.local.json");
    let files =
        GrantFiles { project: Some(project), user: Some(root.join("config/settings.json")) };
    AskDesk::open_for(&store, &session(), Arc::new(journal), files)
}

/// Waits for a state.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let since = Instant::now();
    while !is_so() {
        assert!(since.elapsed() < PATIENCE, "never came: {what}");
        std::thread::sleep(Duration::from_millis(1));
    }
}

impl Bench {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        Self::at(dir, root)
    }

    /// One more process on the files of another bench.
    pub fn beside(root: PathBuf) -> Self {
        Self::at(tempfile::tempdir().unwrap(), root)
    }

    fn at(dir: tempfile::TempDir, root: PathBuf) -> Self {
        let project = root.join("project");
        std::fs::create_dir_all(&project).unwrap();
        let view = View::new(Mode::Default, &project, Some(&root.join("user")));
        let views = watch::Sender::new(Arc::new(view));
        Self { _dir: dir, root, project, views }
    }

    /// The one process that runs the session. Waits until an earlier one has let go.
    pub fn open(&self) -> Arc<AskDesk> {
        let since = Instant::now();
        loop {
            match desk_at(&self.root) {
                Ok(desk) => return desk,
                Err(StoreError::SessionRunning { .. }) if since.elapsed() < PATIENCE => {
                    std::thread::sleep(Duration::from_millis(1));
                }
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The asks through a store of their own, past the desk.
    pub fn asks(&self) -> Asks {
        Asks::new(&store(&self.root), &session())
    }

    pub fn home(&self) -> Home {
        Home::at(self.root.join("home"))
    }

    pub fn facts(&self) -> Vec<Fact> {
        let batch = read_after(&self.home().journal(&session()), 0).unwrap();
        batch.events.into_iter().map(|event| event.fact).collect()
    }

    pub fn count(&self, is_it: impl Fn(&Fact) -> bool) -> usize {
        self.facts().iter().filter(|fact| is_it(fact)).count()
    }

    pub fn settled(&self, id: &AskId) -> usize {
        self.count(|fact| matches!(fact, Fact::Settled { ask, .. } if ask == id))
    }

    pub fn asked(&self, id: &AskId) -> usize {
        self.count(|fact| matches!(fact, Fact::Asked { ask } if ask.id == *id))
    }

    pub fn notices(&self) -> Vec<String> {
        let texts = self.facts().into_iter().filter_map(|fact| {
            if let Fact::Notice { text, .. } = fact { Some(text) } else { None }
        });
        texts.collect()
    }

    /// What `who` asks when it wants to run a command.
    pub fn ask(&self, who: &AgentId, use_id: &str, command: &str) -> Ask {
        let view = Arc::clone(&self.views.borrow());
        let (input, access) = (json!({ "command": command }), [Access::Run(command.to_owned())]);
        let decision = decide(&view, "Bash", &input, &access);
        let Decision::Ask { why, suggestions } = decision else { panic!("{decision:?}") };
        let chain = [who.clone(), agent("team-lead")];
        let asker = Asker {
            chain: &chain,
            color: Some("blue"),
            use_id,
            tool: "Bash",
            input: &input,
            access: &access,
            lines: &[],
            at: Stamp::from_millis(1_000),
        };
        question(&asker, &view, &why, &suggestions)
    }

    /// Puts a question as an agent does, with its rules looked at again when they change.
    pub fn put(&self, desk: &Arc<AskDesk>, ask: &Ask) -> JoinHandle<Settled> {
        self.put_until(desk, ask, CancellationToken::new())
    }

    pub fn put_until(
        &self,
        desk: &Arc<AskDesk>,
        ask: &Ask,
        stop: CancellationToken,
    ) -> JoinHandle<Settled> {
        let (desk, ask, views) = (Arc::clone(desk), ask.clone(), self.views.subscribe());
        tokio::spawn(async move {
            let me = ask.chain[0].clone();
            let quarterdeck::protocol::ask::Question::Tool { input, .. } = &ask.question else {
                panic!("{ask:?}")
            };
            let input = input.clone();
            let access = [Access::Run(input["command"].as_str().unwrap().to_owned())];
            let own = views.clone();
            let seen = Arc::clone(&desk);
            let covered = move || {
                let base = Arc::clone(&own.borrow());
                let view = seen.view(&base, &me, &base.cwd);
                match decide(&view, "Bash", &input, &access) {
                    Decision::Allow { why } => Some(why.to_string()),
                    Decision::Deny { .. } | Decision::Ask { .. } => None,
                }
            };
            desk.put(ask, &covered, views, &stop).await
        })
    }

    /// Waits until an ask is open on disk and known to all.
    pub fn is_open(&self, ask: &Ask) {
        until("the ask", || self.asked(&ask.id) > 0 && self.asks().get(&ask.id).unwrap().is_some());
    }
}

pub async fn in_time<T>(what: JoinHandle<T>) -> T {
    tokio::time::timeout(PATIENCE, what).await.expect("a verdict in time").expect("no panic")
}

pub fn allow() -> Verdict {
    Verdict::Allow { input: None, grant: None, remark: None }
}

pub fn deny(why: &str) -> Verdict {
    Verdict::Deny { why: Some(why.to_owned()) }
}

pub fn rule(text: &str) -> Permit {
    Permit::Rule(text.to_owned())
}

pub fn allow_with(permit: Permit, to: Grantee, lasts: Lasts) -> Verdict {
    let grant = Grant { permits: vec![permit], to, lasts };
    Verdict::Allow { input: None, grant: Some(grant), remark: None }
}
