//! Definitions, and agents that agents start: how they are chosen, what they get, how they end.

use std::fs;
use std::path::PathBuf;

use serde_json::{Value, json};

use crate::support::rig::{Going, Ran, Rig, alive, until};

const FREE: [&str; 2] = ["--permission-mode", "bypassPermissions"];

fn definition(rig: &Rig, name: &str, fields: &str) {
    let text =
        format!("---\nname: {name}\ndescription: A {name}.\n{fields}---\nYou are a {name}.\n");
    rig.write(&format!(".claude/agents/{name}.md"), &text);
}

/// The data that the calls of the lead answered.
fn data(rig: &Rig) -> Vec<Value> {
    let records = rig.records().into_iter();
    records.map(|one| one["toolUseResult"].clone()).filter(|data| !data.is_null()).collect()
}

#[test]
fn kinds_are_followed_while_it_runs_and_a_broken_one_hides_nobody() {
    let rig = Rig::on("engine/kinds");
    definition(&rig, "scout", "");
    definition(&rig, "lost", "requiredMcpServers: [nowhere]\n");
    rig.write(
        ".claude/agents/broken.md",
        "---\nname: broken\ndescription: d\nmaxTurns: many\n---\n",
    );
    let listed = rig.quarterdeck(&["--json", "agents", "list"]).code(0);
    assert!(listed.stdout.contains("scout") && listed.stdout.contains("general-purpose"));
    assert!(listed.stderr.contains("broken.md:4:"), "{listed:?}");
    let shown = rig.quarterdeck(&["agents", "show", "Scout"]).code(0).stdout;
    assert!(shown.contains("You are a scout."), "{shown}");
    let mut going = rig.driven(&[]);
    let answer = |going: &mut Going, words: &str| {
        going.say(words);
        going.line("result")["result"].as_str().unwrap().to_owned()
    };
    assert!(answer(&mut going, "named scout").starts_with("got: seen"));
    // A file that comes later counts, too.
    definition(&rig, "late", "");
    assert!(answer(&mut going, "named late").starts_with("got: seen"));
    let lost = answer(&mut going, "named lost");
    assert!(lost.starts_with("refused: ") && lost.contains("MCP"), "{lost}");
    going.end().code(0);
}

#[test]
fn the_strongest_definition_of_a_name_serves() {
    let rig = Rig::on("engine/kinds");
    let user = rig.user().join(".claude/agents");
    fs::create_dir_all(&user).unwrap();
    fs::write(user.join("x.md"), "---\nname: scout\ndescription: d\n---\nUSERS\n").unwrap();
    rig.write(".claude/agents/scout.md", "---\nname: scout\ndescription: d\n---\nPROJECTS\n");
    let served = rig.serve();
    let given = r#"{"scout": {"description": "d", "prompt": "GIVEN"}}"#;
    for (args, words) in [(vec![], "PROJECTS"), (vec!["--agents", given], "GIVEN")] {
        let ran = rig.ask(&served, &[&["-p", "named scout"], &args[..]].concat()).code(0);
        let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
        let system = served.of(&id)[0]["request"]["system"].to_string();
        assert!(system.contains(words), "{system}");
    }
}

#[test]
fn without_a_type_the_session_decides_and_what_is_denied_starts_nothing() {
    let kind_of = |rig: &Rig, args: &[&str]| {
        let ran = rig.stream(args).code(0);
        let kinds: Vec<String> = ran
            .started()
            .iter()
            .map(|one| one["about"]["agentType"].as_str().unwrap().to_owned())
            .collect();
        (kinds, ran.result()["result"].as_str().unwrap().to_owned())
    };
    let table = [
        (vec!["-p", "any"], "general-purpose"),
        (vec!["-p", "any", "--fork"], "fork"),
        (vec!["-p", "named Explore", "--fork"], "explore"),
    ];
    for (args, kind) in table {
        assert_eq!(kind_of(&Rig::on("engine/kinds"), &args).0, [kind], "{args:?}");
    }
    let rig = Rig::on("engine/kinds");
    let denied = ["-p", "named explore", "--disallowedTools", "Agent(explore)"];
    let (kinds, result) = kind_of(&rig, &denied);
    assert!(kinds.is_empty() && result.starts_with("refused: "), "{kinds:?} {result}");
    let (kinds, result) = kind_of(&rig, &["-p", "named nobody"]);
    assert!(kinds.is_empty() && result.contains("There are: "), "{kinds:?} {result}");
}

