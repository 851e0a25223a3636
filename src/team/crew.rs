//! The crew of a session that may have a team: what a lead does with its team, and who is told
//! what. Whatever needs no team goes to the crew it wraps.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures::future::BoxFuture;
use serde_json::{Value, json};
use tokio::sync::watch;

use super::heed::{self, Heeded};
use super::member::Member;
use super::policy::Policy;
use super::post::Post;
use super::roll::{Roll, Sorter, carry};
use super::words::{self, Shown};
use super::{claim, permits, plan, send, spawn};
use crate::agent::context::Agent;
use crate::agent::office::Office;
use crate::agent::solo::Solo;
use crate::model::Stop;
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, AgentName, AskId, MessageId, TeamDir, TeamName};
use crate::protocol::message::{Body, Message};
use crate::protocol::op::When;
use crate::protocol::task::{Status, Task};
use crate::protocol::time::Stamp;
use crate::store::roster::{Deletion, NewTeam};
use crate::store::{Store, StoreError};
use crate::tools::context::{Letter, Wish};
use crate::tools::{Call, Crew, Note, Output, Place};

pub struct Team {
    pub solo: Arc<Solo>,
    own: Weak<Self>,
    /// One team per session.
    current: Mutex<Option<Arc<Roll>>>,
    /// Held while a team is made or ended, so that there are never two.
    changing: tokio::sync::Mutex<()>,
    /// Held while somebody joins, so that names and badges follow the order of the calls.
    pub joining: tokio::sync::Mutex<()>,
    /// The session ends: nobody is told any more who leaves.
    ending: AtomicBool,
    /// Counts everything that moves in the team.
    moves: watch::Sender<u64>,
    pub policy: Policy,
}

/// The member of the session's state that names its team.
pub const STATE: &str = "team";

impl Team {
    pub fn new(solo: Arc<Solo>, policy: Policy) -> Arc<Self> {
        let team = Arc::new_cyclic(|own| Self {
            solo,
            own: own.clone(),
            current: Mutex::default(),
            changing: tokio::sync::Mutex::default(),
            joining: tokio::sync::Mutex::default(),
            ending: AtomicBool::new(false),
            moves: watch::Sender::new(0),
            policy,
        });
        let outer: Weak<Self> = Arc::downgrade(&team);
        team.solo.work_for(outer);
        team
    }

    pub fn own(&self) -> Option<Arc<Self>> {
        self.own.upgrade()
    }

    pub fn office(&self) -> &Arc<Office> {
        &self.solo.office
    }

    pub fn store(&self) -> Store {
        self.office().store.clone()
    }

    pub fn roll(&self) -> Option<Arc<Roll>> {
        self.current().clone()
    }

    fn current(&self) -> MutexGuard<'_, Option<Arc<Roll>>> {
        self.current.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn lead(&self) -> Option<Arc<Agent>> {
        self.solo.agent(&self.office().lead())
    }

    /// Makes the team of this session.
    pub async fn create(&self, name: TeamName, new: Founding) -> Result<Arc<Roll>, String> {
        let _alone = self.changing.lock().await;
        if let Some(roll) = self.roll() {
            return Err(format!(
                "This session leads the team `{}` already, and a session has one team: end that \
                 one with TeamDelete first.",
                roll.name
            ));
        }
        let office = self.office();
        let lead = self.lead().ok_or("The session has ended.")?;
        let wanted = NewTeam {
            name,
            description: new.description.clone(),
            lead_type: new.lead_type,
            model: Some(lead.brain().chosen.name()),
            cwd: office.project.to_string_lossy().into_owned(),
            session: office.session.clone(),
            tasks: Some(self.solo.place().tasks),
        };
        let store = self.store();
        let made = tokio::task::spawn_blocking(move || store.rosters().create_new(wanted)).await;
        let (dir, made) = made.map_err(|e| e.to_string())?.map_err(|error| error.to_string())?;
        let name = made.name;
        let description = new.description.unwrap_or_default();
        office
            .journal
            .emit(Some(&lead.cx.me), Fact::TeamCreated { name: name.clone(), description });
        self.open(name, dir, &lead, Vec::new()).await
    }

