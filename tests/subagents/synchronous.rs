//! Agents that their caller waits for.

use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::op::Op;

use super::scene::Scene;
use super::stage::{Stage, actor, playbook};

const LEAD: &str = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: work } }] }
- { when: { error_of: Agent }, say: 'refused: {{result}}' }
- { when: { result_of: Agent }, say: 'got: {{result}}' }
- { when: { user: task-notification }, say: noted }
";

#[test]
fn who_fails_after_saying_something_gives_that() {
    let stage = Stage::new();
    stage.write("a.txt", "x\n");
    let child = "
- { when: { user: work }, say: Half of it is done., call: [{ tool: Read, input: { file_path: a.txt } }] }
- { say: never said, fault: { status: 400, times: 100 } }
";
    let book = playbook(LEAD, &actor("type:general-purpose", child));
    let show = stage.play(&book, &["-p", "begin"]).ok();
    let result = show.result();
    assert!(result.starts_with("got: ") && result.contains("Half of it is done."), "{result}");
    assert!(result.contains("did not finish"), "{result}");
    assert_eq!(stage.tool_data()[0]["status"], "failed");
    // Who fails without a word gives an error.
    let child = "- { say: never said, fault: { status: 400, times: 100 } }";
    let book = playbook(LEAD, &actor("type:general-purpose", child));
    let show = stage.play(&book, &["-p", "begin"]).ok();
    assert!(show.result().starts_with("refused: The agent did not finish"), "{}", show.result());
}

#[test]
fn who_takes_long_goes_to_the_background_and_repeats_nothing() {
    let stage = Stage::new();
    let child = "
- { when: { user: work }, call: [{ tool: Bash, input: { command: 'echo x >> count; sleep 0.8' } }] }
- { say: all done }
";
    let book = playbook(LEAD, &actor("type:general-purpose", child));
    let args = ["-p", "begin", "--auto-background-after", "0.2", "--dangerously-skip-permissions"];
    let show = stage.play(&book, &args).ok();
    assert_eq!(stage.tool_data()[0]["status"], "async_launched");
    let notes = show.notes("team-lead");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("all done") && notes[0].contains("<status>completed</status>"));
    assert_eq!((stage.read("count").as_str(), show.result()), ("x\n", "noted"));
}

#[test]
fn patience_that_ends_while_a_worktree_is_removed_changes_nothing() {
    let stage = Stage::with_repository();
    // Taking away a branch takes half a second.
    let hook = "#!/bin/sh\n[ \"$1\" = prepared ] && grep -q ' 0000000000.* refs/heads/worktree-' && \
                sleep 0.5\nexit 0\n";
    let path = stage.write(".git/hooks/reference-transaction", hook);
    std::fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let lead = LEAD.replace("prompt: work", "prompt: work, isolation: worktree");
    let book = playbook(&lead, &actor("type:general-purpose", "- say: all done"));
    let show = stage.play(&book, &["-p", "begin", "--auto-background-after", "0.25"]).ok();
    let result = show.result();
    assert!(
        result.starts_with("got: all done") && result.contains("has been removed"),
        "{show:#?}"
    );
    assert!(show.notes("team-lead").is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_interrupt_ends_whom_the_parent_waits_for_and_nobody_else() {
    let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: behind, prompt: slow, run_in_background: true } }, { tool: Agent, input: { description: before, prompt: never } }] }
- { when: { user: task-notification }, say: noted }
";
    let child = "
- { when: { user: slow }, call: [{ tool: Bash, input: { command: 'touch began; while [ ! -e go ]; do sleep 0.02; done; echo x >> count' } }] }
- { when: { user: never }, say: I wait., call: [{ tool: Bash, input: { command: 'touch waits; sleep 60' } }] }
- { say: all done }
";
    let scene = Scene::start(&playbook(lead, &actor("type:general-purpose", child))).await;
    scene.say("begin").await;
    scene.appears("began").await;
    scene.appears("waits").await;
    scene.live.submit(Op::Interrupt { agent: scene.lead() }).await.unwrap();
    let lead = scene.lead();
    let ended = |event: &Event| {
        let Fact::AgentEnded { status, .. } = &event.fact else { return None };
        (event.agent.as_ref() != Some(&lead)).then(|| status.clone())
    };
    let (after, status) = scene.event(0, ended).await;
    assert_eq!(status, "killed");
    assert!(scene.notes().await.is_empty());
    scene.touch("go");
    let (_, status) = scene.event(after, ended).await;
    assert_eq!(status, "completed");
    scene.idle().await;
    let notes = scene.notes().await;
    assert_eq!((notes.len(), scene.read("count").as_str()), (1, "x\n"), "{notes:?}");
    assert!(notes[0].contains("behind"));
    let heard = scene.heard().await;
    assert!(
        heard.iter().any(|text| text.contains("I wait.")),
        "what it said is not lost: {heard:?}"
    );
    scene.live.end().await;
}
