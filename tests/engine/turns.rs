//! The turn loop: rounds, limits, interrupts, the queue, and what a model is told.

use serde_json::{Value, json};

use crate::support::rig::{Rig, until};

const FREE: [&str; 2] = ["--permission-mode", "bypassPermissions"];

/// Every call of a request's conversation has its result right behind it.
pub fn assert_valid(request: &Value) {
    let messages = request["messages"].as_array().unwrap();
    let ids = |message: &Value, kind: &str, key: &str| -> Vec<String> {
        let blocks = message["content"].as_array().cloned().unwrap_or_default().into_iter();
        let own = blocks.filter(|block| block["type"] == kind);
        own.map(|block| block[key].as_str().unwrap().to_owned()).collect()
    };
    for (at, message) in messages.iter().enumerate() {
        let calls = ids(message, "tool_use", "id");
        let results = messages.get(at + 1).map(|next| ids(next, "tool_result", "tool_use_id"));
        assert_eq!(calls, results.unwrap_or_default(), "behind {at}: {messages:#?}");
    }
}

#[test]
fn tools_run_side_by_side_results_keep_their_order_and_errors_are_results() {
    let rig = Rig::on("engine/rounds");
    let served = rig.serve();
    let ran = rig.ask(&served, &[&["-p", "begin"], &FREE[..]].concat()).code(0);
    let results = ran.results("team-lead");
    assert!(
        results.iter().take(2).all(|(text, failed)| !failed && text.contains("seen by")),
        "{results:?}"
    );
    assert!(results[2].1, "{results:?}");
    assert_eq!(ran.result()["result"], "It is not there, and that is no end.");
    let requests = served.of("team-lead");
    assert_eq!(requests.len(), 3);
    assert_valid(&requests[2]["request"]);
    // The first can end only once the second has worked beside it; its result comes first.
    let started = ran.started();
    assert_eq!(started[0]["about"]["description"], "one");
    assert!(results[0].0.contains(started[0]["agent"].as_str().unwrap()), "{results:?}");
}

#[test]
fn a_turn_ends_at_its_limit_or_when_the_budget_is_spent() {
    let rig = Rig::on("engine/rounds");
    let args = ["-p", "begin", "--max-turns", "1", "--permission-mode", "bypassPermissions"];
    let ran = rig.stream(&args).code(1);
    assert_eq!(ran.result()["subtype"], "error_max_turns");
    let rig = Rig::on("engine/rounds");
    let served = rig.serve();
    let args = [&["-p", "begin", "--max-budget-usd", "0.000001"], &FREE[..]].concat();
    let ran = rig.ask(&served, &args).code(1);
    assert_eq!(ran.result()["subtype"], "error_budget");
    assert!(served.of("team-lead").len() < 3);
}

/// While the model is silent, while tools run, while somebody is asked, while an agent works.
#[test]
fn an_interrupt_at_any_point_leaves_a_valid_conversation() {
    let rig = Rig::on("engine/interrupts");
    let served = rig.serve();
    let mut going = rig.drive(&served, &["--on-ask", "wait", "--allowedTools", "Bash"]);
    let requests =
        |count: usize| until("a request", || (served.log().len() >= count).then_some(()));
    for point in ["tools", "question", "agent", "silence"] {
        let before = served.log().len();
        going.say(point);
        match point {
            "tools" => rig.appears("began"),
            "question" => drop(going.line("ask")),
            "agent" => rig.appears("works"),
            _ => requests(before + 1),
        }
        going.granted(&json!({ "subtype": "interrupt" }));
        let result = going.line("result");
        assert_eq!(result["subtype"], "error_during_execution", "{point}: {result}");
    }
    going.say("end");
    assert_eq!(going.line("result")["result"], "all is well");
    let ran = going.end().code(0);
    let last = served.of("team-lead").pop().unwrap();
    assert_valid(&last["request"]);
    let words = last["request"]["messages"].to_string();
    assert!(words.contains("Interrupted before it started."), "{words}");
    assert!(words.contains("Half of it."), "what the agent said is not lost: {words}");
    assert_eq!(words.matches("[The user interrupted you here.]").count(), 4, "{words}");
    assert!(!rig.project.join("never").exists());
    assert!(ran.lines().iter().any(|line| line["type"] == "ask_settled"));
}

#[test]
fn what_comes_while_it_works_is_heard_between_tool_rounds_the_urgent_first() {
    let rig = Rig::on("engine/queue");
    let mut going = rig.driven(&FREE);
    going.say("begin");
    rig.appears("began");
    going.say_when("whenever", "later");
    going.say_when("soon", "next");
    // The answer comes behind them, so they wait in the queue.
    going.granted(&json!({ "subtype": "initialize" }));
    rig.write("go", "");
    assert_eq!(going.line("result")["result"], "both heard");
    going.say("again");
    rig.appears("slow");
    going.say_when("stop this", "now");
    assert_eq!(going.line("result")["result"], "at once");
    going.end().code(0);
    let whole: String = rig.records().iter().map(ToString::to_string).collect();
    let place = |text: &str| whole.find(text).unwrap_or_else(|| panic!("no {text} in {whole}"));
    assert!(place("tool_result") < place("\"soon\""), "behind the result of the tool: {whole}");
    assert!(place("\"soon\"") < place("\"whenever\""), "{whole}");
    assert!(place("\"whenever\"") < place("both heard"), "{whole}");
}

#[test]
fn a_background_command_that_waits_for_input_is_told_of() {
    let rig = Rig::on("engine/waiting");
    rig.write(".quarterdeck/settings.json", r#"{"quietAfter": 1}"#);
    let mut going = rig.driven(&FREE);
    going.say("begin");
    assert_eq!(going.line("result")["result"], "started");
    assert_eq!(going.line("result")["result"], "it waits");
    let ran = going.end().code(0);
    let notes = ran.notes("team-lead");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("the copy") && notes[0].contains("wait for input"), "{notes:?}");
}

#[test]
fn the_prompt_holds_everything_in_a_stable_order() {
    let rig = Rig::on("engine/prompt").in_git();
    rig.write("CLAUDE.md", "Use tabs.\n@more.md\n");
    rig.write("more.md", "IMPORTED-WORDS\n");
    std::fs::create_dir_all(rig.user().join(".claude")).unwrap();
    std::fs::write(rig.user().join(".claude/CLAUDE.md"), "USERS-WORDS\n").unwrap();
    let served = rig.serve();
    rig.ask(&served, &["-p", "begin"]).code(0);
    let requests = served.of("team-lead");
    assert_eq!(requests.len(), 2);
    let system = requests[0]["request"]["system"].to_string();
    let parts = [
        "explore", // the kinds of agents
        "USERS-WORDS",
        "Use tabs.",
        "IMPORTED-WORDS",
        "Working directory",
        "Platform",
        "Date",
        "on branch `main`",
    ];
    let mut at = 0;
    for part in parts {
        let found = system[at..].find(part);
        at += found.unwrap_or_else(|| panic!("no {part} behind {at} in {system}"));
    }
    for key in ["system", "tools"] {
        assert_eq!(requests[0]["request"][key], requests[1]["request"][key], "{key}");
    }
}
