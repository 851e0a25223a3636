//! Hostile text in every field shows harmlessly, and the command shown is the one that will run.

use std::path::PathBuf;

use proptest::prelude::*;
use quarterdeck::protocol::ask::{Choice, Question, Verdict};
use quarterdeck::protocol::ids::{AgentId, AgentName, AskId, TeamName};
use ratatui::buffer::Buffer;
use serde_json::json;

use super::story::{Story, allow, bash, one_question, plan, text, tool, words};

const HOSTILE: &str =
    "ls\u{1b}[2J\u{1b}]0;owned\u{7}\u{202e}fr- mr\u{200b}\u{0}\r\u{9b}31m\u{2066}x\u{e0041}";

/// No cell holds anything that a terminal would obey or that hides.
fn harmless(buffer: &Buffer) {
    for cell in &buffer.content {
        for c in cell.symbol().chars() {
            let hidden = c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{e0000}'..='\u{e007f}');
            assert!(!hidden, "{c:?} in\n{}", text(buffer));
        }
    }
}

fn seen(story: &Story) {
    for (width, height) in [(40, 10), (80, 24), (140, 40)] {
        harmless(&story.draw(width, height));
        harmless(&story.draw_queue(width, height));
    }
}

#[test]
fn every_field_is_shown_harmlessly_on_every_page() {
    let mut ask = bash("a1", "fixer", HOSTILE);
    ask.chain.insert(0, AgentId::new(&AgentName::found(HOSTILE), &TeamName::found("crew")));
    ask.color = Some(HOSTILE.into());
    ask.cwd = PathBuf::from(HOSTILE);
    ask.why.description = Some(HOSTILE.into());
    ask.why.rule = Some(HOSTILE.into());
    ask.choices.push(Choice {
        label: HOSTILE.into(),
        description: Some(HOSTILE.into()),
        verdict: None,
    });
    let mut story = Story::new();
    story.asked(ask).ready();
    seen(&story);
    for key in ["a", "e", "w"] {
        story.press(key).wait(150);
        seen(&story);
        story.press("<esc>").wait(1_000);
    }
    story.press("<tab>").paste(HOSTILE);
    seen(&story);
}

#[test]
fn other_questions_are_shown_harmlessly() {
    let input = json!({ "file_path": HOSTILE, "old_string": HOSTILE, "new_string": format!("{HOSTILE}x"), "x": HOSTILE });
    let write = json!({ "file_path": HOSTILE, "content": HOSTILE });
    let mut budget = tool("b", "scout", "x", json!({}));
    budget.question = Question::NoAnswerToShutdown;
    budget.choices =
        vec![Choice { label: HOSTILE.into(), description: Some(HOSTILE.into()), verdict: None }];
    let asks = [
        tool("a", "scout", HOSTILE, json!({ HOSTILE: HOSTILE })),
        tool("a", "scout", "Edit", input),
        tool("a", "scout", "Write", write),
        plan("a", "scout", HOSTILE),
        words("a", "scout", vec![one_question(HOSTILE, &[HOSTILE], true)]),
        budget,
    ];
    for ask in asks {
        let mut story = Story::new();
        story.asked(ask).ready();
        seen(&story);
        let gone = Verdict::Withdrawn { why: HOSTILE.into() };
        story.settled(
            "a",
            gone,
            quarterdeck::protocol::ask::Judge::Policy { name: HOSTILE.into() },
        );
        seen(&story);
    }
}

#[test]
fn what_hides_in_a_command_is_named() {
    let mut story = Story::new();
    story
        .asked(bash("a1", "fixer", "echo \u{202e}dlrow\u{200b} \u{1b}[8mrm -r ~\u{1b}[0m\tx\ry"))
        .ready();
    let shown = story.text(140, 40);
    for part in ["<U+202E>", "<U+200B>", "<U+001B>", "[8mrm -r ~", "<U+000D>"] {
        assert!(shown.contains(part), "{part}\n{shown}");
    }
}

