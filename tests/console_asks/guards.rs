//! The guards against accidents, with their exact times.

use quarterdeck::console::state::asks::Stage;
use quarterdeck::console::state::dialog::{Dialog, Picker};
use quarterdeck::console::update::Msg;
use quarterdeck::protocol::ask::{Ask, Judge, Verdict};
use quarterdeck::protocol::ids::AskId;
use quarterdeck::protocol::op::Op;
use quarterdeck::settings::layers::AskOpening;

use super::story::{Story, allow, bash, deny};

#[test]
fn a_dialog_opens_at_once_where_nobody_types() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls"));
    assert_eq!(story.shown(), Some("a1"));
}

#[test]
fn a_dialog_waits_for_one_second_without_a_key() {
    let mut story = Story::new();
    story.press("h").wait(400).asked(bash("a1", "fixer", "ls"));
    assert_eq!(story.shown(), None);
    assert_eq!(story.asks().len(), 1, "the queue shows it at once");
    story.wait(599);
    assert_eq!((story.shown(), story.now()), (None, 999));
    story.wait(1);
    assert_eq!((story.shown(), story.now()), (Some("a1"), 1_000));
}

#[test]
fn every_key_starts_the_second_anew_and_typing_stays_text() {
    let mut story = Story::new();
    story.press("y").asked(bash("a1", "fixer", "ls"));
    for _ in 0..20 {
        story.wait(999).press("y");
        assert_eq!(story.shown(), None);
    }
    assert_eq!((story.draft().len(), story.answers()), (21, vec![]));
}

#[test]
fn set_to_manual_nothing_opens_by_itself() {
    let mut story = Story::new();
    story.state.asks.opening = Some(AskOpening::Manual);
    story.asked(bash("a1", "fixer", "ls")).wait(60_000);
    assert_eq!(story.shown(), None);
    story.press("<C-y>");
    assert_eq!(story.shown(), Some("a1"));
}

#[test]
fn nothing_opens_over_a_page_that_is_read_or_picked_from() {
    let mut story = Story::new();
    let list = Dialog::Picker(Picker::new("colours", Vec::new()));
    for (at, page) in [list, Dialog::Help { scroll: 0 }, Dialog::Queue].into_iter().enumerate() {
        story.state.layers = vec![page];
        story.asked(bash(&format!("a{}", at + 1), "fixer", "ls")).wait(60_000);
        assert_eq!(story.shown(), None, "{:?}", story.state.layers);
    }
    story.state.layers.clear();
    story.state.layers.push(Dialog::Zoom);
    story.wait(1);
    assert_eq!(story.shown(), Some("a1"), "a transcript can wait");
}

#[test]
fn letters_count_only_after_300_ms() {
    for key in ["y", "1", "w", "a", "2", "e", "n", "3", "*", "d", "o"] {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "ls")).wait(299).press(key).wait(1_000);
        assert_eq!(story.answers(), [], "{key}");
        assert_eq!(
            story.draft(),
            key,
            "a letter that came with the dialog was meant for the composer"
        );
        assert_eq!(story.shown(), None, "{key}");
    }
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(300).press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn a_dialog_that_was_opened_on_purpose_says_that_a_letter_was_too_early() {
    let mut story = Story::new();
    story.state.asks.opening = Some(AskOpening::Manual);
    story.asked(bash("a1", "fixer", "ls")).press("<C-y>").wait(299).press("y").wait(150);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], ""));
    assert_eq!(story.shown(), Some("a1"));
    assert!(story.note().contains("press it again"), "{}", story.note());
    story.press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn a_letter_answers_after_150_ms_alone_and_not_before() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("y").wait(149);
    assert_eq!(story.answers(), []);
    story.wait(1);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn another_letter_within_150_ms_makes_both_of_them_text() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("y").wait(149).press("e").press("s");
    story.wait(10_000);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "yes"));
    assert_eq!(story.shown(), None, "it steps back until that is sent");
    assert_eq!(story.asks().len(), 1);
    story.state.composer.set_text("");
    story.wait(1_000);
    assert_eq!(story.shown(), Some("a1"), "and comes back when the composer is empty");
}

#[test]
fn a_letter_that_means_nothing_is_text_at_once() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("h").press("i");
    assert_eq!((story.draft().as_str(), story.shown()), ("hi", None));
    assert_eq!(story.answers(), []);
}

#[test]
fn enter_answers_nothing_and_after_a_letter_it_was_typing() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("<ret><ret>").wait(1_000);
    assert_eq!((story.answers(), story.shown()), (vec![], Some("a1")));
    story.press("y").wait(100).press("<ret>").wait(1_000);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "y"));
}

#[test]
fn backspace_and_esc_take_back_a_letter_that_is_being_weighed() {
    for key in ["<backspace>", "<esc>", "<tab>"] {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("y").wait(100).press(key);
        story.wait(2_000);
        assert_eq!(story.answers(), [], "{key}");
    }
}

#[test]
fn a_paste_is_text() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).paste("y").wait(1_000);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "y"));
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("y").wait(20).paste("es");
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "yes"));
}

