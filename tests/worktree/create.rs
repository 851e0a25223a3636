//! Making worktrees: where they are, what they share, who gets which.

use std::fs;
use std::os::unix::fs::symlink;
use std::sync::Barrier;
use std::thread;

use quarterdeck::worktree::{
    Options, Outcome, changes, clean_up, create, translation_note, verify,
};

use super::repo::{Repo, commit, git, slug, write};

#[test]
fn a_worktree_is_where_and_what_it_should_be() {
    let repo = Repo::new();
    let tree = repo.made("user/feature");
    assert_eq!(tree.path, repo.root.join(".claude/worktrees/user+feature"));
    assert_eq!(tree.branch, "worktree-user+feature");
    assert_eq!(tree.base, repo.git(&["rev-parse", "HEAD"]).trim());
    assert_eq!(tree.repo, repo.root);
    assert!(!tree.reused);
    assert_eq!(tree.warnings, Vec::<String>::new());
    verify(&tree).unwrap();
    let top = git(&tree.path, &["rev-parse", "--show-toplevel"]);
    assert_eq!(top.trim(), tree.path.to_str().unwrap());
    assert_eq!(repo.status(), "", "the main tree does not see it");
    assert_eq!(tree.inside(&repo.root.join("sub")), tree.path.join("sub"));
    assert_eq!(tree.inside(repo.beside()), tree.path);
}

#[test]
fn two_agents_edit_the_same_file_at_once_and_both_results_stand() {
    let repo = Repo::new();
    let start = Barrier::new(2);
    let work = |name: &str| {
        start.wait();
        let tree = repo.made(name);
        verify(&tree).unwrap();
        write(&tree.path.join("shared.txt"), &format!("one\n{name}\nthree\n"));
        commit(&tree.path, name);
        match clean_up(tree) {
            Outcome::Kept { path, branch, changes, why: None } => (path, branch, changes),
            outcome @ (Outcome::Kept { .. } | Outcome::Removed) => panic!("{outcome:?}"),
        }
    };
    let (ada, bob) = thread::scope(|scope| {
        let (ada, bob) = (scope.spawn(|| work("ada")), scope.spawn(|| work("bob")));
        (ada.join().unwrap(), bob.join().unwrap())
    });
    for (name, (path, branch, changes)) in [("ada", ada), ("bob", bob)] {
        let text = fs::read_to_string(path.join("shared.txt")).unwrap();
        assert_eq!(text, format!("one\n{name}\nthree\n"));
        assert_eq!(repo.git(&["show", &format!("{branch}:shared.txt")]), text);
        assert_eq!(changes.summary, "1 commit, 1 file changed (+1 -1): shared.txt");
    }
    assert_eq!(fs::read_to_string(repo.root.join("shared.txt")).unwrap(), "one\ntwo\nthree\n");
    assert_eq!(repo.status(), "");
}

#[test]
fn many_at_once_each_get_their_own_also_with_one_name() {
    let repo = Repo::new();
    let start = Barrier::new(6);
    let trees = thread::scope(|scope| {
        let workers: Vec<_> = (0..6)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    repo.made("same")
                })
            })
            .collect();
        workers.into_iter().map(|worker| worker.join().unwrap()).collect::<Vec<_>>()
    });
    let mut names: Vec<_> = trees.iter().map(|tree| tree.branch.clone()).collect();
    names.sort();
    let expected = ["", "-2", "-3", "-4", "-5", "-6"].map(|end| format!("worktree-same{end}"));
    assert_eq!(names, expected);
    assert!(trees.iter().all(|tree| verify(tree).is_ok() && !tree.reused));
}

#[test]
fn one_that_nobody_works_in_is_taken_up_with_its_work() {
    let repo = Repo::new();
    let first = repo.made("again");
    let (path, base) = (first.path.clone(), first.base.clone());
    commit(&path, "work");
    write(&path.join("notes.txt"), "notes\n");
    drop(first);
    repo.write("shared.txt", "other\n");
    repo.commit("the main tree goes on");
    // Nothing is fetched for it.
    repo.git(&["remote", "add", "origin", "/nowhere/at/all"]);
    let second = repo.made("again");
    assert!(second.reused);
    assert_eq!((&second.path, &second.base), (&path, &base));
    let changes = changes(&second).unwrap();
    assert_eq!((changes.commits, changes.untracked), (1, 1), "{changes:?}");
}

#[test]
fn a_branch_that_lost_its_tree_goes_on_if_it_has_work_and_begins_anew_if_not() {
    let repo = Repo::new();
    let idle = repo.made("idle");
    let busy = repo.made("busy");
    write(&busy.path.join("work.txt"), "work\n");
    commit(&busy.path, "work");
    for tree in [&idle, &busy] {
        fs::remove_dir_all(&tree.path).unwrap();
    }
    fs::create_dir(&idle.path).unwrap();
    drop((idle, busy));
    repo.write("shared.txt", "newer\n");
    repo.commit("newer");
    let idle = repo.made("idle");
    assert_eq!(fs::read_to_string(idle.path.join("shared.txt")).unwrap(), "newer\n");
    assert_eq!(idle.warnings, Vec::<String>::new());
    assert!(changes(&idle).unwrap().is_empty());
    let busy = repo.made("busy");
    assert!(busy.path.join("work.txt").exists());
    assert!(busy.warnings[0].contains("commits of its own"), "{:?}", busy.warnings);
    assert_eq!(changes(&busy).unwrap().commits, 1);
}

