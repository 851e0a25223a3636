//! The order of the queue, choosing out of order, twins and batches.

use quarterdeck::console::update::asks;
use quarterdeck::protocol::ask::{Ask, Judge, Question, Risk};
use quarterdeck::protocol::ids::AskId;
use serde_json::json;

use super::story::{Story, agent, allow, bash, deny, text, tool};

fn waiting(story: &Story) -> Vec<&str> {
    story.asks().open().map(|known| known.ask.id.as_str()).collect()
}

#[test]
fn an_ask_that_arrives_during_another_does_not_replace_it_and_the_oldest_comes_first() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "one")).wait(1_000);
    for (id, who) in [("a2", "scout"), ("a3", "fixer"), ("a4", "scout")] {
        story.asked(bash(id, who, id)).wait(10);
        assert_eq!(story.shown(), Some("a1"));
    }
    for id in ["a1", "a2", "a3", "a4"] {
        assert_eq!(story.shown(), Some(id));
        story.wait(300).press("y").wait(150);
        assert_eq!(story.answers(), [(id.to_owned(), allow())]);
    }
    assert_eq!(story.shown(), None);
}

#[test]
fn the_same_ask_told_twice_is_one_and_a_new_version_keeps_its_place() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "one")).asked(bash("a2", "scout", "two"));
    story.asked(bash("a1", "fixer", "one"));
    assert_eq!(waiting(&story), ["a1", "a2"]);
    story.asked(Ask { rev: 2, ..bash("a1", "fixer", "three") });
    assert_eq!(waiting(&story), ["a1", "a2"]);
    story.asked(Ask { rev: 1, ..bash("a1", "fixer", "one") });
    assert!(story.text(100, 30).contains("$ three"), "an older version does not come back");
}

#[test]
fn another_line_can_be_chosen_and_answered_out_of_order() {
    let mut story = Story::new();
    for id in ["a1", "a2", "a3"] {
        story.asked(bash(id, "fixer", id));
    }
    story.press("<esc>");
    story.state.asks.select_by(9);
    story.state.asks.select_by(-1);
    asks::open_selected(&mut story.state);
    assert_eq!(story.shown(), Some("a2"));
    story.wait(300).press("n").wait(150);
    assert_eq!(story.answers(), [("a2".to_owned(), deny())]);
    assert_eq!(waiting(&story), ["a1", "a3"]);
}

#[test]
fn arrows_go_through_the_queue_without_answering() {
    let mut story = Story::new();
    for id in ["a1", "a2", "a3"] {
        story.asked(bash(id, "fixer", id));
    }
    story.wait(1_000);
    for id in ["a2", "a3", "a1"] {
        story.press("<right>");
        assert_eq!(story.shown(), Some(id));
    }
    story.press("<left>").wait(299).press("y").wait(150);
    assert_eq!((story.answers(), story.shown()), (vec![], Some("a3")), "it must be seen first");
}

#[test]
fn a_letter_that_is_being_weighed_is_not_for_the_ask_beside() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "one")).asked(bash("a2", "fixer", "two")).wait(1_000);
    story.press("y").wait(50).press("<right>").wait(1_000);
    assert_eq!(story.answers(), []);
}

#[test]
fn a_star_marks_what_is_alike_and_y_answers_exactly_those() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "cargo test --lib"));
    story.asked(bash("a2", "scout", "rm -r build"));
    story.asked(bash("a3", "scout", "cargo test --doc"));
    story.asked(tool("a4", "scout", "Read", json!({ "file_path": "/etc/hosts" })));
    story.asked(bash("a5", "fixer", "cargo test"));
    story.wait(1_000).press("*").wait(150);
    let shown = story.text(100, 40);
    assert!(shown.contains("3 requests are answered together"), "{shown}");
    for command in ["$ cargo test --lib", "$ cargo test --doc", "$ cargo test\n"] {
        assert!(
            shown.replace(" ┃", "").replace("  ", "").contains(command.trim_end()),
            "{command}\n{shown}"
        );
    }
    assert!(!shown.contains("rm -r build"));
    assert!(shown.contains("yes to all 3"), "{shown}");
    story.asked(bash("a6", "fixer", "cargo test --bins"));
    story.wait(300).press("y").wait(150);
    let ids = ["a1", "a3", "a5"].map(|id| (id.to_owned(), allow()));
    assert_eq!(story.answers(), ids, "and not the one that came later");
    assert_eq!(waiting(&story), ["a2", "a4", "a6"]);
    assert_eq!(story.shown(), Some("a2"));
}

