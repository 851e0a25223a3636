//! What was decided upon is what is done, whatever becomes of paths and directories between the
//! question and the yes, and between the yes and the deed.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use quarterdeck::protocol::ask::{Judge, Verdict};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::Mode;
use quarterdeck::store::asks::Asks;
use quarterdeck::tools::bash::Bash;
use quarterdeck::tools::call::call;
use quarterdeck::tools::edit::EditTool;
use quarterdeck::tools::glob::GlobTool;
use quarterdeck::tools::grep::GrepTool;
use quarterdeck::tools::read::ReadTool;
use quarterdeck::tools::write::WriteTool;
use quarterdeck::tools::{Output, Tool, Use};
use serde_json::{Value, json};

use super::files_races::{allowed, run};
use super::files_read::{ok, why};
use super::rig::Rig;
use super::shell::until;

fn rig() -> Rig {
    let tools: Vec<Arc<dyn Tool>> = vec![
        Arc::new(ReadTool::new()),
        Arc::new(WriteTool::new()),
        Arc::new(EditTool::new()),
        Arc::new(GlobTool::new()),
        Arc::new(GrepTool::new()),
        Arc::new(Bash::default()),
    ];
    Rig::new(Mode::Default, tools)
}

/// A use that is asked about, and allowed after something else has happened.
async fn allowed_after(rig: &Rig, tool: &str, input: Value, meanwhile: impl FnOnce()) -> Output {
    let desk = &rig.cx.desk;
    let answer = async {
        until("the ask", || desk.open_asks().unwrap().asks.len() == 1).await;
        let ask = desk.open_asks().unwrap().asks.remove(0);
        meanwhile();
        let verdict = Verdict::Allow { input: None, grant: None, remark: None };
        desk.settle(&ask.id, ask.rev, verdict, Judge::Human).unwrap();
    };
    tokio::join!(rig.call(tool, input), answer).0
}

fn started(rig: &Rig) -> usize {
    rig.facts().iter().filter(|fact| matches!(fact, Fact::ToolStarted { .. })).count()
}

/// Why the last use came to nothing, as the journal has it.
fn last_decision(rig: &Rig) -> String {
    let decided = rig.facts().into_iter().rev().find_map(|fact| {
        let Fact::Decided { decision, reason, .. } = fact else { return None };
        Some(format!("{decision}: {reason}"))
    });
    decided.unwrap()
}

/// A directory outside the project, with a file in it.
fn outside(rig: &Rig, name: &str) -> PathBuf {
    let dir = rig.dir.path().canonicalize().unwrap().join(name);
    fs::create_dir(&dir).unwrap();
    fs::write(dir.join("a.txt"), name).unwrap();
    dir
}

fn relink(link: &Path, to: &Path) {
    fs::remove_file(link).unwrap();
    symlink(to, link).unwrap();
}

/// In which lines an edit would begin, as the person is told when they are asked.
async fn lines_asked(rig: &Rig, input: Value) -> Vec<usize> {
    let desk = &rig.cx.desk;
    let answer = async {
        until("the ask", || desk.open_asks().unwrap().asks.len() == 1).await;
        let ask = desk.open_asks().unwrap().asks.remove(0);
        desk.settle(&ask.id, ask.rev, Verdict::Deny { why: None }, Judge::Human).unwrap();
        ask.lines
    };
    tokio::join!(rig.call("Edit", input), answer).1
}

#[tokio::test(flavor = "multi_thread")]
async fn an_edit_is_asked_for_with_the_lines_of_its_file() {
    let rig = rig();
    rig.write("a.txt", "one\r\ntwo\nthree\ntwo\nfour two\n");
    let edit = |old: &str, all: bool| json!({"file_path": "a.txt", "old_string": old, "new_string": "2\n2", "replace_all": all});
    assert_eq!(lines_asked(&rig, edit("three\ntwo", false)).await, [3]);
    assert_eq!(lines_asked(&rig, edit("one\ntwo", false)).await, [1], "with other line ends");
    assert_eq!(lines_asked(&rig, edit("two", true)).await, [2, 4, 5]);
    assert!(lines_asked(&rig, edit("two", false)).await.is_empty(), "which of them is not known");
    assert!(lines_asked(&rig, edit("five", false)).await.is_empty());
    let other = json!({"file_path": "new.txt", "old_string": "", "new_string": "x"});
    assert_eq!(lines_asked(&rig, other).await, [1]);
    let missing = json!({"file_path": "no.txt", "old_string": "a", "new_string": "x"});
    assert!(lines_asked(&rig, missing).await.is_empty());
}

