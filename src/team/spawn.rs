//! Starting teammates: from a call of the lead, from the person, or again from a transcript.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use super::crew::{Founding, Team, until_abandoned};
use super::member::{self, Member};
use super::roll::Roll;
use super::{resume, words};
use crate::agent::born::{self, Cradle, Site, TeamSeat, Upbringing};
use crate::agent::context::{Agent, Talk};
use crate::agent::definition::{Definition, Isolation};
use crate::agent::planning::{give_plan, how_to_plan, plan_path};
use crate::agent::prompt::Reader;
use crate::agent::route::{Route, TEAMMATE, route};
use crate::agent::spawn::make_worktree;
use crate::permission::Seat;
use crate::protocol::content::ChatMessage;
use crate::protocol::event::{AgentAbout, Fact, Level};
use crate::protocol::ids::{AgentId, AgentName, MessageId, TaskId, TeamName};
use crate::protocol::json::Json;
use crate::protocol::message::Message;
use crate::protocol::op::{Mode, When};
use crate::protocol::team::Member as Entry;
use crate::store::mailbox::stamp;
use crate::store::roster::{Backend, NewMember};
use crate::store::transcript;
use crate::tools::context::Wish;
use crate::tools::registry::{Limits as ToolLimits, Role};
use crate::tools::seen::ReadCache;
use crate::tools::{Call, Crew, Output};
use crate::worktree::Worktree;

/// The member of its meta file that says how many answers a turn of it may take.
pub const MAX_TURNS: &str = "maxTurns";

/// What a teammate is when nobody says.
pub const GENERAL: &str = "general-purpose";

/// How long whoever ends may stand in the way of its own return.
const ENDING: Duration = Duration::from_secs(15);

const ABOUT_TEAM: &str = include_str!("../../assets/prompts/teammate.md");

/// What the Agent tool does where there may be a team.
pub async fn spawn(team: &Team, by: &AgentId, call: &Call, mut wish: Wish) -> Output {
    if team.member_of(by).is_some() {
        if wish.name.is_some() || wish.team.is_some() {
            return Output::failed(
                "A teammate cannot start teammates: ask your lead for one, or start a subagent \
                 without a name.",
            );
        }
        if wish.background {
            return Output::failed(
                "A teammate cannot start background agents: start one that you wait for.",
            );
        }
        wish.kind.get_or_insert_with(|| GENERAL.to_owned());
        return team.solo.spawn(by, call, wish).await;
    }
    let is_lead = *by == team.office().lead();
    let in_team = wish.team.is_some() || team.roll().is_some() || !wish.background;
    if !is_lead || wish.name.is_none() || !in_team || wish.resume.is_some() {
        return team.solo.spawn(by, call, wish).await;
    }
    if let Some(output) = wake_failed(team, &wish) {
        return output;
    }
    match teammate(team, &call.id, &wish).await {
        Ok(entry) => spawned(&entry, &wish),
        Err(why) => Output::failed(why),
    }
}

/// A teammate of this name that failed goes on from where it was.
fn wake_failed(team: &Team, wish: &Wish) -> Option<Output> {
    let name = AgentName::found(wish.name.as_deref()?);
    let member = team.roll()?.member(&name).filter(|member| member.has_failed())?;
    let text = words::letter("team-lead", None, None, &wish.prompt);
    if !team.solo.queue(&member.agent.cx.me, When::Next, "team-lead", text) {
        return None;
    }
    let id = &member.agent.cx.me;
    Some(Output::text(format!(
        "{name} had failed and continues from its transcript.\nagent_id: {id}"
    )))
}

fn spawned(entry: &Entry, wish: &Wish) -> Output {
    let (id, name) = (&entry.agent_id, &entry.name);
    let team = AgentId::parse(id).map(|id| id.team.to_string()).unwrap_or_default();
    let text = format!(
        "Spawned successfully.\nagent_id: {id}\nname: {name}\nteam_name: {team}\nThe agent is now \
         running and will receive instructions via mailbox."
    );
    let data = json!({
        "status": "teammate_spawned", "prompt": wish.prompt, "teammate_id": id, "agent_id": id,
        "agent_type": entry.agent_type, "model": entry.model, "name": name, "color": entry.color,
        "team_name": team, "is_splitpane": false,
        "plan_mode_required": entry.plan_mode_required,
    });
    Output::text(text).with_summary(format!("{name} joined {team}")).with_data(data)
}

