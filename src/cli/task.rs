//! `quarterdeck task …`

use std::io;

use clap::ValueEnum;
use serde_json::{Map, Value, json};

use super::args::{Add, TaskCommand, Update};
use super::dag;
use super::failure::Failure;
use super::out::Out;
use super::printable::{one_line, printable};
use crate::protocol::graph::TaskSet;
use crate::protocol::ids::{AgentName, TaskId, TeamDir};
use crate::protocol::json::Json;
use crate::protocol::task::{Status, Task, id_list};
use crate::store::tasks::{Load, NewTask, Owner, TaskList, TaskPatch};
use crate::store::{Store, StoreError};

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub enum StatusArg {
    Pending,
    InProgress,
    Completed,
    Deleted,
}

pub fn run(store: &Store, command: TaskCommand, out: &mut Out) -> Result<(), Failure> {
    match command {
        TaskCommand::Add(new) => add(store, &new, out),
        TaskCommand::List { team, ready, owner, all } => {
            let owner = owner.as_deref().map(AgentName::found);
            let wanted = |tasks: &TaskSet, task: &Task| {
                (all || !task.is_internal())
                    && (!ready || tasks.is_ready(task))
                    && owner.as_ref().is_none_or(|owner| task.owner() == Some(owner))
            };
            list(&store.tasks(&find(store, &team)?), wanted, out)
        }
        TaskCommand::Show { team, id } => {
            show(&store.tasks(&find(store, &team)?), &TaskId::written(&id), out)
        }
        TaskCommand::Dag { team } => draw(&store.tasks(&find(store, &team)?), out),
        TaskCommand::Update(change) => update(store, &change, out),
        TaskCommand::Claim { team, id, agent, one_at_a_time } => {
            let load = if one_at_a_time { Load::OneAtATime } else { Load::AnyNumber };
            let dir = find(store, &team)?;
            let agent = somebody(store, &dir, &agent)?;
            let id = id.as_deref().map(TaskId::written);
            claim(&store.tasks(&dir), id.as_ref(), &agent, load, out)
        }
        TaskCommand::Delete { team, id } => {
            delete(&store.tasks(&find(store, &team)?), &TaskId::written(&id), out)
        }
    }
}

/// A team's list, or one that belongs to a session without a team.
fn find(store: &Store, name: &str) -> Result<TeamDir, Failure> {
    store.rosters().find(name).or_else(|missing| match TeamDir::found(name) {
        Some(dir) if store.home().tasks(&dir).is_dir() => Ok(dir),
        Some(_) | None => Err(missing.into()),
    })
}

/// Somebody who can own tasks of a list.
fn somebody(store: &Store, dir: &TeamDir, name: &str) -> Result<AgentName, Failure> {
    if name.is_empty() {
        return Err(Failure::bad_input("an agent's name is missing"));
    }
    let name = AgentName::found(name);
    store.may_own(dir, &name)?;
    Ok(name)
}

fn add(store: &Store, add: &Add, out: &mut Out) -> Result<(), Failure> {
    let list = store.tasks(&find(store, &add.team)?);
    let mut new = NewTask {
        subject: add.subject.clone(),
        description: add.description.clone(),
        active_form: add.active_form.clone(),
        blocked_by: ids(&add.blocked_by),
        metadata: add.metadata.as_deref().map(object).transpose()?,
    };
    let from_input = add.subject == "-";
    if add.lines != from_input {
        return Err(Failure::bad_input(
            "to read tasks from standard input, write `-` for SUBJECT and add --lines",
        ));
    }
    if !add.lines && new.subject.trim().is_empty() {
        return Err(Failure::bad_input("a task needs a subject"));
    }
    if !add.lines {
        return created(&list.create(&new)?, out);
    }
    for line in io::stdin().lines() {
        new.subject = line?;
        if !new.subject.trim().is_empty() {
            created(&list.create(&new)?, out)?;
        }
    }
    Ok(())
}

fn created(task: &Task, out: &mut Out) -> Result<(), Failure> {
    let subject = one_line(&task.subject);
    out.answer(task, || format!("Task #{} created successfully: {subject}", task.id))
}

fn list(
    list: &TaskList<'_>,
    wanted: impl Fn(&TaskSet, &Task) -> bool,
    out: &mut Out,
) -> Result<(), Failure> {
    let (values, lines) = list.look(|tasks| {
        let chosen = || tasks.iter().filter(|task| wanted(tasks, task));
        let values: Vec<Value> = chosen().map(|task| value(tasks, task)).collect();
        (values, chosen().map(|task| tasks.line(&presentable(task))).collect::<Vec<_>>())
    })?;
    out.problems(&list.problems());
    out.answer(&values, || match lines.is_empty() {
        true => "No tasks".to_owned(),
        false => lines.join("\n"),
    })
}

/// A task whose fields can stand on a line with ours.
fn presentable(task: &Task) -> Task {
    let owner = task.owner().map(|owner| AgentName::found(&one_line(owner.as_str())));
    let subject = one_line(&task.subject);
    let id_of = |id: &TaskId| TaskId::found(&one_line(id.as_str()));
    let blocks = task.blocks.iter().map(id_of).collect();
    Task { subject, owner, blocks, ..task.clone() }
}

/// A task with what follows from the others.
fn value(tasks: &TaskSet, task: &Task) -> Value {
    let mut value = serde_json::to_value(task).unwrap_or_default();
    value["openBlockers"] = json!(tasks.open_blockers(&task.id));
    value["ready"] = json!(tasks.is_ready(task));
    value
}

