//! The task tools: the words of the ecosystem, mail to whoever gets a task, and an event for every
//! task that was touched.

use std::sync::Arc;

use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::{AgentId, AgentName, SessionId, TaskId, TeamDir, TeamName};
use quarterdeck::protocol::op::Mode;
use quarterdeck::protocol::task::{Status, Task};
use quarterdeck::store::roster::{Backend, NewMember, NewTeam};
use quarterdeck::store::tasks::NewTask;
use quarterdeck::tools::tasks::{TaskCreateTool, TaskGetTool, TaskListTool, TaskUpdateTool};
use quarterdeck::tools::{Output, Tool};
use serde_json::{Map, Value, json};

use super::rig::Rig;

const GO_ON: &str = "\n\nTask completed. Call TaskList now to find your next available task or see \
                     if your work unblocked others.";

fn tools() -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(TaskCreateTool::new()),
        Arc::new(TaskGetTool::new()),
        Arc::new(TaskListTool::new()),
        Arc::new(TaskUpdateTool::new()),
    ]
}

/// In the strictest mode: the task tools need nobody's leave.
fn alone() -> Rig {
    Rig::new(Mode::DontAsk, tools())
}

fn in_team() -> (Rig, TeamDir) {
    let rig = alone();
    let new = NewTeam {
        name: TeamName::new("peer-team").unwrap(),
        description: None,
        lead_type: None,
        model: None,
        cwd: "/".into(),
        session: SessionId::found("s"),
        tasks: None,
    };
    let (dir, _) = rig.cx.store.rosters().create(&new).unwrap();
    for name in ["alice", "bob"] {
        let new = NewMember {
            name: AgentName::new(name).unwrap(),
            agent_type: "general-purpose".into(),
            model: "m".into(),
            prompt: "p".into(),
            plan_mode_required: false,
            cwd: "/".into(),
            backend: Backend::InProcess,
        };
        rig.cx.store.rosters().join(&dir, &new).unwrap();
    }
    *rig.crew.team.lock().unwrap() = Some(dir.clone());
    (rig, dir)
}

fn become_(rig: &mut Rig, chain: &[&str]) {
    let id = |name: &&str| AgentId::parse(&format!("{name}@peer-team")).unwrap();
    rig.cx.chain = chain.iter().map(id).collect();
    rig.cx.me = rig.cx.chain[0].clone();
}

fn said(output: &Output) -> String {
    assert!(!output.failed, "{output:?}");
    output.content.text()
}

fn refused(output: &Output) -> String {
    assert!(output.failed, "{output:?}");
    output.content.text()
}

async fn ok(rig: &Rig, tool: &str, input: Value) -> String {
    said(&rig.call(tool, input).await)
}

fn changed(facts: &[Fact]) -> Vec<&Task> {
    let mut tasks = Vec::new();
    for fact in facts {
        if let Fact::TaskChanged { task } = fact {
            tasks.push(task);
        }
    }
    tasks
}

async fn three(rig: &Rig) {
    let a = json!({ "subject": "Task A", "description": "Do A", "activeForm": "Doing A" });
    assert_eq!(ok(rig, "TaskCreate", a).await, "Task #1 created successfully: Task A");
    let b = json!({ "subject": "Task B", "description": "Do B" });
    assert_eq!(ok(rig, "TaskCreate", b).await, "Task #2 created successfully: Task B");
    let c = json!({
        "subject": "Task C", "description": "Do C after A and B", "activeForm": "Doing C",
        "metadata": { "prio": "high" },
    });
    assert_eq!(ok(rig, "TaskCreate", c).await, "Task #3 created successfully: Task C");
    let link = json!({ "taskId": "3", "addBlockedBy": ["1", "2"] });
    assert_eq!(ok(rig, "TaskUpdate", link).await, "Updated task #3 blockedBy");
}