#[test]
fn a_definition_brings_effort_memory_skills_colour_and_says_what_does_not_run() {
    let rig = Rig::on("engine/gear");
    let fields = "effort: high\nmemory: project\nskills: [tidy, missing]\ncolor: purple\n\
                  permissionMode: default\nhooks:\n  Stop: [{ hooks: [{ type: command, command: x }] }]\n\
                  mcpServers:\n  - own: { command: server }\n";
    definition(&rig, "keeper", fields);
    rig.write(".claude/skills/tidy/SKILL.md", "---\nname: tidy\n---\nSKILL-WORDS\n");
    rig.write(".claude/agent-memory/keeper/MEMORY.md", "OLD-MEMORY\n");
    let shown = rig.quarterdeck(&["agents", "show", "keeper"]).code(0).stdout;
    assert!(shown.contains("hooks") && shown.contains("own"), "{shown}");
    let served = rig.serve();
    let ran = rig.ask(&served, &["-p", "begin"]).code(0);
    let started = &ran.started()[0];
    assert_eq!(started["about"]["color"], "purple");
    let request = served.of(started["agent"].as_str().unwrap())[0]["request"].clone();
    assert_eq!(request["output_config"]["effort"], "high", "{}", request["thinking"]);
    let lead = served.of("team-lead")[0]["request"].clone();
    assert!(lead["output_config"].is_null());
    let system = request["system"].to_string();
    assert!(system.contains("SKILL-WORDS") && !system.contains("name: tidy"), "{system}");
    assert!(system.contains("OLD-MEMORY"), "{system}");
    // Its memory is its own; everything else is asked, with its colour.
    assert_eq!(rig.read(".claude/agent-memory/keeper/style.md"), "Tabs, not blanks.");
    let lines = ran.lines();
    let asks: Vec<&Value> = lines.iter().filter(|line| line["type"] == "ask").collect();
    assert_eq!(asks.len(), 1, "{asks:?}");
    assert!(asks[0]["ask"]["question"].to_string().contains("elsewhere.txt"));
    assert_eq!(asks[0]["ask"]["color"], "purple");
    let notices: Vec<&str> = lines
        .iter()
        .filter(|line| line["type"] == "notice")
        .filter_map(|line| line["text"].as_str())
        .collect();
    let about = |word: &str| notices.iter().filter(|text| text.contains(word)).count();
    assert_eq!((about("are not supported yet"), about("`missing`")), (1, 1), "{notices:?}");
    // What came with the project runs only what is allowed.
    assert_eq!(about("the hook `x` of `keeper` is not allowed to run"), 1, "{notices:?}");
}

#[test]
fn a_memory_that_leads_out_of_the_project_is_none() {
    let rig = Rig::on("engine/gear");
    definition(&rig, "keeper", "memory: project\npermissionMode: default\n");
    let outside = rig.root().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::create_dir_all(rig.project.join(".claude/agent-memory")).unwrap();
    std::os::unix::fs::symlink(&outside, rig.project.join(".claude/agent-memory/keeper")).unwrap();
    let ran = rig.stream(&["-p", "begin"]).code(0);
    assert!(ran.stdout.contains("is a link to another place"), "{ran:?}");
    assert_eq!(fs::read_dir(outside).unwrap().count(), 0);
}

