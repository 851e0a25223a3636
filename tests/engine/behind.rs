//! Agents that their caller does not wait for, forks and worktrees, in the less usual ways.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::rig::{Going, Rig, until};
use crate::support::{files_below, soak};

const FREE: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// The agent that was just started, and the call that did it.
fn begun(going: &mut Going) -> (String, String) {
    let line = going
        .line_with("a start", |line| line["status"] == "started" && line["agent"] != "team-lead");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (text(&line["agent"]), text(&line["about"]["useId"]))
}

fn result(going: &mut Going) -> String {
    going.line("result")["result"].as_str().unwrap().to_owned()
}

#[test]
fn who_takes_longer_than_the_settings_allow_goes_to_the_background() {
    let rig = Rig::on("engine/background");
    rig.write(".quarterdeck/settings.json", r#"{"autoBackgroundAfter": 0.1}"#);
    let mut going = rig.driven(&FREE);
    going.say("before");
    begun(&mut going);
    going.line_saying("Agent started in the background");
    assert!(!rig.project.join("go").exists(), "nobody let it go on");
    rig.write("go", "");
    assert_eq!(result(&mut going), "told");
    let ran = going.end().code(0);
    let notes = ran.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("Last words."), "{notes:?}");
    assert_eq!(rig.read("count"), "x\n");
}

/// In a repository where the branch of a worktree is not taken away before `release` is there; it
/// is waited for from when `cleaning` is there.
fn with_slow_clean_up() -> Rig {
    let rig = Rig::on("engine/background").in_git();
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = prepared ] && grep -q ' 0000000000.* refs/heads/worktree-' || exit 0\n\
         touch {dir}/cleaning\nwhile [ -d {dir} ] && [ ! -e {dir}/release ]; do sleep 0.02; done\n",
        dir = rig.project.display()
    );
    let hook = rig.write(".git/hooks/reference-transaction", &script);
    fs::set_permissions(hook, PermissionsExt::from_mode(0o755)).unwrap();
    rig
}

/// While git still cleans up, it is in the stream, in the journal and in what is asked for that
/// the agent has ended; the note, which says what became of the worktree, comes behind that.
#[test]
fn the_end_of_an_agent_is_known_before_a_slow_clean_up_is_over() {
    for (status, way) in [("completed", "go"), ("killed", "stop")] {
        let rig = with_slow_clean_up();
        let mut going = rig.driven(&FREE);
        going.say("tree");
        let (id, _) = begun(&mut going);
        rig.appears("began");
        going.line_saying("\"ok\"");
        match way {
            "go" => drop(rig.write("go", "")),
            _ => drop(going.granted(&json!({ "subtype": "stop_task", "task_id": id }))),
        }
        rig.appears("cleaning");
        going.line_with("its end", |line| line["agent"] == id.as_str() && line["status"] == status);
        let journal = rig.home().join("quarterdeck/sessions").join(rig.session());
        let journal = fs::read_to_string(journal.join("events.jsonl")).unwrap();
        let told = |line: &&str| line.contains(&id) && line.contains(&format!("\"{status}\""));
        assert!(journal.lines().any(|line| told(&line)), "{journal}");
        going.say(&format!("look at {id}"));
        let looked = going.line_saying(&format!("<status>{status}</status>")).to_string();
        assert!(looked.contains("tool_result") && looked.contains("worktreePath: "), "{looked}");
        going.line("result");
        assert!(!rig.project.join("release").exists(), "nobody has let it end yet");
        rig.write("release", "");
        let ran = going.end().code(0);
        assert!(ran.notes("team-lead").is_empty(), "it was told already: {ran:?}");
    }
    // Who does not look is told behind it, once.
    let rig = with_slow_clean_up();
    let mut going = rig.driven(&FREE);
    going.say("tree");
    rig.appears("began");
    rig.write("go", "");
    rig.appears("cleaning");
    going
        .line_with("its end", |line| line["agent"] != "team-lead" && line["status"] == "completed");
    rig.write("release", "");
    going.line_saying("</task-notification>");
    let notes = going.end().code(0).notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("unchanged and has been removed"), "{notes:?}");
}

#[test]
fn an_interrupt_of_the_lead_leaves_background_agents_alone() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    let (id, _) = begun(&mut going);
    going.line_saying("\"ok\"");
    going.say(&format!("look at {id}"));
    going.line_saying("\"name\":\"TaskOutput\"");
    going.granted(&json!({ "subtype": "interrupt" }));
    going.line_saying("[The user interrupted you here.]");
    rig.write("go", "");
    assert_eq!(result(&mut going), "told");
    let ran = going.end().code(0);
    let notes = ran.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("<status>completed</status>"), "{notes:?}");
    assert_eq!(rig.read("count"), "x\n");
}