/// What a lead and two teammates of another program said and heard, word for word.
#[tokio::test]
async fn a_recorded_team_hears_the_same_words() {
    let (mut rig, dir) = in_team();
    three(&rig).await;
    let give = |id: &str, to: &str| json!({ "taskId": id, "owner": to });
    assert_eq!(ok(&rig, "TaskUpdate", give("1", "alice")).await, "Updated task #1 owner");
    assert_eq!(ok(&rig, "TaskUpdate", give("2", "bob")).await, "Updated task #2 owner");
    assert_eq!(
        ok(&rig, "TaskList", json!({})).await,
        "#1 [pending] Task A (alice)\n#2 [pending] Task B (bob)\n\
         #3 [pending] Task C [blocked by #1, #2]"
    );
    assert_eq!(
        ok(&rig, "TaskGet", json!({ "taskId": "3" })).await,
        "Task #3: Task C\nStatus: pending\nDescription: Do C after A and B\nBlocked by: #1, #2"
    );
    let mail = rig.cx.store.mail(&dir).read(&AgentName::found("alice")).unwrap().messages;
    assert_eq!(mail.len(), 1);
    let body: Value = serde_json::from_str(&mail[0].text).unwrap();
    assert_eq!(body["type"], "task_assignment");
    assert_eq!(body["taskId"], "1");
    assert_eq!(body["assignedBy"], "team-lead");
    let mails: Vec<String> = rig
        .facts()
        .iter()
        .filter_map(
            |fact| if let Fact::MailSent { to, .. } = fact { Some(to.to_string()) } else { None },
        )
        .collect();
    assert_eq!(mails, ["alice", "bob"]);

    become_(&mut rig, &["alice", "team-lead"]);
    let status = |id: &str, status: &str| json!({ "taskId": id, "status": status });
    let begun = rig.call("TaskUpdate", status("1", "in_progress")).await;
    assert_eq!(said(&begun), "Updated task #1 status");
    let change = json!({ "from": "pending", "to": "in_progress" });
    assert_eq!(begun.data["statusChange"], change);
    let done = ok(&rig, "TaskUpdate", status("1", "completed")).await;
    assert_eq!(done, format!("Updated task #1 status{GO_ON}"));

    become_(&mut rig, &["bob", "team-lead"]);
    let both = json!({ "taskId": "2", "status": "in_progress", "owner": "bob" });
    assert_eq!(ok(&rig, "TaskUpdate", both).await, "Updated task #2 status");
    let done = ok(&rig, "TaskUpdate", status("2", "completed")).await;
    assert_eq!(done, format!("Updated task #2 status{GO_ON}"));
    let mail = rig.cx.store.mail(&dir).read(&AgentName::found("bob")).unwrap().messages;
    assert_eq!(mail.len(), 1, "nobody writes to themselves");

    become_(&mut rig, &["team-lead"]);
    let deleted = rig.call("TaskUpdate", status("3", "deleted")).await;
    assert_eq!(said(&deleted), "Updated task #3 deleted");
    assert_eq!(deleted.data["statusChange"], json!({ "from": "pending", "to": "deleted" }));
    let d = json!({ "subject": "Task D", "description": "after delete" });
    assert_eq!(ok(&rig, "TaskCreate", d).await, "Task #4 created successfully: Task D");
    assert_eq!(
        ok(&rig, "TaskList", json!({})).await,
        "#1 [completed] Task A (alice)\n#2 [completed] Task B (bob)\n#4 [pending] Task D"
    );
    // The lead is not sent to the list: it is not waiting for its next task.
    assert_eq!(ok(&rig, "TaskUpdate", status("4", "completed")).await, "Updated task #4 status");
}

#[tokio::test]
async fn a_session_without_a_team_has_a_list_of_its_own() {
    let rig = alone();
    assert_eq!(ok(&rig, "TaskList", json!({})).await, "No tasks found");
    three(&rig).await;
    // Without a roster any name can own a task, and there is nobody to tell.
    let owner = json!({ "taskId": "#1", "owner": "whoever", "status": "in_progress" });
    assert_eq!(ok(&rig, "TaskUpdate", owner).await, "Updated task #1 owner, status");
    let again = json!({ "taskId": 1, "owner": "whoever" });
    assert_eq!(ok(&rig, "TaskUpdate", again).await, "Task #1 is already like that");
    assert!(!rig.facts().iter().any(|fact| matches!(fact, Fact::MailSent { .. })));
    let back = json!({ "taskId": "1", "owner": "" });
    assert_eq!(ok(&rig, "TaskUpdate", back).await, "Updated task #1 owner");
    assert!(ok(&rig, "TaskGet", json!({ "taskId": "1" })).await.ends_with("\nBlocks: #3"));
    let list = rig.cx.store.tasks(&TeamDir::found("the-session").unwrap());
    assert_eq!(list.get(&TaskId::from(1)).unwrap().unwrap().owner(), None);
}

