//! Questions in words: options, several of them, own words, several questions.

use quarterdeck::protocol::ask::Verdict;

use super::story::{Story, one_question, words};

const DATABASES: [&str; 3] = ["Postgres", "SQLite", "Files"];

fn one() -> Story {
    let mut story = Story::new();
    story.asked(words("w1", "scout", vec![one_question("Which one?", &DATABASES, false)])).ready();
    story
}

fn answered(answers: &[&[&str]]) -> Vec<(String, Verdict)> {
    let answers = answers.iter().map(|one| one.iter().map(|text| (*text).to_owned()).collect());
    vec![("w1".to_owned(), Verdict::Answered { answers: answers.collect() })]
}

#[test]
fn a_number_or_the_arrows_and_enter_answer_a_single_question() {
    for (keys, taken) in [("2", "SQLite"), ("<down><ret>", "Postgres"), ("<up><ret>", "Files")] {
        let mut story = one();
        story.press_slowly(keys, 150);
        assert_eq!(story.answers(), answered(&[&[taken]]), "{keys}");
    }
}

#[test]
fn enter_alone_and_numbers_that_are_not_there_answer_nothing() {
    let mut story = one();
    story.press_slowly("<ret>", 150);
    assert_eq!(story.answers(), []);
    story.press_slowly("7", 150);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "7"));
}

#[test]
fn numbers_are_guarded_like_letters() {
    let mut story = one();
    story.press("1").wait(100).press("2").wait(1_000);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "12"));
    let mut story = Story::new();
    story.asked(words("w1", "scout", vec![one_question("Which?", &DATABASES, false)]));
    story.wait(299).press("1").wait(1_000);
    assert_eq!((story.answers(), story.draft().as_str()), (vec![], "1"));
}

#[test]
fn own_words_are_an_answer() {
    let mut story = one();
    story.press("w").wait(150).press("a spreadsheet<ret>");
    assert_eq!(story.answers(), answered(&[&["a spreadsheet"]]));
    let mut story = one();
    story.press("w").wait(150).press("<ret>");
    assert_eq!(story.answers(), [], "no words are no answer");
}

#[test]
fn a_question_without_options_is_answered_in_own_words() {
    let mut story = Story::new();
    story.asked(words("w1", "scout", vec![one_question("Why?", &[], false)])).ready();
    story.press("w").wait(150).press("because<ret>");
    assert_eq!(story.answers(), answered(&[&["because"]]));
}

#[test]
fn several_may_be_taken_and_enter_sends_them() {
    let asked = || {
        let mut story = Story::new();
        story.asked(words("w1", "scout", vec![one_question("Which?", &DATABASES, true)])).ready();
        story
    };
    let mut story = asked();
    story.press_slowly("31", 150);
    assert_eq!(story.answers(), []);
    assert!(story.text(80, 24).contains("[x] Files"), "{}", story.text(80, 24));
    story.press("<ret>");
    assert_eq!(story.answers(), answered(&[&["Postgres", "Files"]]));
    let mut story = asked();
    story.press("<down><down><space><up><space><up><space><ret>");
    assert_eq!(story.answers(), answered(&[&["SQLite"]]));
    let mut story = asked();
    story.press("<ret>").wait(1_000);
    assert_eq!(story.answers(), [], "nothing was taken");
    story.press_slowly("1", 150).press("w").wait(150).press("and a cache<ret>");
    assert_eq!(story.answers(), answered(&[&["Postgres", "and a cache"]]));
}

#[test]
fn several_questions_are_pages_and_are_sent_when_all_are_answered() {
    let asked = || {
        let mut story = Story::new();
        let questions = vec![
            one_question("Which one?", &DATABASES, false),
            one_question("How many?", &["One", "Two"], true),
        ];
        story.asked(words("w1", "scout", questions)).ready();
        story
    };
    let mut story = asked();
    story.press("2").wait(150);
    assert_eq!(story.answers(), []);
    assert!(story.text(80, 24).contains("How many?"), "{}", story.text(80, 24));
    story.wait(300).press_slowly("12", 150).press("<ret>");
    let shown = story.text(80, 24);
    assert!(shown.contains("→ SQLite") && shown.contains("→ One; Two"), "{shown}");
    assert_eq!(story.answers(), []);
    story.wait(300).press("y").wait(150);
    assert_eq!(story.answers(), answered(&[&["SQLite"], &["One", "Two"]]));

    let mut story = asked();
    story.press("<right><right>").wait(300).press("y").wait(150);
    assert_eq!(story.answers(), [], "not all are answered");
    assert!(story.note().contains("no answer yet"));
    assert!(story.text(80, 24).contains("Which one?"), "the first of them is shown");
}

#[test]
fn a_question_can_be_declined_with_or_without_words() {
    let mut story = one();
    story.press("n").wait(150);
    assert_eq!(story.answers(), [("w1".to_owned(), Verdict::Deny { why: None })]);
    let mut story = one();
    story.press("<tab>").press("you decide<ret>");
    let why = Some("you decide".to_owned());
    assert_eq!(story.answers(), [("w1".to_owned(), Verdict::Deny { why })]);
}
