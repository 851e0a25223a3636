//! Words for agents that work, have ended, or worked in an earlier process.

use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::op::Op;
use quarterdeck::store::transcript::subagent_path;
use serde_json::Value;

use super::scene::Scene;
use super::stage::{Stage, actor, playbook};

const SEND: &str =
    "{ tool: SendMessage, input: { to: scout, message: 'extra words', summary: s } }";

#[test]
fn a_running_agent_gets_them_at_its_next_boundary() {
    let stage = Stage::new();
    let lead = format!(
        "
- {{ when: {{ user: begin }}, call: [{{ tool: Agent, input: {{ description: d, prompt: work, name: scout, run_in_background: true }} }}, {{ tool: Bash, input: {{ command: 'while [ ! -e began ]; do sleep 0.02; done' }} }}, {SEND}, {{ tool: Bash, input: {{ command: touch go }} }}] }}
- {{ when: {{ user: task-notification }}, say: noted }}
- {{ say: waiting }}
"
    );
    let child = "
- { when: { user: work }, call: [{ tool: Bash, input: { command: 'touch began; while [ ! -e go ]; do sleep 0.02; done' } }] }
- { when: { user: extra words, result_of: Bash }, say: I heard of it. }
- { say: I heard nothing. }
";
    let book = playbook(&lead, &actor("scout", child));
    let show = stage.play(&book, &["-p", "begin", "--dangerously-skip-permissions"]).ok();
    let results = show.results("team-lead");
    assert!(results[2].0.contains("queued for"), "{results:?}");
    let notes = show.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("I heard of it."), "{notes:?}");
    assert_eq!(show.started().len(), 1);
}

#[test]
fn an_agent_that_has_ended_goes_on_also_in_another_process() {
    let stage = Stage::new();
    let lead = format!(
        "
- {{ when: {{ user: begin }}, call: [{{ tool: Agent, input: {{ description: d, prompt: work, name: scout, run_in_background: true }} }}] }}
- {{ when: {{ user: First report }}, call: [{SEND}] }}
- {{ when: {{ user: by name }}, call: [{SEND}] }}
- {{ when: {{ user: 'by id (?<id>\\w+)' }}, call: [{{ tool: SendMessage, input: {{ to: '{{{{id}}}}', message: 'even more', summary: s }} }}] }}
- {{ when: {{ user: to nobody }}, call: [{{ tool: SendMessage, input: {{ to: nobody, message: x, summary: s }} }}] }}
- {{ when: {{ any: true }}, repeat: true, say: ok }}
"
    );
    let child = "
- { when: { user: work }, say: First report. }
- { when: { user: extra words }, repeat: true, say: Another report. }
- { when: { user: even more }, say: The last report. }
";
    let served = stage.serve(&playbook(&lead, &actor("scout", child)));
    let show = stage.ask(&served, &["-p", "begin"]).ok();
    let notes = show.notes("team-lead");
    assert!(notes.len() == 2 && notes[1].contains("Another report."), "{show:#?}");
    let id = show.started()[0]["agent"].as_str().unwrap().to_owned();
    assert!(show.started().iter().all(|one| one["agent"] == id.as_str()), "it is the same agent");

    let show = stage.ask(&served, &["-c", "-p", "by name"]).ok();
    let notes = show.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("Another report."), "{show:#?}");
    let show = stage.ask(&served, &["-c", "-p", &format!("by id {id}")]).ok();
    let notes = show.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("The last report."), "{show:#?}");
    // It knew everything from before.
    let log = served.log();
    let last = log.iter().rfind(|one| one["agent"] == "scout").unwrap();
    let texts = last["request"]["messages"].to_string();
    for words in ["work", "First report.", "extra words", "Another report.", "even more"] {
        assert!(texts.contains(words), "{words}: {texts}");
    }
    assert_eq!(stage.subagents().len(), 1);

    let show = stage.ask(&served, &["-c", "-p", "to nobody"]).ok();
    let (text, failed) = &show.results("team-lead")[0];
    assert!(*failed && text.contains("no agent `nobody`") && text.contains("scout"), "{text}");
}