    /// Opens the post of a team that is on disk. `known` is mail that the lead has had.
    pub async fn open(
        &self,
        name: TeamName,
        dir: TeamDir,
        lead: &Arc<Agent>,
        known: Vec<MessageId>,
    ) -> Result<Arc<Roll>, String> {
        let office = Arc::clone(self.office());
        let own = self.own().ok_or("The session has ended.")?;
        let (state, noted) = (office.state(), dir.to_string());
        let (store, journal, of) = (self.store(), Arc::clone(&office.journal), dir.clone());
        let (moves, pace) = (self.moves.clone(), self.policy.watch);
        let opened = tokio::task::spawn_blocking(move || {
            state.write(STATE, &noted)?;
            Post::open(&store, &journal, &of, moves, pace)
        });
        let opened = opened.await.map_err(|error| error.to_string())?;
        let (post, changes) = opened.map_err(|error| error.to_string())?;
        let roll = Arc::new(Roll::new(name, dir, Arc::clone(&post)));
        *self.current() = Some(Arc::clone(&roll));
        let tray = post.tray(&AgentName::lead());
        tray.knows(known);
        tray.look();
        office.tasks.spawn(until_abandoned(&office, Arc::clone(&post).listen(changes)));
        let read = own.read_for(&roll, AgentName::lead(), lead);
        office.tasks.spawn(until_abandoned(&office, read));
        let (team, of) = (Arc::downgrade(&own), Arc::downgrade(&roll));
        office.tasks.spawn(until_abandoned(&office, claim::dispatch(team, of)));
        if self.policy.asks_by_mail {
            let telling = permits::tell_lead(own, Arc::clone(&roll));
            office.tasks.spawn(until_abandoned(&office, telling));
        }
        Ok(roll)
    }

    /// Carries the mail of an agent in this process into its queue.
    pub fn read_for(
        &self,
        roll: &Arc<Roll>,
        name: AgentName,
        agent: &Arc<Agent>,
    ) -> impl Future<Output = ()> + Send + use<> {
        let (team, of) = (self.own.clone(), Arc::downgrade(roll));
        let reader = name.clone();
        let sort: Sorter = Box::new(move |message, agent| match (team.upgrade(), of.upgrade()) {
            (Some(team), Some(roll)) => team.sort(&roll, &reader, message, agent),
            (_, _) => false,
        });
        carry(Arc::clone(&roll.post), name, Arc::clone(agent), sort)
    }

    /// Where a message goes: into the conversation, or to the runtime.
    fn sort(&self, roll: &Arc<Roll>, to: &AgentName, message: &Message, agent: &Agent) -> bool {
        if heed::heed(self, roll, to, message, agent) == Heeded::Done {
            return true;
        }
        match words::shown(message, self.policy.plans == super::policy::PlanJudge::Lead) {
            Shown::Words { rank, text } => {
                let from = message.from.as_str();
                agent.queue.push_mail(rank, from, text, message.id()).is_some()
            }
            Shown::Hidden => {
                roll.post.mark(to, vec![message.id()]);
                true
            }
        }
    }

    /// Ends the team of this session.
    pub async fn delete(&self) -> Output {
        let _alone = self.changing.lock().await;
        let Some(roll) = self.roll() else {
            return Output::failed("This session leads no team.");
        };
        let (store, dir) = (self.store(), roll.dir.clone());
        let deleted = tokio::task::spawn_blocking(move || {
            store.rosters().delete(&dir, Deletion::OnlyIfEmpty)
        });
        let answer = |success: bool, message: String| json!({ "success": success, "message": message, "team_name": roll.name });
        match deleted.await {
            Ok(Ok(())) => {
                self.disband();
                if let Err(error) = self.office().state().write(STATE, &Value::Null) {
                    tracing::warn!(%error, "the session still names its team");
                }
                let fact = Fact::TeamDeleted { name: roll.name.clone() };
                self.office().journal.emit(Some(&self.office().lead()), fact);
                let message =
                    format!("Cleaned up directories and worktrees for team \"{}\"", roll.name);
                said(answer(true, message))
            }
            Ok(Err(StoreError::StillMembers { names, .. })) => {
                let message = format!(
                    "Cannot cleanup team with {} active member(s): {}. Ask each to end with a \
                     shutdown_request first.",
                    names.len(),
                    names.join(", ")
                );
                said(answer(false, message))
            }
            Ok(Err(error)) => Output::failed(error.to_string()),
            Err(error) => Output::failed(error.to_string()),
        }
    }

