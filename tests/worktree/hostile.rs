//! What must not go wrong: no tree means an error, and git neither asks nor hangs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use quarterdeck::worktree::{Options, WorktreeError, create, verify};

use super::repo::{Repo, slug, write};

#[track_caller]
fn refused(path: &Path, name: &str, expected: &[&str]) {
    let error = create(path, &slug(name), &Options::default()).expect_err(name).to_string();
    for part in expected {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn what_is_wrong_and_what_to_do_is_said() {
    let plain = tempfile::tempdir().unwrap();
    refused(plain.path(), "a", &["not in a git repository", "git init"]);
    refused(Path::new("/nowhere/at/all"), "a", &["not in a git repository"]);
    refused(&Repo::empty().root, "a", &["no commit yet", "git commit"]);

    let bare = Repo::empty();
    bare.git(&["init", "--quiet", "--bare", "../bare"]);
    refused(&bare.beside().join("bare"), "a", &["bare repository"]);

    let repo = Repo::new();
    repo.write(".claude/worktrees/file", "a file\n");
    repo.write(".claude/worktrees/full/x", "something\n");
    repo.git(&["init", "--quiet", ".claude/worktrees/other"]);
    for name in ["file", "full", "other"] {
        refused(&repo.root, name, &["already exists", name, "another name"]);
    }
    let elsewhere = repo.beside().join("elsewhere");
    repo.git(&["worktree", "add", "-q", "-b", "worktree-busy", elsewhere.to_str().unwrap()]);
    refused(&repo.root, "busy", &["worktree-busy is checked out in", "elsewhere"]);

    repo.made("broken");
    write(&repo.root.join(".git/worktrees/broken/HEAD"), "nonsense\n");
    refused(&repo.root, "broken", &["cannot be read", "git worktree repair"]);

    for directory in ["/tmp/x", "../x", "a/../../x", "", ".git/x", "a/.GIT"] {
        let options = Options { directory: directory.into(), ..Options::default() };
        let error = create(&repo.root, &slug("a"), &options).unwrap_err();
        assert!(matches!(error, WorktreeError::BadDirectory { .. }), "{directory}: {error}");
    }
    write(&repo.root.join("blocked"), "a file\n");
    let options = Options { directory: "blocked/trees".into(), ..Options::default() };
    let error = create(&repo.root, &slug("a"), &options).unwrap_err();
    assert!(matches!(error, WorktreeError::NotWritable { .. }), "{error}");
}

#[test]
fn a_tree_that_is_none_any_more_does_not_verify() {
    let repo = Repo::new();
    let tree = repo.made("moved");
    fs::remove_file(tree.path.join(".git")).unwrap();
    let error = verify(&tree).unwrap_err();
    assert!(matches!(error, WorktreeError::NotIsolated { .. }), "{error}");
    assert!(error.to_string().contains(repo.root.to_str().unwrap()), "{error}");
    fs::remove_dir_all(&tree.path).unwrap();
    assert!(verify(&tree).is_err());
}

#[test]
fn a_lock_of_another_git_is_waited_for() {
    let repo = Repo::new();
    let lock = repo.root.join(".git/refs/heads/worktree-waits.lock");
    write(&lock, "");
    thread::scope(|scope| {
        let making = scope.spawn(|| repo.made("waits"));
        thread::sleep(Duration::from_millis(300));
        assert!(!making.is_finished(), "it did not wait");
        fs::remove_file(&lock).unwrap();
        verify(&making.join().unwrap()).unwrap();
    });
}

#[test]
fn a_hook_that_hangs_is_killed_with_all_it_started_and_nothing_is_left() {
    let repo = Repo::new();
    let hook = repo.root.join(".git/hooks/post-checkout");
    let pids = repo.beside().join("pids");
    let script = format!("#!/bin/sh\nsleep 300 &\necho $! $$ > {}\nwait\n", pids.display());
    write(&hook, &script);
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let options = Options { limit: Duration::from_secs(3), ..Options::default() };
    let error = create(&repo.root, &slug("slow"), &options).unwrap_err();
    assert!(matches!(error, WorktreeError::TooSlow { .. }), "{error}");
    let pids = fs::read_to_string(pids).unwrap();
    for pid in pids.split_whitespace() {
        let end = Instant::now() + Duration::from_secs(10);
        while is_running(pid) {
            assert!(Instant::now() < end, "{pid} still runs");
            thread::sleep(Duration::from_millis(10));
        }
    }
    assert_eq!(repo.trees(), 1);
    assert_eq!(repo.branches(), ["main"]);
    assert!(!repo.root.join(".claude/worktrees/slow").exists());
    fs::remove_file(hook).unwrap();
    repo.made("slow");
}

fn is_running(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie waits for its parent to look; it does nothing.
    stat.rsplit(')').next().is_some_and(|rest| !rest.trim().is_empty() && !rest.starts_with(" Z"))
}

/// The environment of a process cannot be changed safely, so the real program is started with it.
#[test]
fn variables_of_another_repository_do_not_lead_astray() {
    let (repo, other) = (Repo::new(), Repo::new());
    let tree = repo.made("mine");
    other.made("theirs");
    drop(tree);
    let ran = Command::new(env!("CARGO_BIN_EXE_quarterdeck"))
        .args(["worktree", "list", "--json"])
        .current_dir(&repo.root)
        .env("GIT_DIR", other.root.join(".git"))
        .env("GIT_WORK_TREE", &other.root)
        .env("GIT_INDEX_FILE", other.root.join(".git/index"))
        .env("GIT_CONFIG_COUNT", "1")
        .env("GIT_CONFIG_KEY_0", "core.worktree")
        .env("GIT_CONFIG_VALUE_0", &other.root)
        .output()
        .unwrap();
    let listed: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(listed[0]["name"], "mine", "{ran:?}");
    assert_eq!(listed[0]["changes"]["summary"], "no changes", "{ran:?}");
}
