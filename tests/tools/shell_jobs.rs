//! Commands behind the agent's back: told exactly once, read, stopped, moved.

use std::time::Duration;

use quarterdeck::tools::context::NoteStatus;
use quarterdeck::tools::shell::jobs::Status;
use quarterdeck::tools::{Note, Output};
use serde_json::json;

use super::rig::Rig;
use super::shell::{rig, rig_with, text, until};

const SOON: Duration = Duration::from_secs(20);

async fn behind(rig: &Rig, command: &str) -> String {
    let input = json!({ "command": command, "description": "The job", "run_in_background": true });
    id(&rig.call("Bash", input).await)
}

fn id(output: &Output) -> String {
    assert!(!output.failed, "{}", text(output));
    let id = output.data["backgroundTaskId"].as_str().unwrap().to_owned();
    assert!(text(output).contains(&id));
    assert!(text(output).contains(output.data["outputFile"].as_str().unwrap()));
    id
}

fn notes(rig: &Rig) -> Vec<Note> {
    let notes = rig.crew.notes.lock().unwrap();
    assert!(notes.iter().all(|(to, _)| *to == rig.cx.me));
    notes.iter().map(|(_, note)| note.clone()).collect()
}

#[tokio::test]
async fn a_background_command_returns_at_once_and_tells_once_when_it_ends() {
    let rig = rig();
    let id =
        behind(&rig, "echo one; while [ ! -e go ]; do sleep 0.01; done; echo two; exit 3").await;
    assert!(notes(&rig).is_empty());
    rig.write("go", "");
    until("a note", || !notes(&rig).is_empty()).await;
    let job = rig.cx.shell.jobs().get(&id).unwrap();
    let note = notes(&rig).remove(0);
    assert_eq!(
        (&note.task, note.status, &note.output),
        (&id, NoteStatus::Failed, &job.plan.output)
    );
    assert_eq!(note.use_id, "toolu_1");
    assert_eq!(note.summary, "Background command \"The job\" failed with exit code 3");
    assert_eq!(std::fs::read_to_string(&note.output).unwrap(), "one\ntwo\n");
    let end = rig.cx.shell.jobs().wait(&id, SOON).await.unwrap().unwrap();
    assert_eq!((end.status, end.exit), (Status::Failed, Some(3)));
    assert!(rig.cx.shell.end().await);
    assert_eq!(notes(&rig).len(), 1);
}

#[tokio::test]
async fn who_waits_for_a_command_is_told_instead_of_its_owner() {
    let rig = rig();
    let id = behind(&rig, "while [ ! -e go ]; do sleep 0.01; done").await;
    let jobs = rig.cx.shell.jobs();
    assert_eq!(jobs.wait(&id, Duration::from_millis(30)).await.unwrap(), None, "it runs");
    let release = async {
        rig.write("go", "");
    };
    let (end, ()) = tokio::join!(jobs.wait(&id, SOON), release);
    assert_eq!(end.unwrap().unwrap().status, Status::Completed);
    assert!(notes(&rig).is_empty());
}

#[tokio::test]
async fn a_reader_who_goes_away_leaves_the_telling_to_the_note() {
    let rig = rig();
    let id = behind(&rig, "while [ ! -e go ]; do sleep 0.01; done").await;
    let jobs = rig.cx.shell.jobs();
    assert_eq!(jobs.wait(&id, Duration::from_millis(10)).await.unwrap(), None);
    rig.write("go", "");
    until("a note", || !notes(&rig).is_empty()).await;
    assert_eq!(notes(&rig)[0].status, NoteStatus::Completed);
}

#[tokio::test]
async fn a_stopped_command_is_gone_and_its_owner_is_told_once() {
    let rig = rig();
    let id = behind(&rig, "sleep 1000 & echo $!; wait").await;
    let jobs = rig.cx.shell.jobs();
    let mut printed = String::new();
    until("its child", || {
        printed.push_str(&jobs.read_new(&id).unwrap().text);
        printed.ends_with('\n')
    })
    .await;
    let end = jobs.kill(&id, SOON).await.unwrap().unwrap();
    assert_eq!(end.status, Status::Killed);
    let child = std::fs::read_to_string(format!("/proc/{}/stat", printed.trim()));
    assert!(child.is_err() || child.unwrap().contains(") Z "), "the child lives");
    until("a note", || !notes(&rig).is_empty()).await;
    let told = notes(&rig);
    assert_eq!((told.len(), told[0].status), (1, NoteStatus::Killed));
    let unknown = jobs.kill("b0", SOON).await.unwrap_err().to_string();
    assert!(unknown.contains("no background task `b0`") && unknown.contains(&id), "{unknown}");
}

