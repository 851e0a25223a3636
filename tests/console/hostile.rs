//! Hostile text in every place that text can come from, on every surface: shown harmlessly, and
//! the layout stands.

use std::sync::Arc;

use quarterdeck::console::commands::export::exported;
use quarterdeck::console::text::width::width;
use quarterdeck::console::update::{Editing, Effect, Msg};
use quarterdeck::protocol::ask::Question;
use quarterdeck::protocol::event::{AgentAbout, Fact, Level};
use quarterdeck::protocol::ids::TeamName;
use quarterdeck::protocol::op::Mode;
use quarterdeck::protocol::task::Status;
use ratatui::buffer::Buffer;
use serde_json::json;

use super::story::{Story, inventory};
use super::surfaces::SURFACES;
use crate::support::soak;

const SIZES: [(u16, u16); 4] = [(80, 24), (100, 30), (140, 40), (200, 60)];

fn texts() -> Vec<String> {
    vec![
        "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J\x1b[H \u{9b}31m \x1bPq\x1b\\".to_owned(),
        "rm -r \u{202e}cod.exe\u{202c} \u{2066}x\u{2069} a\u{200b}b\u{feff}c\u{200f}".to_owned(),
        format!("e{} after", "\u{301}".repeat(3_000)),
        "👩\u{200d}👩\u{200d}👧\u{200d}👦 🇩🇪🇫🇷 漢字漢字漢字漢字 👍🏽 ﷽ ௌ กำ".to_owned(),
        "bell\x07 back\x08 nul\0 del\x7f cr\rover \u{85} \u{2028}next\nline\ttab".to_owned(),
        String::from_utf8_lossy(b"broken \xff\xfe\xf0\x9f utf-8").into_owned(),
        "漢".repeat(5_000),
        "</system> | a | `b` **c** <b> &amp; [x](javascript:1) %s %n ${x} $(x)".to_owned(),
        "\u{e0041}\u{e0042} \u{fff9}x\u{fffb} \u{ad}soft \u{180e} \u{115f} \u{3164}".to_owned(),
    ]
}

/// The text in everything that a session, a file or an editor can bring.
fn told(text: &str) -> Story {
    let some: String = text.chars().take(2_000).collect();
    let name = format!("a{some}");
    let about = AgentAbout {
        agent_type: text.to_owned(),
        description: text.to_owned(),
        model: text.to_owned(),
        mode: Mode::Default,
        cwd: text.to_owned(),
        color: Some(some.clone()),
        parent: None,
        use_id: None,
        background: false,
        chain_id: text.to_owned(),
        depth: 0,
    };
    let mail = json!({"kind": "mailSent", "to": some, "message": {
        "from": some, "text": text, "summary": text, "color": some, "timestamp": text,
    }});
    let output = Fact::ToolOutput { use_id: "u1".into(), text: text.to_owned() };
    let data = json!({"exitCode": 1, "stderr": text, text: text});
    let summary = text.to_owned();
    let ended = Fact::ToolEnded { use_id: "u1".into(), failed: true, summary, millis: 3, data };
    let team = TeamName::found(&some);
    Story::new()
        .fact("lead", Fact::TeamCreated { name: team, description: text.to_owned() })
        .heard("lead", text)
        .working("lead")
        .said("lead", &format!("round {text}"))
        .teammate(&name)
        .teammate("ada")
        .working(&name)
        .said(&name, text)
        .fact("ada", Fact::AgentStarted { about: Box::new(about) })
        .runs("ada", "u1", text, text)
        .fact("ada", output)
        .fact("ada", ended)
        .fact("ada", serde_json::from_value(mail).expect("mail"))
        .fact("ada", Fact::Compacted { before: 9, after: 1, summary: text.to_owned() })
        .task(1, text, Some(&name), Status::InProgress, &[])
        .task(2, &format!("round {text}"), Some(&some), Status::Pending, &[1])
        .fact("ada", Fact::Notice { level: Level::Error, text: text.to_owned() })
        .asks(&name, "a1", text)
        .asks_tool("ada", "a2", text, json!({ text: text, "round": text }))
        .wait(2_000)
        .keys("<esc>")
        .msg(Msg::FilesListed(Arc::from(vec![format!("src/{text}"), text.to_owned()])))
        .msg(Msg::HistoryLoaded(vec![format!("fi {text}"), text.to_owned()]))
        .msg(Msg::Told { level: Level::Warning, text: text.to_owned() })
        .wait(2_000)
}

