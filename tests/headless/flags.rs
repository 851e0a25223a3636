//! What can be typed behind `run`, each through the program.

use std::fs;

use serde_json::{Value, json};

use super::rig::{Ran, Rig};

const BASH: &str = r#"
- call: [{ tool: Bash, input: { command: "touch made" } }]
- when: { error_of: Bash }
  say: "refused: {{result}}"
- when: { result_of: Bash }
  say: "made it"
"#;

fn init(ran: &Ran) -> Value {
    ran.lines().swap_remove(0)
}

fn names(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|one| one.as_str().unwrap()).collect()
}

#[test]
fn the_prompt_comes_from_the_command_line_or_from_standard_input() {
    let rig =
        Rig::new("- when: { user: \"^go (?<on>.+)$\" }\n  repeat: true\n  say: \"on {{on}}\"");
    assert_eq!(rig.run(&["-p", "go one"]).code(0).stdout, "on one\n");
    assert_eq!(rig.fed(&["-p", "-"], "go two").code(0).stdout, "on two\n");
    assert_eq!(rig.fed(&[], "go three").code(0).stdout, "on three\n");
    let hyphen = Rig::new("- when: { user: \"^-1$\" }\n  say: \"a number\"");
    assert_eq!(hyphen.run(&["-p", "-1"]).code(0).stdout, "a number\n");
    let silent = rig.run(&[]).code(2);
    assert!(silent.stderr.contains("-p TEXT") && silent.stdout.is_empty(), "{silent:?}");
    assert!(rig.fed(&["-p", "-"], " \n").code(2).stderr.contains("empty"));
}

#[test]
fn json_is_one_object_and_the_global_flag_means_the_same() {
    let rig = Rig::new("- say: \"words\"\n  repeat: true");
    for args in [&["--output-format", "json"][..], &["--json"]] {
        let ran = rig.run(&[args, &["-p", "x"]].concat()).code(0);
        assert_eq!(ran.lines().len(), 1, "{ran:?}");
        let result = ran.result();
        assert_eq!((&result["subtype"], &result["result"]), (&json!("success"), &json!("words")));
        assert_eq!(result["session_id"].as_str().map(str::len), Some(36));
    }
    // Who asks for a format gets it.
    let ran = rig.run(&["--json", "--output-format", "text", "-p", "x"]).code(0);
    assert_eq!(ran.stdout, "words\n");
}

#[test]
fn a_failure_prints_one_value_with_json_whenever_it_comes() {
    let rig = Rig::new("- when: { user: nothing }\n  say: no");
    let early = rig.run(&["--json", "-p", ""]).code(2);
    assert_eq!(early.lines().len(), 1);
    assert_eq!(early.lines()[0]["reason"], "bad_input");
    let late = rig.run(&["--json", "-p", "x"]).code(1);
    assert_eq!(late.lines().len(), 1, "{late:?}");
    assert_eq!(late.result()["is_error"], true);
    assert!(late.result()["errors"][0].as_str().unwrap().contains("team-lead"));
    assert!(late.stderr.contains("team-lead"), "{late:?}");
}

#[test]
fn models_are_named_and_what_is_missing_is_said() {
    let rig = Rig::new("- say: x");
    let run = |args: &[&str]| rig.quarterdeck(&[&["run", "-p", "x"], args].concat());
    let unknown = run(&["--model", "sonet"]).code(2);
    assert!(unknown.stderr.contains("sonet") && unknown.stderr.contains("sonnet"), "{unknown:?}");
    let keyless = run(&["--model", "sonnet"]).code(2);
    assert!(keyless.stderr.contains("ANTHROPIC_API_KEY"), "{keyless:?}");
    assert!(run(&["--playbook", "none.yaml"]).code(2).stderr.contains("none.yaml"));
}

#[test]
fn the_lead_follows_a_definition() {
    let rig = Rig::new("- say: \"{{me}}\"\n  repeat: true");
    let agents = r#"{"careful":{"description":"d","prompt":"Be careful.","tools":["Read","Grep"],
        "permissionMode":"plan","maxTurns":7}}"#;
    let ran = rig.stream(&["--agents", agents, "--agent", "Careful", "-p", "x"]).code(0);
    let first = init(&ran);
    assert_eq!(names(&first["tools"]), ["Read", "Grep"]);
    assert_eq!(first["permissionMode"], "plan");
    assert!(names(&first["agents"]).contains(&"careful"));
    let given = ["--permission-mode", "acceptEdits", "--agents", agents, "--agent", "careful"];
    let ran = rig.stream(&[&given[..], &["-p", "x"]].concat()).code(0);
    assert_eq!(init(&ran)["permissionMode"], "acceptEdits");
    let near = rig.run(&["--agents", agents, "--agent", "carefull", "-p", "x"]).code(1);
    assert!(near.stderr.contains("did you mean `careful`?"), "{near:?}");
    for bad in ["{", r#"{"x":{"description":7}}"#] {
        let ran = rig.run(&["--agents", bad, "-p", "x"]).code(2);
        assert!(ran.stderr.contains("--agents"), "{ran:?}");
    }
}

