//! Every row of the table of choices, and which requests offer it.

use quarterdeck::console::state::asks::{ASK_KEYS, Stage};
use quarterdeck::console::state::ui::Focus;
use quarterdeck::protocol::ask::{
    Choice, Grant, Grantee, Lasts, Measure, Permit, Question, Spender, Verdict,
};
use quarterdeck::protocol::time::Stamp;
use serde_json::json;

use super::story::{START, Story, agent, allow, bash, deny, plan, tool};

fn one() -> Story {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "cargo test --lib")).ready();
    story
}

fn granted(rule: &str, to: Grantee, lasts: Lasts) -> Verdict {
    let grant = Grant { permits: vec![Permit::Rule(rule.to_owned())], to, lasts };
    Verdict::Allow { input: None, grant: Some(grant), remark: None }
}

#[test]
fn y_and_1_say_yes_once_and_n_and_3_say_no() {
    for (key, verdict) in [("y", allow()), ("1", allow()), ("n", deny()), ("3", deny())] {
        let mut story = one();
        story.press(key).wait(150);
        assert_eq!(story.answers(), [("a1".to_owned(), verdict)], "{key}");
        assert_eq!(story.shown(), None, "nothing else waits");
        assert!(story.asks().is_empty(), "what was answered does not wait any more");
    }
}

#[test]
fn w_says_yes_with_a_remark() {
    let mut story = one();
    story.press("w").wait(150).press("only once<ret>");
    let remark = Some("only once".to_owned());
    assert_eq!(
        story.answers(),
        [("a1".to_owned(), Verdict::Allow { input: None, grant: None, remark })]
    );
}

#[test]
fn tab_says_no_and_what_to_do_instead() {
    let mut story = one();
    story.press("<tab>").press("use make<C-j>please<ret>");
    let why = Some("use make\nplease".to_owned());
    assert_eq!(story.answers(), [("a1".to_owned(), Verdict::Deny { why })]);
}

#[test]
fn a_opens_the_scope_and_a_again_takes_the_suggested_one() {
    for key in ["a", "2"] {
        let mut story = one();
        story.press(key).wait(150);
        assert!(matches!(story.stage(), Stage::Scope(_)));
        assert!(
            story.text(100, 30).contains("Bash(cargo test:*) for fixer, until this session ends")
        );
        assert_eq!(story.answers(), []);
        story.press("a").wait(150);
        let wanted = granted("Bash(cargo test:*)", Grantee::Asker, Lasts::Session);
        assert_eq!(story.answers(), [("a1".to_owned(), wanted)]);
    }
}

#[test]
fn the_scope_menu_gives_exactly_the_rule_that_it_shows() {
    let hour = Lasts::Until(Stamp::from_millis(START + 1_450 + 3_600_000));
    let cases = [
        ("<up>", "Bash(cargo test --lib) for fixer, until", Grantee::Asker, Lasts::Session),
        ("<down>", "Bash for fixer, until", Grantee::Asker, Lasts::Session),
        ("<tab>", "Bash(cargo test:*) for the whole team, until", Grantee::Team, Lasts::Session),
        ("<right>", "Bash(cargo test:*) for fixer, for one hour", Grantee::Asker, hour),
        (
            "<right><right>",
            "Bash(cargo test:*) for the whole team, in the settings of this project",
            Grantee::Team,
            Lasts::Project,
        ),
        (
            "<right><right><right>",
            "Bash(cargo test:*) for the whole team, in your own settings",
            Grantee::Team,
            Lasts::User,
        ),
        (
            "<tab><tab><left><up><up><up>",
            "Bash(cargo test --lib) for fixer, until",
            Grantee::Asker,
            Lasts::Session,
        ),
    ];
    for (keys, shown, to, lasts) in cases {
        let mut story = one();
        story.press("a").wait(150).press(keys);
        assert!(story.text(100, 30).contains(shown), "{keys}:\n{}", story.text(100, 30));
        story.press("<ret>");
        let rule = shown.split(" for ").next().unwrap();
        assert_eq!(story.answers(), [("a1".to_owned(), granted(rule, to, lasts))], "{keys}");
    }
}

#[test]
fn esc_leaves_the_scope_and_gives_nothing() {
    let mut story = one();
    story.press("a").wait(150).press("<down><esc>");
    assert!(matches!(story.stage(), Stage::Choices));
    story.wait(1_000).press("y").wait(150);
    assert_eq!(story.answers(), [("a1".to_owned(), allow())], "no rule comes with it");
}

#[test]
fn a_request_without_a_rule_says_so() {
    let mut story = Story::new();
    story.asked(tool("a1", "fixer", "Read", json!({ "file_path": "/home/me/.ssh/id" }))).ready();
    story.press("a").wait(150);
    assert!(story.note().contains("no rule"), "{}", story.note());
    assert!(matches!(story.stage(), Stage::Choices));
    assert_eq!(story.answers(), []);
}