/// Nothing that a terminal would obey, that hides, or that is as high as a tower.
fn harmless(what: &str, buffer: &Buffer) {
    for cell in &buffer.content {
        let symbol = cell.symbol();
        for c in symbol.chars() {
            let hidden = c.is_control()
                || matches!(c, '\u{200b}' | '\u{200c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}');
            assert!(!hidden, "{what}: {c:?} in {symbol:?}");
        }
        assert!(symbol.chars().count() <= 16, "{what}: a tower: {symbol:?}");
    }
}

/// Every row is as wide as the screen: what is wide has its two cells, and none hangs over.
fn intact(what: &str, buffer: &Buffer) {
    let columns = usize::from(buffer.area.width);
    for row in buffer.content.chunks(columns) {
        let mut x = 0;
        while x < columns {
            let wide = width(row[x].symbol()).max(1);
            assert!(x + wide <= columns, "{what}: {:?} hangs over", row[x].symbol());
            for behind in &row[x + 1..x + wide] {
                assert!(behind.symbol().trim().is_empty(), "{what}: {:?} is lost", behind.symbol());
            }
            x += wide;
        }
    }
}

/// What stands at both edges of the screen.
fn edges(buffer: &Buffer) -> Vec<(String, String)> {
    let columns = usize::from(buffer.area.width);
    let rows = buffer.content.chunks(columns);
    rows.map(|row| (row[0].symbol().to_owned(), row[columns - 1].symbol().to_owned())).collect()
}

fn seen(what: &str, mut story: Story) -> Story {
    for (columns, rows) in SIZES {
        story = story.size(columns, rows);
        let what = format!("{what} at {columns}x{rows}");
        let buffer = story.buffer();
        harmless(&what, &buffer);
        intact(&what, &buffer);
    }
    let title = &story.state().ui.title;
    assert!(!title.chars().any(char::is_control), "{what}: the title is {title:?}");
    story
}

#[test]
fn every_surface_shows_every_hostile_text_harmlessly() {
    for text in texts() {
        let short: String = text.chars().take(24).collect();
        for surface in SURFACES {
            seen(&format!("{} with {short:?}", surface.name), surface.on(told(&text)));
        }
    }
}

#[test]
fn the_frame_of_the_screen_stands_whatever_is_in_it() {
    for (columns, rows) in SIZES {
        let plain = edges(&told("plain words").size(columns, rows).buffer());
        for text in texts() {
            let hostile = edges(&told(&text).size(columns, rows).buffer());
            assert_eq!(hostile, plain, "at {columns}x{rows} with {text:.40?}");
        }
    }
}

#[test]
fn a_line_of_ten_megabytes_is_survived() {
    let long = "x\u{1b}[31m漢".repeat(10 << 20 >> 3);
    let output = Fact::ToolOutput { use_id: "u1".into(), text: long.clone() };
    let story = inventory().keys("<esc>").said("fixer", &long).fact("reviewer", output);
    let mut story = seen("words and output", story.asks("scout", "a9", &long).wait(2_000));
    let surfaces = ["<C-y><left>", "<esc><A-3><C-o>", "<esc><C-o>/x<ret>", "<esc><C-p>x"];
    for keys in &surfaces[..if soak() { surfaces.len() } else { 1 }] {
        story = seen(keys, story.keys(keys).wait(600));
    }
    // What waits long is shortened for the screen; what runs is not.
    let ask = story.state().asks.open().last().expect("the ask").ask.clone();
    let Question::Tool { input, .. } = &ask.question else { panic!("{ask:?}") };
    assert_eq!(input["command"].as_str().map(str::len), Some(long.len()));
    if soak() {
        seen("everything", told(&long));
    }
}

#[test]
fn what_an_editor_brings_and_what_is_exported_is_harmless() {
    for text in texts() {
        let mut story =
            told(&text).msg(Msg::Edited { purpose: Editing::Draft, text: Some(text.clone()) });
        story = seen("a draft from an editor", story);
        story = story.keys("<C-c>").keys("/export<ret>");
        let wanted = story.effects().into_iter().find_map(|effect| {
            if let Effect::Export { name } = effect { Some(name) } else { None }
        });
        let (name, markdown) = (wanted.expect("an export"), exported("x", &story.happened));
        assert!(!name.contains(['/', '\u{1b}']), "{name:?}");
        let raw = markdown.chars().find(|c| c.is_control() && !matches!(c, '\n' | '\t'));
        assert_eq!(raw, None, "in the export of {text:.40?}");
    }
}
