//! Going on with a session, and working in a worktree.

use std::fs;

use super::rig::{Rig, until};

const TALK: &str = "- { say: first }\n- { say: second }\n- { say: third }";

#[test]
fn the_newest_session_goes_on_and_so_does_a_named_one() {
    let rig = Rig::new(TALK);
    let missing = rig.run(&["-c", "-p", "x"]).code(1);
    assert!(missing.stderr.contains("no session to resume in this directory"), "{missing:?}");
    assert_eq!(rig.run(&["-p", "x"]).code(0).stdout, "first\n");
    assert_eq!(rig.run(&["-c", "-p", "x"]).code(0).stdout, "second\n");
    let id = rig.session();
    let ran = rig.stream(&["-r", &id[..8], "-p", "x"]).code(0);
    assert_eq!(ran.result()["result"], "third");
    assert_eq!(ran.result()["session_id"], id.as_str());
    assert!(!ran.stdout.contains("second"), "what was printed before is not printed again");
    let silent = rig.run(&["-c"]).code(2);
    assert!(silent.stderr.contains("nothing was left to do"), "{silent:?}");
    let unknown = rig.run(&["-r", "zzz", "-p", "x"]).code(1);
    assert!(unknown.stderr.contains("no session `zzz`"), "{unknown:?}");
    rig.run(&["-c", "-r", "x", "-p", "x"]).code(2);
    // Sessions of another directory are not this one's.
    let mut elsewhere = rig.program(&["run", "--playbook", &rig.book(), "-c", "-p", "x"]);
    let ran = elsewhere.current_dir(rig.root()).output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
}

#[test]
fn what_could_be_two_sessions_is_not_guessed() {
    let rig = Rig::new("- { say: fine, repeat: true }");
    rig.run(&["-p", "x"]).code(0);
    let (project, id) = (rig.home().join("projects"), rig.session());
    let dir = fs::read_dir(project).unwrap().next().unwrap().unwrap().path();
    let twin = format!("{}-twin", &id[..8]);
    fs::copy(dir.join(format!("{id}.jsonl")), dir.join(format!("{twin}.jsonl"))).unwrap();
    let ran = rig.run(&["-r", &id[..8], "-p", "x"]).code(1);
    assert!(ran.stderr.contains("2 sessions"), "{ran:?}");
    rig.run(&["-r", &id, "-p", "x"]).code(0);
}

#[test]
fn a_session_runs_once_at_a_time() {
    let rig = Rig::new(
        r#"
- { call: [{ tool: Bash, input: { command: "touch begun; until [ -e go ]; do sleep 0.02; done" } }] }
- { say: done }
"#,
    );
    let going = rig.start(&["--on-ask", "allow", "-p", "x"]);
    until("its beginning", || rig.project.join("begun").exists().then_some(()));
    let id = rig.session();
    for args in [&["-c"][..], &["-r", &id]] {
        let ran = rig.run(&[args, &["-p", "x"]].concat()).code(1);
        assert!(ran.stderr.contains(&id) && ran.stderr.contains("running"), "{ran:?}");
    }
    fs::write(rig.project.join("go"), "").unwrap();
    assert_eq!(going.end().code(0).stdout, "done\n");
}

#[test]
fn two_sessions_share_a_home() {
    let rig = Rig::new(
        r#"
- { call: [{ tool: Bash, input: { command: "touch a$PPID; until [ $(ls a* | wc -l) = 2 ]; do sleep 0.02; done" } }] }
- { say: met }
"#,
    );
    let all = [0, 1].map(|_| rig.start(&["--on-ask", "allow", "-p", "x"]));
    for going in all {
        assert_eq!(going.end().code(0).stdout, "met\n");
    }
}

#[test]
fn a_worktree_is_kept_when_something_was_done_in_it() {
    let rig = Rig::new(
        r#"
- { call: [{ tool: Write, input: { file_path: "{{cwd}}/new.txt", content: "new" } }] }
- { say: written }
- { say: "and on" }
"#,
    )
    .in_git();
    let accept = ["--permission-mode", "acceptEdits", "--worktree", "side"];
    let ran = rig.run(&[&accept[..], &["-p", "x"]].concat()).code(0);
    assert_eq!(ran.stdout, "written\n");
    assert!(ran.stderr.contains("the work is in "), "{ran:?}");
    assert!(!rig.project.join("new.txt").exists(), "the main tree is untouched");
    let listed = rig.quarterdeck(&["--json", "worktree", "list"]).code(0).stdout;
    assert!(listed.contains("side"), "{listed}");
    let again = rig.stream(&["--worktree", "side", "-c", "-p", "x"]).code(0);
    assert_eq!(again.result()["result"], "and on");
    let cwd = again.lines()[0]["cwd"].as_str().unwrap().to_owned();
    assert_eq!(fs::read_to_string(format!("{cwd}/new.txt")).unwrap(), "new");
}

#[test]
fn a_worktree_without_changes_leaves_nothing() {
    let rig = Rig::new("- { say: looked, repeat: true }").in_git();
    let none = |rig: &Rig| {
        let listed = rig.quarterdeck(&["--json", "worktree", "list"]).code(0).stdout;
        assert!(!listed.contains("run-") && !listed.contains("side"), "{listed}");
    };
    assert_eq!(rig.run(&["-p", "x", "--worktree"]).code(0).stdout, "looked\n");
    none(&rig);
    // Nor does one whose session could not begin.
    rig.run(&["-p", "x", "--worktree", "side", "--agent", "nobody"]).code(1);
    none(&rig);
    assert!(rig.run(&["-p", "x", "--worktree", "../out"]).code(2).stdout.is_empty());
    let bare = Rig::new("- { say: looked }");
    let ran = bare.run(&["-p", "x", "--worktree"]).code(1);
    assert!(ran.stderr.contains("worktree") && ran.stdout.is_empty(), "{ran:?}");
}
