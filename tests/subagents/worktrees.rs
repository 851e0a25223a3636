//! Agents with a tree of their own.

use std::path::Path;

use super::stage::{Stage, actor, playbook};

fn lead(input: &str) -> String {
    format!(
        "
- {{ when: {{ user: begin }}, call: [{input}] }}
- {{ when: {{ error_of: Agent }}, say: 'refused: {{{{result}}}}' }}
- {{ when: {{ any: true }}, repeat: true, say: ok }}
"
    )
}

fn call(prompt: &str) -> String {
    format!(
        "{{ tool: Agent, input: {{ description: d, prompt: '{prompt}', isolation: worktree }} }}"
    )
}

fn part<'a>(text: &'a str, name: &str) -> &'a str {
    text.lines().find_map(|line| line.strip_prefix(name)).unwrap_or_default().trim()
}

#[test]
fn two_agents_change_one_file_at_once_and_the_main_tree_stays() {
    let stage = Stage::with_repository();
    let child = "
- { when: { user: 'write (?<word>\\w+)' }, call: [{ tool: Read, input: { file_path: shared.txt } }, { tool: Edit, input: { file_path: shared.txt, old_string: two, new_string: '{{word}}' } }] }
- { when: { error_of: Edit }, say: 'failed: {{result}}' }
- { say: changed }
";
    let calls = [call("write alpha"), call("write beta")].join(", ");
    let book = playbook(&lead(&calls), &actor("type:general-purpose", child));
    let show = stage.play(&book, &["-p", "begin"]).ok();
    assert!(show.of_type("ask").is_empty(), "its own tree is free: {show:#?}");
    let results = show.results("team-lead");
    assert_eq!(results.len(), 2);
    for ((text, failed), word) in results.iter().zip(["alpha", "beta"]) {
        assert!(!failed && text.contains("changed"), "{text}");
        let path = Path::new(part(text, "worktreePath:"));
        assert!(path.starts_with(stage.project().join(".claude/worktrees")), "{text}");
        let own = std::fs::read_to_string(path.join("shared.txt")).unwrap();
        assert_eq!(own, format!("one\n{word}\nthree\n"));
        let branch = part(text, "worktreeBranch:");
        assert!(stage.git(&["branch", "--list", branch]).contains(branch), "{text}");
        assert!(text.contains("shared.txt") || text.contains("1 file"), "no summary: {text}");
    }
    assert_eq!(stage.read("shared.txt"), "one\ntwo\nthree\n");
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
    let data = stage.tool_data();
    assert!(data[0]["worktree"].as_str().unwrap().contains("worktreePath"));
}

#[test]
fn the_parents_tree_is_not_changed_without_a_question() {
    let stage = Stage::with_repository();
    let target = stage.project().join("new.txt");
    let child = format!(
        "
- {{ when: {{ user: work }}, call: [{{ tool: Write, input: {{ file_path: {}, content: x }} }}, {{ tool: Write, input: {{ file_path: own.txt, content: x }} }}] }}
- {{ say: over }}
",
        target.display()
    );
    let book = playbook(&lead(&call("work")), &actor("type:general-purpose", &child));
    let show = stage.play(&book, &["-p", "begin"]).ok();
    assert_eq!(show.of_type("ask").len(), 1, "{show:#?}");
    assert!(!target.exists());
    let path = part(&show.results("team-lead")[0].0, "worktreePath:").to_owned();
    assert!(Path::new(&path).join("own.txt").exists());
}

#[test]
fn an_unchanged_tree_goes_and_one_that_cannot_be_made_stops_the_agent() {
    let stage = Stage::with_repository();
    let book = playbook(&lead(&call("work")), &actor("type:general-purpose", "- say: looked"));
    let show = stage.play(&book, &["-p", "begin"]).ok();
    assert!(show.results("team-lead")[0].0.contains("unchanged and has been removed"), "{show:#?}");
    assert_eq!(stage.git(&["worktree", "list"]).lines().count(), 1);
    assert!(!stage.git(&["branch", "--list"]).contains("worktree-"));
    // No repository, no worktree, no agent: it is never asked anything.
    let stage = Stage::new();
    let served = stage.serve(&book);
    let show = stage.ask(&served, &["-p", "begin"]).ok();
    assert!(show.result().contains("could not be made, so nothing was started"), "{show:#?}");
    let log = served.log();
    assert!(log.len() == 2 && log.iter().all(|one| one["agent"] == "team-lead"), "{log:?}");
    assert!(show.started().is_empty() && stage.subagents().is_empty());
}

#[test]
fn who_goes_on_does_so_in_its_tree_also_when_that_was_removed() {
    let stage = Stage::with_repository();
    let lead = "
- { when: { user: begin }, call: [{ tool: Agent, input: { description: d, prompt: look, name: scout, isolation: worktree, run_in_background: true } }] }
- { when: { user: now change }, call: [{ tool: SendMessage, input: { to: scout, message: change it, summary: s } }] }
- { when: { any: true }, repeat: true, say: ok }
";
    let child = "
- { when: { user: look }, say: looked }
- { when: { user: change it }, call: [{ tool: Write, input: { file_path: own.txt, content: x } }] }
- { say: changed }
";
    let book = playbook(lead, &actor("scout", child));
    let show = stage.play(&book, &["-p", "begin"]).ok();
    assert!(show.notes("team-lead")[0].contains("has been removed"), "{show:#?}");
    let show = stage.play(&book, &["-c", "-p", "now change"]).ok();
    let notes = show.notes("team-lead");
    assert_eq!(notes.len(), 1, "{show:#?}");
    let path = part(&notes[0], "worktreePath:").to_owned();
    assert!(Path::new(&path).join("own.txt").exists(), "{notes:?}");
    assert!(!stage.project().join("own.txt").exists());
    assert!(show.of_type("ask").is_empty());
}

#[test]
fn a_fork_in_a_worktree_is_told_how_to_read_paths() {
    let stage = Stage::with_repository();
    let fork = "
- { when: { user: 'git worktree of your own' }, say: understood }
";
    let book = playbook(&lead(&call("piece")), &actor("fork", fork));
    let show = stage.play(&book, &["-p", "begin", "--fork"]).ok();
    let notes = show.notes("team-lead");
    assert!(notes.len() == 1 && notes[0].contains("understood"), "{show:#?}");
    assert!(notes[0].contains("has been removed"), "{}", notes[0]);
}
