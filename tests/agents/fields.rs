//! Every field of a definition, right and wrong.

use quarterdeck::agent::definition::{
    Definition, EffortWish, Isolation, McpServer, MemoryScope, ModelWish, Severity, Source,
    read_file_text, read_json,
};
use quarterdeck::model::request::Effort;
use quarterdeck::protocol::op::Mode;
use serde_json::json;

/// The one definition of a front matter with these lines after `name` and `description`.
#[track_caller]
fn good(lines: &str) -> Definition {
    let text = format!("---\nname: a\ndescription: d\n{lines}\n---\nbody\n");
    let read = read_file_text(&text, &Source::User);
    assert_eq!(read.problems, [], "{text}");
    read.definitions.into_iter().next().expect("a definition")
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[test]
fn a_definition_has_every_field() {
    let text = r#"---
name: code-reviewer
description: "Reviews: finds what is wrong"   # a comment
tools:
  - Read
  - Agent(explore, plan)
  - Bash(git diff:*, git log:*)
disallowedTools: Write, Edit
model: sonnet
effort: high
permissionMode: acceptEdits
background: true
isolation: worktree
maxTurns: 8
color: purple
memory: project
mcpServers:
  - github
  - docs:
      command: docs-server
      args: [--fast]
requiredMcpServers: [git]
hooks:
  Stop:
    - hooks: [{ type: command, command: "true" }]
skills: [style, tests]
initialPrompt: Begin with the tests.
---

You review code.

---
Not front matter.
"#;
    let read = read_file_text(text, &Source::Project);
    assert_eq!(read.problems, []);
    let expected = Definition {
        name: "code-reviewer".into(),
        description: "Reviews: finds what is wrong".into(),
        tools: Some(words(&["Read", "Agent", "Bash(git diff:*, git log:*)"])),
        disallowed_tools: words(&["Write", "Edit"]),
        spawnable: Some(words(&["explore", "plan"])),
        model: Some(ModelWish::Named("sonnet".into())),
        effort: Some(EffortWish::Level(Effort::High)),
        permission_mode: Some(Mode::AcceptEdits),
        background: true,
        isolation: Some(Isolation::Worktree),
        max_turns: Some(8),
        color: Some("purple".into()),
        memory: Some(MemoryScope::Project),
        mcp_servers: vec![
            McpServer::Shared("github".into()),
            McpServer::Own {
                name: "docs".into(),
                config: json!({ "command": "docs-server", "args": ["--fast"] }),
            },
        ],
        required_mcp_servers: words(&["git"]),
        hooks: Some(json!({ "Stop": [{ "hooks": [{ "type": "command", "command": "true" }] }] })),
        skills: words(&["style", "tests"]),
        initial_prompt: Some("Begin with the tests.".into()),
        prompt: "You review code.\n\n---\nNot front matter.".into(),
        source: Source::Project,
        file: None,
    };
    assert_eq!(read.definitions, [expected]);
}

#[test]
fn tools_may_be_written_in_many_ways() {
    type Words = Option<&'static [&'static str]>;
    let cases: [(&str, Words, Words); 13] = [
        ("", None, None),
        ("tools: '*'", None, None),
        ("tools: *", None, None),
        ("tools: [\"*\"]", None, None),
        ("tools: []", Some(&[]), None),
        ("tools: Read", Some(&["Read"]), None),
        ("tools: Read, Grep , ,Glob", Some(&["Read", "Grep", "Glob"]), None),
        ("tools: [Read, 'Grep, Glob', Read]", Some(&["Read", "Grep", "Glob"]), None),
        ("tools: Agent(x, y), Read", Some(&["Agent", "Read"]), Some(&["x", "y"])),
        ("tools: Task(x)", Some(&["Agent"]), Some(&["x"])),
        ("tools: Agent(x), Agent", Some(&["Agent"]), None),
        ("tools: Agent()", Some(&["Agent"]), Some(&[])),
        ("tools: \"*, Agent(x)\"", None, Some(&["x"])),
    ];
    for (line, tools, spawnable) in cases {
        let one = good(line);
        assert_eq!(one.tools, tools.map(words), "{line}");
        assert_eq!(one.spawnable, spawnable.map(words), "{line}");
    }
}