#[tokio::test]
async fn everybody_hears_of_every_task_that_was_touched() {
    let rig = alone();
    three(&rig).await;
    let facts = rig.facts();
    let tasks = changed(&facts);
    let ids: Vec<&str> = tasks.iter().map(|task| task.id.as_str()).collect();
    assert_eq!(ids, ["1", "2", "3", "3", "1", "2"]);
    assert_eq!(tasks[3].blocked_by, [TaskId::from(1), TaskId::from(2)]);
    assert_eq!(
        (&tasks[4].blocks, &tasks[5].blocks),
        (&vec![TaskId::from(3)], &vec![TaskId::from(3)])
    );

    let before = facts.len();
    ok(&rig, "TaskUpdate", json!({ "taskId": "1", "status": "deleted" })).await;
    let facts = rig.facts();
    let gone = Fact::TaskDeleted { id: TaskId::from(1) };
    assert!(facts[before..].contains(&gone));
    let tasks = changed(&facts[before..]);
    assert_eq!(tasks.len(), 1);
    assert_eq!((tasks[0].id.as_str(), &tasks[0].blocked_by), ("3", &vec![TaskId::from(2)]));

    let before = facts.len();
    ok(&rig, "TaskUpdate", json!({ "taskId": "2", "subject": "Task B" })).await;
    assert!(changed(&rig.facts()[before..]).is_empty(), "nothing was changed");
}

#[tokio::test]
async fn lists_show_open_blockers_and_hide_bookkeeping() {
    let rig = alone();
    three(&rig).await;
    ok(&rig, "TaskUpdate", json!({ "taskId": "1", "status": "completed" })).await;
    let hidden = json!({ "subject": "x", "description": "", "metadata": { "_internal": true } });
    ok(&rig, "TaskCreate", hidden).await;
    let forged = json!({ "subject": "x\n#9 [completed] y", "description": "" });
    ok(&rig, "TaskCreate", forged).await;
    assert_eq!(
        ok(&rig, "TaskList", json!({})).await,
        "#1 [completed] Task A\n#2 [pending] Task B\n#3 [pending] Task C [blocked by #2]\n\
         #5 [pending] x #9 [completed] y"
    );
    let shown = ok(&rig, "TaskGet", json!({ "taskId": "3" })).await;
    assert!(shown.ends_with("\nBlocked by: #2"), "{shown}");
}

#[tokio::test]
async fn a_long_list_leaves_out_what_is_done() {
    let rig = alone();
    let list = rig.cx.store.tasks(&TeamDir::found("the-session").unwrap());
    list.make().unwrap();
    for nth in 1..=230 {
        let subject = format!("{nth} {}", "é".repeat(300));
        list.create(&NewTask { subject, ..NewTask::default() }).unwrap();
    }
    for id in 1..=20 {
        ok(&rig, "TaskUpdate", json!({ "taskId": id, "status": "completed" })).await;
    }
    let shown = rig.call("TaskList", json!({})).await;
    assert_eq!(shown.summary, "230 tasks, 20 done");
    let text = said(&shown);
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 201);
    assert!(lines[0].starts_with("#21 [pending] 21 é") && lines[0].ends_with("é…"), "{}", lines[0]);
    assert!(lines.iter().all(|line| line.chars().count() < 230));
    assert_eq!(lines[200], "(30 more are not shown, the completed first)");
}

#[tokio::test]
async fn metadata_is_merged_and_null_takes_a_key_away() {
    let rig = alone();
    three(&rig).await;
    let patch = json!({ "taskId": "3", "metadata": { "prio": null, "size": 2 } });
    assert_eq!(ok(&rig, "TaskUpdate", patch).await, "Updated task #3 metadata");
    let list = rig.cx.store.tasks(&TeamDir::found("the-session").unwrap());
    let wanted: Map<String, Value> = [("size".to_owned(), json!(2))].into_iter().collect();
    assert_eq!(list.get(&TaskId::from(3)).unwrap().unwrap().metadata, Some(wanted));
}