#[test]
fn directories_are_linked_and_stay_out_of_the_way() {
    let repo = Repo::new();
    repo.write(".gitignore", "node_modules/\n");
    repo.write("node_modules/x/index.js", "x\n");
    repo.write("vendor/y", "y\n");
    repo.git(&["add", ".gitignore"]);
    repo.git(&["commit", "--quiet", "-m", "ignore"]);
    let links = ["node_modules", "vendor", "missing", "../out", "sub"].map(Into::into);
    let options = Options { links: links.to_vec(), ..Options::default() };
    let tree = create(&repo.root, &slug("linked"), &options).unwrap();
    assert_eq!(
        fs::read_link(tree.path.join("node_modules")).unwrap(),
        repo.root.join("node_modules")
    );
    assert_eq!(fs::read_link(tree.path.join("vendor")).unwrap(), repo.root.join("vendor"));
    assert!(tree.path.join("sub/inner.txt").is_file(), "what is tracked stays");
    assert!(!tree.path.join("sub").is_symlink());
    let [warning] = tree.warnings.as_slice() else { panic!("{:?}", tree.warnings) };
    assert!(warning.contains("../out"), "{warning}");
    // The link would not match `node_modules/`, and `git add -A` would take it.
    let seen = git(&tree.path, &["status", "--porcelain"]);
    assert_eq!(seen, "?? vendor\n", "only what the main tree shows as well");
    assert_eq!(repo.status(), "?? vendor/y\n");
    let changes = changes(&tree).unwrap();
    assert!(changes.is_empty(), "{changes:?}");
    let path = tree.path.clone();
    assert_eq!(clean_up(tree), Outcome::Removed);
    assert!(!path.exists());
    assert_eq!(fs::read_to_string(repo.root.join("node_modules/x/index.js")).unwrap(), "x\n");
    assert_eq!(fs::read_to_string(repo.root.join("vendor/y")).unwrap(), "y\n");
}

#[test]
fn from_a_worktree_or_a_submodule_the_repository_itself_is_found() {
    let repo = Repo::new();
    let parent = repo.made("parent");
    write(&parent.path.join("shared.txt"), "parent\n");
    commit(&parent.path, "parent");
    let child = create(&parent.path.join("sub"), &slug("child"), &Options::default()).unwrap();
    assert_eq!(child.path, repo.root.join(".claude/worktrees/child"));
    assert_eq!(child.repo, repo.root);
    let text = fs::read_to_string(child.path.join("shared.txt")).unwrap();
    assert_eq!(text, "parent\n", "it begins where its parent is");
    assert_eq!(child.inside(&parent.path.join("sub")), child.path.join("sub"));

    let above = Repo::new();
    above.git(&["submodule", "--quiet", "add", repo.root.to_str().unwrap(), "module"]);
    above.commit("module");
    let module = above.root.join("module");
    let inner = create(&module, &slug("inner"), &Options::default()).unwrap();
    assert_eq!(inner.path, module.join(".claude/worktrees/inner"));
    let deeper = create(&inner.path, &slug("deeper"), &Options::default()).unwrap();
    assert_eq!(deeper.path, module.join(".claude/worktrees/deeper"));
    // Git removes no tree with submodules unless forced to; an unchanged one goes all the same.
    let outer = above.made("outer");
    assert_eq!(clean_up(outer), Outcome::Removed);
}

#[test]
fn the_directory_is_hidden_once_and_only_where_it_would_show() {
    let repo = Repo::new();
    let exclude = repo.root.join(".git/info/exclude");
    fs::write(&exclude, "no line break at the end").unwrap();
    let (_one, _two) = (repo.made("one"), repo.made("two"));
    let text = fs::read_to_string(&exclude).unwrap();
    assert_eq!(text, "no line break at the end\n/.claude/worktrees/\n");

    let ignoring = Repo::new();
    ignoring.write(".gitignore", ".claude/\n");
    ignoring.commit("ignore");
    let before = fs::read_to_string(ignoring.root.join(".git/info/exclude")).unwrap();
    ignoring.made("one");
    let after = fs::read_to_string(ignoring.root.join(".git/info/exclude")).unwrap();
    assert_eq!(after, before);
}

#[test]
fn uncommitted_changes_that_stay_behind_are_named() {
    let repo = Repo::new();
    repo.write("shared.txt", "half done\n");
    let tree = repo.made("late");
    let [warning] = tree.warnings.as_slice() else { panic!("{:?}", tree.warnings) };
    assert!(warning.starts_with("1 file has uncommitted changes"), "{warning}");
    assert_eq!(fs::read_to_string(tree.path.join("shared.txt")).unwrap(), "one\ntwo\nthree\n");
}

#[test]
fn a_linked_directory_of_worktrees_is_followed() {
    let repo = Repo::new();
    let elsewhere = repo.beside().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    symlink(&elsewhere, repo.root.join(".claude")).unwrap();
    let tree = repo.made("far");
    assert_eq!(tree.path, elsewhere.join("worktrees/far"));
    verify(&tree).unwrap();
}

#[test]
fn a_fork_is_told_how_paths_translate() {
    let repo = Repo::new();
    let tree = repo.made("fork");
    let note = translation_note(&repo.root.join("sub"), &tree);
    for part in [
        tree.path.join("sub").to_str().unwrap(),
        repo.root.join("sub").to_str().unwrap(),
        "worktree-fork",
        &tree.base[..12],
        "Read a file again before you edit it",
    ] {
        assert!(note.contains(part), "{part}: {note}");
    }
}