/// Everyone below a lead is of its chain, the deeper the farther from it, and so it is written.
fn of_one_chain(ran: &Ran, files: &[PathBuf]) {
    let started = ran.started();
    let depths: Vec<u64> =
        started.iter().map(|one| one["about"]["depth"].as_u64().unwrap()).collect();
    assert_eq!(depths, [1, 1, 1, 2, 3, 4]);
    let lead = ran.lines().into_iter().find(|line| line["status"] == "started").unwrap();
    let chain = lead["about"]["chainId"].as_str().unwrap();
    assert!(lead["agent"] == "team-lead" && lead["about"]["depth"] == 0 && !chain.is_empty());
    for one in &started {
        assert_eq!(one["about"]["chainId"], chain, "{one}");
    }
    let metas: Vec<Value> = files
        .iter()
        .filter(|file| file.to_string_lossy().ends_with(".meta.json"))
        .map(|file| serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap())
        .collect();
    assert_eq!(metas.len(), 6);
    assert!(metas.iter().all(|meta| meta["chainId"] == chain), "{metas:?}");
    // Another lead has another.
    let other = Rig::on("engine/asked").stream(&["-p", "hello"]).code(0).lines();
    let other = other.iter().find(|line| line["status"] == "started").unwrap();
    assert_ne!(other["about"]["chainId"], chain);
}

#[test]
fn a_child_knows_what_its_parent_read_and_tells_what_it_came_to() {
    let rig = Rig::on("engine/child");
    rig.write("a.txt", "one\n");
    let mut going = rig.driven(&[]);
    going.say("begin");
    let result = going.line("result")["result"].as_str().unwrap().to_owned();
    assert!(result.contains("changed"), "{result}");
    assert_eq!(rig.read("a.txt"), "two\n");
    going.say("fail");
    let result = going.line("result")["result"].as_str().unwrap().to_owned();
    assert!(
        result.contains("did not finish") && result.contains("Half of it is done."),
        "{result}"
    );
    going.say("deep");
    let result = going.line("result")["result"].as_str().unwrap().to_owned();
    assert!(result.contains("no deeper") && result.contains("the limit"), "{result}");
    let ran = going.end().code(0);
    let data = data(&rig);
    let done = data.iter().find(|one| one["status"] == "completed").unwrap();
    for key in ["agentId", "totalTokens", "totalToolUseCount", "totalDurationMs", "content"] {
        assert!(!done[key].is_null(), "{key}: {done}");
    }
    assert_eq!(
        (&done["totalToolUseCount"], data[2]["status"].as_str()),
        (&json!(1), Some("failed"))
    );
    // Its words were seen while it worked, and it has a transcript of its own.
    let started = ran.started();
    let id = started[0]["agent"].as_str().unwrap();
    assert!(ran.lines().iter().any(|line| line["agent"] == id && line["type"] == "assistant"));
    assert_eq!(started[0]["about"]["mode"], "acceptEdits");
    let files = crate::support::files_below(&rig.home().join("projects"));
    let own = format!("subagents/agent-{id}.jsonl");
    assert!(files.iter().any(|file| file.to_string_lossy().ends_with(&own)), "{files:?}");
    assert_eq!(started.len(), 6, "one, one, and four deep");
    of_one_chain(&ran, &files);
}

/// The agent that the lead's newest call started, and the call.
fn begun(going: &mut Going, rig: &Rig) -> (String, String) {
    let line = going
        .line_with("a start", |line| line["status"] == "started" && line["agent"] != "team-lead");
    rig.appears("began");
    let id = line["agent"].as_str().unwrap().to_owned();
    (id, line["about"]["useId"].as_str().unwrap().to_owned())
}

fn told_once(ran: &Ran, status: &str, words: &str) {
    let notes = ran.notes("team-lead");
    assert_eq!(notes.len(), 1, "{notes:?}");
    let status = format!("<status>{status}</status>");
    assert!(notes[0].contains(&status) && notes[0].contains(words), "{notes:?}");
}