#[tokio::test]
async fn what_makes_no_sense_is_refused_in_words() {
    let (rig, dir) = in_team();
    three(&rig).await;
    let cases = [
        ("TaskGet", json!({ "taskId": "9" }), "There is no task #9; TaskList shows"),
        ("TaskGet", json!({ "taskId": "../../x" }), "There is no task #../../x"),
        ("TaskGet", json!({}), "TaskGet cannot use this input: missing field `taskId`"),
        ("TaskCreate", json!({ "subject": " ", "description": "" }), "A task needs a subject."),
        ("TaskUpdate", json!({ "taskId": "9", "status": "completed" }), "There is no task #9;"),
        ("TaskUpdate", json!({ "taskId": "9", "status": "deleted" }), "There is no task #9;"),
        ("TaskUpdate", json!({ "taskId": "1", "addBlocks": ["7"] }), "There is no task #7;"),
        (
            "TaskUpdate",
            json!({ "taskId": "1", "addBlockedBy": ["3"] }),
            "That would be a cycle: #1 → #3 → #1.",
        ),
        (
            "TaskUpdate",
            json!({ "taskId": "1", "owner": "carol" }),
            "Team `peer-team` has no member `carol`; its members are: team-lead, alice, bob.",
        ),
        ("TaskUpdate", json!({ "taskId": "1", "status": "doing" }), "unknown variant `doing`"),
    ];
    let before = rig.cx.store.tasks(&dir).look(|tasks| tasks.iter().cloned().collect::<Vec<_>>());
    for (tool, input, part) in cases {
        let words = refused(&rig.call(tool, input.clone()).await);
        assert!(words.contains(part), "{tool} {input} says: {words}");
    }
    let after = rig.cx.store.tasks(&dir).look(|tasks| tasks.iter().cloned().collect::<Vec<_>>());
    assert_eq!(before.unwrap(), after.unwrap());
}

#[tokio::test]
async fn who_begins_with_a_task_of_nobody_has_taken_it() {
    let (mut rig, dir) = in_team();
    three(&rig).await;
    let begin = |id: &str| json!({ "taskId": id, "status": "in_progress" });
    let task =
        |rig: &Rig, id: u64| rig.cx.store.tasks(&dir).get(&TaskId::from(id)).unwrap().unwrap();
    become_(&mut rig, &["alice", "team-lead"]);
    assert_eq!(ok(&rig, "TaskUpdate", begin("1")).await, "Updated task #1 owner, status");
    assert_eq!(task(&rig, 1).owner().unwrap().as_str(), "alice");
    become_(&mut rig, &["bob", "team-lead"]);
    assert_eq!(ok(&rig, "TaskUpdate", begin("1")).await, "Task #1 is already like that");
    assert_eq!(task(&rig, 1).owner().unwrap().as_str(), "alice");
    // Neither a lead nor a subagent takes tasks by the way.
    become_(&mut rig, &["team-lead"]);
    assert_eq!(ok(&rig, "TaskUpdate", begin("2")).await, "Updated task #2 status");
    become_(&mut rig, &["helper", "alice", "team-lead"]);
    assert_eq!(ok(&rig, "TaskUpdate", begin("3")).await, "Updated task #3 status");
    assert_eq!((task(&rig, 3).status, task(&rig, 3).owner()), (Status::InProgress, None));
    // A subagent acts for whoever made it.
    ok(&rig, "TaskUpdate", json!({ "taskId": "3", "owner": "bob" })).await;
    let mail = rig.cx.store.mail(&dir).read(&AgentName::found("bob")).unwrap().messages;
    assert_eq!(mail[0].from.as_str(), "alice");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_who_begin_at_once_one_owns_the_task() {
    let (rig, dir) = in_team();
    three(&rig).await;
    let mut rigs = Vec::new();
    for name in ["alice", "bob"].repeat(4) {
        let (mut other, _) = in_team();
        other.cx.store = rig.cx.store.clone();
        become_(&mut other, &[name, "team-lead"]);
        rigs.push(other);
    }
    let begin = json!({ "taskId": "1", "status": "in_progress" });
    let calls = rigs.iter().map(|rig| rig.call("TaskUpdate", begin.clone()));
    let outputs = futures::future::join_all(calls).await;
    let took = |output: &&Output| output.content.text() == "Updated task #1 owner, status";
    assert_eq!(outputs.iter().filter(took).count(), 1, "{outputs:?}");
    let owner = rig.cx.store.tasks(&dir).get(&TaskId::from(1)).unwrap().unwrap().owner.unwrap();
    let winner = outputs.iter().position(|output| took(&output)).unwrap();
    assert_eq!(rigs[winner].cx.me.name, owner);
}

#[tokio::test]
async fn a_team_that_was_deleted_stays_deleted() {
    let (rig, dir) = in_team();
    std::fs::remove_dir_all(rig.home.team(&dir)).unwrap();
    std::fs::remove_dir_all(rig.home.tasks(&dir)).unwrap();
    let new = json!({ "subject": "x", "description": "" });
    let words = refused(&rig.call("TaskCreate", new).await);
    assert_eq!(words, "The task list is gone, and its team with it.");
    assert!(!rig.home.tasks(&dir).exists());
}
