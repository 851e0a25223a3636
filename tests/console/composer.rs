//! Writing: nothing that was written is lost.

use std::sync::Arc;

use quarterdeck::console::update::{Editing, Effect, Msg};
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::op::{Op, When};

use super::story::{Story, agent, lead};

fn say(to: &str, text: &str) -> Op {
    Op::Say { to: agent(to), text: text.to_owned(), when: When::Next }
}

#[test]
fn enter_sends_to_the_selected_agent_and_remembers_it() {
    let mut story = Story::new().team(&["ada"]).keys("<S-down>look again<ret>");
    let sent = Effect::Send(say("ada", "look again"));
    assert_eq!(story.effects(), [Effect::Remember("look again".to_owned()), sent]);
    assert_eq!(story.draft(), "");
}

#[test]
fn names_address_others_without_switching() {
    let mut story = Story::new().team(&["ada", "bob"]).keys("@bob hurry up<ret>");
    assert_eq!(story.ops(), [say("bob", "hurry up")]);
    story = story.keys("@all stop there<ret>");
    assert_eq!(story.ops(), [say("ada", "stop there"), say("bob", "stop there")]);
    story = story.keys("@src/main.rs what is this<ret>");
    assert_eq!(story.ops(), [say("lead", "@src/main.rs what is this")]);
    assert_eq!(story.selected(), "lead");
}

#[test]
fn a_draft_has_lines_and_empty_ones_are_not_sent() {
    let mut story = Story::new().keys("one<C-j>two<S-ret>three<A-ret>four");
    assert_eq!(story.draft(), "one\ntwo\nthree\nfour");
    story = story.keys("<ret>");
    assert_eq!(story.ops(), [say("lead", "one\ntwo\nthree\nfour")]);
    story = story.keys("  <ret>");
    assert_eq!(story.ops(), []);
}

#[test]
fn the_arrows_walk_through_what_was_said_and_back_to_the_draft() {
    let story =
        Story::new().msg(Msg::HistoryLoaded(vec!["earlier".to_owned()])).keys("first<ret>half<up>");
    assert_eq!(story.draft(), "first");
    let story = story.keys("<up>");
    assert_eq!(story.draft(), "earlier");
    assert_eq!(story.keys("<down><down>").draft(), "half");
}

#[test]
fn what_is_suggested_is_sent_by_enter_and_gives_way_to_what_is_typed() {
    let offering = || {
        let mut story = Story::new().team(&["ada"]);
        story.deck.state.composer.offer = Some("fix the bugs".to_owned());
        story
    };
    let mut story = offering();
    assert!(story.screen().contains("fix the bugs   Enter sends this"), "{}", story.screen());
    assert_eq!(story.draft(), "", "nobody wrote it");
    story = story.keys("<ret>");
    assert_eq!(story.ops(), [say("lead", "fix the bugs")]);
    assert!(!story.keys("<ret>").screen().contains("Enter sends this"), "once");
    let mut story = offering().keys("first a question<ret>");
    assert_eq!(story.ops(), [say("lead", "first a question")]);
    // A command is not an answer to it, and a teammate is not meant.
    let mut story = offering().keys("/help<ret><esc>");
    assert!(story.screen().contains("Enter sends this"), "{}", story.screen());
    story = story.keys("<S-down><ret>");
    assert_eq!(story.ops(), []);
    assert_eq!(offering().keys("<right>!").draft(), "fix the bugs!", "it can be changed first");
}

#[test]
fn history_is_searched() {
    let mut story = Story::new()
        .msg(Msg::HistoryLoaded(vec!["fix the parser".to_owned(), "fix the lexer".to_owned()]))
        .keys("draft<C-r>fix");
    assert!(story.screen().contains("fix the lexer"));
    story = story.keys("<C-r>");
    assert!(story.screen().contains("fix the parser"));
    let story = story.keys("<ret>");
    assert_eq!(story.draft(), "fix the parser");
    assert_eq!(story.keys("<C-c><up><up>").draft(), "draft", "what it replaced is kept");
}

#[test]
fn a_big_paste_is_folded_and_sent_whole() {
    let paste = (1..=40).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\r\n");
    let mut story = Story::new().keys("see ").paste(&paste);
    assert!(story.screen().contains("see [paste 1: 40 lines]"));
    let whole = format!("see {}", paste.replace("\r\n", "\n"));
    assert_eq!(story.draft(), whole);
    story = story.keys("<ret>");
    assert_eq!(story.ops(), [say("lead", &whole)]);
    let gone = Story::new().paste(&paste).keys("<backspace>");
    assert_eq!(gone.draft(), "", "it is deleted as one");
}

