//! `quarterdeck agents` as people and scripts see it.

use quarterdeck::agent::definition::Source;
use serde_json::{Value, json};

use super::shelf::{Shelf, agent};
use crate::support::deck::{Deck, Ran};

/// Runs the program in `repo` with every place below the shelf.
fn run(shelf: &Shelf, args: &[&str]) -> Ran {
    shelf.put("repo/.git/HEAD", "ref: refs/heads/main\n");
    let deck = Deck::new();
    let ran = deck
        .command(args)
        .current_dir(shelf.path("repo"))
        .env("CLAUDE_CONFIG_DIR", shelf.path("claude"))
        .env("XDG_CONFIG_HOME", shelf.path("config"))
        .env("QUARTERDECK_POLICY_AGENTS", shelf.path("policy"))
        .output()
        .unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

#[test]
fn all_places_are_read_and_listed() {
    let shelf = Shelf::new();
    shelf.put("repo/.claude/agents/one.md", &agent("one", "shared project"));
    shelf.put("repo/.quarterdeck/agents/one.md", &agent("one", "our project"));
    shelf.put("repo/.claude/agents/sub/two.md", &agent("two", "project"));
    shelf.put("claude/agents/three.md", &agent("three", "user"));
    shelf.put("config/quarterdeck/agents/three.md", &agent("three", "our user"));
    shelf.put("claude/plugins/tidy/agents/sweep.md", &agent("sweep", "plug-in"));
    shelf.put("policy/two.md", &agent("TWO", "policy"));
    let json = r#"{"four": {"description": "given", "prompt": "p"}}"#;
    let listed = run(&shelf, &["agents", "list", "--json", "--agents", json]).ok();
    assert_eq!(listed.stderr, "");
    let listed = listed.json();
    let by_name = |name: &str| {
        let all = listed.as_array().unwrap();
        let one = all.iter().find(|one| one["name"] == name).unwrap_or(&Value::Null);
        (one["source"].as_str().unwrap_or("-"), one["description"].as_str().unwrap_or("-"))
    };
    assert_eq!(by_name("one"), ("project", "our project"));
    assert_eq!(by_name("TWO"), ("policy", "policy"));
    assert_eq!(by_name("three"), ("user", "our user"));
    assert_eq!(by_name("tidy:sweep"), ("plugin", "plug-in"));
    assert_eq!(by_name("four"), ("commandLine", "given"));
    assert_eq!(by_name("explore").0, "builtin");

    let text = run(&shelf, &["agents", "list"]).ok().stdout;
    let lines: Vec<&str> = text.lines().collect();
    assert!(lines[0].starts_with("NAME             SOURCE        MODEL    TOOLS"), "{text}");
    assert!(text.contains("bash             built-in      inherit  Bash"), "{text}");
    assert!(text.contains(&format!("tidy:sweep       {}  ", Source::Plugin("tidy".into()))));
}

#[test]
fn one_is_shown_with_all_its_fields_and_its_prompt() {
    let shelf = Shelf::new();
    let file = shelf.put(
        "repo/.claude/agents/r.md",
        "---\nname: reviewer\ndescription: reviews\ntools: Read, Agent(explore)\nmodel: opus\n\
         maxTurns: 4\nhooks: {Stop: []}\n---\nYou review.\nTwice.\n",
    );
    let shown = run(&shelf, &["agents", "show", "Reviewer"]).ok().stdout;
    let expected = format!(
        "name         reviewer\n\
         description  reviews\n\
         source       project\n\
         file         {}\n\
         tools        Read, Agent\n\
         spawnable    explore\n\
         model        opus\n\
         maxTurns     4\n\
         hooks        {{\"Stop\":[]}}\n\
         \n\
         You review.\nTwice.\n",
        file.display()
    );
    assert_eq!(shown, expected);
    let value = run(&shelf, &["agents", "show", "reviewer", "--json"]).ok().json();
    assert_eq!(value["prompt"], "You review.\nTwice.");
    assert_eq!(value["tools"], json!(["Read", "Agent"]));
}

#[test]
fn problems_are_on_stderr_and_only_a_missing_name_is_a_failure() {
    let shelf = Shelf::new();
    let file = shelf.put("repo/.claude/agents/r.md", "---\nname: r\nmaxTurns: x\n---\n");
    let listed = run(&shelf, &["agents", "list"]).ok();
    let expected = format!(
        "{0}:2:1: error: `description` is missing\n\
         {0}:3:11: error: `maxTurns` must be a whole number above 0\n",
        file.display()
    );
    assert_eq!(listed.stderr, expected);
    assert!(listed.stdout.contains("general-purpose"));
    let missing = run(&shelf, &["agents", "show", "Verifcation", "--json"]);
    assert_eq!((missing.code, &missing.json()["reason"]), (1, &json!("agent_not_found")));
    assert!(missing.stderr.contains("did you mean `verification`?"), "{missing:?}");
    let unknown = run(&shelf, &["agents", "show", "zzzzzz"]);
    assert!(unknown.stderr.contains("agents list"), "{unknown:?}");
}