/// Starts a teammate, with a team made for it where there is none.
pub async fn teammate(team: &Team, use_id: &str, wish: &Wish) -> Result<Entry, String> {
    let _in_turn = team.joining.lock().await;
    let lead = team.lead().ok_or("The session has ended.")?;
    let name = wish.name.as_deref().unwrap_or_default();
    let name = AgentName::new(name).map_err(|error| error.to_string())?;
    if name.is_lead() {
        return Err("`team-lead` is the lead's own name.".to_owned());
    }
    let kind = wish.kind.as_deref().unwrap_or(GENERAL);
    let Route::Named(definition) = route(team.office(), &lead, Some(kind))? else {
        return Err("A teammate is never a fork.".to_owned());
    };
    let brain = match wish.model.clone().or_else(|| definition.model_name()) {
        Some(model) => team.office().brains.named(&model).map_err(|error| error.to_string())?,
        None => lead.brain(),
    };
    let roll = the_team(team, wish.team.as_deref()).await?;
    let id = born::new_id();
    let here = lead.cx.cwd.get();
    let isolated = wish.worktree || definition.isolation == Some(Isolation::Worktree);
    let tree = match isolated {
        true => Some(make_worktree(team.office(), &here, &format!("{name}-{}", &id[1..9])).await?),
        false => None,
    };
    let mode = teammate_mode(lead.mode(), wish.mode.or(definition.permission_mode));
    let new = NewMember {
        name,
        agent_type: definition.name.clone(),
        model: brain.chosen.name(),
        prompt: wish.prompt.clone(),
        plan_mode_required: mode == Mode::Plan,
        cwd: tree.as_ref().map_or(here, |tree| tree.path.clone()).to_string_lossy().into_owned(),
        backend: Backend::InProcess,
    };
    let (store, dir) = (team.store(), roll.dir.clone());
    let joined = tokio::task::spawn_blocking(move || store.rosters().join(&dir, &new)).await;
    let entry = joined.map_err(|e| e.to_string())?.map_err(|error| error.to_string())?;
    let seat = Chair { id, entry: &entry, definition: &definition, mode, tree: tree.as_ref() };
    let born = seat.bear(team, &roll, &lead, brain, wish.max_turns).await;
    let agent = match born {
        Ok(agent) => agent,
        Err(why) => {
            let (store, dir, gone) = (team.store(), roll.dir.clone(), entry.name.clone());
            let left = tokio::task::spawn_blocking(move || store.rosters().leave(&dir, &gone));
            if let Ok(Err(error)) = left.await {
                tracing::warn!(%error, "a teammate that never began is on the roster");
            }
            return Err(why);
        }
    };
    let first = definition.initial_prompt.iter().cloned();
    let prompt = first.chain([wish.prompt.clone()]).collect::<Vec<_>>().join("\n\n");
    let first = first_words(team, &roll, &entry, prompt).await;
    let start = Starting {
        use_id: Some(use_id),
        description: &wish.description,
        talk: Talk::default(),
        first: Some(first),
        known: Vec::new(),
        task: None,
    };
    begin(team, &roll, &entry, agent, tree, start);
    Ok(entry)
}

/// What the person asks for: a teammate, or one that is there and idle, or that has left, again.
pub async fn by_user(team: &Team, wish: &Wish) -> Result<(), String> {
    let name = AgentName::new(wish.name.as_deref().unwrap_or_default());
    let name = name.map_err(|error| error.to_string())?;
    if let Some(roll) = team.roll() {
        let words = match wish.prompt.trim() {
            "" => "Continue where you left off.",
            words => words,
        };
        let mut moves = roll.post.moves();
        loop {
            moves.mark_unchanged();
            let Some(member) = roll.member(&name) else { break };
            if team.solo.queue(&member.agent.cx.me, When::Next, "user", words.to_owned()) {
                return Ok(());
            }
            // It is ending: it can be started again when all of it is gone.
            let gone = tokio::time::timeout(ENDING, moves.changed()).await;
            if !matches!(gone, Ok(Ok(()))) {
                return Err(format!("`{name}` is ending"));
            }
        }
        if resume::again(team, &roll, &name, wish).await? {
            return Ok(());
        }
    }
    if wish.prompt.trim().is_empty() {
        return Err(format!("say what `{name}` should do"));
    }
    teammate(team, "user", wish).await.map(|_| ())
}

/// The session's team. One is made where none is named and none is there.
async fn the_team(team: &Team, wanted: Option<&str>) -> Result<Arc<Roll>, String> {
    match (team.roll(), wanted) {
        (Some(roll), None) => Ok(roll),
        (Some(roll), Some(name)) if roll.name == *name || roll.dir.as_str() == name => Ok(roll),
        (Some(roll), Some(name)) => {
            Err(format!("There is no team `{name}` here; this session leads `{}`.", roll.name))
        }
        (None, Some(name)) => {
            Err(format!("There is no team `{name}`. Make it with TeamCreate first."))
        }
        (None, None) => {
            let name = team.office().session_team();
            let name = TeamName::found(name.as_str());
            let made = team.create(name, Founding::default()).await;
            // Of several that are started at once, one makes the team and all join it.
            made.or_else(|why| team.roll().ok_or(why))
        }
    }
}

