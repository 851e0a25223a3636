//! Starting agents, waiting for them or not.
//!
//! Every agent is a task of its own with its own stop. Whoever waits for one holds a link that
//! can be dropped: then it goes on in the background, with nothing lost and nothing repeated.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use futures::FutureExt;
use tokio::sync::{OwnedMutexGuard, oneshot};

use super::born::{self, Cradle, Site, Upbringing};
use super::context::{Agent, Talk};
use super::definition::{Definition, Isolation};
use super::fork::branch;
use super::office::Office;
use super::queue::Item;
use super::rebuild::uses_of;
use super::report::{
    Report, completed, end_of, job_status, launched, parting, report, result_of, working_in,
};
use super::revive;
use super::route::{Route, fork_of, may_go_deeper, route};
use super::solo::{NEWS, Solo};
use super::turn::{End, Outcome, hear, spoken, turn};
use crate::model::Stop;
use crate::protocol::content::{ChatMessage, Role};
use crate::protocol::event::{AgentAbout, Fact, Level};
use crate::protocol::ids::AgentId;
use crate::protocol::op::When;
use crate::store::StoreError;
use crate::tools::context::Wish;
use crate::tools::shell::jobs::{Job, Kind, Plan};
use crate::tools::{Call, Output};
use crate::worktree::{self, Worktree};

const FORK: &str = include_str!("../../assets/prompts/fork.md");

/// An agent that is ready to begin.
pub struct Ready {
    pub agent: Arc<Agent>,
    pub talk: Talk,
    pub name: Option<String>,
    pub worktree: Option<Worktree>,
    pub background: bool,
    /// The record of its parent's transcript that a fork's conversation follows.
    pub trunk: Option<String>,
}

/// An agent that works.
pub struct AtWork {
    pub agent: Arc<Agent>,
    pub job: Arc<Job>,
    told: oneshot::Receiver<Report>,
}

/// Who started an agent: a call, or a part of the program that acts like one.
pub struct Origin<'a> {
    pub use_id: &'a str,
    pub stop: &'a Stop,
}

/// An agent that was started.
#[derive(Debug)]
pub enum Started {
    Ended { id: String, report: Box<Report> },
    Behind { id: String, output: PathBuf },
}

impl Started {
    pub fn output(self, wish: &Wish) -> Output {
        match self {
            Self::Ended { id, report } => completed(&id, wish, &report),
            Self::Behind { id, output } => launched(&id, wish, &output),
        }
    }
}

/// What the Agent tool does.
pub async fn spawn(solo: &Solo, by: &AgentId, call: &Call, wish: Wish) -> Output {
    if let Some(adopted) = solo.adopted.take(by, &call.id) {
        return adopted.output(solo, call, &wish).await;
    }
    let Some(parent) = solo.agent(by) else {
        return Output::failed("This agent has ended.");
    };
    if let Some(id) = &wish.resume {
        let Some(found) = solo.find(id) else { return Output::failed(solo.nobody(id)) };
        return revive::pass_on(solo, by, call, &found, wish.prompt).await;
    }
    if wish.team.is_some() {
        return Output::failed("There is no team in this session.");
    }
    let started = async {
        let route = route(&solo.office, &parent, wish.kind.as_deref())?;
        let ready = prepare(solo, &parent, &wish, route).await?;
        let origin = Origin { use_id: &call.id, stop: &call.stop };
        start(solo, &parent, &origin, ready).await
    };
    started.await.map_or_else(Output::failed, |started| started.output(&wish))
}

/// Runs a definition for a caller that is no tool, such as a skill that wants a context of its
/// own. Everything else is as if `by` had called the Agent tool.
pub async fn run_as_subagent(
    solo: &Solo,
    by: &AgentId,
    definition: Definition,
    wish: &Wish,
    stop: &Stop,
) -> Result<Started, String> {
    let parent = solo.agent(by).ok_or_else(|| solo.nobody(&by.to_string()))?;
    may_go_deeper(&solo.office, &parent)?;
    let ready = prepare(solo, &parent, wish, Route::Named(Box::new(definition))).await?;
    let use_id = format!("run-{}", ready.agent.cx.me.name);
    start(solo, &parent, &Origin { use_id: &use_id, stop }, ready).await
}

/// Starts what the person wants for an agent: a kind of subagent, or without one a fork, whether
/// the agent itself may fork or not.
pub async fn for_person(
    solo: &Solo,
    by: &AgentId,
    wish: &Wish,
    stop: &Stop,
) -> Result<Started, String> {
    let parent = solo.agent(by).ok_or_else(|| solo.nobody(&by.to_string()))?;
    let route = match &wish.kind {
        Some(kind) => route(&solo.office, &parent, Some(kind))?,
        None => fork_of(&solo.office, &parent)?,
    };
    let ready = prepare(solo, &parent, wish, route).await?;
    let use_id = format!("run-{}", ready.agent.cx.me.name);
    start(solo, &parent, &Origin { use_id: &use_id, stop }, ready).await
}

