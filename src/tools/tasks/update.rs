//! TaskUpdate: what changes about a task, from its first owner to its end.

use futures::FutureExt;
use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Here, with_list};
use crate::permission::Access;
use crate::protocol::event::Fact;
use crate::protocol::ids::{AgentName, TaskId};
use crate::protocol::task::{Status, Task};
use crate::store::StoreError;
use crate::store::assignment::Changed;
use crate::store::tasks::{Owner, TaskPatch};
use crate::tools::{Bad, Call, Needs, Output, Spec, Tool, ToolContext, parse};

const NAME: &str = "TaskUpdate";

const DESCRIPTION: &str = "\
Changes a task of the shared list. Fields that you leave out stay as they are.

Set the status to `in_progress` when you begin and to `completed` when it is done: all of it, with \
its tests passing. If something keeps you from finishing, leave it in progress and add a task for \
what is in the way. `deleted` removes a task for good; use it for what was a mistake.

`owner` gives the task to a member of the team, who is told by mail; an empty owner takes it back. \
`addBlockedBy` names tasks that must be completed before this one can begin, `addBlocks` those that \
must wait for this one. `metadata` is merged into what is there; null removes a key.";

/// What the ecosystem tells a teammate that has finished something.
const GO_ON: &str = "Task completed. Call TaskList now to find your next available task or see if \
                     your work unblocked others.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Input {
    /// The number of the task, as TaskList shows it.
    #[schemars(with = "String")]
    task_id: TaskId,
    subject: Option<String>,
    description: Option<String>,
    /// The subject as it reads while somebody works on it.
    active_form: Option<String>,
    status: Option<Wanted>,
    /// Numbers of tasks that must wait for this one.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    add_blocks: Vec<TaskId>,
    /// Numbers of tasks that this one must wait for.
    #[serde(default)]
    #[schemars(with = "Vec<String>")]
    add_blocked_by: Vec<TaskId>,
    /// The name of a team member.
    owner: Option<String>,
    /// Merged into what is there; null removes a key.
    metadata: Option<Map<String, Value>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Wanted {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

/// What is asked for, in the words of the store.
enum Change {
    Delete,
    Patch(Box<TaskPatch>),
}

#[derive(Debug)]
pub struct TaskUpdateTool {
    spec: Spec,
}

impl TaskUpdateTool {
    pub fn new() -> Self {
        Self { spec: Spec::of::<Input>(NAME, DESCRIPTION, Needs::Nothing, true) }
    }
}

impl Default for TaskUpdateTool {
    fn default() -> Self {
        Self::new()
    }
}

fn read(input: &Value) -> Result<(TaskId, Change), Bad> {
    let input: Input = parse(NAME, input)?;
    if input.subject.as_ref().is_some_and(|subject| subject.trim().is_empty()) {
        return Err(Bad("A task needs a subject; leave it out to keep the one it has.".to_owned()));
    }
    let id = TaskId::written(input.task_id.as_str());
    let status = match input.status {
        Some(Wanted::Deleted) => return Ok((id, Change::Delete)),
        Some(Wanted::Pending) => Some(Status::Pending),
        Some(Wanted::InProgress) => Some(Status::InProgress),
        Some(Wanted::Completed) => Some(Status::Completed),
        None => None,
    };
    let owner = input.owner.map(|name| match name.trim() {
        "" => Owner::Nobody,
        name => Owner::Agent(AgentName::found(name.trim_start_matches('@'))),
    });
    let ids = |ids: Vec<TaskId>| ids.iter().map(|id| TaskId::written(id.as_str())).collect();
    let patch = TaskPatch {
        subject: input.subject,
        description: input.description,
        active_form: input.active_form,
        status,
        owner,
        add_blocks: ids(input.add_blocks),
        add_blocked_by: ids(input.add_blocked_by),
        metadata: input.metadata,
    };
    Ok((id, Change::Patch(Box::new(patch))))
}

impl Tool for TaskUpdateTool {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn access(&self, _: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad> {
        read(input).map(|_| vec![Access::Free])
    }

    fn summary(&self, input: &Value) -> String {
        let Ok((id, _)) = read(input) else { return String::new() };
        let word = |key: &str| Some(format!("{key} {}", input.get(key)?.as_str()?));
        let tasks = |(key, words): (&str, &str)| {
            let ids = input.get(key)?.as_array()?.iter().filter_map(Value::as_str);
            let ids: Vec<String> =
                ids.map(|id| format!("#{}", id.trim_start_matches('#'))).collect();
            (!ids.is_empty()).then(|| format!("{words} {}", ids.join(", ")))
        };
        let order = [("addBlockedBy", "waits for"), ("addBlocks", "comes before")];
        let rest = ["status", "owner"].into_iter().filter_map(word);
        let rest: Vec<String> = rest.chain(order.into_iter().filter_map(tasks)).collect();
        format!("#{id} {}", rest.join(", ")).trim_end().to_owned()
    }

    fn run<'a>(&'a self, cx: &'a ToolContext, _: &'a Call, input: Value) -> BoxFuture<'a, Output> {
        update(cx, input).map(|outcome| outcome.unwrap_or_else(|refused| refused)).boxed()
    }
}