#[test]
fn who_is_waited_for_goes_to_the_background_and_repeats_nothing() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("before");
    let (_, use_id) = begun(&mut going, &rig);
    let request = json!({ "subtype": "background", "tool_use_id": use_id });
    going.granted(&request);
    going.line_saying("\"ok\"");
    assert_eq!(data(&rig)[0]["status"], "async_launched");
    rig.write("go", "");
    assert_eq!(going.line("result")["result"], "told");
    let refused = going.control(&request);
    assert_eq!(refused["subtype"], "error", "{refused}");
    let ran = going.end().code(0);
    told_once(&ran, "completed", "Last words.");
    assert_eq!(rig.read("count"), "x\n");
}

#[test]
fn a_background_agent_writes_as_it_goes_and_its_end_is_told_once() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    let (id, _) = begun(&mut going, &rig);
    going.line_saying("\"ok\"");
    let launched = data(&rig)[0].clone();
    assert_eq!((&launched["status"], &launched["agentId"]), (&json!("async_launched"), &json!(id)));
    let output = launched["outputFile"].as_str().unwrap();
    assert!(fs::read_to_string(output).unwrap().contains("First words."));
    rig.write("go", "");
    going.line("result");
    let ran = going.end().code(0);
    told_once(&ran, "completed", "Last words.");
    // Also when it fails.
    let rig = Rig::on("engine/background");
    let ran = rig.stream(&["-p", "fail"]).code(0);
    told_once(&ran, "failed", "First words.");
}

#[test]
fn who_waits_with_task_output_is_not_told_again() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    let (id, _) = begun(&mut going, &rig);
    going.line_saying("\"ok\"");
    going.say(&format!("look at {id}"));
    going.line_saying("\"name\":\"TaskOutput\"");
    rig.write("go", "");
    going.line("result");
    let ran = going.end().code(0);
    assert!(ran.notes("team-lead").is_empty(), "{ran:?}");
    let results = ran.results("team-lead");
    assert!(results.last().unwrap().0.contains("Last words."), "{results:?}");
}

/// By the model, by whoever drives the run, by a signal.
#[test]
fn however_it_is_killed_its_owner_is_told_once() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    let (id, _) = begun(&mut going, &rig);
    going.line_saying("\"ok\"");
    going.say(&format!("stop {id}"));
    going.line_saying("</task-notification>");
    going.line("result");
    let ran = going.end().code(0);
    told_once(&ran, "killed", "First words.");
    let stopped = ran.results("team-lead").pop().unwrap().0;
    assert!(stopped.starts_with("Stopped ") && !stopped.contains("First words."), "{stopped}");

    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    let (id, _) = begun(&mut going, &rig);
    going.line_saying("\"ok\"");
    going.granted(&json!({ "subtype": "stop_task", "task_id": id }));
    going.line_saying("</task-notification>");
    let ran = going.end().code(0);
    told_once(&ran, "killed", "First words.");

    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("behind");
    begun(&mut going, &rig);
    going.line_saying("\"ok\"");
    going.signal("-INT");
    going.end().code(130);
    // Nobody is woken by it; whoever goes on knows.
    let whole: String = rig.records().iter().map(ToString::to_string).collect();
    assert_eq!(whole.matches("<status>killed</status>").count(), 1, "{whole}");
    let ran = rig.stream(&["-c", "-p", "and now?"]).code(0);
    assert!(ran.notes("team-lead").is_empty(), "{ran:?}");
    let whole: String = rig.records().iter().map(ToString::to_string).collect();
    assert_eq!(whole.matches("</task-notification>").count(), 1, "{whole}");
}

