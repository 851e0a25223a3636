//! Searching everything: every find leads to where it stands.

use quarterdeck::console::state::asks::Way;
use quarterdeck::console::state::dialog::Dialog;
use quarterdeck::protocol::event::Fact;
use quarterdeck::protocol::ids::{AgentName, AskId, TaskId};
use quarterdeck::protocol::message::Message;
use quarterdeck::protocol::time::Stamp;
use serde_json::json;

use super::story::{Story, inventory};

fn search(story: Story, words: &str) -> Story {
    story.keys("<esc>/search ").keys(words).keys("<ret>")
}

#[test]
fn a_search_goes_over_everything_and_jumps() {
    let mut story = search(inventory(), "rounded twice");
    assert!(story.screen().contains("`rounded twice`: 1"), "{}", story.screen());
    story = story.keys("<ret>");
    assert_eq!(story.selected(), "scout");
    assert!(story.state().is_zoomed());
}

/// Of a hundred places, the one that was picked is on the screen.
#[test]
fn the_very_find_is_shown() {
    let mut story = Story::new();
    for number in 1..=100 {
        let words = format!("The needle {number} is here.\n\n{}", "hay\n\n".repeat(10));
        story = story.said("lead", &words);
    }
    story = search(story, "needle");
    assert!(story.screen().contains("`needle`: 100"));
    story = story.keys(&"<down>".repeat(41)).keys("<ret>");
    let screen = story.screen();
    assert!(screen.contains("The needle 42 is here"), "{screen}");
    assert!(!story.state().selected_agent().unwrap().scroll.is_following());
}

#[test]
fn the_very_line_of_a_long_cell_is_shown() {
    let long: String = (1..=300)
        .map(|n| if n % 100 == 7 { format!("the needle {n}\n") } else { format!("hay {n}\n") })
        .collect();
    let mut story = search(Story::new().said("lead", &format!("```\n{long}```")), "needle");
    story = story.keys("<down><down><ret>");
    let screen = story.screen();
    assert!(screen.contains("the needle 207"), "{screen}");
}

#[test]
fn mail_is_found_by_all_of_its_text() {
    let message = Message::new(
        &AgentName::found("scout"),
        "three call sites\n\nthe third one is in warehouse.py",
        Stamp::from_millis(0),
    )
    .summary(Some("call sites found".to_owned()));
    let sent = Fact::MailSent { to: AgentName::found("fixer"), message };
    let mut story = search(inventory().fact("scout", sent), "warehouse");
    assert!(story.screen().contains("`warehouse`: 1"), "{}", story.screen());
    story = story.keys("<ret>");
    assert_eq!(story.selected(), "scout");
    assert!(story.screen().contains("in warehouse.py"), "it opens: {}", story.screen());
}

#[test]
fn a_task_is_found_and_selected() {
    let mut story = search(inventory(), "add tests");
    story = story.keys("<ret>");
    assert!(matches!(story.state().top(), Some(Dialog::Tasks)));
    assert_eq!(story.state().tasks.selected, Some(TaskId::from(4)));
}

#[test]
fn an_ask_is_found_by_all_of_its_text_and_opens() {
    let input = json!({ "file_path": "/demo/inventory/stock.py", "content": "one\nthe zebra\n" });
    let story = inventory().asks_tool("reviewer", "a3", "Write", input);
    let mut story = search(story, "zebra");
    assert!(story.screen().contains("ask of reviewer"), "{}", story.screen());
    story = story.keys("<ret>");
    let dialog = story.state().asks.dialog.as_ref().expect("it is shown");
    assert_eq!((&dialog.ask, dialog.way), (&AskId::found("a3"), Way::OnPurpose));
    assert_eq!(story.ops(), []);
}