    /// Ends all teammates, since the session ends, and waits until they are gone.
    pub async fn dismiss(&self) {
        self.ending.store(true, Ordering::SeqCst);
        let Some(roll) = self.roll() else { return };
        let mut moves = roll.post.moves();
        for member in roll.members() {
            member.stop("the session ended");
        }
        while !roll.members().is_empty() || !roll.post.is_marked() {
            if moves.changed().await.is_err() {
                return;
            }
        }
    }

    /// Lets everything go: the team and its agents hold each other.
    pub fn disband(&self) {
        let roll = self.current().take();
        for member in roll.iter().flat_map(|roll| roll.members()) {
            member.stop("the team has ended");
        }
        if let Some(roll) = roll {
            roll.post.closed.cancel();
        }
    }

    /// Sends something of the runtime to the lead.
    pub async fn to_lead(
        &self,
        roll: &Roll,
        by: &AgentId,
        body: Body,
        at: Stamp,
    ) -> Result<(), String> {
        let (post, by) = (Arc::clone(&roll.post), by.clone());
        let sent = tokio::task::spawn_blocking(move || {
            post.send_body(&by, &by.name, &AgentName::lead(), &body, at)
        });
        let sent = sent.await.map_err(|error| error.to_string())?;
        sent.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Sends something of the lead's runtime to a teammate.
    pub async fn from_lead(
        &self,
        roll: &Roll,
        to: &AgentName,
        body: Body,
        at: Stamp,
    ) -> Result<(), String> {
        let (post, lead, to) = (Arc::clone(&roll.post), self.office().lead(), to.clone());
        let sent = tokio::task::spawn_blocking(move || {
            post.send_body(&lead, &AgentName::lead(), &to, &body, at)
        });
        let sent = sent.await.map_err(|error| error.to_string())?;
        sent.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Takes back what somebody asked who does not wait any more.
    pub async fn withdraw(&self, id: AskId, why: &str) {
        let (desk, why) = (Arc::clone(&self.office().desk), why.to_owned());
        let withdrawn = tokio::task::spawn_blocking(move || desk.withdraw(&id, &why)).await;
        if let Ok(Err(error)) = withdrawn {
            tracing::info!(%error, "an ask was not withdrawn");
        }
    }

    /// Makes the open tasks of an agent nobody's.
    pub async fn release(&self, roll: &Roll, name: &AgentName, agent: &Agent) -> Vec<Task> {
        let (store, dir, name) = (self.store(), roll.dir.clone(), name.clone());
        let released = tokio::task::spawn_blocking(move || store.tasks(&dir).unassign(&name)).await;
        let released = match released {
            Ok(Ok(released)) => released,
            Ok(Err(error)) => {
                agent.notice(Level::Warning, format!("Its tasks could not be released: {error}"));
                Vec::new()
            }
            Err(_) => Vec::new(),
        };
        for task in &released {
            agent.tell(Fact::TaskChanged { task: task.clone() });
        }
        if !released.is_empty() {
            roll.post.tasks_changed();
        }
        released
    }

    /// A teammate has ended: off the roster, its tasks free, the lead told.
    pub async fn left(&self, roll: &Arc<Roll>, member: &Arc<Member>, why: &str) {
        let (name, agent) = (&member.name, &member.agent);
        agent.queue.close();
        agent.life.cancel();
        let status = if why.is_empty() { "completed" } else { "killed" };
        agent.tell(Fact::AgentEnded { status: status.to_owned(), why: why.to_owned() });
        let released = self.release(roll, name, agent).await;
        // From here on nobody of this name joins before all of the old one is gone.
        let _in_turn = self.joining.lock().await;
        let (store, dir, of) = (self.store(), roll.dir.clone(), name.clone());
        let gone = tokio::task::spawn_blocking(move || store.rosters().leave(&dir, &of)).await;
        if let Ok(Err(error)) = gone {
            tracing::warn!(%error, agent = %name, "still on the roster");
        }
        agent.tell(Fact::MemberLeft { name: name.clone() });
        plan::forget(self, member).await;
        self.solo.forget(&agent.cx.me);
        let tree = member.worktree.lock().unwrap_or_else(PoisonError::into_inner).take();
        let mut about = words::terminated(name, why, &released);
        if let Some(tree) = tree {
            let parting = tokio::task::spawn_blocking(|| crate::agent::report::parting(tree)).await;
            about = format!(
                "{about}\n\n{}",
                words::letter("system", None, None, &parting.unwrap_or_default())
            );
        }
        if !self.ending.load(Ordering::SeqCst) {
            self.solo.queue(&self.office().lead(), When::Next, "system", about);
        }
        roll.post.close_tray(name);
        roll.remove(name);
    }

    /// Whether the whole team has nothing to do and nothing is on its way. `moves` is compared
    /// before and after, so that what was seen was one state.
    pub fn is_quiet(&self) -> bool {
        let Some(roll) = self.roll() else { return true };
        let before = *roll.post.moves().borrow();
        roll.is_quiet() && *roll.post.moves().borrow() == before
    }

    /// Changes whenever something moves in the team.
    pub fn moves(&self) -> watch::Receiver<u64> {
        self.moves.subscribe()
    }

    /// Of whom an agent is part: the teammate that it is or works for, if any.
    pub fn member_of(&self, by: &AgentId) -> Option<Arc<Member>> {
        let roll = self.roll()?;
        let agent = self.solo.agent(by)?;
        agent
            .cx
            .chain
            .iter()
            .find_map(|one| roll.member(&one.name).filter(|member| member.agent.cx.me == *one))
    }
}

/// What a team is made with besides its name.
#[derive(Debug, Clone, Default)]
pub struct Founding {
    pub description: Option<String>,
    pub lead_type: Option<String>,
}

/// An answer in JSON, as the ecosystem prints it.
pub fn said(answer: Value) -> Output {
    let text = serde_json::to_string_pretty(&answer).unwrap_or_default();
    Output::text(text).with_data(answer)
}

/// Ends a part of the runtime together with the session.
pub fn until_abandoned(
    office: &Office,
    work: impl Future<Output = ()> + Send + 'static,
) -> impl Future<Output = ()> + Send + 'static {
    let abandoned = office.abandoned.clone();
    async move {
        tokio::select! {
            biased;
            () = abandoned.cancelled() => {}
            () = work => {}
        }
    }
}

impl Crew for Team {
    fn place(&self) -> Place {
        match self.roll() {
            Some(roll) => Place { team: Some(roll.dir.clone()), tasks: roll.dir.clone() },
            None => self.solo.place(),
        }
    }