#[test]
fn modes_and_rules_decide() {
    let asked = || Rig::new(BASH);
    let refused = asked().run(&["-p", "x"]).code(0);
    assert!(refused.stdout.starts_with("refused: ") && refused.stdout.contains("nobody is here"));
    for args in [
        &["--allowedTools", "Bash(touch made)"][..],
        &["--allowedTools", "Read,Bash(touch:*),Edit"],
        &["--allowedTools", "Read Bash(touch made)"],
        &["--allowedTools", "Read", "--allowedTools", "Bash(touch *)"],
        &["--allowed-tools", "Bash"],
        &["--permission-mode", "bypassPermissions"],
        &["--dangerously-skip-permissions"],
        &["--on-ask", "allow"],
    ] {
        let rig = asked();
        let ran = rig.run(&[args, &["-p", "x"]].concat()).code(0);
        assert_eq!(ran.stdout, "made it\n", "{args:?}");
        assert!(rig.project.join("made").exists(), "{args:?}");
    }
    for args in [
        &["--disallowedTools", "Bash(touch:*)"][..],
        &["--disallowedTools", "Edit,Bash"],
        &["--tools", "Read,Grep"],
        &["--permission-mode", "dontAsk"],
    ] {
        let rig = asked();
        let all = [&["--on-ask", "allow"], args, &["-p", "x"]].concat();
        let ran = rig.run(&all).code(0);
        assert!(ran.stdout.starts_with("refused: "), "{args:?}: {ran:?}");
        assert!(!rig.project.join("made").exists(), "{args:?}");
    }
}

#[test]
fn lists_of_rules_take_one_argument_and_leave_the_rest_alone() {
    let rig = Rig::new("- say: fine\n  repeat: true");
    for flag in ["--allowedTools", "--disallowedTools", "--tools", "--add-dir"] {
        let ran = rig.run(&["-p", "x", flag, ".", "stray"]);
        assert_eq!(ran.code, 2, "{ran:?}");
        assert!(ran.stderr.contains("'stray'"), "{ran:?}");
    }
    let bad = rig.run(&["-p", "x", "--allowedTools", "Bash(git log:*"]).code(2);
    assert!(bad.stderr.contains("Bash(git log:*"), "{bad:?}");
    assert!(rig.run(&["-p", "x", "--permission-mode", "free"]).code(2).stderr.contains("free"));
}

#[test]
fn only_the_named_tools_are_there() {
    let rig = Rig::new("- say: fine\n  repeat: true");
    let tools = |args: &[&str]| {
        let ran = rig.stream(&[args, &["-p", "x"]].concat()).code(0);
        init(&ran)["tools"].as_array().unwrap().len()
    };
    assert_eq!(tools(&["--tools", "Read,Grep", "--tools", "Bash"]), 3);
    assert_eq!(tools(&["--tools", ""]), 0);
    let all = tools(&[]);
    assert_eq!(tools(&["--disallowedTools", "Bash,Read"]), all - 2);
    assert_eq!(tools(&["--disallowedTools", "Bash(rm:*)"]), all, "a rule takes no tool away");
}

#[test]
fn more_directories_and_settings() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - call: [{ tool: Read, input: { file_path: "{{cwd}}/../beside/text" } }]
      - { when: { error_of: Read }, say: "no" }
      - { when: { result_of: Read }, say: "yes" }
"#,
    );
    let beside = rig.root().join("beside");
    fs::create_dir(&beside).unwrap();
    fs::write(beside.join("text"), "words").unwrap();
    assert_eq!(rig.run(&["-p", "x"]).code(0).stdout, "no\n");
    assert_eq!(rig.run(&["-p", "x", "--add-dir", "../beside"]).code(0).stdout, "yes\n");
    let rules = json!({ "permissions": { "additionalDirectories": [beside] } });
    fs::write(rig.root().join("more.json"), rules.to_string()).unwrap();
    assert_eq!(rig.run(&["-p", "x", "--settings", "../more.json"]).code(0).stdout, "yes\n");
    assert!(rig.run(&["-p", "x", "--settings", "gone.json"]).code(2).stderr.contains("gone.json"));
    assert!(rig.run(&["-p", "x", "--add-dir", "gone"]).code(2).stderr.contains("gone"));
}