#[test]
fn a_message_wakes_an_agent_that_was_stopped() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    let (id, _) = begun(&mut going);
    rig.appears("began");
    going.line_saying("\"ok\"");
    going.say(&format!("stop {id}"));
    let note = going.line_saying("</task-notification>").to_string();
    assert!(note.contains("<status>killed</status>"), "{note}");
    going.line("result");
    going.say(&format!("write to {id}"));
    assert_eq!(begun(&mut going).0, id, "the same agent");
    let note = going.line_saying("</task-notification>").to_string();
    assert!(note.contains("<status>completed</status>") && note.contains("More words."), "{note}");
    going.end().code(0);
    assert_eq!(rig.read("count"), "x\n", "what it was at is not done again");
}

#[test]
fn what_an_agent_did_is_told_while_it_works_and_when_it_has_ended() {
    let rig = Rig::on("engine/background");
    let served = rig.serve();
    let mut going = rig.drive(&served, &FREE);
    going.say("behind");
    let (id, _) = begun(&mut going);
    rig.appears("began");
    let request =
        json!({ "subtype": "aside", "purpose": "summary", "agent": id, "prompt": "what?" });
    assert_eq!(going.granted(&request)["text"], "It did something.");
    rig.write("go", "");
    going.line_saying("</task-notification>");
    assert_eq!(going.granted(&request)["text"], "It did something.");
    let unknown =
        json!({ "subtype": "aside", "purpose": "summary", "agent": "nobody", "prompt": "?" });
    assert_eq!(going.control(&unknown)["subtype"], "error");
    going.end().code(0);
    // Also of an agent of an earlier process.
    let mut going = rig.drive(&served, &[&["-c"], &FREE[..]].concat());
    assert_eq!(going.granted(&request)["text"], "It did something.");
    going.end().code(0);
    let asked: Vec<String> = served
        .log()
        .iter()
        .filter(|one| one["purpose"] == "summary")
        .map(|one| one["request"]["messages"].to_string())
        .collect();
    assert_eq!(asked.len(), 3);
    assert!(asked.iter().all(|words| words.contains("First words.")), "{asked:?}");
    assert!(!asked[0].contains("Last words."), "{asked:?}");
    assert!(asked[1..].iter().all(|words| words.contains("Last words.")), "{asked:?}");
    assert_eq!(rig.read("count"), "x\n");
}

#[test]
fn who_reads_what_forks_are_told_may_fork_all_the_same() {
    let rig = Rig::on("engine/marked");
    rig.write("notes.md", "<fork-boilerplate>\nThis is how a fork begins.\n");
    let ran = rig.stream(&["-p", "begin <fork-boilerplate>", "--fork"]).code(0);
    let started = ran.started();
    assert_eq!(started.len(), 1, "{ran:?}");
    assert_eq!(started[0]["about"]["agentType"], "fork");
    assert_eq!(ran.notes("team-lead").len(), 1, "{ran:?}");
}

/// Also where nothing else says that it is one.
#[test]
fn a_fork_is_known_by_what_it_was_told() {
    let rig = Rig::on("engine/marked");
    let ran = rig.stream(&["-p", "begin", "--fork"]).code(0);
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    let mut files = files_below(&rig.home().join("projects")).into_iter();
    let meta = files.find(|file| file.to_string_lossy().ends_with(".meta.json")).unwrap();
    let text = fs::read_to_string(&meta).unwrap();
    assert!(text.contains("\"agentType\":\"fork\""), "{text}");
    fs::write(&meta, text.replace("\"agentType\":\"fork\"", "\"agentType\":\"explorer\"")).unwrap();
    rig.write(".claude/agents/explorer.md", "---\nname: explorer\ndescription: d\n---\nx\n");
    let ran = rig.stream(&["-c", "--fork", "-p", &format!("write to {id}")]).code(0);
    let started = ran.started();
    assert_eq!(started.len(), 1, "it started nobody: {ran:?}");
    assert_eq!(started[0]["about"]["agentType"], "explorer");
    assert!(ran.stdout.contains("no fork: A fork cannot fork"), "{ran:?}");
}

#[test]
fn a_fork_in_a_worktree_is_told_where_things_are_now() {
    let rig = Rig::on("engine/marked").in_git();
    let served = rig.serve();
    let ran = rig.ask(&served, &["-p", "apart", "--fork", "--on-ask", "allow"]).code(0);
    let asked = served.log().into_iter().find(|one| one["purpose"] == "fork").unwrap();
    let messages = asked["request"]["messages"].as_array().unwrap();
    let words = messages.last().unwrap().to_string();
    assert!(words.contains("a git worktree of your own"), "{words}");
    assert!(words.contains(rig.project.to_str().unwrap()) && words.contains("worktree-agent-"));
    let note = ran.notes("team-lead").pop().unwrap();
    let tree = rig.project.join(".claude/worktrees");
    let made: Vec<_> =
        files_below(&tree).into_iter().filter(|file| file.ends_with("new.txt")).collect();
    assert_eq!(made.len(), 1, "{note}");
    assert!(!rig.project.join("new.txt").exists());
    assert!(note.contains("worktree-agent-"), "{note}");
}

