//! `quarterdeck permissions` through the real program.

use std::fs;
use std::path::Path;
use std::process::Stdio;

use serde_json::json;

use crate::support::deck::{Deck, Ran};

fn permissions(deck: &Deck, args: &[&str]) -> Ran {
    permissions_under(deck, None, args)
}

/// The same on a machine whose administrator wrote a policy.
fn permissions_under(deck: &Deck, policy: Option<&Path>, args: &[&str]) -> Ran {
    let mut command = deck.command(&[&["permissions"], args].concat());
    command.env("XDG_CONFIG_HOME", deck.state().join("config"));
    command.env("CLAUDE_CONFIG_DIR", deck.state().join("claude"));
    if let Some(policy) = policy {
        command.env("QUARTERDECK_POLICY", policy);
    }
    let ran = command.stdin(Stdio::null()).output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

/// A project with settings at every level.
fn project(deck: &Deck) -> String {
    let project = deck.state().join("project");
    let write = |file: std::path::PathBuf, text: &str| {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    };
    write(
        deck.state().join("claude/settings.json"),
        r#"{"permissions": {"deny": ["Bash(rm:*)"]}}"#,
    );
    write(project.join(".claude/settings.json"), r#"{"permissions": {"allow": ["Bash(make:*)"]}}"#);
    let own = r#"{"model": "opus", "permissions": {"ask": ["Bash(make install)"], "defaultMode": "acceptEdits"}}"#;
    write(project.join(".quarterdeck/settings.local.json"), own);
    project.display().to_string()
}

#[test]
fn a_decision_is_told_with_its_rule_and_where_that_stands() {
    let deck = Deck::new();
    let project = project(&deck);
    let check = |command: &str| {
        let input = json!({ "command": command }).to_string();
        permissions(&deck, &["check", "Bash", &input, "--cwd", &project, "--json"]).ok().json()
    };
    let denied = check("make; rm x");
    assert_eq!(denied["decision"], "deny");
    assert_eq!(denied["rule"], "Bash(rm:*)");
    assert!(denied["source"].as_str().unwrap().ends_with("claude/settings.json"), "{denied}");
    assert_eq!(check("make all")["decision"], "allow");
    assert_eq!(check("make install")["decision"], "ask");
    let unclear = check("make (");
    assert_eq!((&unclear["decision"], &unclear["kind"]), (&json!("ask"), &json!("unparsable")));
    let edit = permissions(&deck, &["check", "Edit", r#"{"file_path":"x"}"#, "--cwd", &project]);
    assert_eq!(edit.ok().stdout, "allow: the mode acceptEdits\n");
    let plan = ["check", "Edit", r#"{"file_path":"x"}"#, "--cwd", &project, "--mode", "plan"];
    assert!(permissions(&deck, &plan).ok().stdout.starts_with("deny: the mode plan"));
}

#[test]
fn rules_are_listed_with_their_files_and_mistakes_are_named() {
    let deck = Deck::new();
    let project = project(&deck);
    let listed = permissions(&deck, &["list", "--cwd", &project, "--json"]).ok().json();
    let effects: Vec<_> =
        listed["rules"].as_array().unwrap().iter().map(|rule| &rule["effect"]).collect();
    assert_eq!(effects, ["deny", "ask", "allow"]);
    assert_eq!(listed["mode"], "acceptEdits");
    let more = deck.state().join("more.json");
    fs::write(&more, r#"{"permissions": {"deny": ["Bash(oops"]}}"#).unwrap();
    let more = more.display().to_string();
    let wrong = permissions(&deck, &["list", "--settings", &more]);
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("no closing `)`"), "{wrong:?}");
    let wrong = permissions(&deck, &["check", "Bash", "{}"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("needs a text `command`"), "{wrong:?}");
    let wrong = permissions(&deck, &["check", "Bash", r#"{"command":"ls"}"#, "--mode", "auto"]);
    assert!(wrong.code == 2 && wrong.stderr.contains("unknown mode `auto`"), "{wrong:?}");
}

#[test]
fn a_policy_sets_the_mode_and_denies_above_all_other_settings() {
    let deck = Deck::new();
    let project = project(&deck);
    let policy = deck.state().join("policy.json");
    let text = r#"{"permissions": {"deny": ["Bash(make:*)"], "defaultMode": "plan"}}"#;
    fs::write(&policy, text).unwrap();
    let source = format!("managed policy {}", policy.display());
    let under = |policy: Option<&Path>, args: &[&str]| {
        permissions_under(&deck, policy, &[args, &["--cwd", &project, "--json"]].concat()).ok()
    };

    let listed = under(Some(&policy), &["list"]).json();
    assert_eq!(listed["mode"], "plan", "the project says acceptEdits");
    let rules = listed["rules"].as_array().unwrap();
    let denied =
        rules.iter().find(|rule| rule["rule"] == "Bash(make:*)" && rule["effect"] == "deny");
    assert_eq!(denied.unwrap()["source"], source.as_str(), "{listed}");

    let make = ["check", "Bash", r#"{"command":"make all"}"#];
    let checked = under(Some(&policy), &make).json();
    assert_eq!(checked["decision"], "deny", "the project allows it");
    assert_eq!(checked["rule"], "Bash(make:*)");
    assert_eq!(checked["source"], source.as_str());
    assert_eq!(under(None, &make).json()["decision"], "allow", "without the policy");

    let edit = ["check", "Edit", r#"{"file_path":"x"}"#, "--mode", "bypassPermissions"];
    let edited = under(Some(&policy), &edit);
    assert_eq!(edited.json()["decision"], "deny", "nobody bypasses the policy's mode");
    assert!(edited.stderr.contains("the policy sets the mode plan"), "{edited:?}");
    assert_eq!(under(None, &edit).json()["decision"], "allow", "without the policy");
}