async fn prepare(
    solo: &Solo,
    parent: &Arc<Agent>,
    wish: &Wish,
    route: Route,
) -> Result<Ready, String> {
    let office = &solo.office;
    let (isolation, model) = match &route {
        Route::Fork => (None, None),
        Route::Named(own) => (own.isolation, wish.model.clone().or_else(|| own.model_name())),
    };
    if isolation == Some(Isolation::Remote) && !wish.worktree {
        return Err("Agents cannot be started on other machines; nothing was started.".to_owned());
    }
    let isolated = wish.worktree || isolation == Some(Isolation::Worktree);
    if isolated && wish.cwd.is_some() {
        return Err("This agent works in a worktree, so it cannot have a `cwd` too.".to_owned());
    }
    // What can fail does so before a worktree is there.
    let brain = match model {
        Some(name) => office.brains.named(&name).map_err(|error| error.to_string())?,
        None => parent.brain(),
    };
    let id = born::new_id();
    let here = parent.cx.cwd.get();
    let tree = match isolated {
        true => Some(make_worktree(office, &here, &format!("agent-{}", &id[1..9])).await?),
        false => None,
    };
    let site = match &tree {
        Some(tree) => Site::Tree(tree),
        None => wish.cwd.clone().map_or(Site::Parents, Site::Dir),
    };
    let (cradle, talk, trunk, background) = match &route {
        Route::Fork => {
            let note = tree.as_ref().map(|tree| worktree::translation_note(&here, tree));
            let directive = [Some(format!("{FORK}{}", wish.prompt)), note];
            let directive: Vec<String> = directive.into_iter().flatten().collect();
            let messages = branch(&parent.said(), directive.join("\n\n"));
            let talk = Talk { messages, ..Talk::default() };
            let cradle = born::fork(office, parent, id, wish.description.clone(), &site);
            (cradle, talk, Some(parent.branch_point()), true)
        }
        Route::Named(definition) => {
            let up = Upbringing {
                id,
                definition,
                description: wish.description.clone(),
                name: wish.name.clone(),
                brain,
                site,
                max_turns: wish.max_turns,
            };
            let first = definition.initial_prompt.iter().cloned();
            let prompt = first.chain([wish.prompt.clone()]).collect::<Vec<_>>().join("\n\n");
            let messages = std::iter::once(ChatMessage::user(prompt)).collect();
            let talk = Talk { messages, ..Talk::default() };
            (born::subagent(office, parent, up), talk, None, definition.background)
        }
    };
    match bear(solo, cradle) {
        Ok(agent) => {
            wish.lent.iter().for_each(|lent| agent.lend(lent));
            Ok(Ready {
                agent,
                talk,
                name: wish.name.clone(),
                worktree: tree,
                background: (background || wish.background) && may_leave_behind(solo, parent),
                trunk: trunk.filter(|record| !record.is_empty()),
            })
        }
        Err(error) => {
            if let Some(tree) = tree {
                // Nothing is in it.
                let _ = tokio::task::spawn_blocking(|| parting(tree)).await;
            }
            Err(error.to_string())
        }
    }
}

/// Whether what an agent starts may go on in the background.
pub fn may_leave_behind(solo: &Solo, parent: &Agent) -> bool {
    solo.crew().is_none_or(|crew| crew.may_leave_behind(&parent.cx.me))
}

pub fn bear(solo: &Solo, mut cradle: Cradle) -> Result<Arc<Agent>, StoreError> {
    let id = cradle.agent_id.clone().unwrap_or_default();
    let failed = |path: &Path, error| StoreError::io("open", path, error);
    let over = || failed(Path::new(&id), io::Error::other("the session has ended"));
    let crew = solo.crew().ok_or_else(over)?;
    let path = output_path(solo, &id).map_err(|error| failed(Path::new(&id), error))?;
    let file = OpenOptions::new().create(true).append(true).mode(0o600).open(&path);
    cradle.echo = Some(file.map_err(|error| failed(&path, error))?);
    born::bear(&solo.office, crew, cradle).map(Arc::new)
}

/// Where the words of an agent can be read while it works.
pub fn output_path(solo: &Solo, id: &str) -> io::Result<PathBuf> {
    let outputs = solo.office.shell.outputs(&solo.office.project)?;
    Ok(outputs.join(format!("{id}.output")))
}

