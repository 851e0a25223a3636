//! How agents come to be: a lead from the session, every other one from its parent, by one
//! function that says field by field what is shared, what is copied and what is new.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};
use tokio::sync::watch;
use uuid::Uuid;

use super::context::{Agent, Birth, Brain, Limits, Thinker};
use super::definition::Definition;
use super::gear::{Gear, with_effort};
use super::memory::Memory;
use super::offer::Offers;
use super::office::Office;
use super::planning::{PLANNING, Planning};
use super::prompt::{self, GitState, Reader, Surroundings};
use super::queue::Queue;
use super::record::{Recorder, Whose};
use super::skills::skills_roster;
use crate::model::Stop;
use crate::model::request::{Caller, Conversation, Prefix, Purpose};
use crate::permission::path::is_below;
use crate::permission::{Seat, View};
use crate::protocol::ids::{AgentId, AgentName, TeamName};
use crate::protocol::json::Json;
use crate::protocol::op::Mode;
use crate::settings::paths;
use crate::store::transcript::{self, lead_path, subagent_path};
use crate::store::{Durability, StoreError, files};
use crate::tools::registry::{Limits as ToolLimits, Role, ToolSet};
use crate::tools::seen::ReadCache;
use crate::tools::{Crew, Cwd, ToolContext};
use crate::worktree::Worktree;

/// What differs from agent to agent.
pub struct Cradle {
    pub id: AgentId,
    /// The team it is a member of, and its badge.
    pub seat: Option<TeamSeat>,
    /// The name of its transcript; `None` for a lead.
    pub agent_id: Option<String>,
    /// By which name playbooks and others know it.
    pub called: String,
    pub birth: Birth,
    pub chain: Vec<AgentId>,
    pub cwd: PathBuf,
    pub seen: ReadCache,
    pub view: View,
    pub tools: ToolSet,
    pub brain: Brain,
    pub prefix: Arc<Prefix>,
    pub purpose: Purpose,
    pub limits: Limits,
    pub echo: Option<File>,
    pub durability: Durability,
}

/// The place of a teammate in its team.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TeamSeat {
    pub team: TeamName,
    pub color: Option<String>,
}

/// Puts an agent together.
pub fn bear(office: &Office, crew: Arc<dyn Crew>, cradle: Cradle) -> Result<Agent, StoreError> {
    let (home, session) = (office.home(), &office.session);
    let path = match &cradle.agent_id {
        None => lead_path(home, &office.project, session),
        Some(id) => subagent_path(home, &office.project, session, id),
    };
    let whose = Whose {
        session: session.clone(),
        cwd: cradle.cwd.clone(),
        git_branch: office.git_branch.clone(),
        agent_id: cradle.agent_id.clone(),
        team: cradle.seat.as_ref().map(|seat| seat.team.to_string()),
        agent_name: cradle.seat.as_ref().map(|_| cradle.id.name.to_string()),
    };
    let recorder = Recorder::open(&path, whose, cradle.durability)?;
    let (views, view) = watch::channel(Arc::new(cradle.view));
    let cx = ToolContext {
        me: cradle.id,
        chain: cradle.chain,
        color: cradle
            .seat
            .as_ref()
            .and_then(|seat| seat.color.clone())
            .or_else(|| cradle.birth.gear.color.clone()),
        session: session.clone(),
        cwd: Cwd::new(cradle.cwd),
        seen: cradle.seen,
        shell: Arc::clone(&office.shell),
        view,
        store: office.store.clone(),
        journal: Arc::clone(&office.journal),
        desk: Arc::clone(&office.desk),
        crew,
    };
    Ok(Agent {
        cx: Arc::new(cx),
        tools: cradle.tools,
        offers: Offers::new(cradle.brain.chosen.name()),
        brains: Mutex::new(Thinker::new(cradle.brain)),
        prefix: cradle.prefix,
        caller: Caller {
            agent: cradle.called,
            agent_type: Some(cradle.birth.kind.clone()),
            team: cradle.seat.map(|seat| seat.team.to_string()),
            cwd: String::new(),
            purpose: cradle.purpose,
        },
        recorder,
        queue: Arc::new(Queue::default()),
        said: Mutex::new(Conversation::default()),
        branch_point: Mutex::default(),
        books: Arc::clone(&office.books),
        limits: cradle.limits,
        birth: cradle.birth,
        views,
        planning: Mutex::default(),
        calls: AtomicU64::new(0),
        echo: cradle.echo.map(Mutex::new),
        life: Stop::new(),
    })
}

/// What a parent gives a subagent, and what the definition changes about it.
pub struct Upbringing<'a> {
    pub id: String,
    pub definition: &'a Definition,
    pub description: String,
    pub name: Option<String>,
    pub brain: Brain,
    pub site: Site<'a>,
    pub max_turns: Option<u32>,
}

