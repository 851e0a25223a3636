//! What a subagent gets of its parent, and what it does not.

use serde_json::{Value, json};

use super::stage::{Stage, actor, playbook};

const LEAD: &str = "
- { when: { user: begin }, call: [{ tool: Read, input: { file_path: a.txt } }] }
- { when: { result_of: Read }, call: [{ tool: Agent, input: { description: d, prompt: work, subagent_type: worker } }] }
- { when: { result_of: Agent }, call: [{ tool: Edit, input: { file_path: b.txt, old_string: old, new_string: new } }] }
- { when: { error_of: Edit }, say: 'refused: {{result}}' }
- { when: { any: true }, say: 'edited' }
";

#[test]
fn the_child_has_seen_what_its_parent_saw_and_not_the_other_way_round() {
    let stage = Stage::new();
    stage.write("a.txt", "old words\n");
    stage.write("b.txt", "old words\n");
    let agents = json!({ "worker": {
        "description": "x", "prompt": "You are a worker of a kind of its own.",
        "tools": ["Read", "Edit", "Bash"], "disallowedTools": ["Bash"],
    } })
    .to_string();
    let child = "
- { when: { user: work }, call: [{ tool: Edit, input: { file_path: a.txt, old_string: old, new_string: new } }, { tool: Read, input: { file_path: b.txt } }] }
- { when: { error_of: Edit }, say: 'failed: {{result}}' }
- { when: { any: true }, say: changed }
";
    let served = stage.serve(&playbook(LEAD, &actor("type:worker", child)));
    let show = stage.ask(&served, &["-p", "begin", "--agents", &agents]).ok();
    assert_eq!(stage.read("a.txt"), "new words\n", "{show:#?}");
    assert!(show.result().starts_with("refused: "), "{}", show.result());
    assert_eq!(stage.read("b.txt"), "old words\n");
    // Exactly its own tools, its own prompt, and nothing of the conversation.
    let log = served.log();
    let request = &log.iter().find(|one| one["agent"] != "team-lead").unwrap()["request"];
    let tools: Vec<&Value> =
        request["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(tools, ["Read", "Edit"]);
    assert!(request["system"].to_string().contains("a worker of a kind of its own"));
    assert_eq!(request["messages"].as_array().unwrap().len(), 1);
    // Its transcript, and what is kept beside it.
    let (meta, records) = stage.subagents().pop().unwrap();
    assert_eq!(
        (&meta["agentType"], &meta["description"], &meta["spawnDepth"], &meta["taskKind"]),
        (&json!("worker"), &json!("d"), &json!(1), &json!("local_agent"))
    );
    assert_eq!(meta["permissionMode"], "acceptEdits");
    let started = show.started();
    let id = started[0]["agent"].as_str().unwrap();
    assert!(records.iter().all(|one| one["agentId"] == id && one["isSidechain"] == true));
    assert_eq!(records[0]["message"]["content"], "work");
    assert_eq!(records.last().unwrap()["message"]["content"][0]["text"], "changed");
    // The result.
    let data = stage.tool_data();
    let data = data.iter().find(|one| one["agentId"] == id).unwrap();
    assert_eq!((&data["status"], &data["totalToolUseCount"]), (&json!("completed"), &json!(2)));
    assert_eq!(data["content"], json!([{ "type": "text", "text": "changed" }]));
    assert!(data["totalTokens"].as_u64().unwrap() > 0 && data["totalDurationMs"].is_u64());
}

#[test]
fn the_mode_is_that_of_the_definition_but_never_freer_than_the_parent_allows() {
    let table = [
        ("default", None, "acceptEdits"),
        ("default", Some("default"), "default"),
        ("default", Some("plan"), "plan"),
        ("default", Some("bypassPermissions"), "default"),
        ("acceptEdits", Some("bypassPermissions"), "acceptEdits"),
        ("plan", Some("acceptEdits"), "plan"),
        ("dontAsk", None, "dontAsk"),
        ("bypassPermissions", Some("default"), "bypassPermissions"),
    ];
    for (parent, wanted, mode) in table {
        let stage = Stage::new();
        let mut worker = json!({ "description": "x", "prompt": "x" });
        if let Some(wanted) = wanted {
            worker["permissionMode"] = json!(wanted);
        }
        let agents = json!({ "worker": worker }).to_string();
        let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: work, subagent_type: worker } }] }
- { say: done }
";
        let book = playbook(lead, &actor("type:worker", "- say: done"));
        let args = ["-p", "begin", "--agents", &agents, "--permission-mode", parent];
        let show = stage.play(&book, &args).ok();
        assert_eq!(show.started()[0]["about"]["mode"], mode, "{parent} {wanted:?}");
    }
}

#[test]
fn what_a_subagent_asks_names_everyone_it_works_for() {
    let stage = Stage::new();
    let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: deeper } }] }
- { say: done }
";
    let child = "
- { when: { user: deeper }, call: [{ tool: Agent, input: { description: d, prompt: work } }] }
- { when: { user: work }, call: [{ tool: Write, input: { file_path: /quarterdeck-test/x, content: x } }] }
- { any: true, say: over }
"
    .replace("any: true, ", "");
    let show =
        stage.play(&playbook(lead, &actor("type:general-purpose", &child)), &["-p", "begin"]);
    let show = show.ok();
    let asks = show.of_type("ask");
    assert_eq!(asks.len(), 1, "{show:#?}");
    let started = show.started();
    let mut chain: Vec<String> =
        started.iter().rev().map(|one| one["agent"].as_str().unwrap().to_owned()).collect();
    chain.push("team-lead".to_owned());
    let asked: Vec<String> = asks[0]["ask"]["chain"]
        .as_array()
        .unwrap()
        .iter()
        .map(|id| id.as_str().unwrap().split('@').next().unwrap().to_owned())
        .collect();
    assert_eq!(asked, chain);
}

#[test]
fn what_a_definition_forbids_in_part_is_denied() {
    let stage = Stage::new();
    let agents = json!({ "worker": {
        "description": "x", "prompt": "x", "disallowedTools": ["Bash(touch:*)"],
    } })
    .to_string();
    let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: work, subagent_type: worker } }] }
- { say: done }
";
    let child = "
- { when: { user: work }, call: [{ tool: Bash, input: { command: touch here } }] }
- { when: { error_of: Bash }, say: no }
- { say: yes }
";
    let args = ["-p", "begin", "--agents", &agents, "--dangerously-skip-permissions"];
    stage.play(&playbook(lead, &actor("type:worker", child)), &args).ok();
    assert!(!stage.project().join("here").exists());
}
