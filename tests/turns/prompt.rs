//! What stands before a conversation, on the wire.

use std::fs;

use serde_json::Value;

use super::case::{Case, ran};

const BOOK: &str = "name: p\nactors:\n  - who: team-lead\n    turns:\n      \
    - { when: { user: go }, call: [{ tool: Glob, input: { pattern: '*.md' } }] }\n      \
    - { say: done, repeat: true }\n";

const KEY: &str = "sk-very-secret-0123456789";

fn requests(case: &Case, more: &[&str]) -> Vec<Value> {
    let served = case.serve();
    let mut args = vec!["run", "-p", "go"];
    args.extend(more);
    let mut command = case.command(&args);
    command.env("ANTHROPIC_BASE_URL", &served.url).env("ANTHROPIC_API_KEY", KEY);
    ran(&mut command).ok();
    served.requests().into_iter().map(|entry| entry["request"].clone()).collect()
}

fn system(body: &Value) -> String {
    let blocks = body["system"].as_array().unwrap().iter();
    blocks.map(|block| block["text"].as_str().unwrap()).collect::<Vec<_>>().join("\n---\n")
}

/// Everything up to the newest message, without the marks of the cache.
fn without_marks(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.iter().filter(|(key, _)| *key != "cache_control");
            Value::Object(kept.map(|(key, value)| (key.clone(), without_marks(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_marks).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

#[test]
fn the_system_prompt_holds_everything_in_its_order() {
    let case = Case::new(BOOK);
    let project = case.project();
    let user = project.parent().unwrap();
    fs::create_dir_all(user.join(".claude")).unwrap();
    fs::write(user.join(".claude/CLAUDE.md"), "USER-MEMORY").unwrap();
    fs::write(project.join("CLAUDE.md"), "PROJECT-MEMORY\n@docs/more.md and @../outside.md")
        .unwrap();
    fs::write(user.join("outside.md"), "OUTSIDE-MEMORY").unwrap();
    fs::create_dir(project.join("docs")).unwrap();
    fs::write(project.join("docs/more.md"), "IMPORTED-MEMORY").unwrap();
    fs::write(project.join("AGENTS.md"), format!("AGENTS-MEMORY {}", "x".repeat(90_000))).unwrap();
    fs::create_dir_all(project.join(".claude/agents")).unwrap();
    let agent = "---\nname: painter\ndescription: PAINTS-FENCES\n---\nYou paint.";
    fs::write(project.join(".claude/agents/painter.md"), agent).unwrap();
    let all = requests(&case, &[]);
    assert_eq!(all.len(), 2);
    let text = system(&all[0]);
    let place = |what: &str| text.find(what).unwrap_or_else(|| panic!("{what} in {text}"));
    let order = [
        place("PAINTS-FENCES"),
        place("USER-MEMORY"),
        place("PROJECT-MEMORY"),
        place("IMPORTED-MEMORY"),
        place("AGENTS-MEMORY"),
        place(&format!("Working directory: {}", project.display())),
    ];
    assert!(order.is_sorted(), "{order:?}");
    assert!(text.contains(std::env::consts::OS) && text.contains("Not a git repository"));
    assert!(!text.contains("OUTSIDE-MEMORY"), "a project imports nothing from outside");
    assert!(text.matches('x').count() < 50_000, "a huge file is cut");
    // The stable part carries the first mark.
    assert_eq!(all[0]["system"][0]["cache_control"]["type"], "ephemeral");
    assert!(!all[0]["system"][0]["text"].as_str().unwrap().contains(project.to_str().unwrap()));
}

#[test]
fn requests_of_a_session_share_their_beginning_and_hold_no_key() {
    let case = Case::new(BOOK);
    fs::write(case.project().join("CLAUDE.md"), "be kind").unwrap();
    let all = requests(&case, &[]);
    let [first, second] = [&all[0], &all[1]].map(without_marks);
    for part in ["system", "tools", "model", "max_tokens"] {
        assert_eq!(first[part].to_string(), second[part].to_string(), "{part}");
    }
    let known = first["messages"].as_array().unwrap();
    assert_eq!(second["messages"].as_array().unwrap()[..known.len()], known[..]);
    assert!(all.iter().all(|body| !body.to_string().contains(KEY)));
    let again = requests(&case, &[]);
    assert_eq!(system(&again[0]), system(&first), "two sessions on one day");
    assert_eq!(without_marks(&again[0]["tools"]), first["tools"]);
    for file in crate::support::files_below(&case.deck.home()) {
        let text = String::from_utf8_lossy(&fs::read(&file).unwrap()).into_owned();
        assert!(!text.contains(KEY), "{}", file.display());
    }
}

#[test]
fn a_git_repository_is_described() {
    let case = Case::new(BOOK);
    let git = |args: &[&str]| {
        let mut command = std::process::Command::new("git");
        command.args([
            "-c",
            "user.name=a",
            "-c",
            "user.email=a@b",
            "-c",
            "init.defaultBranch=trunk",
        ]);
        let ran = command.args(args).current_dir(case.project()).output().unwrap();
        assert!(ran.status.success(), "{ran:?}");
    };
    git(&["init", "-q"]);
    fs::write(case.project().join("a"), "1").unwrap();
    git(&["add", "."]);
    git(&["commit", "-qm", "FIRST-COMMIT"]);
    fs::write(case.project().join("changed-file"), "1").unwrap();
    let text = system(&requests(&case, &[])[0]);
    for part in ["`trunk`", "FIRST-COMMIT", "changed-file"] {
        assert!(text.contains(part), "{part} in {text}");
    }
}