#[test]
fn a_mode_that_is_suggested_is_given_to_the_asker_alone() {
    let mut ask = tool(
        "a1",
        "fixer",
        "Edit",
        json!({ "file_path": "/demo/a", "old_string": "a", "new_string": "b" }),
    );
    let permits = vec![Permit::Mode(quarterdeck::protocol::op::Mode::AcceptEdits)];
    let grant = Grant { permits, to: Grantee::Asker, lasts: Lasts::Session };
    let verdict = Verdict::Allow { input: None, grant: Some(grant), remark: None };
    ask.choices =
        vec![Choice { label: "Yes".into(), description: None, verdict: Some(verdict.clone()) }];
    let mut story = Story::new();
    story.asked(ask).ready().press("a").wait(150).press("<tab><right><right><ret>");
    assert_eq!(story.answers(), [("a1".to_owned(), verdict)]);
}

#[test]
fn e_edits_the_command_and_says_yes_to_the_edited_one() {
    let mut story = one();
    story.press("e").wait(150);
    assert!(story.text(100, 30).contains("❯ cargo test --lib"));
    assert!(story.text(100, 30).contains("$ cargo test --lib"), "what was asked stays in sight");
    story.press("<C-w><backspace><backspace>--doc<ret>");
    let input =
        json!({ "command": "cargo test --doc", "description": "Clean up before the tests" });
    assert_eq!(
        story.answers(),
        [("a1".to_owned(), Verdict::Allow { input: Some(input), grant: None, remark: None })]
    );
}

#[test]
fn an_edit_that_changes_nothing_is_a_plain_yes_and_an_empty_one_is_none() {
    let mut story = one();
    story.press("e").wait(150).press("<ret>");
    assert_eq!(story.answers(), [("a1".to_owned(), allow())]);
    let mut story = one();
    story.press("e").wait(150).press("<C-u><ret>");
    assert_eq!(story.answers(), []);
    assert!(story.note().contains("it is empty"), "{}", story.note());
}

#[test]
fn e_edits_what_is_written_to_a_file_as_plain_text() {
    let write = json!({ "file_path": "/demo/a.txt", "content": "one \"quoted\"\n" });
    let edit = json!({ "file_path": "/demo/a.txt", "old_string": "one", "new_string": "two" });
    let cases = [
        ("Write", write, "write this instead", "content", "one \"quoted\"\nmore"),
        ("Edit", edit, "change it to this", "new_string", "twomore"),
    ];
    for (name, input, title, field, wanted) in cases {
        let mut story = Story::new();
        story.asked(tool("a1", "fixer", name, input.clone())).ready().press("e").wait(150);
        assert!(story.text(100, 30).contains(title), "{}", story.text(100, 30));
        story.press("more<ret>");
        let mut changed = input;
        changed[field] = json!(wanted);
        let yes = Verdict::Allow { input: Some(changed), grant: None, remark: None };
        assert_eq!(story.answers(), [("a1".to_owned(), yes)]);
    }
}

#[test]
fn e_edits_other_inputs_as_json_and_refuses_what_is_none() {
    let input = json!({ "url": "https://a.example", "prompt": "look" });
    let mut story = Story::new();
    story.asked(tool("a1", "fixer", "WebFetch", input)).ready().press("e").wait(150);
    story.press("<backspace><ret>");
    assert_eq!(story.answers(), []);
    assert!(
        story.note().contains("not JSON yet") && story.note().contains("line"),
        "{}",
        story.note()
    );
    story.press("\"more\":1}<ret>");
    assert_eq!(story.answers(), [], "a comma is missing");
    let mut story = Story::new();
    story.asked(tool("a1", "fixer", "mcp__x__y", json!({}))).ready().press("e").wait(150);
    story.press("<C-u>").paste("[1]").press("<ret>");
    assert_eq!(story.answers(), []);
    assert!(story.note().contains("must be a JSON object"), "{}", story.note());
    story.press("<backspace><backspace><backspace>").paste("{\"url\": \"x\"}").press("<ret>");
    let input = Some(json!({ "url": "x" }));
    let wanted = Verdict::Allow { input, grant: None, remark: None };
    assert_eq!(story.answers(), [("a1".to_owned(), wanted)]);
}

#[test]
fn a_plan_is_approved_rejected_with_feedback_or_edited() {
    let asked = || {
        let mut story = Story::new();
        story.asked(plan("p1", "scout", "# Fix it\n\n1. look\n2. mend")).ready();
        story
    };
    let mut story = asked();
    assert!(story.text(100, 30).contains("Fix it"));
    story.press("y").wait(150);
    assert_eq!(story.answers(), [("p1".to_owned(), allow())]);
    let mut story = asked();
    story.press("<tab>").press("smaller steps<ret>");
    let why = Some("smaller steps".to_owned());
    assert_eq!(story.answers(), [("p1".to_owned(), Verdict::Deny { why })]);
    let mut story = asked();
    story.press("e").wait(150).press("<C-j>3. test<ret>");
    let input = Some(json!({ "plan": "# Fix it\n\n1. look\n2. mend\n3. test" }));
    assert_eq!(
        story.answers(),
        [("p1".to_owned(), Verdict::Allow { input, grant: None, remark: None })]
    );
    let mut story = asked();
    story.press("a").wait(150);
    assert_eq!(story.draft(), "a", "a plan has no rule: the letter means nothing");
}

