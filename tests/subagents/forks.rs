//! Forks: the parent's conversation to the byte, and then something else.

use quarterdeck::model::anthropic::shared_prefix;
use serde_json::Value;

use super::stage::{Served, Show, Stage, actor, playbook};

fn forks(served: &Served) -> Vec<Value> {
    served.log().into_iter().filter(|one| one["purpose"] == "fork").collect()
}

fn number(value: &Value, key: &str) -> u64 {
    value["usage"][key].as_u64().unwrap_or_default()
}

/// A parent that has read about 50,000 tokens, and then forks five times in one answer.
fn five_forks(stage: &Stage) -> (Served, Show) {
    let line = "Every line of this file says something else, and this is what line";
    let mut reads = Vec::new();
    for part in 0..4 {
        let text: String = (0..720).map(|n| format!("{line} {part}.{n} says.\n")).collect();
        stage.write(&format!("big{part}.txt"), &text);
        reads.push(format!("{{ tool: Read, input: {{ file_path: big{part}.txt }} }}"));
    }
    let calls: Vec<String> = (0..5)
        .map(|n| format!("{{ tool: Agent, input: {{ description: f{n}, prompt: 'piece {n}' }} }}"))
        .collect();
    let lead = format!(
        "
- {{ when: {{ user: begin }}, call: [{}] }}
- {{ when: {{ result_of: Read }}, say: Now five at once., call: [{}] }}
- {{ when: {{ user: 'go on with (?<id>\\w+)' }}, call: [{{ tool: SendMessage, input: {{ to: '{{{{id}}}}', message: 'and fork again', summary: s }} }}] }}
- {{ when: {{ any: true }}, repeat: true, say: ok }}
",
        reads.join(", "),
        calls.join(", ")
    );
    let fork = "
- { when: { user: and fork again }, call: [{ tool: Agent, input: { description: again, prompt: x } }] }
- { when: { error_of: Agent }, say: 'no: {{result}}' }
- { when: { user: 'piece (?<n>\\d)' }, say: 'Piece {{n}} is done.' }
";
    let served = stage.serve(&playbook(&lead, &actor("fork", fork)));
    let show = stage.ask(&served, &["-p", "begin", "--fork"]).ok();
    (served, show)
}

#[test]
fn five_forks_of_a_long_conversation_share_it_and_a_fork_goes_on_with_all_of_it() {
    let stage = Stage::new();
    let (served, show) = five_forks(&stage);
    let notes = show.notes("team-lead");
    assert_eq!(notes.len(), 5, "{notes:?}");
    for n in 0..5 {
        assert_eq!(notes.iter().filter(|note| note.contains(&format!("Piece {n} is"))).count(), 1);
    }
    let forks = forks(&served);
    assert_eq!(forks.len(), 5);
    let bodies: Vec<String> = forks.iter().map(|one| one["request"].to_string()).collect();
    let mut least = 1.0_f64;
    for (at, one) in bodies.iter().enumerate() {
        for other in &bodies[at + 1..] {
            let share = shared_prefix(one, other) as f64 / one.len().max(other.len()) as f64;
            least = least.min(share);
        }
    }
    let read: u64 = forks.iter().map(|one| number(one, "cache_read_input_tokens")).sum();
    let all: u64 = ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"]
        .iter()
        .flat_map(|key| forks.iter().map(move |one| number(one, key)))
        .sum();
    let cached = read as f64 / all as f64;
    crate::support::say(&format!(
        "five forks of {} tokens each: {:.2} % of the bytes shared, {:.2} % read from the cache",
        all / 5,
        least * 100.0,
        cached * 100.0
    ));
    assert!(all / 5 > 50_000, "{all}");
    assert!(least >= 0.95 && cached >= 0.9, "{least} {cached}");

    // The parent's own request up to its last message, then one answer for every open call.
    let log = served.log();
    let parent = log.iter().filter(|one| one["agent"] == "team-lead").nth(1).unwrap();
    for key in ["model", "system", "tools", "max_tokens", "thinking", "tool_choice"] {
        assert_eq!(plain(&forks[0]["request"][key]), plain(&parent["request"][key]), "{key}");
    }
    let said = plain(&parent["request"]["messages"]);
    let own = plain(&forks[0]["request"]["messages"]);
    let (said, own) = (said.as_array().unwrap(), own.as_array().unwrap());
    assert_eq!(said[..], own[..said.len()]);
    let last = own.last().unwrap()["content"].as_array().unwrap();
    let placeholders: Vec<String> =
        last[..5].iter().map(|one| one["content"].to_string()).collect();
    assert!(placeholders.iter().all(|text| *text == placeholders[0]), "{placeholders:?}");
    assert!(placeholders[0].contains("Fork started — processing in background"));
    assert!(last[5]["text"].as_str().unwrap().starts_with("<fork-boilerplate>"));
    assert_eq!(last.len(), 6);

    a_fork_goes_on(&stage, &served, &show);
}

