//! What an ask offers, and that it would have helped.

use quarterdeck::permission::{Decision, Effect, Suggestion, decide};
use quarterdeck::protocol::op::Mode;
use serde_json::{Value, json};

use super::world::{World, access};

fn suggested(world: &World, kind: &str, text: &str) -> Vec<Suggestion> {
    let (tool, access) = access(kind, &world.fill(text));
    match decide(&world.view(Mode::Default), &tool, &Value::Null, &[access]) {
        Decision::Ask { suggestions, .. } => suggestions,
        other @ (Decision::Allow { .. } | Decision::Deny { .. }) => panic!("{text}: {other:?}"),
    }
}

#[test]
fn rules_are_as_narrow_as_they_are_useful() {
    let world = World::new();
    let cases = [
        ("cargo build --release", vec!["Bash(cargo build:*)"]),
        ("npm run lint -- --fix", vec!["Bash(npm run lint:*)"]),
        ("git push origin main && make all", vec!["Bash(git push:*)", "Bash(make all:*)"]),
        ("ls && rm -r target", vec!["Bash(rm -r target)"]),
        ("mkdir x", vec!["Bash(mkdir:*)"]),
        ("FOO=1 make", vec!["Bash(FOO=1 make)"]),
        ("python3 -c 'a b'", vec![]),
    ];
    for (command, rules) in cases {
        let rules: Vec<String> = rules.into_iter().map(str::to_owned).collect();
        let wanted = if rules.is_empty() { vec![] } else { vec![Suggestion::AddRules(rules)] };
        assert_eq!(suggested(&world, "run", command), wanted, "{command}");
    }
}

#[test]
fn a_suggested_rule_lets_the_same_through() {
    let world = World::new();
    let cases = [
        ("run", "cargo build"),
        ("run", "git push && make all"),
        ("run", "FOO=1 make"),
        ("read", "/opt/x/y"),
        ("write", "src/main.rs"),
        ("write", "{root}/outside/x"),
        ("fetch", "https://docs.rs/x"),
        ("mcp", "a/b"),
        ("run", "cat /opt/x"),
    ];
    for (kind, text) in cases {
        let mut view = world.view(Mode::Default);
        for suggestion in suggested(&world, kind, text) {
            match suggestion {
                Suggestion::AddRules(rules) => {
                    view.rules.extend(rules.iter().map(|rule| world.rule(Effect::Allow, rule)));
                }
                Suggestion::AddDirectories(dirs) => {
                    dirs.iter().for_each(|dir| view.add_directory(dir.as_ref()));
                }
                Suggestion::SetMode(mode) => view.mode = mode,
            }
        }
        let (tool, access) = access(kind, &world.fill(text));
        let decision = decide(&view, &tool, &Value::Null, &[access]);
        assert_eq!(decision.as_str(), "allow", "{text}: {}", decision.why());
    }
}

#[test]
fn the_three_forms_are_the_protocols() {
    let rules = Suggestion::AddRules(vec!["Read(//tmp/**)".into(), "mcp__a__b".into()]);
    assert_eq!(
        rules.to_json(),
        json!({"type": "addRules", "rules": [{"toolName": "Read", "ruleContent": "//tmp/**"}, {"toolName": "mcp__a__b"}], "behavior": "allow", "destination": "session"})
    );
    assert_eq!(
        Suggestion::AddDirectories(vec!["/x".into()]).to_json(),
        json!({"type": "addDirectories", "directories": ["/x"], "destination": "session"})
    );
    assert_eq!(
        Suggestion::SetMode(Mode::AcceptEdits).to_json(),
        json!({"type": "setMode", "mode": "acceptEdits", "destination": "session"})
    );
}