#[tokio::test]
async fn reading_gives_what_is_new() {
    let rig = rig();
    let id =
        behind(&rig, r"printf 'a\303'; while [ ! -e go ]; do sleep 0.01; done; printf '\251b'")
            .await;
    let jobs = rig.cx.shell.jobs();
    let mut first = String::new();
    until("the beginning", || {
        first.push_str(&jobs.read_new(&id).unwrap().text);
        !first.is_empty()
    })
    .await;
    assert_eq!(first, "a", "half a character waits for its other half");
    rig.write("go", "");
    let mut rest = jobs.read_new(&id).unwrap();
    until("the end", || {
        let news = jobs.read_new(&id).unwrap();
        rest.text.push_str(&news.text);
        rest.end = news.end;
        rest.end.is_some()
    })
    .await;
    assert_eq!(rest.text, "éb");
}

#[tokio::test]
async fn a_running_command_moves_to_the_background_and_is_not_begun_again() {
    let rig = rig();
    let command = "echo begun | tee -a begun; while [ ! -e go ]; do sleep 0.01; done; echo ended";
    let call = rig.call("Bash", json!({ "command": command, "timeout": 20_000 }));
    let mover = async {
        until("its beginning", || rig.project.join("begun").exists()).await;
        assert!(rig.cx.shell.jobs().list().is_empty(), "it is in the foreground");
        assert!(rig.cx.shell.jobs().to_background("toolu_1").is_some());
    };
    let (output, ()) = tokio::join!(call, mover);
    let id = id(&output);
    // An interrupted turn does not reach it any more.
    rig.stop.cancel();
    rig.write("go", "");
    until("a note", || !notes(&rig).is_empty()).await;
    assert_eq!(notes(&rig)[0].status, NoteStatus::Completed);
    assert_eq!(rig.read("begun"), "begun\n");
    let all = std::fs::read_to_string(output.data["outputFile"].as_str().unwrap()).unwrap();
    assert_eq!(all, "begun\nended\n");
    assert!(rig.cx.shell.jobs().get(&id).unwrap().end().is_some());
    assert!(rig.cx.shell.jobs().to_background("toolu_1").is_none(), "it runs no more");
}

#[tokio::test]
async fn a_quiet_command_that_seems_to_wait_for_input_is_told_of_once() {
    let rig = rig_with(|options| options.quiet = Duration::from_millis(100));
    let quiet = behind(&rig, "echo working; sleep 1000").await;
    let asking = behind(&rig, "printf 'Overwrite? [y/N] '; sleep 1000").await;
    let stopped = behind(&rig, "echo x; kill -STOP $$").await;
    // A terminal of its own, from which `head` reads what nobody types.
    let reading = "script -qec 'echo x; head -c1' /dev/null < <(sleep 1000)";
    let reading = behind(&rig, reading).await;
    let asked = [asking.clone(), stopped.clone(), reading.clone()];
    until("three notes", || notes(&rig).len() == 3).await;
    for note in notes(&rig) {
        assert!(asked.contains(&note.task), "{note:?}");
        assert_eq!(note.status, NoteStatus::Waiting);
        assert!(note.summary.contains("wait for input"), "{}", note.summary);
    }
    for id in [quiet, asking, stopped, reading] {
        let end = rig.cx.shell.jobs().kill(&id, SOON).await.unwrap().unwrap();
        assert_eq!(end.status, Status::Killed);
    }
    until("their ends", || notes(&rig).len() == 7).await;
    let waiting = notes(&rig).into_iter().filter(|note| note.status == NoteStatus::Waiting);
    assert_eq!(waiting.count(), 3, "each is told of once");
}

#[tokio::test]
async fn jobs_end_with_the_session_without_a_word() {
    let rig = rig();
    let id = behind(&rig, "sleep 1000").await;
    let job = rig.cx.shell.jobs().get(&id).unwrap();
    assert!(rig.cx.shell.end().await);
    assert_eq!(job.end().unwrap().status, Status::Killed);
    assert!(notes(&rig).is_empty());
}