/// A worktree of this name, or no agent.
pub async fn make_worktree(office: &Office, here: &Path, name: &str) -> Result<Worktree, String> {
    let (here, name, options) = (here.to_owned(), name.to_owned(), office.worktrees.clone());
    let made = tokio::task::spawn_blocking(move || {
        let slug = worktree::Slug::new(&name).map_err(|error| error.to_string())?;
        let made = worktree::create(&here, &slug, &options).map_err(|error| error.to_string())?;
        worktree::verify(&made).map_err(|error| error.to_string())?;
        Ok(made)
    });
    let made = made.await.map_err(|error| error.to_string())?;
    made.map_err(|why: String| {
        format!("The worktree could not be made, so nothing was started: {why}")
    })
}

/// Sets an agent to work, and waits for its end unless it works in the background.
pub async fn start(
    solo: &Solo,
    parent: &Agent,
    origin: &Origin<'_>,
    ready: Ready,
) -> Result<Started, String> {
    let background = ready.background;
    let at_work = set_to_work(solo, &parent.cx.me, origin.use_id, ready).await?;
    match background {
        true => Ok(at_work.behind()),
        false => at_work.wait(solo, origin).await,
    }
}

/// Sets an agent to work for `parent`, whose call `use_id` wanted it.
pub async fn set_to_work(
    solo: &Solo,
    parent: &AgentId,
    use_id: &str,
    ready: Ready,
) -> Result<AtWork, String> {
    let crew = solo.own().ok_or("The session has ended.")?;
    let agent = Arc::clone(&ready.agent);
    let id = agent.cx.me.name.to_string();
    let plan = Plan {
        use_id: use_id.to_owned(),
        owner: parent.clone(),
        kind: Kind::Agent,
        description: agent.birth.description.clone(),
        output: output_path(solo, &id).map_err(|error| error.to_string())?,
        id,
    };
    let seat = solo.seat(&agent.cx.me).await;
    let outer = solo.crew().ok_or("The session has ended.")?;
    let job = solo.office.shell.jobs().add(plan, &outer, ready.background);
    agent.tell(Fact::AgentStarted { about: Box::new(about(parent, use_id, &ready)) });
    agent.tell_of_gear();
    let meta =
        born::Meta { name: ready.name.as_deref(), parent, worktree: ready.worktree.as_ref() };
    if let Err(error) = born::write_meta(&solo.office, &agent, &meta) {
        agent.notice(Level::Warning, format!("It cannot be resumed later: {error}"));
    }
    agent.set_said(ready.talk.messages.clone());
    solo.enter(&agent, ready.name.as_deref());
    let (tell, told) = oneshot::channel();
    let abandoned = solo.office.abandoned.clone();
    let working = work(crew, Arc::clone(&job), ready, tell, seat);
    solo.office.tasks.spawn(async move {
        tokio::select! {
            // First: whoever is abandoned does not see that others were.
            biased;
            () = abandoned.cancelled() => {}
            () = working => {}
        }
    });
    Ok(AtWork { agent, job, told })
}

fn about(parent: &AgentId, use_id: &str, ready: &Ready) -> AgentAbout {
    let agent = &ready.agent;
    AgentAbout {
        agent_type: agent.birth.kind.clone(),
        description: agent.birth.description.clone(),
        model: agent.brain().chosen.name(),
        mode: agent.mode(),
        cwd: agent.cx.cwd.get().to_string_lossy().into_owned(),
        color: agent.cx.color.clone(),
        parent: Some(parent.clone()),
        use_id: Some(use_id.to_owned()),
        background: ready.background,
        chain_id: agent.birth.chain_id.clone(),
        depth: agent.birth.depth,
    }
}

impl AtWork {
    /// For whoever does not wait for it.
    pub fn behind(&self) -> Started {
        let id = self.agent.cx.me.name.to_string();
        Started::Behind { id, output: self.job.plan.output.clone() }
    }

    /// Waits for its end, or until it is sent to the background.
    pub async fn wait(mut self, solo: &Solo, origin: &Origin<'_>) -> Result<Started, String> {
        let id = self.agent.cx.me.name.to_string();
        let mut moves = self.job.moves();
        let owner = &self.job.plan.owner;
        let may = solo.crew().is_none_or(|crew| crew.may_leave_behind(owner));
        let patience = solo.office.policy.auto_background_after.filter(|_| may);
        let impatient = async {
            match patience {
                Some(limit) => tokio::time::sleep(limit).await,
                None => std::future::pending().await,
            }
        };
        tokio::pin!(impatient);
        let mut patient = true;
        let life = self.agent.life.clone();
        loop {
            tokio::select! {
                biased;
                report = &mut self.told => return match report {
                    // Unless its owner was told already, because it had been sent to the
                    // background.
                    Ok(report) if self.job.claim() => {
                        Ok(Started::Ended { id, report: Box::new(report) })
                    }
                    Ok(_) => Ok(self.behind()),
                    Err(_) => Err("The agent crashed; see the log.".to_owned()),
                },
                _ = moves.wait_for(|behind| *behind) => {
                    // It may have ended just before it was sent there.
                    self.job.announce();
                    return Ok(self.behind());
                }
                () = &mut impatient, if patient => {
                    patient = false;
                    solo.office.shell.jobs().to_background(origin.use_id);
                }
                () = origin.stop.cancelled(), if !life.is_cancelled() => life.cancel(),
            }
        }
    }
}

