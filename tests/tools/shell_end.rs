//! What a command started is gone when its time is up, when it is stopped, and when the session
//! ends, however hard it tries to stay. Nothing else is touched.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use quarterdeck::tools::Output;
use quarterdeck::tools::shell::Shell;
use serde_json::json;

use super::rig::Rig;
use super::shell::{rig, rig_with, text, until};

/// Every process of a tree writes its number into `pids`: a child, one that ignores TERM, one
/// that left the group and lost its parent, one that cleared its environment.
const TREE: &str = r#"
note='echo $$ >> pids; exec sleep 1000'
sh -c "$note" &
sh -c "trap '' TERM; echo \$\$ >> pids; while :; do sleep 1000; done" &
(setsid sh -c "$note" &) &
env -i PATH="$PATH" sh -c "$note" &
echo $$ >> pids
"#;

const TREE_SIZE: usize = 5;

fn pids(rig: &Rig) -> Vec<i32> {
    let text = std::fs::read_to_string(rig.project.join("pids")).unwrap_or_default();
    text.lines().filter_map(|line| line.parse().ok()).collect()
}

/// Whether a process runs; one that only waits to be collected does not.
fn alive(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

fn none_alive(rig: &Rig) {
    let left: Vec<i32> = pids(rig).into_iter().filter(|pid| alive(*pid)).collect();
    assert!(left.is_empty(), "still there: {left:?} of {:?}", pids(rig));
}

/// What was printed before the end is there, and how it ended. In between a shell may have its
/// say on the death of a child.
fn says(output: &Output, how: &str) {
    let text = text(output);
    assert!(text.starts_with("begun\n") && text.ends_with(&format!("\n\n{how}")), "{text}");
    assert!(output.failed);
}

/// Somebody else's process.
struct Bystander(Child);

impl Bystander {
    fn new() -> Self {
        Self(Command::new("sleep").arg("1000").stdin(Stdio::null()).spawn().unwrap())
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

#[tokio::test]
async fn a_tree_of_grandchildren_is_gone_after_a_timeout() {
    let rig = rig_with(|options| options.grace = Duration::from_millis(300));
    let mut bystander = Bystander::new();
    let command = format!("echo begun; {TREE} wait");
    let output = rig.call("Bash", json!({ "command": command, "timeout": 2500 })).await;
    assert_eq!(pids(&rig).len(), TREE_SIZE, "{}", text(&output));
    none_alive(&rig);
    says(&output, "Timed out after 2s, and was ended with everything it started.");
    assert_eq!(output.data["timedOut"], true);
    assert!(bystander.0.try_wait().unwrap().is_none(), "somebody else was hit");
}

#[tokio::test]
async fn a_tree_of_grandchildren_is_gone_after_a_cancel() {
    let rig = rig();
    let command = format!("echo begun; {TREE} wait");
    let call = rig.bash(&command);
    let cancel = async {
        until("the whole tree", || pids(&rig).len() == TREE_SIZE).await;
        rig.stop.cancel();
    };
    let (output, ()) = tokio::join!(call, cancel);
    none_alive(&rig);
    says(&output, "Interrupted, and ended with everything it started.");
    assert_eq!(
        (&output.data["interrupted"], &output.data["timedOut"]),
        (&json!(true), &json!(false))
    );
}

#[tokio::test]
async fn a_command_gets_time_to_clear_up() {
    let rig = rig();
    let command =
        "trap 'echo cleared > done; exit' TERM; touch ready; while :; do sleep 0.01; done";
    let call = rig.bash(command);
    let cancel = async {
        until("the trap", || rig.project.join("ready").exists()).await;
        rig.stop.cancel();
    };
    tokio::join!(call, cancel);
    assert_eq!(rig.read("done"), "cleared\n");
}

#[tokio::test]
async fn a_call_that_is_dropped_leaves_nothing_running() {
    let rig = rig();
    let command = format!("{TREE} wait");
    tokio::select! {
        _ = rig.bash(&command) => panic!("it does not end"),
        () = until("the whole tree", || pids(&rig).len() == TREE_SIZE) => {}
    }
    until("the end of the tree", || pids(&rig).iter().all(|pid| !alive(*pid))).await;
}

#[tokio::test]
async fn children_in_the_background_hold_up_nobody_and_end_with_the_session() {
    let rig = rig();
    let mut bystander = Bystander::new();
    let command = "(while :; do echo line; sleep 0.02; done) & echo $! >> pids; echo $!; \
                   setsid sleep 1000 >/dev/null 2>&1 & echo $! >> pids";
    let since = std::time::Instant::now();
    let output = rig.bash(command).await;
    assert!(since.elapsed() < Duration::from_secs(10));
    assert!(!output.failed);
    assert!(
        text(&output).contains("still run and will be ended with the session"),
        "{}",
        text(&output)
    );
    // They are alive, and can go on printing.
    let file = PathBuf::from(output.data["outputFile"].as_str().unwrap());
    let size = std::fs::metadata(&file).unwrap().len();
    until("more lines", || std::fs::metadata(&file).unwrap().len() > size + 10).await;
    assert!(pids(&rig).iter().all(|pid| alive(*pid)));

    assert!(rig.cx.shell.end().await, "all gone");
    none_alive(&rig);
    assert!(bystander.0.try_wait().unwrap().is_none(), "somebody else was hit");
    let late = rig.bash("echo x").await;
    assert!(late.failed && text(&late).contains("the session ends"), "{}", text(&late));
}

#[tokio::test]
async fn a_shell_that_is_dropped_takes_everything_along() {
    let mut rig = rig();
    rig.bash(TREE).await;
    until("the whole tree", || pids(&rig).len() == TREE_SIZE).await;
    let fresh = Shell::new(&rig.home, &rig.cx.session, super::rig::bare_shell(rig.dir.path()));
    let old = std::mem::replace(&mut rig.cx.shell, std::sync::Arc::new(fresh));
    drop(old);
    none_alive(&rig);
}

#[tokio::test]
async fn what_a_killed_program_left_is_swept_and_what_a_living_one_runs_is_not() {
    let rig = rig();
    let own = std::env::current_exe().unwrap();
    let mut other = Command::new(own)
        .args(["--ignored", "--exact", "tools::shell_end::runs_a_tree_until_it_is_killed"])
        .env("QUARTERDECK_TEST_ROOT", rig.dir.path())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    until("the whole tree", || pids(&rig).len() == TREE_SIZE).await;
    let swept = Shell::sweep(&rig.home, None);
    assert_eq!((swept.shells, swept.processes), (0, 0), "its owner lives");
    other.kill().unwrap();
    other.wait().unwrap();
    assert!(pids(&rig).iter().any(|pid| alive(*pid)), "nothing was left behind");
    let another = quarterdeck::protocol::ids::SessionId::found("another");
    assert_eq!(Shell::sweep(&rig.home, Some(&another)).shells, 0);
    let swept = Shell::sweep(&rig.home, Some(&rig.cx.session));
    assert!(swept.shells == 1 && swept.processes >= 3, "{swept:?}");
    none_alive(&rig);
    let snapshots = std::fs::read_dir(rig.home.root().join("shell-snapshots")).unwrap().count();
    assert_eq!(snapshots, 0, "its snapshot is gone as well");
}

#[tokio::test]
#[ignore = "a part of another test, in a process of its own"]
async fn runs_a_tree_until_it_is_killed() {
    let Some(root) = std::env::var_os("QUARTERDECK_TEST_ROOT") else { return };
    let root = PathBuf::from(root).canonicalize().unwrap();
    let mut rig = rig();
    let home = quarterdeck::settings::paths::Home::at(root.join("home"));
    let shell = Shell::new(&home, &rig.cx.session, super::rig::bare_shell(&root));
    rig.cx.shell = std::sync::Arc::new(shell);
    let command = format!("cd '{}/project'; {TREE} wait", root.display());
    rig.bash(&command).await;
}