#[test]
fn messages_reach_who_works_and_wake_who_has_ended() {
    let rig = Rig::on("engine/background");
    let mut going = rig.driven(&FREE);
    going.say("write to nobody");
    let result = going.line("result")["result"].as_str().unwrap().to_owned();
    assert!(result.starts_with("nobody: ") && result.contains("There are: "), "{result}");
    going.say("behind");
    let (id, _) = begun(&mut going, &rig);
    going.line_saying("\"ok\"");
    going.say(&format!("write to {id}"));
    going.line_saying("Message queued for");
    rig.write("go", "");
    let note = going.line_saying("</task-notification>").to_string();
    assert!(note.contains("More words."), "{note}");
    let before = going.end().code(0).started()[0]["about"].clone();
    // It has ended, and this is another process.
    let ran = rig.stream(&[&["-c", "-p", &format!("write to {id}")], &FREE[..]].concat()).code(0);
    assert_eq!(ran.started().len(), 1, "{ran:?}");
    assert_eq!(ran.started()[0]["agent"], id.as_str());
    let about = &ran.started()[0]["about"];
    assert_eq!((&about["chainId"], &about["depth"]), (&before["chainId"], &before["depth"]));
    told_once(&ran, "completed", "More words.");
}

#[test]
fn forks_share_everything_before_their_directive_and_cannot_fork() {
    let rig = Rig::on("engine/forks");
    let line = "Every line of this file says something else, and this is what line";
    for part in 0..4 {
        let text: String = (0..720).map(|n| format!("{line} {part}.{n} says.\n")).collect();
        rig.write(&format!("big{part}.txt"), &text);
    }
    let served = rig.serve();
    let ran = rig.ask(&served, &["-p", "begin", "--fork"]).code(0);
    assert_eq!(ran.notes("team-lead").len(), 5);
    assert!(ran.started().iter().all(|one| one["about"]["mode"] == "bubble"));
    let forks: Vec<Value> =
        served.log().into_iter().filter(|one| one["purpose"] == "fork").collect();
    let firsts: Vec<String> = forks
        .iter()
        .filter(|one| one["request"]["messages"].as_array().unwrap().len() == 5)
        .map(|one| one["request"].to_string())
        .collect();
    assert_eq!(firsts.len(), 5, "{}", forks.len());
    for other in &firsts[1..] {
        let shared = quarterdeck::model::anthropic::shared_prefix(&firsts[0], other);
        assert!(shared as f64 / other.len() as f64 >= 0.95, "{shared} of {}", other.len());
    }
    let sum =
        |key: &str| -> u64 { forks.iter().filter_map(|one| one["usage"][key].as_u64()).sum() };
    let read = sum("cache_read_input_tokens");
    let all = read + sum("input_tokens") + sum("cache_creation_input_tokens");
    assert!(all / 5 > 50_000 && read as f64 / all as f64 >= 0.9, "{read} of {all}");
    assert!(firsts[0].matches("Fork started — processing in background").count() == 5);
    assert!(ran.stdout.contains("no fork: A fork cannot fork"), "{ran:?}");
    // What it may not do is asked in the name of its parent.
    let asks: Vec<Value> = ran.lines().into_iter().filter(|line| line["type"] == "ask").collect();
    assert_eq!(asks.len(), 1, "{asks:?}");
    assert!(asks[0]["ask"]["chain"][1].as_str().unwrap().starts_with("team-lead@"));
}

#[test]
fn asides_run_no_tool_and_the_conversation_learns_nothing_of_them() {
    let rig = Rig::on("engine/asides");
    let served = rig.serve();
    let mut going = rig.drive(&served, &FREE);
    going.say("begin");
    going.line("result");
    let table = [
        ("title", "A title"),
        ("summary", "It has begun, nothing more."),
        ("side_question", "Forty-two."),
        ("memory", "Remember the tabs."),
    ];
    for (purpose, answer) in table {
        let request = json!({ "subtype": "aside", "purpose": purpose, "prompt": "tell me" });
        assert_eq!(going.granted(&request)["text"], answer);
    }
    // What takes too long is given up.
    let request = json!({ "subtype": "aside", "purpose": "title", "prompt": "never" });
    let id = going.request(&request);
    going.write(&format!("{{\"type\":\"control_cancel_request\",\"request_id\":\"{id}\"}}\n"));
    assert_eq!(going.line("control_response")["response"]["subtype"], "error");
    going.say("again");
    assert_eq!(going.line("result")["result"], "And again.");
    going.end().code(0);
    assert!(!rig.project.join("ran").exists());
    let lead = served.log();
    let last = lead.iter().rfind(|one| one["purpose"] == "turn").unwrap();
    assert_eq!(last["request"]["messages"].as_array().unwrap().len(), 3);
    let aside = lead.iter().find(|one| one["purpose"] == "title").unwrap();
    for key in ["system", "tools", "model"] {
        assert_eq!(aside["request"][key], last["request"][key], "{key}");
    }
    assert!(aside["usage"]["cache_read_input_tokens"].as_u64() > Some(0), "{}", aside["usage"]);
}