/// The task of an agent: works until it has nothing more to do, then tells everyone. The seat is
/// its own until all that is done, so that nobody takes up its conversation before.
async fn work(
    crew: Arc<Solo>,
    job: Arc<Job>,
    ready: Ready,
    tell: oneshot::Sender<Report>,
    seat: OwnedMutexGuard<()>,
) {
    let Ready { agent, mut talk, worktree, trunk, .. } = ready;
    let since = Instant::now();
    let stopped = job.stop.clone();
    let life = agent.life.clone();
    let link = tokio::spawn(async move {
        stopped.cancelled().await;
        life.cancel();
    });
    begin(&agent, &talk, trunk.as_deref());
    let outcome = match finished(&agent, &talk) {
        Some(outcome) => Ok(outcome),
        None => AssertUnwindSafe(labour(&agent, &mut talk)).catch_unwind().await,
    };
    link.abort();
    let mut report = report(&agent, &talk, outcome.ok(), since.elapsed());
    let unread = leave_behind(&crew, &agent, &mut talk);
    if unread > 0 {
        let what = if unread == 1 { "message" } else { "messages" };
        report.why = format!("{}; it did not read {unread} {what}", report.why);
    }
    report.worktree = worktree.as_ref().map(working_in);
    crew.leave(&agent.cx.me);
    let status = job_status(report.status).to_owned();
    agent.tell(Fact::AgentEnded { status, why: report.why.clone() });
    // Whoever waits learns of the end before anything slow happens; the note comes behind it.
    let held = job.hold();
    job.finish(end_of(&report, &job));
    drop(agent);
    if let Some(tree) = worktree {
        report.worktree = tokio::task::spawn_blocking(|| parting(tree)).await.ok();
        job.set_result(result_of(&report));
    }
    drop(seat);
    drop(held);
    // Nobody listens when it was sent to the background.
    let _ = tell.send(report);
}

/// What an agent came to that had said all it had to say when the program ended.
fn finished(agent: &Agent, talk: &Talk) -> Option<Outcome> {
    let last = talk.messages.messages().next_back()?;
    let is_over = last.role == Role::Assistant && uses_of(last).is_empty();
    (is_over && agent.queue.close_if_empty()).then(|| Outcome {
        end: End::Done,
        text: spoken(last),
        rounds: 0,
    })
}

/// Turns until nothing waits: a message may arrive while the last one ends.
async fn labour(agent: &Agent, talk: &mut Talk) -> Outcome {
    let mut words = String::new();
    loop {
        let mut outcome = turn(agent, talk).await;
        if outcome.text.is_empty() {
            outcome.text.clone_from(&words);
        }
        words.clone_from(&outcome.text);
        // Also when what waits is the reason for the interruption.
        let may_go_on = matches!(outcome.end, End::Done | End::Interrupted);
        if !may_go_on || agent.life.is_cancelled() || agent.queue.close_if_empty() {
            return outcome;
        }
    }
}

/// What an agent did not hear any more: news of its own agents are for the lead, words of others
/// stand in its transcript for the day it goes on. Returns how many those are.
fn leave_behind(crew: &Solo, agent: &Agent, talk: &mut Talk) -> usize {
    let left = agent.queue.close();
    let (news, words): (Vec<Item>, Vec<Item>) =
        left.into_iter().partition(|item| item.from == NEWS);
    for item in news {
        crew.queue(&crew.office.lead(), When::Later, NEWS, item.text);
    }
    let unread = words.len();
    hear(agent, talk, words);
    unread
}

/// Writes down what the conversation begins with; a fork's common part is its parent's.
fn begin(agent: &Agent, talk: &Talk, trunk: Option<&str>) {
    let Some(last) = talk.messages.messages().next_back() else { return };
    if !agent.recorder.is_new() {
        return;
    }
    let written = match trunk {
        Some(record) => agent.recorder.branched(last, record),
        None => agent.recorder.heard(last, false, &[]),
    };
    if let Err(error) = written {
        agent.notice(
            Level::Error,
            format!("The prompt could not be written to the transcript: {error}"),
        );
    }
    let from = "parent".to_owned();
    agent.tell(Fact::Heard { from, message: last.clone(), queued: vec![] });
}
