//! What a lead may do that a teammate may not, and how teams begin and end.

use std::process::Command;
use std::sync::Arc;

use quarterdeck::protocol::ids::AgentName;
use quarterdeck::protocol::op::{Mode, Op};
use serde_json::{Value, json};

use super::rig::{
    Rig, obedient, obedient_but, one, order, order_lead, quiet, roster, shutdown_answer, spawn,
    task, team_of, tell_lead, until, whole,
};

fn named(name: &str) -> Value {
    json!({ "description": name, "name": name, "prompt": "Wait." })
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teammate_starts_no_teammates_no_background_work_and_no_teams() {
    let rig = Rig::new();
    let live = rig.start(&obedient()).await;
    spawn(&live, "bob", "Wait.").await;
    quiet(&live).await;
    let bob = one(&live, "bob");
    let mut behind = named("carol");
    behind.as_object_mut().unwrap().remove("name");
    behind["run_in_background"] = json!(true);
    let tried = order(
        &live,
        bob.clone(),
        &[
            ("Agent", named("carol")),
            ("Agent", behind),
            ("TeamCreate", json!({ "team_name": "own" })),
            ("TeamDelete", json!({})),
            ("SendMessage", json!({ "type": "shutdown_request", "recipient": "bob" })),
        ],
    )
    .await;
    assert_eq!(tried.len(), 5);
    for (text, failed) in &tried {
        assert!(failed, "{text}");
    }
    assert!(tried[0].0.contains("cannot start teammates"), "{tried:?}");
    assert!(tried[1].0.contains("background"), "{tried:?}");
    quiet(&live).await;
    assert_eq!(roster(&live).teammates().count(), 1);
    let own = live.team().roll().unwrap().member(&bob.name).unwrap();
    let names: Vec<&str> = own.agent.tools.names().collect();
    assert!(!names.contains(&"TeamCreate") && !names.contains(&"TeamDelete"), "{names:?}");
    assert!(names.contains(&"SendMessage") && names.contains(&"TaskUpdate"), "{names:?}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_alone_makes_a_team_of_the_session() {
    let rig = Rig::new();
    let live = rig.start(&obedient()).await;
    let said = order_lead(&live, &[("Agent", named("bob"))]).await;
    let short = &live.session().as_str()[..8];
    assert_eq!(team_of(&live).as_str(), format!("session-{short}"));
    assert_eq!(
        said[0].0,
        format!(
            "Spawned successfully.\nagent_id: bob@session-{short}\nname: bob\nteam_name: \
             session-{short}\nThe agent is now running and will receive instructions via mailbox."
        )
    );
    let said = order_lead(&live, &[("TeamCreate", json!({ "team_name": "other" }))]).await;
    assert!(said[0].1 && said[0].0.contains("one team"), "{said:?}");
    // A name that is taken is numbered, and joins the same team.
    let said = order_lead(&live, &[("Agent", named("bob"))]).await;
    assert!(said[0].0.contains("name: bob-2"), "{said:?}");
    let other = json!({ "description": "d", "name": "eve", "prompt": "p", "team_name": "other" });
    let said = order_lead(&live, &[("Agent", other)]).await;
    assert!(said[0].1 && said[0].0.contains("other"), "{said:?}");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn tasks_from_before_the_team_are_the_teams_and_the_end_refuses_while_anyone_is_there() {
    let rig = Rig::new();
    let cast = obedient_but(|asked| shutdown_answer(asked, true, ""));
    let live = rig.start(&cast).await;
    let new = json!({ "subject": "Early", "description": "made without a team" });
    order_lead(&live, &[("TaskCreate", new)]).await;
    let before = live.office.home().tasks(&quarterdeck::tools::Crew::place(&**live.team()).tasks);
    assert!(before.join("1.json").exists());
    let made = order_lead(&live, &[("TeamCreate", json!({ "team_name": "crew" }))]).await;
    let made: Value = serde_json::from_str(&made[0].0).unwrap();
    assert_eq!(made["team_name"], "crew");
    assert_eq!(made["lead_agent_id"], "team-lead@crew");
    assert!(made["team_file_path"].as_str().unwrap().ends_with("teams/crew/config.json"));
    assert!(!before.exists(), "the list has moved");
    assert_eq!(task(&live, "1").unwrap().subject, "Early");
    order_lead(&live, &[("Agent", named("alice")), ("Agent", named("bob"))]).await;
    quiet(&live).await;
    let refused = order_lead(&live, &[("TeamDelete", json!({}))]).await;
    let refused: Value = serde_json::from_str(&refused[0].0).unwrap();
    assert_eq!(refused["success"], false);
    let message = refused["message"].as_str().unwrap();
    assert!(message.starts_with("Cannot cleanup team with 2 active member(s): alice, bob"));
    for name in ["alice", "bob"] {
        let end = json!({ "to": name, "message": { "type": "shutdown_request" } });
        order_lead(&live, &[("SendMessage", end)]).await;
    }
    until("both to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    let (roll, post) = {
        let roll = live.team().roll().unwrap();
        (Arc::downgrade(&roll), Arc::downgrade(&roll.post))
    };
    let ended = order_lead(&live, &[("TeamDelete", json!({}))]).await;
    let ended: Value = serde_json::from_str(&ended[0].0).unwrap();
    assert_eq!(ended["success"], true);
    let home = live.office.home();
    assert!(std::fs::read_dir(home.teams()).unwrap().next().is_none());
    assert!(std::fs::read_dir(home.task_lists()).unwrap().next().is_none());
    // Nothing of the team goes on behind the session's back.
    until("its watchers to end", || live.office.tasks.is_empty()).await;
    until("it to be let go", || roll.upgrade().is_none() && post.upgrade().is_none()).await;
    // Another team may follow.
    order_lead(&live, &[("TeamCreate", json!({ "team_name": "next" }))]).await;
    assert_eq!(team_of(&live).as_str(), "next");
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_ends_leaves_nothing_of_its_team_in_memory() {
    let rig = Rig::new();
    let live = rig.start(&obedient()).await;
    for name in ["alice", "bob", "carol"] {
        spawn(&live, name, "Wait.").await;
    }
    quiet(&live).await;
    let (team, roll, post, member, office) = {
        let roll = live.team().roll().unwrap();
        (
            Arc::downgrade(live.team()),
            Arc::downgrade(&roll),
            Arc::downgrade(&roll.post),
            Arc::downgrade(&roll.members()[0]),
            Arc::downgrade(&live.office),
        )
    };
    let tasks = live.office.tasks.clone();
    live.end().await;
    assert!(tasks.is_empty());
    assert!(roll.upgrade().is_none() && post.upgrade().is_none() && member.upgrade().is_none());
    assert!(team.upgrade().is_none() && office.upgrade().is_none());
    let left = crate::support::deck::leftovers(rig.store.home().root());
    assert!(left.is_empty(), "{left:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lead_that_only_coordinates_is_reminded_and_gets_its_tools_back() {
    let rig = Rig::new();
    let cast = obedient_but(|_| None);
    let live = rig.start(&cast).await;
    let lead = live.lead().cx.me.clone();
    let all: Vec<String> = live.lead().offer().tools.names().map(str::to_owned).collect();
    live.submit(Op::Mode { agent: lead.clone(), mode: Mode::Delegate }).await.unwrap();
    let few: Vec<String> = live.lead().offer().tools.names().map(str::to_owned).collect();
    for tool in ["Agent", "TeamCreate", "SendMessage", "TaskCreate", "TaskUpdate", "TaskList"] {
        assert!(few.iter().any(|name| name == tool), "{tool} in {few:?}");
    }
    for tool in ["Bash", "Write", "Edit", "Read", "Grep", "Glob", "WebFetch"] {
        assert!(!few.iter().any(|name| name == tool), "{tool} in {few:?}");
    }
    let bash = ("Bash", json!({ "command": "true", "description": "d" }));
    let tried = order_lead(&live, &[bash.clone(), ("TaskList", json!({}))]).await;
    assert!(tried[0].1 && !tried[1].1, "{tried:?}");
    order_lead(&live, &[("TaskList", json!({}))]).await;
    quiet(&live).await;
    let talk: Vec<String> = cast.last_of("team-lead").iter().map(whole).collect();
    let reminders = talk.iter().filter(|text| text.to_lowercase().contains("delegate")).count();
    assert_eq!(reminders, 2, "after each round: {talk:#?}");
    live.submit(Op::Mode { agent: lead, mode: Mode::BypassPermissions }).await.unwrap();
    let again: Vec<String> = live.lead().offer().tools.names().map(str::to_owned).collect();
    assert_eq!(again, all);
    assert!(!order_lead(&live, &[bash]).await[0].1, "at once");
    tell_lead(&live, "thanks").await;
    quiet(&live).await;
    live.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_teammate_works_in_a_tree_of_its_own() {
    let rig = Rig::new();
    std::fs::write(rig.project.join("shared.txt"), "one\n").unwrap();
    for args in [
        &["init", "-q", "-b", "main"][..],
        &["add", "."],
        &["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "first"],
    ] {
        let ran = Command::new("git").args(args).current_dir(&rig.project).status();
        assert!(ran.unwrap().success(), "git {args:?}");
    }
    let cast = obedient_but(|asked| shutdown_answer(asked, true, ""));
    let live = rig.start(&cast).await;
    let mut wish = named("bob");
    wish["isolation"] = json!("worktree");
    order_lead(&live, &[("Agent", wish)]).await;
    quiet(&live).await;
    let entry = roster(&live).member(&AgentName::found("bob")).unwrap().clone();
    let cwd = std::path::PathBuf::from(entry.cwd.unwrap());
    assert_ne!(cwd, rig.project);
    assert!(cwd.join("shared.txt").exists());
    let change = json!({ "command": "echo two >> shared.txt", "description": "d" });
    let ran = order(&live, one(&live, "bob"), &[("Bash", change)]).await;
    assert!(!ran[0].1, "{ran:?}");
    assert_eq!(std::fs::read_to_string(rig.project.join("shared.txt")).unwrap(), "one\n");
    assert_eq!(std::fs::read_to_string(cwd.join("shared.txt")).unwrap(), "one\ntwo\n");
    // What it changed is kept, and the lead is told where.
    let end = Op::Shutdown { agent: one(&live, "bob"), reason: String::new() };
    live.submit(end).await.unwrap();
    until("it to be gone", || live.team().roll().unwrap().members().is_empty()).await;
    quiet(&live).await;
    let told: String = cast.last_of("team-lead").iter().map(whole).collect();
    assert!(told.contains("bob has shut down") && told.contains(&*cwd.to_string_lossy()), "{told}");
    assert!(cwd.exists());
    live.end().await;
}