const CHANGED: &str = "has changed since the user was asked";

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_does_not_count_for_where_a_link_leads_by_then() {
    let rig = rig();
    let (one, two) = (outside(&rig, "one"), outside(&rig, "two"));
    let link = rig.project.join("out");
    symlink(&one, &link).unwrap();
    let reading = || json!({ "file_path": "out/a.txt" });
    let writing = || json!({ "file_path": "out/new.txt", "content": "x" });
    // As long as nothing changes, a yes is enough.
    let output = allowed_after(&rig, "Read", reading(), || {}).await;
    assert!(ok(&output).contains("one"));
    for (tool, input) in [("Read", reading()), ("Write", writing())] {
        let before = started(&rig);
        let output = allowed_after(&rig, tool, input, || relink(&link, &two)).await;
        assert!(why(&output).contains(CHANGED), "{output:?}");
        assert_eq!(started(&rig), before, "{tool}");
        let last = last_decision(&rig);
        assert!(last.starts_with("deny:") && last.contains(CHANGED), "{last}");
        relink(&link, &one);
    }
    assert!(!one.join("new.txt").exists() && !two.join("new.txt").exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_does_not_count_for_a_directory_that_became_a_link() {
    let rig = rig();
    let out = outside(&rig, "out");
    rig.write("sub/other.txt", "");
    let sub = rig.project.join("sub");
    let input = json!({ "file_path": "sub/new.txt", "content": "x" });
    let output = allowed_after(&rig, "Write", input, || {
        fs::rename(&sub, rig.project.join("gone")).unwrap();
        symlink(&out, &sub).unwrap();
    });
    let output = output.await;
    assert!(why(&output).contains(CHANGED), "{output:?}");
    assert!(!out.join("new.txt").exists() && started(&rig) == 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_allowed_without_any_yes_runs_though_it_changed() {
    let rig = rig();
    let out = outside(&rig, "out");
    rig.write("sub/a.txt", "inside");
    let link = rig.project.join("link");
    symlink(&out, &link).unwrap();
    let input = json!({ "file_path": "link/a.txt" });
    let output = allowed_after(&rig, "Read", input, || relink(&link, &rig.project.join("sub")));
    assert!(ok(&output.await).contains("inside"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_does_not_count_for_another_working_directory() {
    let rig = rig();
    rig.write("sub/a.txt", "");
    let sub = rig.project.join("sub");
    let input = || json!({ "command": "touch ran" });
    let output = allowed_after(&rig, "Bash", input(), || rig.cx.cwd.set(sub.clone())).await;
    assert!(why(&output).contains(CHANGED), "{output:?}");
    assert!(!rig.project.join("ran").exists() && !sub.join("ran").exists());
    ok(&allowed_after(&rig, "Bash", input(), || {}).await);
    assert!(sub.join("ran").exists());
}

#[tokio::test]
async fn a_command_begins_where_it_was_decided_upon() {
    let rig = rig();
    rig.write("sub/a.txt", "");
    let sub = rig.project.join("sub");
    let input = json!({ "command": "pwd" });
    let call = allowed(&rig, "Bash", &input);
    rig.cx.cwd.set(sub.clone());
    let output = run(&rig, "Bash", &call, input).await;
    assert_eq!(ok(&output), rig.project.display().to_string());
    assert_eq!(rig.cx.cwd.get(), sub, "who stays where it began moves nobody");
}

#[tokio::test]
async fn a_search_keeps_to_the_place_that_was_decided_upon() {
    let searches = [
        ("Glob", json!({ "pattern": "*.txt", "path": "sub" })),
        ("Glob", json!({ "pattern": "sub/*.txt" })),
        ("Grep", json!({ "pattern": "o", "path": "sub", "output_mode": "content" })),
        ("Grep", json!({ "pattern": "o", "path": "sub/a.txt", "output_mode": "content" })),
    ];
    for (tool, input) in searches {
        let rig = rig();
        let out = outside(&rig, "out");
        rig.write("sub/a.txt", "own");
        let call = allowed(&rig, tool, &input);
        let found = ok(&run(&rig, tool, &call, input.clone()).await);
        assert!(found.contains("a.txt") || found.contains("own"), "{found}");
        let sub = rig.project.join("sub");
        fs::rename(&sub, rig.project.join("gone")).unwrap();
        symlink(&out, &sub).unwrap();
        let refused = why(&run(&rig, tool, &call, input).await);
        assert!(refused.contains("became a link"), "{tool}: {refused}");
    }
}

#[tokio::test]
async fn a_search_here_keeps_to_where_here_was() {
    let searches = [
        ("Glob", json!({ "pattern": "*.txt" })),
        ("Grep", json!({ "pattern": "o", "output_mode": "content" })),
    ];
    for (tool, input) in searches {
        let rig = rig();
        let out = outside(&rig, "out");
        rig.write("a.txt", "own");
        let call = allowed(&rig, tool, &input);
        ok(&run(&rig, tool, &call, input.clone()).await);
        fs::rename(&rig.project, rig.dir.path().join("gone")).unwrap();
        symlink(&out, &rig.project).unwrap();
        let refused = why(&run(&rig, tool, &call, input).await);
        assert!(refused.contains("became a link"), "{tool}: {refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_yes_from_before_a_restart_does_not_count_for_where_a_link_leads_by_then() {
    for inside in [true, false] {
        let rig = rig();
        let dir = |name| match inside {
            true => rig.write(&format!("{name}/a.txt"), "").parent().unwrap().to_owned(),
            false => outside(&rig, name),
        };
        let (one, two, link) = (dir("one"), dir("two"), rig.project.join("link"));
        symlink(&one, &link).unwrap();
        let wanted = || Use {
            id: "toolu_x".to_owned(),
            tool: "Write".to_owned(),
            input: json!({ "file_path": "link/new.txt", "content": "x" }),
        };
        let desk = &rig.cx.desk;
        let open = || desk.open_asks().unwrap().asks;
        // Put, and its process is gone before the verdict.
        tokio::select! {
            output = call(&rig.cx, &rig.tools, wanted(), &rig.stop) => panic!("{output:?}"),
            () = until("the ask", || open().len() == 1) => {}
        }
        let ask = open().remove(0);
        let verdict = Verdict::Allow { input: None, grant: None, remark: None };
        let others = Asks::new(&rig.cx.store, &rig.cx.session);
        others.settle(&ask.id, ask.rev, verdict, Judge::Human).unwrap();
        relink(&link, &two);
        let deny = async {
            until("another ask", || open().len() == 1).await;
            let rev = open()[0].rev;
            desk.settle(&ask.id, rev, Verdict::Deny { why: None }, Judge::Human).unwrap();
        };
        let (output, ()) = tokio::join!(call(&rig.cx, &rig.tools, wanted(), &rig.stop), deny);
        assert!(why(&output).contains("did not allow"), "{output:?}");
        assert!(!one.join("new.txt").exists() && !two.join("new.txt").exists());
    }
}