#[test]
fn a_worktree_of_an_agent_shares_what_is_named_and_is_used_again() {
    let rig = Rig::on("engine/marked").in_git();
    rig.write("node_modules/dep/index.js", "DEP");
    rig.write("cache/big", "BIG");
    rig.write(".gitignore", "node_modules/\ncache/\n");
    let settings = r#"{"worktree": {"symlinkDirectories": ["node_modules", "cache"]}}"#;
    rig.write(".quarterdeck/settings.json", settings);
    let ran = rig.stream(&[&["-p", "linked"], &FREE[..]].concat()).code(0);
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    let cwd = ran.started()[0]["about"]["cwd"].clone();
    assert!(cwd.as_str().unwrap().contains("/.claude/worktrees/agent-"), "{cwd}");
    let results = ran.results(&id);
    assert!(results[0].0.contains("DEP") && results[0].0.contains("BIG"), "{results:?}");
    // Whoever goes on does so in the same tree, with what was done there.
    let ran = rig.stream(&[&["-c", "-p", &format!("write to {id}")], &FREE[..]].concat()).code(0);
    assert_eq!(ran.started()[0]["about"]["cwd"], cwd);
    let results = ran.results(&id);
    assert!(results[0].0.contains("made here"), "{results:?}");
    let listed = rig.quarterdeck(&["--json", "worktree", "list"]).code(0).stdout;
    assert_eq!(listed.matches("\"worktree-agent-").count(), 1, "{listed}");
    assert!(!rig.project.join("made").exists());
}

/// One agent in the background from the beginning and one that is sent there at any moment, in
/// one run: everything is done once, and every end is told once.
#[test]
fn nothing_is_repeated_and_every_end_is_told_once_in_many_runs() {
    let runs = if soak() { 200 } else { 5 };
    let (mut sent, mut late) = (0, 0);
    for run in 0..runs {
        let rig = Rig::on("engine/soak");
        let mut going = rig.driven(&FREE);
        going.say("behind");
        begun(&mut going);
        going.say("before");
        let (_, use_id) = begun(&mut going);
        // From at once to when it may have ended already.
        std::thread::sleep(std::time::Duration::from_millis(run * 37 % 110));
        let request = json!({ "subtype": "background", "tool_use_id": use_id });
        let moved = going.control(&request)["subtype"] == "success";
        *(if moved { &mut sent } else { &mut late }) += 1;
        going.close_input();
        let ran = going.end().code(0);
        let notes = ran.notes("team-lead");
        let told = |job: &str| {
            let summary = format!("<summary>Agent \"{job}\" completed</summary>");
            notes.iter().filter(|note| note.contains(&summary)).count()
        };
        let launched = ran.stdout.matches("Agent started in the background").count();
        let why = format!("run {run}, moved: {moved}: {ran:?}");
        assert_eq!(told("behind"), 1, "{why}");
        // It may have ended just before; then its result is the answer, and nobody tells it again.
        assert_eq!((told("before"), notes.len()), (launched - 1, launched), "{why}");
        for log in ["first", "second"] {
            let mut lines: Vec<String> = rig.read(log).lines().map(str::to_owned).collect();
            lines.sort();
            assert_eq!(lines, ["before", "behind"], "{log}: {why}");
        }
        assert_eq!(ran.started().len(), 2, "{why}");
    }
    crate::support::say(&format!("{runs} runs: {sent} sent to the background, {late} had ended"));
}

#[test]
fn the_team_that_a_lead_made_names_its_session() {
    let rig = Rig::on("engine/harbour");
    let going = rig.start(&["-p", "begin", "--on-ask", "wait"]);
    let id = rig.asked()[0]["id"].as_str().unwrap().to_owned();
    let config = fs::read_to_string(rig.home().join("teams/harbour/config.json")).unwrap();
    assert!(config.contains(&rig.session()), "{config}");
    let listed = rig.quarterdeck(&["--json", "asks", "list", "harbour"]).code(0).stdout;
    assert!(listed.contains(&id), "{listed}");
    let shown = rig.quarterdeck(&["asks", "show", "harbour", &id]).code(0).stdout;
    assert!(shown.contains("touch made"), "{shown}");
    rig.quarterdeck(&["asks", "approve", "harbour", &id, "--always", "session"]).code(0);
    // The next one is covered by what was given.
    let ran = going.end().code(0);
    assert!(ran.stdout.contains("both done"), "{ran:?}");
    until("both files", || {
        (rig.project.join("made").exists() && rig.project.join("made2").exists()).then_some(())
    });
    let left = rig.quarterdeck(&["asks", "list", "latest"]).code(0).stdout;
    assert_eq!(left, "No open asks\n");
}
