//! Agents that work while their caller goes on.

use quarterdeck::agent::office::Policy;
use quarterdeck::protocol::event::{Event, Fact};
use quarterdeck::protocol::ids::AgentId;
use quarterdeck::protocol::op::Op;

use super::scene::Scene;
use super::stage::{Stage, actor, playbook};

const LEAD: &str = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: work, run_in_background: true } }] }
- { when: { user: 'look at (?<id>\\w+)' }, call: [{ tool: TaskOutput, input: { task_id: '{{id}}' } }] }
- { when: { user: 'stop (?<id>\\w+)' }, call: [{ tool: TaskStop, input: { task_id: '{{id}}' } }] }
- { when: { user: task-notification }, say: noted }
- { when: { any: true }, repeat: true, say: ok }
";

const SLOW: &str = "
- { when: { user: work }, say: First words., call: [{ tool: Bash, input: { command: 'touch began; while [ ! -e go ]; do sleep 0.02; done' } }] }
- { when: { result_of: Bash }, say: Last words. }
- { say: And more. }
";

fn book(child: &str) -> String {
    playbook(LEAD, &actor("type:general-purpose", child))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn its_output_grows_in_a_file_and_its_end_is_told_once() {
    let scene = Scene::start(&book(SLOW)).await;
    scene.say("begin").await;
    let (_, (id, _)) = scene.started(0).await;
    scene.appears("began").await;
    let job = scene.live.office.shell.jobs().get(id.name.as_str()).unwrap();
    let output = std::fs::read_to_string(&job.plan.output).unwrap();
    assert!(output.contains("First words.") && output.contains("● Bash"), "{output}");
    assert!(job.end().is_none() && !scene.live.is_idle());
    scene.touch("go");
    scene.idle().await;
    let notes = scene.notes().await;
    assert_eq!(notes.len(), 1, "{notes:?}");
    for part in [
        &format!("<task-id>{}</task-id>", id.name),
        "<status>completed</status>",
        "<result>Last words.</result>",
        "<usage>total_tokens: ",
        "Agent \\\"d\\\" completed",
        &format!("<output-file>{}</output-file>", job.plan.output.display()),
    ] {
        assert!(notes[0].contains(part), "{part}: {}", notes[0]);
    }
    assert!(std::fs::read_to_string(&job.plan.output).unwrap().ends_with("Last words.\n"));
    scene.live.end().await;
}

#[test]
fn its_output_is_read_without_a_question() {
    let stage = Stage::new();
    let lead = r#"
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: work, run_in_background: true } }] }
- { when: { result_of: Agent }, call: [{ tool: Bash, input: { command: "ln -s \"$(printf '%s' '{{result}}' | sed -n 's/^output_file: //p')\" link; while [ ! -s link ]; do sleep 0.02; done" } }] }
- { when: { error_of: Bash }, say: 'failed: {{result}}' }
- { when: { result_of: Bash }, call: [{ tool: Read, input: { file_path: link } }] }
- { when: { error_of: Read }, say: 'failed: {{result}}' }
- { when: { result_of: Read }, say: 'read: {{result}}' }
- { when: { user: task-notification }, repeat: true, say: noted }
"#;
    let book = playbook(lead, &actor("type:general-purpose", "- say: Words of mine."));
    let show = stage.play(&book, &["-p", "begin", "--allowedTools", "Bash"]).ok();
    assert!(show.of_type("ask").is_empty(), "{show:#?}");
    let read = &show.results("team-lead")[2];
    assert!(!read.1 && read.0.contains("Words of mine."), "{read:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_waits_for_the_end_is_not_told_again() {
    let scene = Scene::start(&book(SLOW)).await;
    scene.say("begin").await;
    let (_, (id, _)) = scene.started(0).await;
    scene.appears("began").await;
    scene.say(&format!("look at {}", id.name)).await;
    scene.touch("go");
    scene.idle().await;
    assert_eq!(scene.notes().await, Vec::<String>::new());
    let heard = scene.heard().await;
    let told: Vec<_> = heard.iter().filter(|text| text.contains("Last words.")).collect();
    assert_eq!(told.len(), 1, "{heard:?}");
    assert!(told[0].contains("<status>completed</status>"));
    scene.live.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kill_tells_once_what_was_said_before() {
    // By the model: the result of its call is short, and a notification tells.
    let scene = Scene::start(&book(SLOW)).await;
    scene.say("begin").await;
    let (_, (id, _)) = scene.started(0).await;
    scene.appears("began").await;
    scene.say(&format!("stop {}", id.name)).await;
    scene.idle().await;
    let heard = scene.heard().await;
    let told: Vec<_> = heard.iter().filter(|text| text.contains("First words.")).collect();
    assert!(told.len() == 1 && told[0].contains("<status>killed</status>"), "{heard:?}");
    assert_eq!(scene.notes().await.len(), 1);
    assert!(heard.iter().any(|text| text.contains("Stopped ")), "{heard:?}");
    scene.live.end().await;
    // By the person: a notification tells.
    let scene = Scene::start(&book(SLOW)).await;
    scene.say("begin").await;
    let (_, (agent, _)) = scene.started(0).await;
    scene.appears("began").await;
    scene.live.submit(Op::Stop { agent }).await.unwrap();
    scene.idle().await;
    let notes = scene.notes().await;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("<status>killed</status>") && notes[0].contains("First words."));
    scene.live.end().await;
}