    fn notify(&self, to: &AgentId, note: Note) {
        self.solo.notify(to, note);
    }

    fn consult<'a>(
        &'a self,
        by: &'a AgentId,
        question: String,
        stop: &'a Stop,
    ) -> BoxFuture<'a, Option<Result<String, String>>> {
        self.solo.consult(by, question, stop)
    }

    fn kind_of(&self, by: &AgentId, wanted: Option<&str>) -> String {
        self.solo.kind_of(by, wanted.or(self.member_of(by).map(|_| spawn::GENERAL)))
    }

    fn spawn<'a>(&'a self, by: &'a AgentId, call: &'a Call, wish: Wish) -> BoxFuture<'a, Output> {
        Box::pin(spawn::spawn(self, by, call, wish))
    }

    fn delivered(&self, to: &AgentId, mail: Vec<MessageId>) {
        if let Some(agent) = self.solo.agent(to) {
            agent.planning().unheard.take_if(|answer| mail.contains(answer));
        }
        if let Some(roll) = self.roll() {
            roll.post.mark(&to.name, mail);
        }
    }

    fn has_begun(&self, by: &AgentId, use_id: &str) -> bool {
        self.solo.has_begun(by, use_id)
    }

    fn may_leave_behind(&self, by: &AgentId) -> bool {
        self.member_of(by).is_none()
    }

    fn spoke(&self, by: &AgentId, words: &str) {
        let member = self.roll().and_then(|roll| roll.member(&by.name));
        if let Some(member) = member.filter(|member| member.agent.cx.me == *by) {
            member.deeds().spoke(words);
        }
    }

    fn task_changed(&self, by: &AgentId, task: Option<&Task>) {
        let Some(roll) = self.roll() else { return };
        if let (Some(task), Some(member)) = (task, roll.member(&by.name))
            && task.status == Status::Completed
            && task.owner().is_none_or(|owner| *owner == member.name)
        {
            member.deeds().finished = Some(task.id.clone());
        }
        roll.post.tasks_changed();
    }

    fn mail_sent(&self, to: &AgentName, message: &Message) {
        if let Some(roll) = self.roll() {
            roll.post.announce(to, message, None);
        }
    }

    fn send<'a>(
        &'a self,
        by: &'a AgentId,
        call: &'a Call,
        letter: Letter,
    ) -> BoxFuture<'a, Output> {
        Box::pin(send::send(self, by, call, letter))
    }
}