fn show(list: &TaskList<'_>, id: &TaskId, out: &mut Out) -> Result<(), Failure> {
    // A file that is there and cannot be read is an error of its own, not "not found".
    let mut document = list.document(id)?.ok_or_else(|| StoreError::NoTask(id.clone()))?;
    let task = list.get(id)?.ok_or_else(|| StoreError::NoTask(id.clone()))?;
    let (open, ready) = list.look(|tasks| (tasks.open_blockers(id), tasks.is_ready(&task)))?;
    document.set("openBlockers", Json::of(&open), &[]);
    document.set("ready", Json::from(ready), &[]);
    out.document(&document, || {
        let mut lines = vec![
            format!("Task #{id}: {}", one_line(&task.subject)),
            format!("Status: {}", task.status.as_str()),
            format!("Description: {}", printable(&task.description).replace('\n', "\n  ")),
        ];
        if let Some(owner) = task.owner() {
            lines.push(format!("Owner: {}", one_line(owner.as_str())));
        }
        if !open.is_empty() {
            lines.push(format!("Blocked by: {}", id_list(&open)));
        }
        if !task.blocks.is_empty() {
            lines.push(format!("Blocks: {}", id_list(&presentable(&task).blocks)));
        }
        if let Some(metadata) = &task.metadata {
            lines.push(format!("Metadata: {}", Json::of(metadata).compact()));
        }
        lines.join("\n")
    })
}

fn draw(list: &TaskList<'_>, out: &mut Out) -> Result<(), Failure> {
    let (nodes, edges, drawing) = list.look(|tasks| {
        let shown = || tasks.iter().filter(|task| !task.is_internal());
        let nodes: Vec<Value> = shown().map(|task| value(tasks, task)).collect();
        let edges: Vec<Value> = shown()
            .flat_map(|task| tasks.blockers(&task.id).map(|blocker| (blocker, &task.id)))
            .map(|(blocker, waiting)| json!({ "blocker": blocker, "waiting": waiting }))
            .collect();
        (nodes, edges, dag::draw(tasks))
    })?;
    out.problems(&list.problems());
    out.answer(&json!({ "tasks": nodes, "edges": edges }), || match nodes.is_empty() {
        true => "No tasks".to_owned(),
        false => drawing,
    })
}

fn update(store: &Store, change: &Update, out: &mut Out) -> Result<(), Failure> {
    let dir = find(store, &change.team)?;
    let list = store.tasks(&dir);
    let id = TaskId::written(&change.id);
    let from = somebody(store, &dir, &change.from)?;
    let status = match change.status {
        Some(StatusArg::Deleted) => return delete(&list, &id, out),
        Some(StatusArg::Pending) => Some(Status::Pending),
        Some(StatusArg::InProgress) => Some(Status::InProgress),
        Some(StatusArg::Completed) => Some(Status::Completed),
        None => None,
    };
    let owner = match change.owner.as_deref() {
        None => None,
        Some("") => Some(Owner::Nobody),
        Some(name) => Some(Owner::Agent(somebody(store, &dir, name)?)),
    };
    let patch = TaskPatch {
        subject: change.subject.clone(),
        description: change.description.clone(),
        active_form: change.active_form.clone(),
        status,
        owner,
        add_blocks: ids(&change.add_blocks),
        add_blocked_by: ids(&change.add_blocked_by),
        metadata: change.metadata.as_deref().map(object).transpose()?,
    };
    let changed = store.change_task(&dir, &id, &patch, &from)?;
    changed.told.transpose()?;
    let updated = changed.updated;
    let value = json!({ "task": updated.task, "updatedFields": updated.fields });
    out.answer(&value, || match updated.fields.is_empty() {
        true => format!("Task #{id} is already like that"),
        false => format!("Updated task #{id} {}", updated.fields.join(", ")),
    })
}

fn claim(
    list: &TaskList<'_>,
    id: Option<&TaskId>,
    agent: &AgentName,
    load: Load,
    out: &mut Out,
) -> Result<(), Failure> {
    let outcome = match id {
        Some(id) => list.claim(id, agent, load)?.map(Some),
        None => list.claim_next(agent, load)?,
    };
    let nobody = TaskId::found("");
    let task = match outcome {
        Ok(Some(task)) => task,
        Ok(None) => return Err(Failure::no("no_ready_task", "no task is free to claim")),
        Err(refusal) => return Err(Failure::refused(id.unwrap_or(&nobody), agent, &refusal)),
    };
    let value = json!({ "success": true, "task": task });
    out.answer(&value, || format!("{agent} claimed #{}: {}", task.id, one_line(&task.subject)))
}

fn delete(list: &TaskList<'_>, id: &TaskId, out: &mut Out) -> Result<(), Failure> {
    list.delete(id)?;
    out.answer(&json!({ "deleted": id }), || format!("Deleted task #{id}"))
}

fn ids(texts: &[String]) -> Vec<TaskId> {
    texts.iter().filter(|text| !text.trim().is_empty()).map(|text| TaskId::written(text)).collect()
}

fn object(text: &str) -> Result<Map<String, Value>, Failure> {
    serde_json::from_str(text)
        .map_err(|error| Failure::bad_input(format!("--metadata is not a JSON object: {error}")))
}