#[test]
fn values_may_be_written_in_many_ways() {
    assert_eq!(good("model: INHERIT").model, Some(ModelWish::Inherit));
    assert_eq!(good("effort: 7").effort, Some(EffortWish::Number(7)));
    assert_eq!(good("effort: max").effort, Some(EffortWish::Level(Effort::High)));
    assert!(good("background: 'true'").background);
    assert!(!good("background:").background);
    assert_eq!(good("color: Red").color.as_deref(), Some("red"));
    assert_eq!(good("mcpServers: a, b").mcp_servers.len(), 2);
    let own = good("mcpServers: { docs: { command: x } }").mcp_servers;
    assert_eq!(own[0], McpServer::Own { name: "docs".into(), config: json!({"command": "x"}) });
    assert_eq!(good("skills: style").skills, ["style"]);
}

#[test]
fn what_is_not_quite_yaml_is_understood_as_it_was_meant() {
    let text = "---\r\nname: reviewer\r\n\
                description: Use this when: it's done. Examples:\\nuser: \"Check\"\r\n  \
                and: more\r\n\
                tools: *\r\nmodel: opus # the best\r\n---\r\nYou review.\r\n";
    let read = read_file_text(text, &Source::User);
    assert_eq!(read.problems, []);
    let one = &read.definitions[0];
    let said = "Use this when: it's done. Examples:\nuser: \"Check\" and: more";
    assert_eq!(one.description, said);
    assert_eq!(one.tools, None);
    assert_eq!(one.model, Some(ModelWish::Named("opus".into())));
    assert_eq!(one.prompt, "You review.");
    let marked = read_file_text("\u{feff}---\nname: a\ndescription: d\n---\n", &Source::User);
    assert_eq!(marked.problems, []);
    assert_eq!(marked.definitions[0].prompt, "");
}

#[test]
fn mistakes_are_named_with_their_line_and_what_was_expected() {
    let cases = [
        ("tools: 7", "4:8", "`tools` must be text, not a number"),
        (
            "tools: {Read: true}",
            "4:8",
            "`tools` must be a list, or words separated by commas, not a mapping",
        ),
        ("tools:", "4:1", "`tools` has no value (write [] for no tools at all"),
        ("skills: [a, [b]]", "4:13", "every entry of `skills` must be text, not a list"),
        ("model: 4", "4:8", "`model` must be text, not a number (put it in quotes)"),
        ("effort: hihg", "4:9", "`effort` cannot be `hihg` (did you mean `high`?)"),
        ("effort: 0", "4:9", "`effort` must be a whole number above 0"),
        ("permissionMode: acceptEdit", "4:17", "(did you mean `acceptEdits`?)"),
        ("background: perhaps", "4:13", "`background` must be true or false, not text"),
        (
            "isolation: chroot",
            "4:12",
            "`isolation` cannot be `chroot` (known ones: worktree, remote)",
        ),
        ("maxTurns: -1", "4:11", "`maxTurns` must be a whole number above 0"),
        ("maxTurns: 1.5", "4:11", "`maxTurns` must be a whole number above 0"),
        (
            "memory: everywhere",
            "4:9",
            "`memory` cannot be `everywhere` (known ones: user, project, local)",
        ),
        ("mcpServers: [7]", "4:14", "every entry of `mcpServers` must be a name"),
        ("mcpServers: {a: b}", "4:17", "the settings of the server `a` must be a mapping"),
        ("hooks: [Stop]", "4:8", "`hooks` must be a mapping of events, not a list"),
        ("hooks: {Stop: x}", "4:15", "the hooks for `Stop` cannot be read"),
        (
            "hooks:\n  Stop: []\n  PreToolUse: [{ matcher: '(', hooks: [] }]",
            "6:15",
            "`(` matches no",
        ),
        ("initialPrompt: [x]", "4:16", "`initialPrompt` must be text, not a list"),
        ("name: b", "4:1", "`name` is here twice (the first one is in line 2)"),
        ("color: [", "", "this is not YAML"),
    ];
    for (line, place, what) in cases {
        let text = format!("---\nname: a\ndescription: d\n{line}\n---\nbody\n");
        let read = read_file_text(&text, &Source::User);
        assert_eq!(read.definitions, [], "{line}");
        let [problem] = read.problems.as_slice() else { panic!("{line}: {:?}", read.problems) };
        assert_eq!(problem.severity, Severity::Error, "{line}");
        let said = problem.to_string();
        assert!(said.contains(what) && said.contains(place), "{line}: {said}");
    }
}

