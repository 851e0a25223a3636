//! Commands that a definition has run beside its agent's work.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use serde_json::{Value, json};

use crate::support::rig::{Ran, Rig, alive, until};

const BOOK: &str = "engine/hooks";
const FREE: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// A definition of the user, whose hooks need nobody's leave.
fn of_user(rig: &Rig, hooks: &str) {
    let dir = rig.user().join(".claude/agents");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("guard.md"), guard(hooks)).unwrap();
}

fn guard(hooks: &str) -> String {
    format!("---\nname: guard\ndescription: d\nhooks:\n{hooks}---\nYou are watched over.\n")
}

fn hook(event: &str, matcher: &str, command: &str) -> String {
    format!(
        "  {event}:\n    - matcher: \"{matcher}\"\n      hooks: [{{ type: command, command: '{command}', timeout: 5 }}]\n"
    )
}

/// Writes down what it was told, and objects where `when` holds.
fn script(rig: &Rig, name: &str, when: &str, words: &str) -> String {
    let text = format!(
        "#!/bin/sh\ninput=$(cat)\nprintf '%s\\n' \"$input\" >> \"$CLAUDE_PROJECT_DIR/{name}.log\"\n\
         if {when}; then echo '{words}' >&2; exit 2; fi\n"
    );
    let path = rig.write(name, &text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("./{name}")
}

fn told(rig: &Rig, name: &str) -> Vec<Value> {
    let text = rig.read(&format!("{name}.log"));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn notices(ran: &Ran, words: &str) -> usize {
    let lines = ran.lines().into_iter().filter(|line| line["type"] == "notice");
    lines.filter(|line| line["text"].as_str().unwrap().contains(words)).count()
}

#[test]
fn a_hook_refuses_a_tool_speaks_of_a_result_and_sends_back_who_is_not_done() {
    let rig = Rig::on(BOOK);
    let before = script(&rig, "pre", "echo \"$input\" | grep -q forbidden", "not that file");
    let after = script(&rig, "post", "true", "it was seen");
    let stop = script(&rig, "stop", "[ ! -e finished ]", "finished is missing");
    let hooks = [
        hook("PreToolUse", "Bash", &before),
        hook("PostToolUse", "^Ba", &after),
        hook("SubagentStop", "", &stop),
    ];
    of_user(&rig, &hooks.concat());
    let ran = rig.stream(&[&["-p", "work"], &FREE[..]].concat()).code(0);
    let result = ran.result()["result"].as_str().unwrap().to_owned();
    assert!(result.contains("now it is done"), "{result}");
    assert!(!rig.project.join("forbidden").exists() && rig.project.join("finished").exists());
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    let results = ran.results(&id);
    assert_eq!(results.len(), 3, "{results:?}");
    assert!(!results[0].1 && results[0].0.contains("<hook-feedback>\nit was seen"), "{results:?}");
    assert!(results[1].1, "{results:?}");
    assert_eq!(results[1].0, "A hook blocked this: not that file");
    // Each was told what it is for, and nothing else.
    let (pre, post, stop) = (told(&rig, "pre"), told(&rig, "post"), told(&rig, "stop"));
    assert_eq!((pre.len(), post.len(), stop.len()), (2, 1, 2), "Write is nobody's");
    let session = rig.session();
    for one in pre.iter().chain(&post).chain(&stop) {
        assert_eq!((&one["session_id"], &one["agent_type"]), (&json!(session), &json!("guard")));
        assert_eq!(one["permission_mode"], "bypassPermissions");
        assert!(fs::metadata(one["transcript_path"].as_str().unwrap()).is_ok());
    }
    assert_eq!(
        (&pre[0]["hook_event_name"], &pre[0]["tool_name"]),
        (&json!("PreToolUse"), &json!("Bash"))
    );
    assert_eq!(pre[1]["tool_input"]["command"], "touch forbidden");
    assert!(post[0]["tool_response"].is_object() || post[0]["tool_response"].is_string());
    let active: Vec<&Value> = stop.iter().map(|one| &one["stop_hook_active"]).collect();
    assert_eq!(active, [&json!(false), &json!(true)]);
    assert_eq!(stop[1]["last_assistant_message"], "now it is done");
}

/// Prints what it thinks, instead of objecting by its exit code.
fn printing(rig: &Rig, name: &str, when: &str, printed: &Value) -> String {
    let text = format!("#!/bin/sh\ninput=$(cat)\nif {when}; then echo '{printed}'; fi\n");
    let path = rig.write(name, &text);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    format!("./{name}")
}

#[test]
fn what_a_hook_prints_counts_as_well() {
    let rig = Rig::on(BOOK);
    let forbidden = "echo \"$input\" | grep -q forbidden";
    let deny = json!({ "hookSpecificOutput": { "hookEventName": "PreToolUse",
        "permissionDecision": "deny", "permissionDecisionReason": "not that file" } });
    let more = json!({ "hookSpecificOutput": { "additionalContext": "it was seen" } });
    let block = json!({ "decision": "block", "reason": "finished is missing" });
    let hooks = [
        hook("PreToolUse", "Bash", &printing(&rig, "pre", forbidden, &deny)),
        hook("PostToolUse", "Bash", &printing(&rig, "post", "true", &more)),
        hook("SubagentStop", "", &printing(&rig, "stop", "[ ! -e finished ]", &block)),
    ];
    of_user(&rig, &hooks.concat());
    let ran = rig.stream(&[&["-p", "work"], &FREE[..]].concat()).code(0);
    assert!(ran.result()["result"].as_str().unwrap().contains("now it is done"), "{ran:?}");
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    let results = ran.results(&id);
    assert!(!results[0].1 && results[0].0.contains("<hook-feedback>\nit was seen"), "{results:?}");
    assert_eq!(results[1], ("A hook blocked this: not that file".to_owned(), true));
    assert!(!rig.project.join("forbidden").exists() && rig.project.join("finished").exists());
}

/// Whatever the rules say, and each time.
#[test]
fn a_hook_may_want_somebody_to_be_asked() {
    let doubt = json!({ "hookSpecificOutput": { "permissionDecision": "ask",
        "permissionDecisionReason": "is it yours?" } });
    for (answer, runs) in [("deny", false), ("allow", true)] {
        let rig = Rig::on(BOOK);
        let before = printing(&rig, "pre", "echo \"$input\" | grep -q forbidden", &doubt);
        of_user(&rig, &hook("PreToolUse", "Bash", &before));
        let args = ["-p", "work", "--on-ask", answer];
        let ran = rig.stream(&[&args, &FREE[..]].concat()).code(0);
        assert_eq!(rig.project.join("forbidden").exists(), runs, "{ran:?}");
        assert_eq!(rig.read("log"), "one\n", "only one of them is doubted: {ran:?}");
        let asked: Vec<Value> =
            ran.lines().into_iter().filter(|line| line["type"] == "ask").collect();
        assert_eq!(asked.len(), 1, "{ran:?}");
        assert!(asked[0].to_string().contains("a hook wants you to be asked: is it yours?"));
    }
}

#[test]
fn a_hook_that_fails_or_takes_too_long_is_told_of_and_the_work_goes_on() {
    let rig = Rig::on(BOOK);
    let slow =
        "    - hooks: [{ type: command, command: \"echo x >> slept; sleep 600\", timeout: 0.3 }]\n";
    let hooks = [hook("PreToolUse", "*", "echo broken >&2; exit 1"), slow.to_owned()];
    of_user(&rig, &hooks.concat());
    let ran = rig.stream(&[&["-p", "work"], &FREE[..]].concat()).code(0);
    assert!(rig.project.join("forbidden").exists() && rig.read("log") == "one\n", "{ran:?}");
    assert_eq!((notices(&ran, "ended with 1: broken"), notices(&ran, "took longer")), (2, 2));
    assert_eq!(rig.read("slept"), "x\nx\n");
    // Whoever is sent back for ever stops at some time all the same.
    let rig = Rig::on(BOOK);
    of_user(&rig, &hook("Stop", "", "exit 2"));
    let ran = rig.stream(&[&["-p", "work"], &FREE[..]].concat()).code(0);
    assert_eq!(notices(&ran, "stops anyway"), 1, "{ran:?}");
    assert!(ran.result()["result"].as_str().unwrap().contains("done"));
}

#[test]
fn what_comes_with_a_project_runs_only_what_is_allowed() {
    let rig = Rig::on(BOOK);
    let before = script(&rig, "pre", "false", "");
    rig.write(".claude/agents/guard.md", &guard(&hook("PreToolUse", "Bash", &before)));
    let unasked = ["-p", "work", "--allowedTools", "Bash(echo:*),Bash(touch:*)"];
    let ran = rig.stream(&unasked).code(0);
    let id = ran.started()[0]["agent"].as_str().unwrap().to_owned();
    let results = ran.results(&id);
    assert!(
        results.iter().all(|(text, failed)| *failed && text.contains("is not allowed to run")),
        "{ran:?}"
    );
    assert!(told(&rig, "pre").is_empty() && rig.read("log").is_empty());
    let allowed = ["-p", "work", "--allowedTools", "Bash(echo:*),Bash(touch:*),Bash(./pre)"];
    rig.stream(&allowed).code(0);
    assert_eq!((told(&rig, "pre").len(), rig.read("log").as_str()), (2, "one\n"));
}

#[test]
fn a_lead_is_watched_over_too_and_so_is_its_fork() {
    for prompt in ["alone", "fork"] {
        let rig = Rig::on(BOOK);
        let before = script(&rig, "pre", "echo \"$input\" | grep -q forbidden", "not that file");
        let stop = script(&rig, "stop", "false", "");
        let hooks = [hook("PreToolUse", "Bash", &before), hook("SubagentStop", "", &stop)];
        of_user(&rig, &hooks.concat());
        let args = ["-p", prompt, "--agent", "guard", "--fork"];
        let ran = rig.stream(&[&args, &FREE[..]].concat()).code(0);
        assert!(!rig.project.join("forbidden").exists(), "{prompt}: {ran:?}");
        assert!(ran.stdout.contains("not that file"), "{prompt}: {ran:?}");
        // A lead is no subagent.
        assert_eq!(told(&rig, "stop").len(), usize::from(prompt == "fork"), "{prompt}");
    }
}

#[test]
fn an_interrupt_ends_a_hook_and_the_tool_does_not_run() {
    let rig = Rig::on(BOOK);
    of_user(&rig, &hook("PreToolUse", "*", "echo $$ > pid; sleep 600; exit 0"));
    let mut going = rig.driven(&[&["--agent", "guard"], &FREE[..]].concat());
    going.say("alone");
    let pid = until("a pid", || Some(rig.read("pid")).filter(|text| text.ends_with('\n')));
    assert!(alive(pid.trim()));
    going.granted(&json!({ "subtype": "interrupt" }));
    assert_eq!(going.line("result")["subtype"], "error_during_execution");
    assert!(!alive(pid.trim()));
    let ran = going.end().code(130);
    assert!(!rig.project.join("forbidden").exists());
    let results = ran.results("team-lead");
    assert!(results[0].1 && results[0].0.contains("Interrupted"), "{results:?}");
    assert_eq!(notices(&ran, "The hook"), 0, "{ran:?}");
}

/// What a teammate is made of counts for it as for everyone else.
#[test]
fn a_teammate_is_watched_over_too() {
    let rig = Rig::on(BOOK);
    let before = script(&rig, "pre", "echo \"$input\" | grep -q forbidden", "not that file");
    let fields = "memory: project\nskills: [tidy]\n";
    let text = guard(&hook("PreToolUse", "Bash", &before)).replacen(
        "hooks:",
        &format!("{fields}hooks:"),
        1,
    );
    let dir = rig.user().join(".claude/agents");
    fs::create_dir_all(&dir).unwrap();
    fs::write(dir.join("guard.md"), text).unwrap();
    rig.write(
        ".claude/skills/tidy/SKILL.md",
        "---\nname: tidy\ndescription: d\n---\nSKILL-WORDS\n",
    );
    let served = rig.serve();
    let ran = rig.ask(&served, &[&["-p", "team"], &FREE[..]].concat()).code(0);
    assert!(!rig.project.join("forbidden").exists(), "{ran:?}");
    assert_eq!(rig.read("log"), "one\n", "{ran:?}");
    let first = served.of("mate")[0]["request"].clone();
    let system = first["system"].to_string();
    assert!(system.contains("SKILL-WORDS") && system.contains("# Your memory"), "{system}");
}
