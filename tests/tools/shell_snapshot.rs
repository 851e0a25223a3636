//! The user's own shell: what its start-up files set is there in every command.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use quarterdeck::permission::{Access, Decision, decide};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Mode;
use serde_json::Value;

use super::rig::Rig;
use super::shell::{rig, rig_with, text, until};
use crate::support::{mode, say};

/// Start-up files as people have them: the first line keeps all but interactive shells out.
const RC: &str = r#"
case $- in *i*) ;; *) return;; esac
echo welcome; echo trouble >&2
export PATH="$PATH:$HOME/tools"
alias hi='echo "hello '\''you'\''"'
alias -- -='echo dash'
alias two='echo one
echo two'
shopt -s extglob globstar
greet() { echo "greetings, $1"; }
odd-name.x() { case $1 in @(a|b)) echo ab;; *) echo "no $1";; esac; }
set -o noclobber
monitored() { case $- in *m*) echo yes;; *) echo no;; esac; }
"#;

fn with_rc(rc: &str) -> Rig {
    let rig = rig();
    let user = rig.dir.path().join("user");
    std::fs::write(user.join(".bashrc"), rc).unwrap();
    std::fs::create_dir(user.join("tools")).unwrap();
    let tool = user.join("tools/mytool");
    std::fs::write(&tool, "#!/bin/sh\necho mine\n").unwrap();
    std::fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    rig
}

/// As a session does it: aliases and functions are known before anything is decided.
async fn prepare(rig: &Rig) {
    rig.cx.shell.prepare().await;
    rig.views.send_modify(|view| {
        let view = Arc::make_mut(view);
        view.aliases = rig.cx.shell.aliases().into();
        view.functions = rig.cx.shell.functions().into();
    });
}

fn snapshots(rig: &Rig) -> Vec<PathBuf> {
    let dir = std::fs::read_dir(rig.home.root().join("shell-snapshots")).unwrap();
    dir.map(|entry| entry.unwrap().path()).collect()
}

#[tokio::test]
async fn functions_aliases_options_and_path_are_there_in_every_command() {
    let rig = with_rc(RC);
    prepare(&rig).await;
    for (command, printed) in [
        ("greet Ann", "greetings, Ann"),
        ("odd-name.x b", "ab"),
        ("hi", "hello 'you'"),
        ("two", "one\ntwo"),
        ("-", "dash"),
        ("mytool", "mine"),
        ("shopt -q globstar && echo on", "on"),
        ("monitored", "no"),
    ] {
        assert_eq!(text(&rig.bash(command).await), printed, "{command}");
    }
    let output = rig.bash("echo 1 > f; echo 2 > f").await;
    assert!(output.failed && text(&output).contains("cannot overwrite"), "{}", text(&output));
    let aliases = rig.cx.shell.aliases();
    assert_eq!(aliases["hi"], "echo \"hello 'you'\"");
    assert_eq!(aliases["-"], "echo dash");
}

#[tokio::test]
async fn the_snapshot_is_taken_once_and_goes_with_the_session() {
    let rig = with_rc("echo x >> ~/started");
    tokio::join!(rig.cx.shell.prepare(), rig.cx.shell.prepare());
    rig.bash("true").await;
    rig.bash("true").await;
    let started = std::fs::read_to_string(rig.dir.path().join("user/started")).unwrap();
    assert_eq!(started, "x\n");
    let files = snapshots(&rig);
    assert_eq!(files.len(), 1, "{files:?}");
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(name.starts_with("snapshot-bash-") && name.ends_with(".sh"), "{name}");
    assert_eq!((mode(&files[0]), mode(files[0].parent().unwrap())), (0o600, 0o700));
    rig.cx.shell.end().await;
    assert!(snapshots(&rig).is_empty());
}

#[tokio::test]
async fn an_alias_that_was_not_known_when_the_command_was_decided_is_not_used() {
    let rig = with_rc("alias ls='touch harm'; alias hi='echo hello'");
    // Without `prepare`, the decision knew of none.
    let output = rig.bash("ls; hi").await;
    assert!(output.failed && text(&output).contains("hi: command not found"), "{}", text(&output));
    assert!(!rig.project.join("harm").exists());
}

#[tokio::test]
async fn start_up_files_that_hang_are_given_up_and_said() {
    let rig = rig_with(|options| options.start = Duration::from_millis(300));
    let user = rig.dir.path().join("user");
    std::fs::write(user.join(".bashrc"), "echo $$ > ~/pid; sleep 1000").unwrap();
    for _ in 0..2 {
        assert_eq!(text(&rig.bash("echo fine").await), "fine");
    }
    let notices = rig.facts().into_iter().filter_map(|fact| {
        let Fact::Notice { text, .. } = fact else { return None };
        Some(text)
    });
    let notices: Vec<String> = notices.collect();
    assert_eq!(notices.len(), 1, "{notices:?}");
    assert!(notices[0].contains("did not finish starting within 0.3 s"), "{}", notices[0]);
    let pid = std::fs::read_to_string(user.join("pid")).unwrap();
    let left = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    assert!(left.is_err() || left.unwrap().contains(") Z "), "it still runs");
}