#[test]
fn marks_answer_no_too_and_a_second_star_or_esc_takes_them_back() {
    let asked = || {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "git push")).asked(bash("a2", "scout", "git push --tags"));
        story.wait(1_000).press("*").wait(450);
        story
    };
    let mut story = asked();
    story.press("n").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), deny()), ("a2".to_owned(), deny())]);
    let mut story = asked();
    story.press("*").wait(450).press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
    let mut story = asked();
    story.press("<esc><C-y>").wait(300).press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn what_was_just_marked_must_be_seen_before_it_is_answered() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "git push")).asked(bash("a2", "scout", "git push --tags"));
    story.wait(1_000).press("*").wait(150).wait(299).press("y").wait(150);
    assert_eq!(story.answers(), []);
    story.press("y").wait(150);
    assert_eq!(story.answers().len(), 2);
}

#[test]
fn a_marked_ask_that_changes_is_marked_no_more() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "git push")).asked(bash("a2", "scout", "git push --tags"));
    story.wait(1_000).press("*").wait(450);
    story.asked(Ask { rev: 2, ..bash("a2", "scout", "git push --force") });
    story.press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn only_a_star_on_something_that_has_a_like_marks_anything() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "git push")).asked(bash("a2", "scout", "ls -l"));
    story.wait(1_000).press("*").wait(150);
    assert!(story.note().contains("nothing else"), "{}", story.note());
    story.wait(300).press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn twins_leave_the_queue_when_a_rule_settles_them() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).asked(bash("a2", "scout", "ls"));
    story.wait(1_000).press("a").wait(150).press("<ret>");
    assert_eq!(story.answers().len(), 1);
    assert_eq!(story.shown(), Some("a2"));
    let by = Judge::Policy { name: "Bash(ls:*)".into() };
    story.settled("a1", allow(), Judge::Human).settled("a2", allow(), by);
    assert!(story.text(80, 24).contains("allowed by Bash(ls:*)"), "{}", story.text(80, 24));
    story.wait(2_000);
    assert_eq!((story.shown(), story.asks().len()), (None, 0));
}

#[test]
fn asks_of_an_agent_are_found_also_through_its_subagents() {
    let mut nested = bash("a2", "fixer", "ls");
    nested.chain = vec![agent("a0ff"), agent("fixer"), agent("lead")];
    let mut story = Story::new();
    story.asked(bash("a1", "scout", "ls")).asked(nested);
    let of = |name: &str| {
        story.asks().of(&agent(name)).map(|one| one.ask.id.to_string()).collect::<Vec<_>>()
    };
    assert_eq!((of("fixer"), of("scout")), (vec!["a2".to_owned()], vec!["a1".to_owned()]));
    assert_eq!(story.asks().by(&agent("fixer")).count(), 0);
    assert_eq!(story.asks().oldest().unwrap().ask.id, AskId::found("a1"));
}

#[test]
fn the_queue_shows_badge_tool_gist_and_age_of_each() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "rm -r build")).wait(5_000);
    let mut read = tool("a2", "scout", "Read", json!({ "file_path": "/etc/hosts" }));
    read.risk = Risk::High;
    story.asked(read).wait(3_000);
    let shown = text(&story.draw_queue(40, 6));
    let lines: Vec<&str> = shown.lines().collect();
    assert_eq!(lines[0], " ▌fixer Bash  rm -r build             8s");
    assert_eq!(lines[1], " ▌scout Read  /etc/hosts              3s");
    let mut story = Story::new();
    assert!(text(&story.draw_queue(40, 6)).contains("nobody waits"));
    for number in 0..20 {
        let mut ask = bash(&format!("a{number}"), "fixer", "ls");
        ask.question = Question::NoAnswerToShutdown;
        story.asked(ask);
    }
    assert!(text(&story.draw_queue(40, 6)).contains("15 more"));
}
