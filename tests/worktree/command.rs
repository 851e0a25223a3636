//! `quarterdeck worktree` as people and scripts see it.

use serde_json::json;

use super::repo::{Repo, commit, write};
use crate::support::deck::{Deck, Ran};

fn run(repo: &Repo, args: &[&str]) -> Ran {
    let deck = Deck::new();
    let ran = deck.command(args).current_dir(&repo.root).output().unwrap();
    Ran {
        code: ran.status.code().unwrap(),
        stdout: String::from_utf8(ran.stdout).unwrap(),
        stderr: String::from_utf8(ran.stderr).unwrap(),
    }
}

#[test]
fn list_and_clean_tell_what_is_there_and_why_it_stays() {
    let repo = Repo::new();
    let held = repo.made("held");
    drop(repo.made("idle"));
    let changed = repo.made("changed");
    commit(&changed.path, "work");
    write(&changed.path.join("new.txt"), "new\n");
    let tip = super::repo::git(&changed.path, &["rev-parse", "HEAD"]).trim().to_owned();
    drop(changed);
    // Not ours: another branch, another place.
    repo.git(&["worktree", "add", "-q", "-b", "feature", ".claude/worktrees/feature"]);
    repo.git(&["worktree", "add", "-q", "-b", "worktree-x", "../x"]);

    let listed = run(&repo, &["worktree", "list"]).ok().stdout;
    let lines: Vec<&str> = listed.lines().collect();
    assert_eq!(lines.len(), 4, "{listed}");
    assert!(lines[1].starts_with("changed  worktree-changed  1 commit, 1 untracked: new.txt"));
    assert!(lines[2].starts_with("held     worktree-held     in use "), "{listed}");
    assert!(lines[3].starts_with("idle     worktree-idle     no changes "), "{listed}");

    let cleaned = run(&repo, &["worktree", "clean", "--json"]).ok().json();
    assert_eq!(cleaned["removed"], json!(["idle"]));
    assert_eq!(cleaned["kept"][0]["name"], "changed");
    assert_eq!(cleaned["kept"][0]["why"], "1 commit, 1 untracked: new.txt");
    assert_eq!(cleaned["kept"][1]["why"], "in use");

    let refused = run(&repo, &["worktree", "clean", "--force", "held"]);
    assert_eq!(refused.code, 1);
    assert!(refused.stderr.contains("in use by a running agent"), "{refused:?}");
    let unknown = run(&repo, &["worktree", "clean", "--force", "nobody", "--json"]);
    assert_eq!((unknown.code, &unknown.json()["reason"]), (1, &json!("worktree_not_found")));
    assert!(unknown.stderr.contains("there are changed, held"), "{unknown:?}");

    let forced = run(&repo, &["worktree", "clean", "--force", "changed"]).ok().stdout;
    let expected = format!(
        "Removed changed with 1 commit, 1 untracked: new.txt\n\
         For a while, `git branch worktree-changed {tip}` brings its commits back\n"
    );
    assert_eq!(forced, expected);
    drop(held);
    assert_eq!(run(&repo, &["worktree", "clean"]).ok().stdout, "Removed held\n");
    assert_eq!(run(&repo, &["worktree", "clean"]).ok().stdout, "No worktrees\n");
    assert_eq!(repo.branches(), ["feature", "main", "worktree-x"]);
}

#[test]
fn looking_leaves_nothing_behind() {
    let repo = Repo::new();
    assert_eq!(run(&repo, &["worktree", "list"]).ok().stdout, "No worktrees\n");
    assert!(!repo.root.join(".git/quarterdeck").exists());
    assert!(!repo.root.join(".claude").exists());
}

#[test]
fn settings_say_where_worktrees_are() {
    let repo = Repo::new();
    let settings = r#"{"worktree": {"directory": "trees", "symlinkDirectories": []}}"#;
    repo.write(".quarterdeck/settings.json", settings);
    repo.git(&["worktree", "add", "-q", "-b", "worktree-a", "trees/a"]);
    let listed = run(&repo, &["worktree", "list", "--json"]).ok().json();
    assert_eq!(listed[0]["name"], "a", "one of another program, by its branch");
    assert_eq!(run(&repo, &["worktree", "clean"]).ok().stdout, "Removed a\n");
    repo.write(".quarterdeck/settings.json", r#"{"worktree": {"directory": "../trees"}}"#);
    let refused = run(&repo, &["worktree", "list"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("worktree.directory"), "{refused:?}");
}

#[test]
fn outside_of_a_repository_it_says_so() {
    let deck = Deck::new();
    let ran = deck.run(&["worktree", "list"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stderr.contains("git init"), "{ran:?}");
}