#[tokio::test]
async fn a_call_does_not_wait_for_start_up_files_once_it_is_stopped() {
    let rig = with_rc("touch ~/begun; sleep 1000");
    let begun = rig.dir.path().join("user/begun");
    let stop = async {
        until("the start-up files", || begun.exists()).await;
        rig.stop.cancel();
    };
    let (output, ()) = tokio::join!(rig.bash("echo x"), stop);
    assert_eq!((text(&output), output.failed), ("Interrupted before it started.", true));
}

#[tokio::test]
async fn a_user_of_another_shell_gets_one_that_is_known() {
    let rig = rig_with(|options| {
        options.environment.insert("SHELL".into(), "/usr/bin/fish".into());
    });
    assert_eq!(text(&rig.bash("echo \"${BASH_VERSION:+bash}\"").await), "bash");
}

/// As [`with_rc`], where somebody is asked.
fn asking(rc: &str) -> Rig {
    let rig = with_rc(rc);
    rig.views.send_modify(|view| Arc::make_mut(view).mode = Mode::Default);
    rig
}

fn decided(rig: &Rig, command: &str) -> Decision {
    decide(&rig.cx.view(), "Bash", &Value::Null, &[Access::Run(command.to_owned())])
}

#[tokio::test]
async fn a_function_of_the_user_is_not_the_program_whose_name_it_has() {
    let rig = asking("ls() { touch ran; }; nice() { touch ran; }; cd() { builtin cd \"$@\"; }");
    let shadowed = ["ls", "cat x; ls", "time ls", "\\ls", "echo $(ls)", "nice cat x", "cd sub"];
    for command in shadowed {
        assert!(matches!(decided(&rig, command), Decision::Allow { .. }), "{command}: unknown yet");
    }
    prepare(&rig).await;
    assert!(rig.cx.shell.functions().contains("ls"), "{:?}", rig.cx.shell.functions());
    for command in shadowed {
        let decision = decided(&rig, command);
        assert!(matches!(decision, Decision::Ask { .. }), "{command}: {decision:?}");
    }
    for command in ["cat x", "/bin/cat x; echo ls", "time cat x"] {
        let decision = decided(&rig, command);
        assert_eq!(decision, decided(&asking(""), command), "{command}");
    }
    // Allowed, it is the function that runs.
    rig.views.send_modify(|view| Arc::make_mut(view).mode = Mode::BypassPermissions);
    assert_eq!(text(&rig.bash("ls").await), "(no output)");
    assert!(rig.project.join("ran").exists());
}

#[tokio::test]
async fn a_function_that_was_not_known_when_the_command_was_decided_is_not_used() {
    let rig = rig_with(|options| {
        let body = "() { touch harm; }";
        options.environment.insert("BASH_FUNC_cat%%".into(), body.into());
    });
    let user = rig.dir.path().join("user");
    std::fs::write(user.join(".bashrc"), "ls() { touch harm; }; greet() { echo hi; }").unwrap();
    rig.write("a.txt", "content");
    // Without `prepare`, the decision knew of none.
    assert_eq!(
        text(&rig.bash("ls; cat a.txt; bash -c 'cat a.txt'").await),
        "a.txt\ncontentcontent"
    );
    let output = rig.bash("greet").await;
    assert!(output.failed && text(&output).contains("command not found"), "{}", text(&output));
    assert!(!rig.project.join("harm").exists());
    // Known, they are there, the exported one too.
    prepare(&rig).await;
    assert_eq!(text(&rig.bash("greet").await), "hi");
    rig.bash("cat a.txt").await;
    assert!(rig.project.join("harm").exists());
}

#[tokio::test]
async fn no_file_of_the_environment_runs_before_a_command() {
    let rig = rig_with(|options| {
        let user = options.environment[std::ffi::OsStr::new("HOME")].clone();
        let first = PathBuf::from(user).join("first.sh");
        std::fs::write(&first, "touch ~/ran; export BROUGHT=back").unwrap();
        options.environment.insert("BASH_ENV".into(), first.into());
    });
    let output = rig.bash("echo \"[$BASH_ENV$BROUGHT]\"; bash -c 'echo \"[$BROUGHT]\"'").await;
    assert_eq!(text(&output), "[]\n[]");
    assert!(!rig.dir.path().join("user/ran").exists());
}

#[tokio::test]
async fn zsh_works_like_bash() {
    let found =
        ["/usr/bin/zsh", "/bin/zsh"].map(PathBuf::from).into_iter().find(|zsh| zsh.is_file());
    let Some(zsh) = found else { return say("zsh is not installed: left out") };
    let rig = rig_with(|options| {
        options.environment.insert("SHELL".into(), zsh.into());
    });
    let rc = "alias hi='echo hello'\ngreet() { echo \"greetings, $1\" }\npath+=(/opt/extra)\n";
    std::fs::write(rig.dir.path().join("user/.zshrc"), rc).unwrap();
    std::fs::create_dir(rig.project.join("sub")).unwrap();
    prepare(&rig).await;
    for (command, printed) in [
        ("hi", "hello"),
        ("greet Ann", "greetings, Ann"),
        ("print ${ZSH_VERSION:+zsh}", "zsh"),
        ("print -l $path | grep extra", "/opt/extra"),
        ("cd sub && print ${PWD:t}", "sub"),
        ("print ${PWD:t}", "sub"),
    ] {
        assert_eq!(text(&rig.bash(command).await), printed, "{command}");
    }
    let failed = rig.bash("print gone; exit 3").await;
    assert!(failed.failed && text(&failed).contains("Exit code 3"), "{}", text(&failed));
}