#[test]
fn whoever_types_on_right_behind_a_letter_that_opened_a_page_was_typing() {
    for (word, pause) in [("wait", 160), ("export", 200), ("apply", 160)] {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "ls")).wait(400).press_slowly(word, pause);
        assert_eq!(story.draft(), word);
        story.press("<ret>").wait(1_000);
        assert!(story.says(word), "Enter sends it to whom it was meant for");
        assert_eq!(story.answers(), []);
    }
    // Who has read the request for a while, or opened it, means it.
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(3_000).press_slowly("wfine", 160).press("<ret>");
    let remark = Some("fine".to_owned());
    assert_eq!(
        story.answers(),
        [("a1".to_owned(), Verdict::Allow { input: None, grant: None, remark })]
    );
}

#[test]
fn a_changed_request_says_so_and_starts_its_300_ms_anew() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(5_000).press("y").wait(100);
    story.asked(Ask { rev: 2, ..bash("a1", "fixer", "rm -r /") }).wait(200);
    assert_eq!(story.answers(), [], "the letter was for another question");
    assert!(story.text(100, 30).contains("has changed"), "{}", story.text(100, 30));
    assert!(story.text(100, 30).contains("$ rm -r /"));
    story.wait(99).press("y").wait(1_000);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "y"));
    story.state.composer.set_text("");
    story.wait(1).wait(300).press("y").wait(150);
    let sent = format!("{:?}", story.effects);
    assert!(sent.contains("rev: 2") && !sent.contains("rev: 1"), "{sent}");
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn a_changed_request_closes_the_page_that_was_about_the_old_one() {
    for key in ["e", "a", "w"] {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", "ls")).wait(5_000).press(key).wait(150);
        story.asked(Ask { rev: 2, ..bash("a1", "fixer", "rm -r /") });
        assert!(matches!(story.stage(), Stage::Choices), "{key}");
        story.press("<ret>").wait(1_000);
        assert_eq!(story.answers(), [], "{key}");
    }
}

#[test]
fn the_next_ask_is_shown_after_an_answer_and_has_300_ms_of_its_own() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).asked(bash("a2", "scout", "rm x")).wait(1_000);
    story.press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
    assert_eq!(story.shown(), Some("a2"));
    story.wait(299).press("y").wait(150);
    assert_eq!((story.answers(), story.shown()), (vec![], Some("a2")), "a key that was held down");
    story.press("n").wait(150);
    assert_eq!(story.answers(), [("a2".to_owned(), deny())]);
}

#[test]
fn what_was_settled_elsewhere_says_so_and_closes() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("y").wait(100);
    story.settled("a1", deny(), Judge::Human);
    assert!(
        story.text(80, 24).contains("settled: denied by you, elsewhere"),
        "{}",
        story.text(80, 24)
    );
    story.wait(1_999);
    assert_eq!(story.answers(), [], "the letter is void");
    assert!(story.shown().is_some());
    story.wait(1);
    assert_eq!((story.shown(), story.asks().len()), (None, 0));
}

#[test]
fn words_that_were_being_written_are_not_lost_when_an_ask_goes_away() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("<tab>").press("use make");
    story.settled("a1", Verdict::Withdrawn { why: "interrupted".into() }, Judge::Asker);
    assert_eq!(story.draft(), "use make");
    assert!(story.text(80, 24).contains("withdrawn: interrupted"));
}

#[test]
fn a_refused_answer_brings_the_ask_back_with_the_reason() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(1_000).press("y").wait(150);
    assert_eq!(story.answers().len(), 1);
    assert_eq!(story.asks().len(), 0);
    let op = Op::Answer { ask: AskId::found("a1"), rev: 1, verdict: allow() };
    story.update(Msg::Refused { op: Box::new(op), why: "the disk is full".into() });
    assert_eq!(story.asks().len(), 1);
    story.wait(1_300);
    assert_eq!(story.shown(), Some("a1"));
    assert!(
        story.text(100, 30).contains("not accepted: the disk is full"),
        "{}",
        story.text(100, 30)
    );
    story.press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
    story.settled("a1", allow(), Judge::Human);
    assert_eq!(story.shown(), None, "the answer was ours: nothing to say");
}

#[test]
fn someone_who_looks_elsewhere_is_rung_for() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls"));
    assert!(!format!("{:?}", story.effects).contains("Ring"));
    story.state.ui.is_watched = false;
    story.asked(bash("a2", "scout", "ls -l"));
    let rung = format!("{:?}", story.effects);
    assert!(rung.contains("scout asks to run a command") && rung.contains("ls -l"), "{rung}");
}

#[test]
fn looking_elsewhere_and_help_answer_nothing() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "ls")).wait(2_000);
    let before = story.state.selected.clone();
    story.press("<S-down>").wait(2_000);
    assert_ne!(story.state.selected, before, "teammates are switched beside the dialog");
    assert_eq!((story.answers(), story.shown()), (vec![], Some("a1")));
    story.press("<f1>").wait(2_000);
    assert!(matches!(story.state.layers.as_slice(), [Dialog::Help { .. }]));
    assert_eq!((story.answers(), story.shown()), (vec![], None), "put off");
    assert_eq!(story.asks().len(), 1, "and still open");
}