/// The mode of a new teammate: its lead's, unless it is told otherwise, and never freer than a
/// lead may make it.
pub fn teammate_mode(lead: Mode, wanted: Option<Mode>) -> Mode {
    let own = match lead {
        Mode::Plan | Mode::Delegate | Mode::Bubble => Mode::Default,
        Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions | Mode::DontAsk => lead,
    };
    match wanted {
        Some(Mode::Plan) => Mode::Plan,
        Some(Mode::Delegate) => Mode::AcceptEdits,
        Some(Mode::BypassPermissions) | Some(Mode::Bubble) | None => own,
        Some(mode @ (Mode::Default | Mode::AcceptEdits | Mode::DontAsk)) => match lead {
            Mode::DontAsk => Mode::DontAsk,
            Mode::Default
            | Mode::AcceptEdits
            | Mode::Plan
            | Mode::BypassPermissions
            | Mode::Delegate
            | Mode::Bubble => mode,
        },
    }
}

/// Where a teammate sits: all that makes it who it is.
pub struct Chair<'a> {
    /// The name of its transcript.
    pub id: String,
    pub entry: &'a Entry,
    pub definition: &'a Definition,
    pub mode: Mode,
    pub tree: Option<&'a Worktree>,
}

impl Chair<'_> {
    /// Brings the agent to life, from the lead's context.
    pub async fn bear(
        &self,
        team: &Team,
        roll: &Roll,
        lead: &Arc<Agent>,
        brain: crate::agent::context::Brain,
        max_turns: Option<u32>,
    ) -> Result<Arc<Agent>, String> {
        let crew = team.own().ok_or("The session has ended.")?;
        let me = AgentId::new(&self.entry.name, &roll.name);
        let site = self.tree.map_or(Site::Parents, Site::Tree);
        let up = Upbringing {
            id: self.id.clone(),
            definition: self.definition,
            description: String::new(),
            name: Some(self.entry.name.to_string()),
            brain,
            site,
            max_turns,
        };
        let office = team.office();
        let mut cradle = born::subagent(office, lead, up);
        cradle.chain = vec![me.clone(), lead.cx.me.clone()];
        cradle.id = me;
        cradle.seat = Some(TeamSeat { team: roll.name.clone(), color: self.entry.color.clone() });
        cradle.seen = ReadCache::default();
        cradle.view.mode = self.mode;
        cradle.view.seat = Seat::Teammate;
        if self.mode == Mode::Plan {
            let (own, id) = (Arc::clone(office), self.id.clone());
            let file = tokio::task::spawn_blocking(move || plan_path(&own, Some(&id))).await;
            let file = file.map_err(|e| e.to_string())?.map_err(|error| error.to_string())?;
            give_plan(&mut cradle.view, &file);
        }
        self.furnish(team, roll, &mut cradle).await?;
        let office = Arc::clone(office);
        let agent = born::bear(&office, crew as Arc<dyn Crew>, cradle);
        let agent = agent.map(Arc::new).map_err(|error| error.to_string())?;
        // Its prompt says where the plan belongs.
        agent.planning().told = self.mode == Mode::Plan;
        Ok(agent)
    }

    /// Its tools, and what it is told of its team.
    async fn furnish(&self, team: &Team, roll: &Roll, cradle: &mut Cradle) -> Result<(), String> {
        let office = team.office();
        let own = self.definition;
        let limits = ToolLimits {
            // A teammate must be able to reach its team, whatever its definition lists.
            tools: own.tools.clone().map(|mut tools| {
                tools.extend(TEAM_TOOLS.map(str::to_owned));
                tools
            }),
            disallowed: own.disallowed_tools.clone(),
            planning: true,
            ..ToolLimits::of(Role::Teammate)
        };
        cradle.tools = office.tools.narrowed(&limits).tools;
        let roster = super::send::roster(team, roll).await?;
        let config = office.home().config(&roll.dir);
        let about = ABOUT_TEAM
            .replace("{{name}}", self.entry.name.as_str())
            .replace("{{team}}", roll.name.as_str())
            .replace("{{members}}", &roster.names().join(", "))
            .replace("{{roster}}", &config.to_string_lossy());
        let how = cradle.view.plan_file.as_deref().map(how_to_plan);
        let how = how.map(|how| format!("\n\n# Your plan\n\n{how}")).unwrap_or_default();
        let prompt = format!("{}{how}\n\n{}", about.trim(), own.prompt);
        let (tools, view, brain) = (&cradle.tools, &cradle.view, &cradle.brain);
        let (reader, gear) = (Reader::Teammate(&prompt), &cradle.birth.gear);
        cradle.prefix = born::prefix(office, reader, tools, view, brain, gear);
        Ok(())
    }
}