/// Where an agent works.
#[derive(Debug, Clone)]
pub enum Site<'a> {
    /// Where its parent does.
    Parents,
    Dir(PathBuf),
    /// In a worktree, which takes the place of its parent's tree.
    Tree(&'a Worktree),
}

impl Site<'_> {
    fn cwd(&self, parent: &Agent) -> PathBuf {
        let here = parent.cx.cwd.get();
        match self {
            Self::Parents => here,
            Self::Dir(dir) => dir.clone(),
            Self::Tree(tree) => tree.inside(&here),
        }
    }
}

/// The cradle of a subagent with a definition of its own.
pub fn subagent(office: &Office, parent: &Agent, up: Upbringing<'_>) -> Cradle {
    let id = up.id;
    let own = agent_id(office, &id);
    let definition = up.definition;
    let cwd = up.site.cwd(parent);
    let mut view = View::clone(&parent.views.borrow());
    view.take_back();
    view.mode = child_mode(parent.mode(), definition.permission_mode);
    view.seat = Seat::Teammate;
    // A plan is its writer's own.
    view.plan_file = None;
    move_to(&mut view, &cwd, &up.site);
    // What a definition takes away only in part.
    let in_part = definition.disallowed_tools.iter().filter(|text| text.contains('('));
    in_part.for_each(|text| view.forbid(text));
    let limits = ToolLimits {
        tools: definition.tools.clone(),
        disallowed: definition.disallowed_tools.clone(),
        planning: true,
        ..ToolLimits::of(Role::Subagent)
    };
    let narrowed = office.tools.narrowed(&limits);
    for warning in &narrowed.warnings {
        tracing::warn!(agent = %definition.name, %warning, "a definition");
    }
    let tools = narrowed.tools;
    let gear = Gear::of(definition, &office.project, &tools, &mut view);
    let reader = Reader::Subagent(&definition.prompt);
    let brain = with_effort(up.brain, definition.effort);
    let prefix = prefix(office, reader, &tools, &view, &brain, &gear);
    Cradle {
        chain: std::iter::once(own.clone()).chain(parent.cx.chain.iter().cloned()).collect(),
        id: own,
        seat: None,
        called: up.name.unwrap_or_else(|| id.clone()),
        agent_id: Some(id),
        birth: Birth {
            kind: definition.name.clone(),
            description: up.description,
            chain_id: parent.birth.chain_id.clone(),
            depth: parent.birth.depth + 1,
            is_fork: false,
            may_spawn: definition.spawnable.clone(),
            gear,
        },
        cwd,
        seen: parent.cx.seen.copied(),
        view,
        tools,
        brain,
        prefix,
        purpose: Purpose::Turn,
        limits: Limits { rounds: up.max_turns.or(definition.max_turns), ..parent.limits },
        echo: None,
        durability: office.store.durability(),
    }
}

/// The cradle of a fork: the parent's own prompt, tools and model, to the byte.
pub fn fork(
    office: &Office,
    parent: &Agent,
    id: String,
    description: String,
    site: &Site<'_>,
) -> Cradle {
    let own = agent_id(office, &id);
    let cwd = site.cwd(parent);
    let mut view = View::clone(&parent.views.borrow());
    view.take_back();
    // Who only plans has nobody else change things either.
    view.mode = if parent.mode() == Mode::Plan { Mode::Plan } else { Mode::Bubble };
    view.plan_file = None;
    move_to(&mut view, &cwd, site);
    let offer = parent.offer();
    Cradle {
        chain: std::iter::once(own.clone()).chain(parent.cx.chain.iter().cloned()).collect(),
        id: own,
        seat: None,
        called: "fork".to_owned(),
        agent_id: Some(id),
        birth: Birth {
            kind: "fork".to_owned(),
            description,
            chain_id: parent.birth.chain_id.clone(),
            depth: parent.birth.depth + 1,
            is_fork: true,
            may_spawn: None,
            // Who is watched over is so in all its copies.
            gear: Gear { hooks: parent.birth.gear.hooks.clone(), ..Gear::default() },
        },
        cwd,
        seen: parent.cx.seen.copied(),
        view,
        tools: offer.tools,
        brain: parent.brain(),
        prefix: offer.prefix,
        purpose: Purpose::Fork,
        limits: Limits { rounds: None, ..parent.limits },
        echo: None,
        durability: office.store.durability(),
    }
}

