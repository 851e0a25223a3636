//! The end of a worktree: nothing that somebody did is lost.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use quarterdeck::worktree::{Outcome, changes, clean_up, discard};

use super::repo::{Repo, commit, git, write};

#[test]
fn an_unchanged_one_goes_with_its_branch() {
    let repo = Repo::new();
    repo.write(".gitignore", "*.log\n");
    repo.commit("ignore");
    let tree = repo.made("idle");
    let path = tree.path.clone();
    write(&path.join("build.log"), "ignored files do not count\n");
    assert_eq!(clean_up(tree), Outcome::Removed);
    assert!(!path.exists());
    assert_eq!(repo.branches(), ["main"]);
    assert_eq!(repo.trees(), 1);
    assert!(!repo.made("idle").reused, "nothing of it is left");
}

type Work = fn(&Path);

#[test]
fn any_work_keeps_it() {
    let cases: [(&str, Work, &str); 8] = [
        (
            "edit",
            |tree| write(&tree.join("shared.txt"), "one\nzwei\ndrei\nthree\n"),
            "1 file changed (+2 -1), 1 not committed: shared.txt",
        ),
        ("new", |tree| write(&tree.join("a/new.txt"), "new\n"), "1 untracked: a/new.txt"),
        ("commit", |tree| commit(tree, "empty, but a commit"), "1 commit"),
        (
            "removed",
            |tree| fs::remove_file(tree.join("shared.txt")).unwrap(),
            "1 file changed (+0 -3), 1 not committed: shared.txt",
        ),
        (
            "staged",
            |tree| {
                write(&tree.join("shared.txt"), "staged\n");
                git(tree, &["add", "shared.txt"]);
                write(&tree.join("shared.txt"), "one\ntwo\nthree\n");
            },
            "1 not committed",
        ),
        (
            "switched",
            |tree| {
                commit(tree, "on our branch");
                git(tree, &["checkout", "--quiet", "-b", "elsewhere", "HEAD~1"]);
            },
            "1 commit",
        ),
        (
            "detached",
            |tree| {
                git(tree, &["checkout", "--quiet", "--detach"]);
                commit(tree, "on no branch");
            },
            "1 commit",
        ),
        (
            "renamed",
            |tree| {
                git(tree, &["mv", "shared.txt", "other.txt"]);
            },
            "2 files changed (+3 -3), 2 not committed: other.txt, shared.txt",
        ),
    ];
    let repo = Repo::new();
    for (name, work, summary) in cases {
        let tree = repo.made(name);
        work(&tree.path);
        let seen = changes(&tree).unwrap();
        assert_eq!(seen.summary, summary, "{name}");
        let (path, branch) = (tree.path.clone(), tree.branch.clone());
        let kept = Outcome::Kept { path: path.clone(), branch, changes: seen, why: None };
        assert_eq!(clean_up(tree), kept, "{name}");
        assert!(path.join(".git").exists(), "{name}");
        assert!(repo.branches().contains(&format!("worktree-{name}")), "{name}");
    }
}

#[test]
fn a_configuration_that_hides_files_hides_nothing_here() {
    let repo = Repo::new();
    repo.git(&["config", "status.showUntrackedFiles", "no"]);
    let tree = repo.made("hidden");
    write(&tree.path.join("new.txt"), "new\n");
    assert_eq!(changes(&tree).unwrap().untracked, 1);
    assert!(matches!(clean_up(tree), Outcome::Kept { .. }));
}

#[test]
fn one_that_cannot_be_removed_is_kept_and_says_why() {
    let repo = Repo::new();
    let tree = repo.made("stuck");
    let path = tree.path.clone();
    repo.git(&["worktree", "lock", "--reason", "not now", path.to_str().unwrap()]);
    match clean_up(tree) {
        Outcome::Kept { why: Some(why), .. } => assert!(why.contains("not now"), "{why}"),
        outcome @ (Outcome::Kept { .. } | Outcome::Removed) => panic!("{outcome:?}"),
    }
    assert!(path.join("shared.txt").exists());
    assert!(repo.branches().contains(&"worktree-stuck".to_owned()));
}

#[test]
fn one_that_cannot_be_looked_at_is_kept() {
    kept_when(|path| write(&path.join(".git"), "gitdir: /nowhere\n"));
    kept_when(|path| fs::remove_file(path.join(".git")).unwrap());
}

#[track_caller]
fn kept_when(damage: Work) {
    let repo = Repo::new();
    let tree = repo.made("odd");
    let path = tree.path.clone();
    write(&path.join("precious.txt"), "precious\n");
    damage(&path);
    match clean_up(tree) {
        Outcome::Kept { why: Some(_), .. } => {}
        outcome @ (Outcome::Kept { .. } | Outcome::Removed) => panic!("{outcome:?}"),
    }
    assert_eq!(fs::read_to_string(path.join("precious.txt")).unwrap(), "precious\n");
}

#[test]
fn one_whose_directory_is_gone_leaves_its_commits() {
    let repo = Repo::new();
    let (idle, busy) = (repo.made("idle"), repo.made("busy"));
    commit(&busy.path, "work");
    for tree in [&idle, &busy] {
        fs::remove_dir_all(&tree.path).unwrap();
    }
    assert_eq!(clean_up(idle), Outcome::Removed);
    assert!(matches!(clean_up(busy), Outcome::Kept { changes, .. } if changes.commits == 1));
    assert_eq!(repo.branches(), ["main", "worktree-busy"]);
    assert_eq!(repo.trees(), 1);
}

#[test]
fn discarding_takes_everything_and_says_what() {
    let repo = Repo::new();
    let tree = repo.made("failed");
    commit(&tree.path, "work");
    write(&tree.path.join("new.txt"), "new\n");
    let tip = git(&tree.path, &["rev-parse", "HEAD"]).trim().to_owned();
    let gone = discard(&tree).unwrap();
    assert_eq!(gone.tip, Some(tip));
    assert_eq!((gone.changes.commits, gone.changes.untracked), (1, 1));
    assert!(!tree.path.exists());
    assert_eq!(repo.branches(), ["main"]);
}

#[test]
fn a_hook_that_refuses_is_told_with_its_own_words() {
    let repo = Repo::new();
    let hook = repo.root.join(".git/hooks/reference-transaction");
    write(&hook, "#!/bin/sh\n[ \"$1\" = prepared ] || exit 0\necho not today >&2\nexit 1\n");
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let error = repo.make("refused").unwrap_err().to_string();
    assert!(error.contains("not today"), "{error}");
    assert_eq!(repo.trees(), 1);
}