/// In a new process, where only files know of it; and it still cannot fork.
fn a_fork_goes_on(stage: &Stage, served: &Served, show: &Show) {
    let before = forks(served);
    let id = show.started()[2]["agent"].as_str().unwrap().to_owned();
    let show = stage.ask(served, &["-c", "--fork", "-p", &format!("go on with {id}")]).ok();
    let notes = show.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("no: A fork cannot fork"), "{show:#?}");
    assert_eq!(show.started().len(), 1, "no fork was made");
    assert_eq!(show.started()[0]["about"]["mode"], "bubble");
    let after = forks(served);
    let again = plain(&after[before.len()]["request"]["messages"]);
    let again = again.as_array().unwrap();
    // One of the five, whichever it was, is what this one goes on from.
    let goes_on = before.iter().any(|one| {
        let own = plain(&one["request"]["messages"]);
        let own = own.as_array().unwrap();
        again.len() > own.len() && again[..own.len()] == own[..]
    });
    assert!(goes_on, "{}", again.len());
}

/// Without cache marks.
fn plain(value: &Value) -> Value {
    if let Some(items) = value.as_array() {
        return items.iter().map(plain).collect();
    }
    let Some(members) = value.as_object() else { return value.clone() };
    let kept = members.iter().filter(|(key, _)| *key != "cache_control");
    Value::Object(kept.map(|(key, value)| (key.clone(), plain(value))).collect())
}

#[test]
fn a_fork_that_wants_to_fork_is_refused_and_named_agents_are_not() {
    let stage = Stage::new();
    let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: f, prompt: piece } }] }
- { when: { any: true }, repeat: true, say: ok }
";
    let fork = "
- { when: { user: piece }, call: [{ tool: Agent, input: { description: again, prompt: x } }, { tool: Agent, input: { description: e, prompt: x, subagent_type: explore } }] }
- { say: over }
";
    let book = playbook(lead, &(actor("fork", fork) + &actor("type:explore", "- say: found")));
    let show = stage.play(&book, &["-p", "begin", "--fork"]).ok();
    let started = show.started();
    let kinds: Vec<_> = started.iter().map(|one| &one["about"]["agentType"]).collect();
    assert_eq!(kinds, ["fork", "explore"]);
    let results = show.results(started[0]["agent"].as_str().unwrap());
    assert!(results.iter().any(|(text, failed)| *failed && text.contains("A fork cannot fork")));
}

#[test]
fn what_a_fork_may_not_do_is_asked_in_the_name_of_its_parent() {
    let stage = Stage::new();
    let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: f, prompt: piece } }] }
- { when: { any: true }, repeat: true, say: ok }
";
    let fork = "
- { when: { user: piece }, call: [{ tool: Write, input: { file_path: new.txt, content: x } }] }
- { say: over }
";
    let book = playbook(lead, &actor("fork", fork));
    let show = stage.play(&book, &["-p", "begin", "--fork"]).ok();
    let asks = show.of_type("ask");
    assert_eq!(asks.len(), 1, "{show:#?}");
    assert!(asks[0]["ask"]["chain"][1].as_str().unwrap().starts_with("team-lead@"));
    assert!(!stage.project().join("new.txt").exists());
}