/// System prompt and tools of an agent.
pub fn prefix(
    office: &Office,
    reader: Reader<'_>,
    tools: &ToolSet,
    view: &View,
    brain: &Brain,
    gear: &Gear,
) -> Arc<Prefix> {
    let cwd = &view.cwd;
    let git = GitState::of(cwd);
    let sources = super::memory::Sources {
        user: [paths::claude_dir(), paths::config_dir()].into_iter().flatten().collect(),
        home: paths::user_dir(),
        cwd: cwd.to_owned(),
        root: git.as_ref().map(|git| git.root.clone()),
    };
    let memory = Memory::load(&sources);
    for warning in &memory.warnings {
        office.warn_once(format!("Memory files: {warning}"));
    }
    let around = Surroundings {
        cwd: cwd.to_owned(),
        directories: view.working.iter().filter(|dir| *dir != cwd).cloned().collect(),
        date: files::now().to_string().chars().take(10).collect(),
        model: brain.chosen.name(),
        git,
    };
    let mut rosters = vec![agents_roster(office, tools), skills_roster(&office.project, tools)];
    rosters.extend(gear.words.iter().cloned());
    let system = prompt::system(reader, &rosters, &memory, &around);
    Arc::new(Prefix::new(system, tools.specs()))
}

/// The kinds of agents that can be started, for whoever has the tool for it.
fn agents_roster(office: &Office, tools: &ToolSet) -> String {
    if tools.get("Agent").is_none() {
        return String::new();
    }
    let definitions = office.definitions.read().unwrap_or_else(PoisonError::into_inner);
    let lines = office.available(&definitions).into_iter().map(|one| {
        let tools = one.tools.as_ref().map_or("all tools".to_owned(), |tools| tools.join(", "));
        format!("- `{}`: {} ({tools})", one.name, one.description)
    });
    format!("# Kinds of agents for the Agent tool\n\n{}", lines.collect::<Vec<_>>().join("\n"))
}

/// A subagent is as free as its definition says, but never freer than its parent was made.
pub fn child_mode(parent: Mode, wanted: Option<Mode>) -> Mode {
    match (parent, wanted) {
        // What was decided for the parent holds for all it starts.
        (Mode::Plan | Mode::BypassPermissions | Mode::DontAsk, _) => parent,
        (_, Some(Mode::BypassPermissions | Mode::Delegate | Mode::Bubble)) => parent,
        (_, Some(mode)) => mode,
        (_, None) => Mode::AcceptEdits,
    }
}

/// A view for work in another directory. It is as free there as its parent is: who asked to start
/// in a directory did not get leave to change it. A worktree takes the place of the tree that it
/// was made from, where the agent is now a stranger like any other.
fn move_to(view: &mut View, cwd: &Path, site: &Site<'_>) {
    if let Site::Tree(tree) = site {
        let is_theirs = |dir: &PathBuf| {
            is_below(&tree.path, dir) || is_below(dir, &tree.repo) || is_below(dir, &tree.origin)
        };
        view.working.retain(|dir| !is_theirs(dir));
        view.add_directory(&tree.path);
        // The first is its own.
        view.working.rotate_right(1);
    }
    view.cwd = cwd.to_owned();
}

pub fn agent_id(office: &Office, id: &str) -> AgentId {
    AgentId::new(&AgentName::found(id), &office.session_team())
}

pub fn new_id() -> String {
    let id = Uuid::new_v4().simple().to_string();
    format!("a{}", &id[..16])
}

/// What an agent does not know of itself.
pub struct Meta<'a> {
    pub name: Option<&'a str>,
    pub parent: &'a AgentId,
    pub worktree: Option<&'a Worktree>,
}

/// What is kept beside a subagent's transcript, so that it can go on one day.
pub fn meta(agent: &Agent, more: &Meta<'_>) -> Value {
    let mut meta = json!({
        "agentType": agent.birth.kind,
        "description": agent.birth.description,
    });
    if let Some(members) = meta.as_object_mut() {
        if let Some(name) = more.name {
            members.insert("name".to_owned(), json!(name));
        }
        members.insert("spawnDepth".to_owned(), json!(agent.birth.depth));
        members.insert("taskKind".to_owned(), json!("local_agent"));
        members.insert("model".to_owned(), json!(agent.brain().chosen.name()));
        members.insert("permissionMode".to_owned(), json!(agent.mode()));
        let planning = agent.planning().clone();
        if planning != Planning::default() {
            members.insert(PLANNING.to_owned(), json!(planning));
        }
        members.insert("cwd".to_owned(), json!(agent.cx.cwd.get().to_string_lossy()));
        members.insert("parent".to_owned(), json!(more.parent.name.to_string()));
        members.insert("chainId".to_owned(), json!(agent.birth.chain_id));
        let slug = more.worktree.and_then(|tree| tree.path.file_name());
        if let Some(slug) = slug {
            members.insert("worktree".to_owned(), json!(slug.to_string_lossy()));
        }
    }
    meta
}

pub fn write_meta(office: &Office, agent: &Agent, more: &Meta<'_>) -> Result<(), StoreError> {
    let meta = Json::of(&meta(agent, more));
    transcript::write_meta(&office.store, &agent.recorder.path(), &meta)
}