#[test]
fn a_kind_of_agent_runs_for_whoever_drives_the_run() {
    let rig = Rig::on("engine/asides");
    let mut going = rig.driven(&[]);
    let mut request =
        json!({ "subtype": "run_agent", "agent_type": "explore", "prompt": "review it" });
    let answer = going.granted(&request);
    assert_eq!(
        (&answer["status"], &answer["result"]),
        (&json!("completed"), &json!("Two mistakes."))
    );
    request["run_in_background"] = json!(true);
    assert_eq!(going.granted(&request)["status"], "async_launched");
    going.line_saying("</task-notification>");
    request["agent_type"] = json!("nobody");
    let answer = going.control(&request);
    assert!(answer["error"].as_str().unwrap().contains("explore"), "{answer}");
    let ran = going.end().code(0);
    told_once(&ran, "completed", "Two mistakes.");
}

#[test]
fn agents_with_worktrees_change_one_file_at_once_and_the_main_tree_stays() {
    let rig = Rig::on("engine/worktrees").in_git();
    let ran = rig.stream(&["-p", "two"]).code(0);
    let results = ran.results("team-lead");
    for ((text, failed), word) in results.iter().zip(["alpha", "beta"]) {
        assert!(!failed, "{text}");
        let part = |name: &str| {
            let found = text.lines().find_map(|line| line.strip_prefix(name));
            found.unwrap_or_else(|| panic!("no {name} in {text}")).trim().to_owned()
        };
        let tree = std::path::PathBuf::from(part("worktreePath:"));
        assert_eq!(fs::read_to_string(tree.join("kept.txt")).unwrap(), format!("{word}\n"));
        assert!(part("worktreeBranch:").starts_with("worktree-agent-"));
    }
    assert_eq!(rig.read("kept.txt"), "kept\n");
    let listed = rig.quarterdeck(&["--json", "worktree", "list"]).code(0).stdout;
    assert_eq!(listed.matches("worktree-agent-").count(), 2, "{listed}");
    let ran = rig.stream(&["-p", "look"]).code(0);
    assert!(ran.results("team-lead")[0].0.contains("unchanged and has been removed"), "{ran:?}");
    // The session itself may have one.
    let ran =
        rig.stream(&["-p", "change", "--worktree", "own", "--permission-mode", "acceptEdits"]);
    assert!(ran.code(0).stderr.contains("worktree-own"));
    assert!(rig.project.join(".claude/worktrees/own/new.txt").exists());
    assert!(!rig.project.join("new.txt").exists());
    // Without a repository there is no tree, and without a tree no agent.
    let rig = Rig::on("engine/worktrees");
    let served = rig.serve();
    let ran = rig.ask(&served, &["-p", "look"]).code(0);
    assert!(ran.result()["result"].as_str().unwrap().contains("nothing was started"), "{ran:?}");
    assert_eq!(served.log().len(), served.of("team-lead").len());
}

#[test]
fn what_a_signal_ends_is_gone() {
    let rig = Rig::on("engine/asked");
    let going = rig.start(&[&["-p", "slow", "--output-format", "stream-json"], &FREE[..]].concat());
    let pid = until("a pid", || Some(rig.read("pid")).filter(|text| text.ends_with('\n')));
    going.signal("-TERM");
    let ran = going.end().code(130);
    assert_eq!(ran.result()["subtype"], "error_during_execution");
    assert!(!alive(pid.trim()));
}
