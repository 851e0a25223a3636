//! What a client may ask of a session that runs.

use std::sync::Arc;

use super::Refused;
use super::live::Live;
use crate::agent::context::{Agent, Brain};
use crate::agent::definition::Definition;
use crate::agent::fork::run_forked;
use crate::agent::recipes::{self, Recipe};
use crate::agent::recite::recite;
use crate::agent::solo::Solo;
use crate::agent::spawn::{self, Started};
use crate::agent::{revive, route};
use crate::model::Stop;
use crate::model::request::{Conversation, Purpose};
use crate::protocol::ask::Judge;
use crate::protocol::event::{Fact, Level};
use crate::protocol::ids::{AgentId, AgentName};
use crate::protocol::op::{Mode, Op, SpawnWish, TaskChange, When};
use crate::store::StoreError;
use crate::store::tasks::{NewTask, Owner, TaskPatch};
use crate::team::{shutdown, spawn as team_spawn};
use crate::tools::Crew;
use crate::tools::context::Wish;

impl Live {
    pub async fn submit(&self, op: Op) -> Result<(), Refused> {
        let unknown = |agent: &AgentId| Refused(format!("there is no agent `{agent}`"));
        match op {
            Op::Say { text, .. } if text.trim().is_empty() => {
                Err(Refused("the message is empty".to_owned()))
            }
            Op::Say { to, text, when } => self.say(&to, when, text),
            Op::Answer { ask, rev, verdict } => {
                let desk = Arc::clone(&self.office.desk);
                let settled = tokio::task::spawn_blocking(move || {
                    desk.settle(&ask, rev, verdict, Judge::Human)
                });
                let settled = settled.await.map_err(|error| Refused(error.to_string()))?;
                settled.map_err(|error| Refused(error.to_string()))
            }
            Op::Interrupt { agent } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                found.queue.interrupt();
                Ok(())
            }
            Op::Stop { agent } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                match self.team.roll().and_then(|roll| roll.member(&agent.name)) {
                    Some(member) if member.agent.cx.me == agent => {
                        member.stop("the user stopped it")
                    }
                    Some(_) | None => found.life.cancel(),
                }
                Ok(())
            }
            Op::Mode { agent, mode } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                self.set_mode(found, mode).await
            }
            Op::Pause { agent } => self.hold(&agent, true),
            Op::Unpause { agent } => self.hold(&agent, false),
            Op::Spawn { wish } => self.spawn(*wish).await,
            Op::Shutdown { agent, reason } => self.shut_down(&agent, reason).await,
            Op::Task { change } => self.change_task(*change).await,
            Op::Background { use_id } => {
                let moved = self.office.shell.jobs().to_background(&use_id);
                moved.map(|_| ()).ok_or_else(|| {
                    Refused("nothing that this call started is still running".to_owned())
                })
            }
            Op::Model { agent, model } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                let brain = self.office.brains.named(&model);
                let brain = brain.map_err(|error| Refused(error.to_string()))?;
                self.set_model(found, brain).await
            }
            Op::Delegate { agent, kind, description, prompt } => {
                let wish = Wish { description, prompt, kind, background: true, ..Wish::default() };
                let started = spawn::for_person(&self.crew, &agent, &wish, &Stop::new()).await;
                started.map(|_| ()).map_err(Refused)
            }
            Op::Recipe { agent, name, arguments } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                self.recite(found, &name, arguments).await
            }
            Op::Compact { agent, wishes } => {
                let found = self.crew.agent(&agent).ok_or_else(|| unknown(&agent))?;
                found.queue.want_compact(wishes);
                Ok(())
            }
        }
    }

    /// Says what a recipe says once its commands have run. Nobody waits for that: they may ask,
    /// and whoever answers must be heard meanwhile.
    async fn recite(
        &self,
        agent: Arc<Agent>,
        name: &str,
        arguments: String,
    ) -> Result<(), Refused> {
        let project = self.office.project.clone();
        let all = tokio::task::spawn_blocking(move || recipes::find(&project)).await;
        let all = all.map_err(|error| Refused(error.to_string()))?;
        let recipe = all.into_iter().find(|one| one.name == name);
        let recipe = recipe.ok_or_else(|| Refused(format!("there is no command /{name}")))?;
        let opening = self.opened(&agent.cx.me, String::new());
        let (crew, office) = (Arc::clone(&self.crew), Arc::clone(&self.office));
        self.office.tasks.spawn(async move {
            let stop = agent.life.child_token();
            let saying = async {
                let text = recite(&agent, &recipe, &arguments, &stop).await;
                say_recipe(&crew, &agent, &recipe, format!("{opening}{text}"), &stop).await
            };
            let said = tokio::select! {
                biased;
                () = office.abandoned.cancelled() => return,
                said = saying => said,
            };
            if let Err(why) = said {
                agent.notice(Level::Error, format!("/{} was not run: {why}", recipe.name));
            }
        });
        Ok(())
    }

    async fn set_model(&self, agent: Arc<Agent>, brain: Brain) -> Result<(), Refused> {
        let name = brain.chosen.name();
        let text = format!("The model is {name} from the next turn.");
        agent.think_with(brain);
        let (office, keeper) = (Arc::clone(&self.office), Arc::clone(&agent));
        let kept = tokio::task::spawn_blocking(move || keeper.keep_model(&office, &name));
        kept.await.map_err(|error| Refused(error.to_string()))?;
        agent.notice(Level::Info, text);
        Ok(())
    }

    async fn set_mode(&self, agent: Arc<Agent>, mode: Mode) -> Result<(), Refused> {
        let office = Arc::clone(&self.office);
        let changed = tokio::task::spawn_blocking(move || {
            if mode == Mode::Plan {
                agent.prepare_plan(&office)?;
            }
            agent.set_mode(mode);
            agent.keep_mode(&office);
            Ok::<(), StoreError>(())
        });
        let changed = changed.await.map_err(|error| Refused(error.to_string()))?;
        changed.map_err(|error| Refused(error.to_string()))
    }

    fn say(&self, to: &AgentId, when: When, text: String) -> Result<(), Refused> {
        let text = self.opened(to, text);
        match self.crew.queue(to, when, "user", text) {
            true => Ok(()),
            false if self.crew.agent(to).is_some() => Err(Refused(format!("`{to}` has ended"))),
            false => Err(Refused(format!("there is no agent `{to}`"))),
        }
    }

    /// Asks an agent something beside its conversation, which learns nothing of it: a title, what
    /// it did since somebody looked, a question of the person, what is worth remembering. No tool
    /// runs, and the prompt cache of the conversation is used. Of an agent that has ended it is the
    /// transcript that is asked about, with the lead's model.
    pub async fn aside(
        &self,
        agent: &AgentId,
        purpose: Purpose,
        directive: String,
        stop: &Stop,
    ) -> Result<String, Refused> {
        if matches!(purpose, Purpose::Turn | Purpose::Fork) {
            return Err(Refused("this kind of request cannot be asked on the side".to_owned()));
        }
        let (asked, said) = match self.crew.agent(agent) {
            Some(found) => (Arc::clone(&found), found.said()),
            None => (Arc::clone(&self.lead), self.recalled(agent).await?),
        };
        let answer = run_forked(&asked, &said, directive, purpose, stop).await;
        answer.map_err(|error| Refused(error.to_string()))
    }

    /// The conversation of an agent that has ended.
    async fn recalled(&self, agent: &AgentId) -> Result<Conversation, Refused> {
        let unknown = || Refused(format!("there is no agent `{agent}`"));
        let found = route::on_disk(&self.office, &agent.to_string()).ok_or_else(unknown)?;
        let office = Arc::clone(&self.office);
        let read = tokio::task::spawn_blocking(move || revive::conversation(&office, &found));
        let read = read.await.map_err(|error| Refused(error.to_string()))?;
        read.map_err(Refused)
    }

    /// Runs a definition as a subagent of `by` for somebody who is no tool, such as a skill with
    /// a context of its own.
    pub async fn run_as_subagent(
        &self,
        by: &AgentId,
        definition: Definition,
        wish: &Wish,
        stop: &Stop,
    ) -> Result<Started, Refused> {
        spawn::run_as_subagent(&self.crew, by, definition, wish, stop).await.map_err(Refused)
    }

    fn hold(&self, agent: &AgentId, held: bool) -> Result<(), Refused> {
        let found = self.crew.agent(agent);
        let found = found.ok_or_else(|| Refused(format!("there is no agent `{agent}`")))?;
        match held {
            true if found.queue.pause(true) => {
                found.tell(Fact::Paused);
            }
            // Told first: what it does once it is let go comes behind.
            false if found.queue.is_paused() => {
                found.tell(Fact::Unpaused);
                found.queue.pause(false);
            }
            true | false => {}
        }
        if let Some(roll) = self.team.roll() {
            roll.post.offer_again();
        }
        Ok(())
    }

    async fn spawn(&self, wish: SpawnWish) -> Result<(), Refused> {
        let wish = Wish {
            description: "requested by the user".to_owned(),
            prompt: wish.prompt,
            kind: wish.kind,
            model: wish.model,
            name: Some(wish.name),
            mode: wish.mode,
            worktree: wish.worktree,
            ..Wish::default()
        };
        team_spawn::by_user(&self.team, &wish).await.map(|_| ()).map_err(Refused)
    }

    async fn shut_down(&self, agent: &AgentId, reason: String) -> Result<(), Refused> {
        let none = || Refused("this session leads no team".to_owned());
        let roll = self.team.roll().ok_or_else(none)?;
        let reason = Some(reason).filter(|reason| !reason.trim().is_empty());
        let asked = shutdown::request(&self.team, &roll, &agent.name, reason).await;
        let refused = asked.failed || asked.data.get("success") == Some(&false.into());
        match refused {
            true => Err(Refused(asked.summary)),
            false => Ok(()),
        }
    }

    async fn change_task(&self, change: TaskChange) -> Result<(), Refused> {
        let (store, place) = (self.office.store.clone(), self.team.place());
        let changed = tokio::task::spawn_blocking(move || {
            let list = store.tasks(&place.tasks);
            if place.team.is_none() {
                list.make()?;
            }
            let patch = |id, patch: TaskPatch| {
                store.change_task(&place.tasks, &id, &patch, &AgentName::lead()).map(|changed| {
                    let told = changed.told.and_then(Result::ok);
                    let mail = told.zip(changed.updated.task.owner().cloned());
                    let mut tasks = vec![changed.updated.task];
                    tasks.extend(changed.others);
                    Touched { tasks, mail, ..Touched::default() }
                })
            };
            match change {
                TaskChange::Create { subject, description, blocked_by } => {
                    let new = NewTask { subject, description, blocked_by, ..NewTask::default() };
                    let made = list.create(&new)?;
                    let others =
                        made.blocked_by.iter().filter_map(|id| list.get(id).ok().flatten());
                    let tasks = others.chain([made.clone()]).collect();
                    Ok(Touched { tasks, ..Touched::default() })
                }
                TaskChange::Reword { id, subject, description } => {
                    patch(id, TaskPatch { subject, description, ..TaskPatch::default() })
                }
                TaskChange::Status { id, status } => {
                    patch(id, TaskPatch { status: Some(status), ..TaskPatch::default() })
                }
                TaskChange::Assign { id, owner } => {
                    let owner = Some(owner.map_or(Owner::Nobody, Owner::Agent));
                    patch(id, TaskPatch { owner, ..TaskPatch::default() })
                }
                TaskChange::BlockedBy { id, blockers } => {
                    let tasks = list.set_blockers(&id, &blockers)?;
                    Ok(Touched { tasks, ..Touched::default() })
                }
                TaskChange::Delete { id } => {
                    let tasks = store.delete_task(&place.tasks, &id)?;
                    Ok(Touched { tasks, deleted: Some(id), ..Touched::default() })
                }
            }
        });
        let changed: Result<Touched, StoreError> =
            changed.await.map_err(|error| Refused(error.to_string()))?;
        let changed = changed.map_err(|error| Refused(error.to_string()))?;
        let journal = &self.office.journal;
        for task in changed.tasks {
            journal.emit(None, Fact::TaskChanged { task });
        }
        if let Some(id) = changed.deleted {
            journal.emit(None, Fact::TaskDeleted { id });
        }
        if let Some((message, to)) = changed.mail {
            self.team.mail_sent(&to, &message);
            journal.emit(Some(&self.lead.cx.me), Fact::MailSent { to, message });
        }
        self.team.task_changed(&self.lead.cx.me, None);
        Ok(())
    }
}

/// Puts the words of a recipe into the agent's queue, or has a subagent of it do what they say.
async fn say_recipe(
    crew: &Arc<Solo>,
    agent: &Agent,
    recipe: &Recipe,
    text: String,
    stop: &Stop,
) -> Result<(), String> {
    let (me, lent) = (&agent.cx.me, recipe.lent());
    match recipe.kind.clone() {
        None => match crew.queue_lending(me, When::Next, "user", text, lent) {
            true => Ok(()),
            false => Err(format!("`{me}` has ended")),
        },
        Some(kind) => {
            let description = format!("/{}", recipe.name);
            let kind = Some(kind);
            let wish =
                Wish { description, prompt: text, kind, background: true, lent, ..Wish::default() };
            spawn::for_person(crew, me, &wish, stop).await.map(|_| ())
        }
    }
}

/// What a change of the tasks touched.
#[derive(Default)]
struct Touched {
    tasks: Vec<crate::protocol::task::Task>,
    deleted: Option<crate::protocol::ids::TaskId>,
    mail: Option<(crate::protocol::message::Message, AgentName)>,
}
