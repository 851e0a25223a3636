//! An agent's tools without the agent: a scratch project, a home, a journal, a desk.
#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use quarterdeck::model::Stop;
use quarterdeck::permission::View;
use quarterdeck::permission::desk::AskDesk;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::{AgentId, AgentName, MessageId, SessionId, TeamDir};
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::op::Mode;
use quarterdeck::protocol::task::Task;
use quarterdeck::settings::paths::Home;
use quarterdeck::store::journal::{Journal, read_after};
use quarterdeck::store::{Durability, Store};
use quarterdeck::tools::call::call;
use quarterdeck::tools::context::{Letter, Wish};
use quarterdeck::tools::registry::ToolSet;
use quarterdeck::tools::seen::ReadCache;
use quarterdeck::tools::shell::{Options, Shell};
use quarterdeck::tools::{Call, Crew, Cwd, Note, Output, Place, Tool, ToolContext, Use};
use serde_json::Value;
use tokio::sync::watch;

pub struct Rig {
    pub dir: tempfile::TempDir,
    /// The working directory, links followed.
    pub project: PathBuf,
    pub home: Home,
    pub cx: ToolContext,
    pub tools: ToolSet,
    pub views: watch::Sender<Arc<View>>,
    pub crew: Arc<TestCrew>,
    pub stop: Stop,
    uses: Mutex<u32>,
}

/// What reached the port.
#[derive(Default)]
pub struct TestCrew {
    pub team: Mutex<Option<TeamDir>>,
    pub notes: Mutex<Vec<(AgentId, Note)>>,
    pub noted: tokio::sync::Notify,
    /// What the small model answers; without it there is none.
    pub answer: Mutex<Option<Result<String, String>>>,
    pub questions: Mutex<Vec<String>>,
}

impl Crew for TestCrew {
    fn place(&self) -> Place {
        let team = self.team.lock().unwrap().clone();
        let tasks = team.clone().unwrap_or_else(|| TeamDir::found("the-session").unwrap());
        Place { team, tasks }
    }

    fn notify(&self, to: &AgentId, note: Note) {
        self.notes.lock().unwrap().push((to.clone(), note));
        self.noted.notify_one();
    }

    fn consult<'a>(
        &'a self,
        _by: &'a AgentId,
        question: String,
        _stop: &'a Stop,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        self.questions.lock().unwrap().push(question);
        let answer = self.answer.lock().unwrap().clone();
        Box::pin(async move { answer })
    }

    fn kind_of(&self, _by: &AgentId, wanted: Option<&str>) -> String {
        wanted.unwrap_or("general-purpose").to_owned()
    }

    fn spawn<'a>(&'a self, _: &'a AgentId, _: &'a Call, _: Wish) -> BoxFuture<'a, Output> {
        Box::pin(async { Output::failed("nobody can be started here") })
    }

    fn delivered(&self, _: &AgentId, _: Vec<MessageId>) {}

    fn task_changed(&self, _: &AgentId, _: Option<&Task>) {}

    fn mail_sent(&self, _: &AgentName, _: &Message) {}

    fn send<'a>(&'a self, _: &'a AgentId, _: &'a Call, _: Letter) -> BoxFuture<'a, Output> {
        Box::pin(async { Output::failed("nobody is here") })
    }
}

impl Rig {
    pub fn new(mode: Mode, tools: Vec<Arc<dyn Tool>>) -> Self {
        Self::with(mode, tools, |_| {})
    }

    /// With rules or directories added to the view.
    pub fn with(mode: Mode, tools: Vec<Arc<dyn Tool>>, change: impl FnOnce(&mut View)) -> Self {
        Self::shelled(mode, tools, change, |_| {})
    }

    /// With another shell than one that knows nothing of this machine.
    pub fn shelled(
        mode: Mode,
        tools: Vec<Arc<dyn Tool>>,
        change: impl FnOnce(&mut View),
        shell: impl FnOnce(&mut Options),
    ) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir(&project).unwrap();
        let home = Home::at(root.join("home"));
        let mut options = bare_shell(&root);
        shell(&mut options);
        let mut view = View::new(mode, &project, Some(&root.join("user")));
        view.protect_home(&home);
        change(&mut view);
        let (views, view) = watch::channel(Arc::new(view));
        let store = Store::open(home.clone(), Durability::ProcessCrash);
        let session = SessionId::found("11111111-2222-3333-4444-555555555555");
        let journal = Arc::new(Journal::open(&home, &session, Durability::ProcessCrash).unwrap());
        let desk = AskDesk::open(&store, &session, Arc::clone(&journal)).unwrap();
        let crew = Arc::new(TestCrew::default());
        let me = AgentId::parse("team-lead@session-11111111").unwrap();
        let shell = Shell::new(&home, &session, options);
        let cx = ToolContext {
            chain: vec![me.clone()],
            me,
            color: None,
            session,
            cwd: Cwd::new(&project),
            seen: ReadCache::default(),
            shell: Arc::new(shell),
            view,
            store,
            journal,
            desk,
            crew: Arc::clone(&crew) as Arc<dyn Crew>,
        };
        let tools = ToolSet::new(tools);
        let stop = Stop::new();
        Self { dir, project, home, cx, tools, views, crew, stop, uses: Mutex::new(0) }
    }

    pub async fn call(&self, tool: &str, input: Value) -> Output {
        let id = {
            let mut uses = self.uses.lock().unwrap();
            *uses += 1;
            format!("toolu_{uses}")
        };
        call(&self.cx, &self.tools, Use { id, tool: tool.to_owned(), input }, &self.stop).await
    }

    pub fn path(&self, name: &str) -> String {
        self.project.join(name).display().to_string()
    }

    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, content).unwrap();
        path
    }

    pub fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.join(name)).unwrap()
    }

    /// Everything that was journaled so far.
    pub fn facts(&self) -> Vec<Fact> {
        facts(self.cx.journal.path())
    }
}

/// The shell of a user without start-up files.
pub fn bare_shell(root: &Path) -> Options {
    let (user, tmp) = (root.join("user"), root.join("tmp"));
    for dir in [&user, &tmp] {
        std::fs::create_dir_all(dir).unwrap();
    }
    let path = std::env::var_os("PATH").unwrap();
    let all = [("PATH", path), ("HOME", user.into()), ("SHELL", "/bin/bash".into())];
    let environment = all.into_iter().map(|(name, value)| (name.into(), value)).collect();
    Options { environment, tmp, ..Options::default() }
}

pub fn facts(journal: &Path) -> Vec<Fact> {
    let batch = read_after(journal, 0).unwrap();
    batch.events.into_iter().map(|event| event.fact.clone()).collect()
}