/// Three agents at once write to one that ends whenever it has answered.
#[test]
fn nothing_is_lost_in_the_moment_an_agent_ends() {
    let stage = Stage::new();
    let calls: Vec<String> = ["a", "b", "c"]
        .iter()
        .map(|who| format!("{{ tool: Agent, input: {{ description: d, prompt: 'send {who}.' }} }}"))
        .collect();
    let lead = format!(
        "
- {{ when: {{ user: begin }}, call: [{{ tool: Agent, input: {{ description: d, prompt: work, name: scout, run_in_background: true }} }}] }}
- {{ when: {{ result_of: Agent }}, call: [{}] }}
- {{ when: {{ any: true }}, repeat: true, say: ok }}
",
        calls.join(", ")
    );
    let sends: Vec<String> = (0..10)
        .map(|n| {
            format!(
                "{{ tool: SendMessage, input: {{ to: scout, message: 'words-{{{{who}}}}{n}-', summary: s }} }}"
            )
        })
        .collect();
    let sender = format!(
        "
- {{ when: {{ user: 'send (?<who>\\w)' }}, call: [{}] }}
- {{ when: {{ any: true }}, repeat: true, say: ok }}
",
        sends.join(", ")
    );
    let always = "- { when: { any: true }, repeat: true, say: ok }";
    let others = actor("scout", always) + &actor("type:general-purpose", &sender);
    let show = stage.play(&playbook(&lead, &others), &["-p", "begin"]).ok();
    let started = show.started();
    let scout = started[0]["agent"].as_str().unwrap();
    let mut everyone: Vec<&str> =
        started.iter().map(|one| one["agent"].as_str().unwrap()).chain(["team-lead"]).collect();
    everyone.sort_unstable();
    everyone.dedup();
    assert_eq!(everyone.len(), 5);
    for one in &everyone {
        let results = show.results(one);
        assert!(results.iter().all(|(_, failed)| !failed), "{results:#?}");
    }
    let is_scout = |one: &&(Value, Vec<Value>)| one.0["name"] == "scout";
    let subagents = stage.subagents();
    let (_, records) = subagents.iter().find(is_scout).unwrap();
    let heard = records.iter().filter(|one| one["type"] == "user");
    let all: String = heard.map(|one| one["message"].to_string()).collect();
    for who in ["a", "b", "c"] {
        for n in 0..10 {
            assert_eq!(all.matches(&format!("words-{who}{n}-")).count(), 1, "{who}{n}");
        }
    }
    // Every life of it is told of once, to whoever is there.
    let lives = started.iter().filter(|one| one["agent"] == scout).count();
    let told: usize = everyone.iter().map(|one| show.notes(one).len()).sum();
    assert_eq!(told, lives);
    crate::support::say(&format!("30 messages from three agents: {lives} lives, each told once"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_was_not_heard_waits_in_its_transcript() {
    let lead = format!(
        "
- {{ when: {{ user: begin }}, call: [{{ tool: Agent, input: {{ description: d, prompt: work, name: scout, run_in_background: true }} }}] }}
- {{ when: {{ user: send it }}, call: [{SEND}] }}
- {{ when: {{ user: once more }}, call: [{{ tool: SendMessage, input: {{ to: scout, message: wake up, summary: s }} }}] }}
- {{ when: {{ any: true }}, repeat: true, say: ok }}
"
    );
    let child = "
- { when: { user: work }, call: [{ tool: Bash, input: { command: 'touch began; sleep 60' } }] }
- { when: { user: '(?s)extra words.*wake up|wake up' }, say: I am awake. }
";
    let scene = Scene::start(&playbook(&lead, &actor("scout", child))).await;
    scene.say("begin").await;
    let (_, (agent, _)) = scene.started(0).await;
    scene.appears("began").await;
    scene.say("send it").await;
    let queued = |event: &Event| {
        let is_it = matches!(&event.fact, Fact::Queued { text, .. } if text == "extra words");
        is_it.then_some(())
    };
    scene.event(0, queued).await;
    scene.live.submit(Op::Stop { agent: agent.clone() }).await.unwrap();
    scene.idle().await;
    let notes = scene.notes().await;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("it did not read 1 message"), "{notes:?}");
    let said = |texts: &str| -> usize {
        let (office, own) = (&scene.live.office, agent.name.to_string());
        let path = subagent_path(office.home(), &office.project, &office.session, &own);
        std::fs::read_to_string(path).unwrap().matches(texts).count()
    };
    assert_eq!(said("extra words"), 1);
    scene.say("once more").await;
    scene.idle().await;
    assert!(scene.notes().await[1].contains("I am awake."));
    assert_eq!((said("extra words"), said("wake up")), (1, 1));
    scene.live.end().await;
}