#[test]
fn what_is_missing_is_named_and_all_mistakes_at_once() {
    let cases = [
        ("", "1:1: error: there is no front matter"),
        ("# Notes\n", "1:1: error: there is no front matter"),
        ("---\nname: a\n", "1:1: error: the front matter never ends"),
        ("---\n---\nbody", "1:1: error: the front matter is empty"),
        ("---\n- a\n---\n", "2:1: error: a definition must be a mapping, not a list"),
        ("---\nname: a\n---\n", "2:1: error: `description` is missing"),
        ("---\ndescription: d\n---\n", "2:1: error: `name` is missing"),
        ("---\nname: ''\ndescription: d\n---\n", "2:7: error: `name` is empty"),
        ("---\nname: a b\ndescription: d\n---\n", "2:7: error: `a b` is not a valid name"),
        ("---\nname: a\ndescription: [d]\n---\n", "3:14: error: `description` must be text"),
    ];
    for (text, expected) in cases {
        let read = read_file_text(text, &Source::User);
        assert_eq!(read.definitions, [], "{text:?}");
        let said = read.problems[0].to_string();
        assert!(said.contains(expected), "{text:?}: {said}");
    }
    let many = "---\nname: 7\ntools: 7\nmaxTurns: x\n---\n";
    let lines: Vec<usize> = read_file_text(many, &Source::User)
        .problems
        .iter()
        .map(|problem| problem.mistake.line)
        .collect();
    assert_eq!(lines, [2, 2, 3, 4]);
}

#[test]
fn an_unknown_field_colour_or_hook_is_a_warning_only() {
    let text = "---\nname: a\ndescription: d\ntool: Read\ncolor: mauve\nhooks: {Dusk: []}\n---\n";
    let read = read_file_text(text, &Source::User);
    assert_eq!(read.definitions.len(), 1);
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said.len(), 3, "{said:?}");
    assert!(said[2].contains("6:9: warning: hooks for `Dusk` are not supported"), "{said:?}");
    assert!(said[0].contains("4:1: warning: unknown field `tool` (did you mean `tools`?)"));
    assert!(said[1].contains("5:8: warning: unknown colour `mauve`"), "{said:?}");
}

#[test]
fn the_command_line_gives_agents_as_json() {
    let read = read_json(
        r#"{"one": {"description": "first", "prompt": "You are one.", "tools": ["Read"],
                    "maxTurns": 3, "background": true},
            "two": {"description": "second"},
            "three": 3}"#,
    );
    let one = &read.definitions[0];
    assert_eq!((one.name.as_str(), one.prompt.as_str()), ("one", "You are one."));
    assert_eq!((one.max_turns, one.background), (Some(3), true));
    assert_eq!((&one.source, read.definitions.len()), (&Source::CommandLine, 1));
    let said: Vec<String> = read.problems.iter().map(ToString::to_string).collect();
    assert_eq!(said[0], "--agents: error: agent `two`: `prompt` is missing");
    assert!(said[1].starts_with("--agents: error: agent `three`: a definition must be a mapping"));
    for (text, what) in [("[]", "expected an object"), ("{", "not JSON")] {
        let said = read_json(text).problems[0].to_string();
        assert!(said.contains(what), "{said}");
    }
}
