//! Which agent a call starts, and which it does not.

use serde_json::json;

use super::stage::{Stage, actor, playbook};

/// A lead that makes one call of Agent with this input, and says what came of it.
fn one_call(input: &str, others: &str) -> String {
    playbook(
        &format!(
            "- {{ when: {{ user: begin }}, call: [{{ tool: Agent, input: {{ description: d, \
             prompt: work, {input} }} }}] }}\n- {{ when: {{ error_of: Agent }}, say: 'refused: \
             {{{{result}}}}' }}\n- {{ when: {{ result_of: Agent }}, say: 'got: {{{{result}}}}' \
             }}\n- {{ when: {{ user: task-notification }}, say: noted }}"
        ),
        others,
    )
}

fn everyone() -> String {
    [
        actor("fork", "- say: I am a fork."),
        actor("type:explore", "- say: I am explore."),
        actor("type:general-purpose", "- say: I am general."),
        actor("type:plan", "- say: I am plan."),
    ]
    .concat()
}

#[test]
fn the_type_decides_and_without_one_the_session_does() {
    let table: [(&str, &[&str], &str, &str); 5] = [
        ("subagent_type: explore", &[], "explore", "I am explore."),
        ("subagent_type: Explore", &[], "explore", "I am explore."),
        ("model: haiku", &[], "general-purpose", "I am general."),
        ("subagent_type: explore", &["--fork"], "explore", "I am explore."),
        ("model: haiku", &["--fork"], "fork", "async"),
    ];
    for (input, args, kind, says) in table {
        let stage = Stage::new();
        let args = [&["-p", "begin"], args].concat();
        let show = stage.play(&one_call(input, &everyone()), &args).ok();
        let started = show.started();
        assert_eq!(started.len(), 1, "{input} {args:?}");
        assert_eq!(started[0]["about"]["agentType"], kind, "{input} {args:?}");
        match says {
            "async" => {
                assert_eq!(stage.tool_data()[0]["status"], "async_launched");
                assert_eq!(show.notes("team-lead").len(), 1);
                assert_eq!(started[0]["about"]["mode"], "bubble");
            }
            says => assert!(show.result().contains(says), "{:?}", show.result()),
        }
    }
}

#[test]
fn what_is_unknown_or_denied_is_an_error_and_nothing_else_starts() {
    let stage = Stage::new();
    stage.write(".claude/settings.json", r#"{"permissions":{"deny":["Agent(explore)"]}}"#);
    let table = [
        ("subagent_type: explorer", "There is no agent type `explorer`"),
        ("subagent_type: EXPLORE", "explore"),
        ("team_name: t, name: x", "no team"),
        ("isolation: worktree, cwd: /tmp", "cannot be combined"),
        ("isolation: worktree", "could not be made"),
        ("resume: nobody", "There is no agent `nobody`"),
    ];
    for (input, why) in table {
        let show = stage.play(&one_call(input, &everyone()), &["-p", "begin"]).ok();
        let result = show.result();
        assert!(result.starts_with("refused: ") && result.contains(why), "{input}: {result}");
        assert_eq!(show.started(), Vec::<serde_json::Value>::new(), "{input}");
    }
    assert!(stage.subagents().is_empty());
    // Another type is not concerned.
    let show = stage.play(&one_call("subagent_type: plan", &everyone()), &["-p", "begin"]).ok();
    assert!(show.result().contains("I am plan."));
}

#[test]
fn a_definition_limits_whom_its_agent_may_start() {
    let stage = Stage::new();
    let agents = json!({ "boss": {
        "description": "starts others", "prompt": "You lead.", "tools": ["Read", "Agent(explore)"],
    } });
    let boss = "- { when: { user: work }, call: [{ tool: Agent, input: { description: a, prompt: \
                look, subagent_type: plan } }, { tool: Agent, input: { description: b, prompt: \
                look, subagent_type: explore } }] }\n- { when: { any: true }, say: both done }";
    let others = [everyone(), actor("type:boss", boss)].concat();
    let args = ["-p", "begin", "--agents", &agents.to_string()];
    let show = stage.play(&one_call("subagent_type: boss", &others), &args).ok();
    let started = show.started();
    let kinds: Vec<_> = started.iter().map(|one| &one["about"]["agentType"]).collect();
    assert_eq!(kinds, ["boss", "explore"]);
    let boss = started[0]["agent"].as_str().unwrap();
    let results = show.results(boss);
    assert!(results[0].1 && results[0].0.contains("may not start agents of the type `plan`"));
    assert!(!results[1].1 && results[1].0.contains("I am explore."));
    // Events of the child name the call of its parent, those of the grandchild the child's.
    let calls = |agent: &str| -> Vec<_> {
        let lines = show.lines.iter().filter(|line| line["agent"] == agent);
        let mut calls: Vec<_> = lines.map(|line| line["parent_tool_use_id"].clone()).collect();
        calls.dedup();
        calls
    };
    let grandchild = started[1]["agent"].as_str().unwrap();
    assert_eq!(calls(boss).len(), 1);
    assert!(calls(boss)[0].is_string() && calls(boss) != calls(grandchild));
    assert_eq!(started[1]["about"]["parent"].as_str().unwrap().split('@').next(), Some(boss));
}

#[test]
fn agents_start_agents_only_so_deep() {
    let stage = Stage::new();
    let deeper = "- { when: { user: work }, call: [{ tool: Agent, input: { description: d, prompt: \
                  work } }] }\n- { when: { error_of: Agent }, say: '{{result}}' }\n- { when: { \
                  result_of: Agent }, say: '{{result}}' }";
    let others = actor("type:general-purpose", deeper);
    let show = stage.play(&one_call("model: inherit", &others), &["-p", "begin"]).ok();
    assert_eq!(show.started().len(), 4);
    assert!(show.result().contains("nested 4 deep"), "{}", show.result());
}

#[test]
fn the_call_comes_before_the_definition_and_the_definition_before_the_parent() {
    let stage = Stage::new();
    let agents = json!({
        "slow": { "description": "x", "prompt": "x", "model": "haiku", "background": true },
        "apart": { "description": "x", "prompt": "x", "isolation": "worktree" },
    });
    let say = actor("type:*", "- say: done");
    let agents = agents.to_string();
    let served = stage.serve(&one_call("subagent_type: slow", &say));
    let show = stage.ask(&served, &["-p", "begin", "--agents", &agents]).ok();
    assert_eq!(show.started()[0]["about"]["background"], true, "the definition is enough");
    assert_eq!(show.notes("team-lead").len(), 1);
    let model = |log: &[serde_json::Value]| {
        let of_child = log.iter().filter(|one| one["agent"] != "team-lead");
        of_child.map(|one| one["request"]["model"].as_str().unwrap().to_owned()).next().unwrap()
    };
    assert!(model(&served.log()).contains("haiku"));
    drop(served);
    let stage = Stage::new();
    let served = stage.serve(&one_call("subagent_type: slow, model: opus", &say));
    stage.ask(&served, &["-p", "begin", "--agents", &agents]).ok();
    assert!(model(&served.log()).contains("opus"), "{}", model(&served.log()));
    // A definition that wants a worktree never runs in a directory of the caller's choice.
    let show = stage
        .play(
            &one_call("subagent_type: apart, cwd: /tmp", &say),
            &["-p", "begin", "--agents", &agents, "--dangerously-skip-permissions"],
        )
        .ok();
    assert!(show.result().contains("cannot have a `cwd` too"), "{}", show.result());
    assert!(show.started().is_empty());
}