#[test]
fn a_failure_is_told_once_with_what_was_said_before() {
    let stage = Stage::new();
    stage.write("a.txt", "x\n");
    let child = "
- { when: { user: work }, say: First words., call: [{ tool: Read, input: { file_path: a.txt } }] }
- { say: never said, fault: { status: 400, times: 100 } }
";
    let show = stage.play(&book(child), &["-p", "begin"]).ok();
    let notes = show.notes("team-lead");
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("<status>failed</status>") && notes[0].contains("First words."));
}

/// In a repository where the branch of a worktree is not taken away before `release` is there,
/// which takes until `cleaning` is there. The agent has said its first words.
async fn slow_clean_up(lead: &str) -> (Scene, AgentId) {
    let dir = tempfile::tempdir().unwrap();
    let project = dir.path().canonicalize().unwrap().join("project");
    std::fs::create_dir_all(&project).unwrap();
    let git = |args: &[&str]| {
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=t", "-c", "user.email=t@t"]).args(args).current_dir(&project);
        assert!(git.output().unwrap().status.success(), "{args:?}");
    };
    git(&["init", "-q", "-b", "main"]);
    git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let hook = project.join(".git/hooks/reference-transaction");
    let script = format!(
        "#!/bin/sh\n[ \"$1\" = prepared ] && grep -q ' 0000000000.* refs/heads/worktree-' || exit 0\n\
         touch {dir}/cleaning; n=0; while [ ! -e {dir}/release ] && [ $n -lt 1000 ]; do sleep 0.02; \
         n=$((n+1)); done\nexit 0\n",
        dir = project.display()
    );
    std::fs::write(&hook, script).unwrap();
    std::fs::set_permissions(&hook, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let lead = lead.replace("prompt: work", "prompt: work, isolation: worktree, name: scout");
    let child =
        SLOW.replace("touch began", "touch ../../../began").replace("-e go", "-e ../../../go");
    let book = playbook(&lead, &actor("type:general-purpose", &child));
    let scene = Scene::at(dir, project, &book, Policy::default()).await;
    scene.say("begin").await;
    let (_, (id, _)) = scene.started(0).await;
    scene.appears("began").await;
    (scene, id)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_is_written_to_while_its_tree_is_cleaned_up_goes_on_in_the_same_tree() {
    let write = "- { when: { user: write to it }, call: [{ tool: SendMessage, input: { to: scout, \
                 message: more, summary: s } }] }\n";
    let (scene, id) = slow_clean_up(&format!("\n{write}{}", LEAD.trim_start())).await;
    let cwd_of = |event: &Event| {
        let Fact::AgentStarted { about } = &event.fact else { return None };
        (event.agent.as_ref() == Some(&id)).then(|| about.cwd.clone())
    };
    let (seq, first) = scene.event(0, cwd_of).await;
    scene.touch("go");
    scene.appears("cleaning").await;
    scene.say("write to it").await;
    let lead = scene.lead();
    let sending = |event: &Event| {
        let is_it = matches!(&event.fact, Fact::ToolStarted { tool, .. } if tool == "SendMessage");
        (is_it && event.agent.as_ref() == Some(&lead)).then_some(())
    };
    scene.event(seq, sending).await;
    scene.touch("release");
    let (_, second) = scene.event(seq, cwd_of).await;
    assert_eq!(first, second);
    scene.idle().await;
    let notes = scene.notes().await;
    assert_eq!(notes.len(), 2, "{notes:?}");
    scene.live.end().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_stops_the_agent_of_another_does_not_keep_that_from_being_told() {
    let lead = LEAD.to_owned()
        + "- { when: { user: 'have (?<id>\\w+) stopped' }, call: [{ tool: Agent, input: { description: e, prompt: 'end {{id}}', subagent_type: general-purpose } }] }";
    // The last turn of the lead fits always.
    let (rest, other) = lead.rsplit_once("\n- ").unwrap();
    let (rest, always) = rest.trim_end().rsplit_once("\n- ").unwrap();
    let lead = format!("{rest}\n- {other}\n- {always}");
    let child = "- { when: { user: 'end (?<id>\\w+)' }, call: [{ tool: TaskStop, input: { task_id: '{{id}}' } }] }\n"
        .to_owned()
        + SLOW.trim();
    let scene = Scene::start(&playbook(&lead, &actor("type:general-purpose", &child))).await;
    scene.say("begin").await;
    let (_, (id, _)) = scene.started(0).await;
    scene.appears("began").await;
    scene.say(&format!("have {} stopped", id.name)).await;
    scene.idle().await;
    let notes = scene.notes().await;
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("<status>killed</status>") && notes[0].contains(id.name.as_str()));
    scene.live.end().await;
}