#[test]
fn o_goes_to_the_agent_that_asks_and_answers_nothing() {
    let mut story = one();
    story.press("o").wait(150);
    assert_eq!((story.answers(), story.shown()), (vec![], None));
    assert_eq!(story.state.selected, agent("fixer"));
    assert_eq!(story.state.ui.focus, Focus::Pane);
    story.wait(5_000);
    assert_eq!(story.shown(), None, "whoever went to look is not interrupted by the same ask");
    story.press("<C-y>");
    assert_eq!(story.shown(), Some("a1"));
}

#[test]
fn o_goes_to_the_teammate_whose_subagent_asks() {
    let mut ask = bash("a1", "fixer", "ls");
    ask.chain = vec![agent("a1b2c3"), agent("fixer"), agent("lead")];
    let mut story = Story::new();
    story.starts("a1b2c3", None, Some("fixer"));
    story.asked(ask).ready();
    let shown = story.text(100, 30);
    assert!(shown.contains("▌general asks to run") && shown.contains("for    fixer"), "{shown}");
    story.press("o").wait(150);
    assert_eq!(story.state.selected, agent("fixer"));
}

#[test]
fn d_shows_it_over_the_whole_screen_and_back() {
    let mut story = one();
    let full = |story: &Story| story.asks().dialog.as_ref().unwrap().full;
    story.press("d").wait(150);
    assert!(full(&story));
    story.press("d").wait(150);
    assert!(!full(&story));
    assert_eq!(story.answers(), []);
}

#[test]
fn esc_is_later_and_never_an_answer() {
    let mut story = one();
    story.asked(bash("a2", "scout", "ls"));
    story.press("<esc>").wait(10_000);
    assert_eq!((story.answers(), story.shown()), (vec![], None));
    assert_eq!(story.asks().len(), 2, "both still wait");
    story.asked(bash("a3", "scout", "pwd")).wait(1_000);
    assert_eq!(story.shown(), Some("a3"), "a new one may open by itself");
    story.press("<esc><C-y>");
    assert_eq!(story.shown(), Some("a1"), "the oldest on purpose");
}

#[test]
fn lists_of_choices_are_answered_by_number_or_with_the_arrows() {
    let choice = |label: &str, verdict| Choice { label: label.into(), description: None, verdict };
    let asked = || {
        let mut ask = tool("b1", "fixer", "x", json!({}));
        ask.question =
            Question::Budget { of: Spender::Agent, what: Measure::Usd, used: 2.0, limit: 2.0 };
        ask.choices = vec![
            choice("Go on with $2 more", None),
            choice("Go on without a limit", Some(allow())),
            choice("Stop", Some(deny())),
        ];
        let mut story = Story::new();
        story.asked(ask).ready();
        story
    };
    let first = Verdict::Chose { choice: 0, text: None };
    let cases = [
        ("1", first.clone()),
        ("2", allow()),
        ("3", deny()),
        ("y", allow()),
        ("n", deny()),
        ("<down><ret>", first),
        ("<up><up><ret>", allow()),
    ];
    for (keys, verdict) in cases {
        let mut story = asked();
        story.press_slowly(keys, 150);
        assert_eq!(story.answers(), [("b1".to_owned(), verdict)], "{keys}");
    }
    let mut story = asked();
    story.press_slowly("<ret>", 150);
    assert_eq!(story.answers(), [], "Enter alone answers nothing");
    story.press_slowly("a", 150);
    assert_eq!(
        (story.answers(), story.draft()),
        (vec![], "a".to_owned()),
        "what is not offered is typing"
    );
}

#[test]
fn one_that_does_not_shut_down_is_a_plain_yes_or_no_without_choices() {
    for (key, verdict) in [("y", allow()), ("n", deny())] {
        let mut ask = tool("s1", "scout", "x", json!({}));
        ask.question = Question::NoAnswerToShutdown;
        let mut story = Story::new();
        story.asked(ask).ready().press(key).wait(150);
        assert_eq!(story.answers(), [("s1".to_owned(), verdict)]);
    }
}

#[test]
fn the_table_of_keys_holds_every_key_of_the_manual() {
    let keys: Vec<&str> = ASK_KEYS.iter().flat_map(|row| row.keys.split(' ')).collect();
    for key in ["y", "1", "w", "a", "2", "e", "n", "3", "<tab>", "*", "o", "d", "<esc>"] {
        assert!(keys.contains(&key), "{key}");
    }
}
