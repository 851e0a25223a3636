//! Looking at the work of a worktree, and merging it.

use quarterdeck::worktree::{diff, merge, preview};

use super::repo::{Repo, commit, write};

#[test]
fn a_diff_shows_all_that_the_project_does_not_have() {
    let repo = Repo::new();
    assert_eq!(diff(&repo.root, &repo.root).unwrap(), "");
    let tree = repo.made("ada");
    write(&tree.path.join("shared.txt"), "one\ntwo changed\nthree\n");
    commit(&tree.path, "in a commit");
    write(&tree.path.join("sub/inner.txt"), "not yet in one\n");
    write(&tree.path.join("new.txt"), "new\n");
    let text = diff(&tree.path, &repo.root).unwrap();
    for words in ["+two changed", "+not yet in one", "untracked: new.txt"] {
        assert!(text.contains(words), "{words}: {text}");
    }
    assert_eq!(diff(&repo.root, &repo.root).unwrap(), "", "the project itself is as it was");
    write(&repo.root.join("shared.txt"), "one\ntwo\n");
    assert!(diff(&repo.root, &repo.root).unwrap().contains("-three"));
}

#[test]
fn a_merge_is_foreseen_and_done() {
    let repo = Repo::new();
    let tree = repo.made("ada");
    write(&tree.path.join("shared.txt"), "one\ntwo changed\nthree\n");
    commit(&tree.path, "work");
    let before = repo.git(&["rev-parse", "HEAD"]);
    let seen = preview(&repo.root, &tree.branch).unwrap();
    assert_eq!((seen.commits, seen.conflicts.len()), (1, 0));
    assert!(seen.stat.iter().any(|line| line.contains("shared.txt")), "{seen:?}");
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), before, "looking changes nothing");
    assert_eq!(repo.status(), "");
    merge(&repo.root, &tree.branch).unwrap();
    assert!(std::fs::read_to_string(repo.root.join("shared.txt")).unwrap().contains("changed"));
    assert_eq!(preview(&repo.root, &tree.branch).unwrap().commits, 0);
}

#[test]
fn what_does_not_fit_is_named_and_leaves_the_project_as_it_was() {
    let repo = Repo::new();
    let tree = repo.made("ada");
    write(&tree.path.join("shared.txt"), "one\ntheirs\nthree\n");
    commit(&tree.path, "theirs");
    repo.write("shared.txt", "one\nours\nthree\n");
    repo.commit("ours");
    assert_eq!(preview(&repo.root, &tree.branch).unwrap().conflicts, ["shared.txt"]);
    assert!(merge(&repo.root, &tree.branch).is_err());
    assert_eq!(repo.status(), "", "nothing is left half merged");
    assert!(preview(&repo.root, "no-such-branch").is_err());
}

#[test]
fn work_that_is_in_no_commit_is_not_overwritten() {
    let repo = Repo::new();
    let tree = repo.made("ada");
    write(&tree.path.join("shared.txt"), "one\ntheirs\nthree\n");
    commit(&tree.path, "theirs");
    repo.write("shared.txt", "one\nnot saved\nthree\n");
    assert!(merge(&repo.root, &tree.branch).is_err());
    let kept = std::fs::read_to_string(repo.root.join("shared.txt")).unwrap();
    assert_eq!(kept, "one\nnot saved\nthree\n");
}