/// What every teammate has, so that it is one.
const TEAM_TOOLS: [&str; 7] = [
    "SendMessage",
    "TaskCreate",
    "TaskGet",
    "TaskList",
    "TaskUpdate",
    "EnterPlanMode",
    "ExitPlanMode",
];

/// The first prompt: in the inbox, as read, and in the conversation.
async fn first_words(team: &Team, roll: &Roll, entry: &Entry, prompt: String) -> ChatMessage {
    let message = Message { read: true, ..Message::new(&AgentName::lead(), &prompt, stamp()) };
    let (store, dir, to) = (team.store(), roll.dir.clone(), entry.name.clone());
    let kept = tokio::task::spawn_blocking(move || store.mail(&dir).send_typed(&to, message)).await;
    if let Ok(Err(error)) = kept {
        tracing::warn!(%error, "the first prompt is not in the inbox");
    }
    ChatMessage::user(words::letter("team-lead", None, None, &prompt))
}

/// How a teammate begins.
pub struct Starting<'a> {
    pub use_id: Option<&'a str>,
    pub description: &'a str,
    pub talk: Talk,
    /// The words that it begins with.
    pub first: Option<ChatMessage>,
    /// Mail that it has had.
    pub known: Vec<MessageId>,
    /// The task that it had begun.
    pub task: Option<TaskId>,
}

/// Sets a teammate to work.
pub fn begin(
    team: &Team,
    roll: &Arc<Roll>,
    entry: &Entry,
    agent: Arc<Agent>,
    tree: Option<Worktree>,
    start: Starting<'_>,
) {
    let Some(own) = team.own() else { return };
    let office = Arc::clone(team.office());
    let about = AgentAbout {
        agent_type: agent.birth.kind.clone(),
        description: start.description.to_owned(),
        model: agent.brain().chosen.name(),
        mode: agent.mode(),
        cwd: agent.cx.cwd.get().to_string_lossy().into_owned(),
        color: entry.color.clone(),
        parent: Some(office.lead()),
        use_id: start.use_id.map(str::to_owned),
        background: true,
        chain_id: agent.birth.chain_id.clone(),
        depth: agent.birth.depth,
    };
    agent.tell(Fact::AgentStarted { about: Box::new(about) });
    agent.tell_of_gear();
    agent.tell(Fact::MemberJoined { member: Box::new(entry.clone()) });
    if let Err(error) = write_meta(team, &agent, entry, tree.as_ref()) {
        agent.notice(Level::Warning, format!("It cannot be resumed later: {error}"));
    }
    let mut talk = start.talk;
    let due = start.first.is_some();
    if let Some(first) = start.first {
        if let Err(error) = agent.recorder.heard(&first, false, &[]) {
            agent.notice(
                Level::Error,
                format!("The prompt could not be written to the transcript: {error}"),
            );
        }
        let from = "team-lead".to_owned();
        agent.tell(Fact::Heard { from, message: first.clone(), queued: vec![] });
        talk.messages.push(first);
    }
    agent.set_said(talk.messages.clone());
    team.solo.enter(&agent, Some(entry.name.as_str()));
    let tray = roll.post.tray(&entry.name);
    tray.knows(start.known);
    tray.look();
    let member = Arc::new(Member::new(entry.name.clone(), Arc::clone(&agent), tray, tree));
    *member.claimed() = start.task.map(|task| (task, false));
    roll.enter(&member);
    let read = team.read_for(roll, entry.name.clone(), &agent);
    office.tasks.spawn(until_abandoned(&office, read));
    let life = member::live(own, Arc::clone(roll), member, talk, due);
    office.tasks.spawn(until_abandoned(&office, life));
}

fn write_meta(
    team: &Team,
    agent: &Agent,
    entry: &Entry,
    tree: Option<&Worktree>,
) -> Result<(), crate::store::StoreError> {
    let lead = team.office().lead();
    let meta = born::Meta { name: Some(entry.name.as_str()), parent: &lead, worktree: tree };
    let mut meta = born::meta(agent, &meta);
    if let Some(members) = meta.as_object_mut() {
        members.insert("taskKind".to_owned(), json!(TEAMMATE));
        if let Some(rounds) = agent.limits.rounds {
            members.insert(MAX_TURNS.to_owned(), json!(rounds));
        }
        members.insert("teamName".to_owned(), Value::from(agent.cx.me.team.to_string()));
        members.insert("color".to_owned(), json!(entry.color));
        members.insert("planModeRequired".to_owned(), json!(entry.plan_mode_required));
    }
    let path: PathBuf = agent.recorder.path();
    transcript::write_meta(&team.office().store, &path, &Json::of(&meta))
}