#[test]
fn turns_and_money_have_limits() {
    let rig = Rig::new(
        "- { repeat: true, say: again, call: [{ tool: Glob, input: { pattern: \"*\" } }] }",
    );
    let ran = rig.stream(&["-p", "x", "--max-turns", "3"]).code(1);
    let result = ran.result();
    assert_eq!(result["subtype"], "error_max_turns");
    assert_eq!((&result["num_turns"], &result["is_error"]), (&json!(3), &json!(true)));
    assert_eq!(result["result"], "again");
    assert!(ran.stderr.contains("turns"), "{ran:?}");
    for bad in
        [&["--max-turns", "0"][..], &["--max-budget-usd", "-1"], &["--max-budget-usd", "NaN"]]
    {
        rig.run(&[bad, &["-p", "x"]].concat()).code(2);
    }
}

/// A playbook behind a real model's API.
struct Served {
    child: std::process::Child,
    address: String,
}

impl Served {
    fn new(rig: &Rig) -> Self {
        let mut command = rig.program(&["playbook", "serve", &rig.book()]);
        let mut child = command.stdout(std::process::Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let stdout = child.stdout.take().unwrap();
        std::io::BufRead::read_line(&mut std::io::BufReader::new(stdout), &mut line).unwrap();
        let address = line.trim().rsplit(' ').next().unwrap().to_owned();
        Self { child, address }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

#[test]
fn a_budget_ends_a_run_and_the_cost_is_told() {
    let rig = Rig::new(
        "- { repeat: true, say: again, usage: { input: 100000, output: 1000 }, call: [{ tool: Glob, input: { pattern: \"*\" } }] }",
    );
    let served = Served::new(&rig);
    let run = ["run", "-p", "x", "--output-format", "json", "--model", "sonnet"];
    let mut command = rig.program(&[&run[..], &["--max-budget-usd", "0.5"]].concat());
    command.env("ANTHROPIC_BASE_URL", &served.address).env("ANTHROPIC_API_KEY", "k");
    let ran = command.stdin(std::process::Stdio::null()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1), "{ran:?}");
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!((&result["subtype"], &result["is_error"]), (&json!("error_budget"), &json!(true)));
    let (usd, turns) = (result["total_cost_usd"].as_f64().unwrap(), &result["num_turns"]);
    assert!((0.5..1.5).contains(&usd) && turns.as_u64() > Some(1), "{result}");
}

#[test]
fn agents_without_a_type_fork_when_asked_to() {
    let rig = Rig::with_actors(
        r#"
  - who: team-lead
    turns:
      - { call: [{ tool: Agent, input: { description: d, prompt: p } }] }
      - { when: { user: "task-notification" }, say: "heard" }
      - { when: { any: true }, repeat: true, say: "done" }
  - { who: fork, turns: [{ say: forked }] }
  - { who: "type:general-purpose", turns: [{ say: general }] }
"#,
    );
    for (flags, kind) in [(&["--fork"][..], "fork"), (&[], "general-purpose")] {
        let ran = rig.stream(&[flags, &["-p", "x"]].concat()).code(0);
        let started = ran.lines().into_iter().filter(|line| line["status"] == "started");
        let kinds: Vec<Value> = started.map(|line| line["about"]["agentType"].clone()).collect();
        assert_eq!(kinds, ["team-lead", kind], "{ran:?}");
    }
}

#[test]
fn an_alias_of_the_user_is_seen_through() {
    let rig = Rig::new(
        r#"
- call: [{ tool: Bash, input: { command: "ll precious" } }]
- { when: { error_of: Bash }, say: "{{result}}" }
- { when: { result_of: Bash }, say: "deleted" }
"#,
    );
    fs::write(rig.user().join(".bashrc"), "alias ll='rm -rf'\n").unwrap();
    fs::write(rig.project.join("precious"), "x").unwrap();
    let ran = rig.stream(&["-p", "x", "--allowedTools", "Bash(ll:*)"]).code(0);
    assert!(ran.lines().iter().any(|line| line["type"] == "ask"), "{ran:?}");
    assert!(rig.project.join("precious").exists());
}

#[test]
fn the_home_may_be_another() {
    let rig = Rig::new("- say: fine\n  repeat: true");
    rig.run(&["--home", "../other", "-p", "x"]).code(0);
    assert!(rig.root().join("other/quarterdeck/sessions").is_dir());
    assert!(!rig.home().exists());
}

#[test]
fn help_teaches() {
    let rig = Rig::new("- say: x");
    let help = rig.quarterdeck(&["run", "--help"]).code(0).stdout;
    for part in ["Examples:", "--on-ask wait", "quarterdeck asks list latest", "130 interrupted"] {
        assert!(help.contains(part), "{part} is not in {help}");
    }
    assert!(rig.quarterdeck(&["asks", "answer", "--help"]).code(0).stdout.contains("option"));
}