#[test]
fn a_folded_paste_stays_folded_when_it_comes_back() {
    let paste = (1..=40).map(|n| format!("line {n}")).collect::<Vec<_>>().join("\n");
    let whole = format!("see {paste} and say");
    let mut story = Story::new().keys("see ").paste(&paste).keys(" and say<ret><up>");
    assert!(story.screen().contains("see [paste 1: 40 lines] and say"), "{}", story.screen());
    assert_eq!(story.draft(), whole);
    story.effects();
    story = story.keys("<C-g>");
    let outside = story.effects();
    let wanted = Effect::OpenEditor { purpose: Editing::Draft, text: whole, ending: "md" };
    assert_eq!(outside, [wanted], "an editor gets all of it");
    let edited = Some(format!("read {paste} twice: {paste}"));
    story = story.msg(Msg::Edited { purpose: Editing::Draft, text: edited.clone() });
    let screen = story.screen();
    assert!(screen.contains("read [paste 1: 40 lines] twice: [paste 2: 40 lines]"), "{screen}");
    assert_eq!(Some(story.draft()), edited);
}

#[test]
fn a_paste_that_looks_like_a_fold_is_sent_as_it_is() {
    let one = format!("[paste 2: 11 lines]\n{}", "x\n".repeat(20));
    let two = "y\n".repeat(11);
    let story = Story::new().paste(&one).paste(&two);
    assert_eq!(story.draft(), format!("{one}{two}"));
}

#[test]
fn a_paste_with_escape_sequences_is_harmless() {
    let mut story = Story::new().paste("a\u{1b}[31mb\u{7}c\u{202e}d");
    let screen = story.screen();
    assert!(!screen.contains('\u{1b}') && !screen.contains('\u{202e}'), "{screen}");
    assert!(screen.contains("<U+202E>"));
}

#[test]
fn files_and_teammates_are_completed() {
    let mut story = Story::new().team(&["ada"]).keys("ask @");
    assert!(story.effects().contains(&Effect::ListFiles));
    let files: Arc<[String]> = ["src/", "src/lib.rs", "src/parser.rs"].map(String::from).into();
    story = story.msg(Msg::FilesListed(files));
    let screen = story.screen();
    assert!(screen.contains("@ada") && screen.contains("@src/lib.rs"), "{screen}");
    let story = story.keys("pars<tab>now");
    assert_eq!(story.draft(), "ask @src/parser.rs now");
}

#[test]
fn what_is_said_to_somebody_busy_is_shown_as_queued() {
    let queued = Fact::Queued {
        id: 1,
        when: When::Next,
        from: "user".to_owned(),
        text: "one more thing".to_owned(),
    };
    let mut story = Story::new().working("lead").fact("lead", queued);
    let screen = story.screen();
    assert!(screen.contains("1 queued") && screen.contains("one more thing"), "{screen}");
}

#[test]
fn words_that_were_refused_come_back() {
    let mut story = Story::new().keys("do it<ret>");
    let op = story.ops().remove(0);
    let story = story.msg(Msg::Refused { op: Box::new(op), why: "it has ended".to_owned() });
    assert_eq!(story.draft(), "do it");
    let mut busy = Story::new().keys("do it<ret>next words");
    let op = busy.ops().remove(0);
    let busy = busy.msg(Msg::Refused { op: Box::new(op), why: "it has ended".to_owned() });
    assert_eq!(busy.draft(), "next words", "what is being written stays");
    assert_eq!(busy.keys("<C-c><up><up>").draft(), "do it");
}

#[test]
fn an_external_editor_gets_the_whole_draft_and_gives_it_back() {
    let mut story = Story::new().keys("short<C-g>");
    let wanted =
        Effect::OpenEditor { purpose: Editing::Draft, text: "short".to_owned(), ending: "md" };
    assert_eq!(story.effects(), [wanted]);
    let longer = Some("a longer\ntext".to_owned());
    let story = story.msg(Msg::Edited { purpose: Editing::Draft, text: longer });
    assert_eq!(story.draft(), "a longer\ntext");
    let story = story.msg(Msg::Edited { purpose: Editing::Draft, text: None });
    assert_eq!(story.draft(), "a longer\ntext", "left without saving");
}

#[test]
fn letters_that_mean_nothing_in_a_panel_go_to_the_composer() {
    let story = Story::new().keys("<tab>Hello");
    assert_eq!(story.draft(), "Hello");
    assert!(story.state().is_composing());
}

#[test]
fn a_question_mark_is_help_only_in_an_empty_composer() {
    let mut story = Story::new().keys("?");
    assert!(story.screen().contains("everywhere"));
    let story = story.keys("<esc>why?");
    assert_eq!(story.draft(), "why?");
}

#[test]
fn a_resize_keeps_draft_selection_and_focus() {
    let mut story = Story::new().team(&["ada"]).keys("<S-down>half<C-j>done");
    for (columns, rows) in [(60, 20), (1, 1), (300, 100), (80, 24)] {
        story = story.size(columns, rows);
        story.buffer();
    }
    assert_eq!((story.draft().as_str(), story.selected()), ("half\ndone", "ada"));
    assert_eq!(story.state().lead(), Some(&lead()));
}