async fn update(cx: &ToolContext, input: Value) -> Result<Output, Output> {
    let (id, change) = read(&input).map_err(|bad| Output::failed(bad.0))?;
    match change {
        Change::Delete => delete(cx, id).await,
        Change::Patch(patch) => patched(cx, id, *patch).await,
    }
}

async fn delete(cx: &ToolContext, id: TaskId) -> Result<Output, Output> {
    let gone = id.clone();
    let deleted = with_list(cx, move |here| {
        let before = before(here, &gone)?;
        let others = here.store.delete_task(&here.list, &gone)?;
        here.journal.emit(Some(&here.me), Fact::TaskDeleted { id: gone });
        others.iter().for_each(|task| here.tell(task));
        Ok(before.status)
    });
    let from = deleted.await?;
    cx.crew.task_changed(&cx.me, None);
    let data = json!({
        "success": true,
        "taskId": id,
        "updatedFields": ["deleted"],
        "statusChange": { "from": from, "to": "deleted" },
    });
    Ok(Output::text(format!("Updated task #{id} deleted")).with_data(data))
}

fn before(here: &Here, id: &TaskId) -> Result<Task, StoreError> {
    here.store.tasks(&here.list).get(id)?.ok_or_else(|| StoreError::NoTask(id.clone()))
}

async fn patched(cx: &ToolContext, id: TaskId, mut patch: TaskPatch) -> Result<Output, Output> {
    let done = with_list(cx, move |here| {
        let before = before(here, &id)?;
        let teammate = here.teammate().cloned();
        // Who begins with a task of nobody has taken it, also if they do not say so.
        if let (Some(Status::InProgress), None, Some(me)) = (patch.status, &patch.owner, &teammate)
        {
            patch.owner = Some(Owner::Taker(me.clone()));
        }
        let changed = here.store.change_task(&here.list, &id, &patch, &here.actor())?;
        if !changed.updated.fields.is_empty() {
            here.tell(&changed.updated.task);
            changed.others.iter().for_each(|task| here.tell(task));
        }
        Ok((before.status, teammate.is_some(), changed))
    });
    let (from, is_teammate, changed) = done.await?;
    let Changed { updated, others, told } = changed;
    let task = updated.task;
    if !updated.fields.is_empty() {
        for task in [&task].into_iter().chain(&others) {
            cx.crew.task_changed(&cx.me, Some(task));
        }
    }
    let mut said = match updated.fields.is_empty() {
        true => format!("Task #{} is already like that", task.id),
        false => format!("Updated task #{} {}", task.id, updated.fields.join(", ")),
    };
    let changed_status = updated.fields.contains(&"status");
    let mut data = json!({ "success": true, "taskId": task.id, "updatedFields": updated.fields });
    if changed_status {
        data["statusChange"] = json!({ "from": from, "to": task.status });
    }
    if changed_status && task.status == Status::Completed && is_teammate {
        said = format!("{said}\n\n{GO_ON}");
    }
    match (told, task.owner()) {
        (Some(Ok(message)), Some(owner)) => {
            let sent = Fact::MailSent { to: owner.clone(), message: message.clone() };
            cx.journal.emit(Some(&cx.me), sent);
            cx.crew.mail_sent(owner, &message);
        }
        (Some(Err(error)), Some(owner)) => {
            said =
                format!("{said}\n\nBut {owner} could not be told: {error}. Send them a message.");
            return Ok(Output::failed(said).with_data(data));
        }
        (_, _) => {}
    }
    Ok(Output::text(said).with_data(data))
}