#[test]
fn a_tail_behind_many_blanks_or_lines_is_not_hidden() {
    let blanks = format!("ls{}; rm -r ~", " ".repeat(5_000));
    let lines = format!("ls{}rm -r ~", "\n".repeat(200));
    for command in [blanks, lines] {
        let mut story = Story::new();
        story.asked(bash("a1", "fixer", &command)).ready();
        assert!(
            story.text(80, 24).contains("rows 1-"),
            "it says that there is more:\n{}",
            story.text(80, 24)
        );
        story.press("<end>");
        assert!(story.text(80, 24).contains("rm -r ~"), "{}", story.text(80, 24));
    }
}

#[test]
fn a_wrapped_row_does_not_look_like_a_new_line() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", &format!("echo {} && one\ntwo", "long ".repeat(12)))).ready();
    let shown = story.text(60, 24);
    let rows: Vec<&str> = shown.lines().map(|row| row.trim_matches(['┃', ' '])).collect();
    assert!(rows.contains(&"> two"), "{shown}");
    assert!(rows.iter().any(|row| row.starts_with("$ echo long")), "{shown}");
    assert!(!rows.iter().any(|row| row.starts_with("> ") && *row != "> two"), "{shown}");
}

#[test]
fn editing_shows_what_will_run_and_unchanged_means_as_it_was_asked() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "printf 'a\tb\u{1b}'")).ready().press("e").wait(150);
    assert!(story.note().contains("cannot be edited here"), "{}", story.note());
    story.press("<ret>");
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
}

#[test]
fn an_endless_request_is_drawn() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", &"x".repeat(70_000))).ready();
    seen(&story);
    let long = "line of a file\n".repeat(2_000);
    story.asked(tool(
        "a2",
        "fixer",
        "Write",
        json!({ "file_path": "/demo/a.txt", "content": long }),
    ));
    story.press("<right>");
    assert!(story.text(80, 24).contains(" of 200"), "{}", story.text(80, 24));
}

#[test]
fn all_sizes_are_drawn() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "cargo test")).ready();
    for stage in ["", "a", "<esc>w", "<esc>e"] {
        story.press_slowly(stage, 200);
        let step = if std::env::var_os("QUARTERDECK_SOAK").is_some() { 1 } else { 7 };
        for width in (0..60).step_by(step).chain([100, 300]) {
            for height in (0..20).step_by(step).chain([60, 100]) {
                story.draw(width, height);
                story.draw_queue(width, height);
            }
        }
    }
    let gone = AskId::found("a1");
    story.settled(gone.as_str(), allow(), quarterdeck::protocol::ask::Judge::Human);
    for width in 0..30 {
        story.draw(width, width / 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: if std::env::var_os("QUARTERDECK_SOAK").is_some() { 2_000 } else { 30 },
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// The rows of the dialog put together are the command, with every character that can be seen.
    #[test]
    fn the_command_shown_is_the_command(command in "[ -~äあ\n]{1,300}", width in 30..120_u16) {
        prop_assume!(!command.trim().is_empty());
        let mut story = Story::new();
        let mut ask = bash("a1", "fixer", &command);
        ask.why = quarterdeck::protocol::ask::Reason::default();
        ask.question = Question::Tool { use_id: "u".into(), name: "Bash".into(), input: json!({ "command": command }) };
        story.asked(ask).ready();
        let lines = rows_of_command(&story.draw(width, 400));
        // Blanks at the end of a row cannot be told from the empty screen.
        let seen = |text: &str| text.replace(' ', "").trim_end().to_owned();
        prop_assert_eq!(seen(&lines), seen(&command));
    }
}

/// The text between the head of the dialog and its choices, put together again.
fn rows_of_command(buffer: &Buffer) -> String {
    let mut command = String::new();
    let mut begun = false;
    for y in 1..buffer.area.height {
        let mut row = String::new();
        let mut x = 2;
        while x < buffer.area.width - 2 {
            let symbol = buffer[(x, y)].symbol();
            row.push_str(symbol);
            x += if symbol == "あ" { 2 } else { 1 };
        }
        if row.starts_with("────") {
            break;
        }
        begun |= row.starts_with("$ ");
        if begun {
            let (sign, rest) = row.split_at(2);
            if sign == "> " {
                while command.ends_with(' ') {
                    command.pop();
                }
                command.push('\n');
            }
            command.push_str(rest);
        }
    }
    command.trim_end().to_owned()
}
