//! What is drawn, in the four sizes and on every page.

use quarterdeck::protocol::ask::{Ask, Choice, Measure, Question, Risk, Spender};
use serde_json::json;

use super::story::{Story, agent, bash, one_question, picture, plan, text, tool, words};

const SIZES: [(u16, u16); 4] = [(60, 18), (78, 22), (100, 30), (120, 36)];

fn snapshots(name: &str, story: &Story) {
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_snapshot_path("snapshots");
    settings.bind(|| {
        for (width, height) in SIZES {
            let size = format!("ask.{name}.{width}x{height}");
            insta::assert_snapshot!(size, text(&story.draw_fitting(width, height)));
        }
        insta::assert_snapshot!(
            format!("ask.{name}.colours"),
            picture(&story.draw_fitting(100, 30))
        );
        insta::assert_snapshot!(format!("ask.{name}.40x10"), text(&story.draw(40, 10)));
    });
}

fn command() -> Story {
    let mut ask = bash(
        "a1",
        "fixer",
        "rm -r build && cargo build --release --target x86_64-unknown-linux-gnu \\\n  --features \"full fast\" 2>&1 | tee build.log",
    );
    ask.chain.insert(0, agent("a1b2c3d4"));
    ask.risk = Risk::High;
    let mut story = Story::new();
    story.starts("a1b2c3d4", None, Some("fixer"));
    story.asked(ask).asked(bash("a2", "scout", "rm -r target")).wait(8_000);
    story
}

#[test]
fn a_command() {
    snapshots("command", &command());
}

#[test]
fn the_scope_of_a_yes() {
    let mut story = command();
    story.press("a").wait(150).press("<right>");
    snapshots("scope", &story);
}

#[test]
fn an_edited_command() {
    let mut story = command();
    story.press("e").wait(150).press("<up>");
    snapshots("edit", &story);
}

#[test]
fn a_diff() {
    let old = "def total(price, n):\n    return round(price) * n\n\n\ndef tax(price):\n    return price * 0.2\n";
    let new = "def total(price, n):\n    return round(price * n, 2)\n\n\ndef tax(price, rate=0.2):\n    return round(price * rate, 2)\n";
    let input = json!({ "file_path": "/demo/inventory/src/stock.py", "old_string": old, "new_string": new });
    let mut story = Story::new();
    let ask = Ask { lines: vec![57], ..tool("a1", "fixer", "Edit", input) };
    story.asked(ask).wait(3_000);
    snapshots("diff", &story);
}

#[test]
fn a_diff_in_several_places() {
    let input = json!({
        "file_path": "/demo/inventory/src/stock.py", "old_string": "round(price) * n",
        "new_string": "round(price * n, 2)", "replace_all": true,
    });
    let mut story = Story::new();
    let ask = Ask { lines: vec![8, 57, 1204], ..tool("a1", "fixer", "Edit", input) };
    story.asked(ask).wait(3_000);
    snapshots("places", &story);
}

#[test]
fn other_input() {
    let input = json!({ "url": "https://docs.rs/ratatui/latest/ratatui/", "prompt": "How is a gauge drawn?" });
    let mut story = Story::new();
    story.asked(tool("a1", "scout", "WebFetch", input)).wait(3_000);
    snapshots("json", &story);
}

#[test]
fn a_plan() {
    let text = "# Fix the rounding\n\n1. Find every call of `round`\n2. Round **once**, at the end\n\n| file | calls |\n| --- | --- |\n| stock.py | 3 |\n\n```python\ntotal = round(price * n, 2)\n```\n";
    let mut story = Story::new();
    story.asked(plan("p1", "scout", text)).wait(3_000);
    snapshots("plan", &story);
}

#[test]
fn questions_in_words() {
    let questions = vec![
        one_question("Where should the totals be kept?", &["Postgres", "SQLite", "Files"], false),
        one_question("What else?", &["Tests", "Docs"], true),
    ];
    let mut story = Story::new();
    story.asked(words("w1", "scout", questions)).wait(3_000).press("<down><down>");
    snapshots("words", &story);
}

#[test]
fn a_list_of_choices() {
    let choice = |label: &str, more: &str| Choice {
        label: label.into(),
        description: Some(more.into()),
        verdict: None,
    };
    let mut ask = tool("b1", "fixer", "x", json!({}));
    ask.question =
        Question::Budget { of: Spender::Agent, what: Measure::Usd, used: 2.0, limit: 2.0 };
    ask.choices = vec![
        choice("Go on with $2 more", "asked again then"),
        choice("Stop here", "what it has done is kept"),
    ];
    let mut story = Story::new();
    story.asked(ask).wait(3_000);
    snapshots("budget", &story);
}

#[test]
fn a_batch() {
    let mut story = Story::new();
    story.asked(bash("a1", "fixer", "cargo test --lib")).asked(bash(
        "a2",
        "scout",
        "cargo test --doc",
    ));
    story.wait(1_000).press("*").wait(1_000);
    snapshots("batch", &story);
}

#[test]
fn words_to_go_with_a_no() {
    let mut story = command();
    story.press("<tab>").press("use cargo clean, please");
    snapshots("instead", &story);
}

#[test]
fn the_queue() {
    let mut story = command();
    story.press("<esc>");
    let input = json!({ "file_path": "/etc/hosts" });
    story.asked(tool("a3", "scout", "Read", input)).wait(65_000);
    insta::with_settings!({ prepend_module_to_snapshot => false }, {
        for (width, height) in [(30, 6), (48, 3), (80, 2)] {
            insta::assert_snapshot!(format!("queue.{width}x{height}"), picture(&story.draw_queue(width, height)));
        }
    });
}
