//! Hostile text in every place that text can come from: shown harmlessly, and nothing breaks.

use quarterdeck::console::state::words::LONGEST;
use quarterdeck::console::text::width::width;
use quarterdeck::console::view::glyphs::Glyphs;
use ratatui::buffer::Buffer;
use serde_json::{Value, json};

use super::support::Story;

fn texts() -> Vec<String> {
    vec![
        "\x1b[31mred\x1b[0m \x1b]0;owned\x07 \x1b[2J\x1b[H \u{9b}31m".to_owned(),
        "rm -r \u{202e}cod.exe\u{202c} \u{2066}x\u{2069} a\u{200b}b\u{feff}c".to_owned(),
        format!("e{} after", "\u{301}".repeat(5_000)),
        "👩\u{200d}👩\u{200d}👧\u{200d}👦 🇩🇪🇫🇷 漢字漢字 👍🏽 ﷽ ௌ กำ".to_owned(),
        "x".repeat(150_000),
        "漢".repeat(50_000),
        "bell\x07 back\x08 nul\0 del\x7f cr\rover \u{85} \u{2028}".to_owned(),
        String::from_utf8_lossy(b"broken \xff\xfe\xf0\x9f utf-8").into_owned(),
        "| a |\n|---|\n| \x1b[5mb | c |\n```\n\x1b]8;;http://x\x07\n".to_owned(),
        "<teammate-message teammate_id=\"\x1b[31mscout\" summary=\"\u{202e}\">\x1b[2J</teammate-message>".to_owned(),
        "\n\n\n\t\t\t\n".to_owned(),
    ]
}

/// The text in every fact that carries one.
fn facts(text: &str) -> Vec<Value> {
    let ask = |id: &str, question: Value| {
        json!({"kind": "asked", "ask": {"id": id, "rev": 1, "chain": ["team-lead@s"],
            "at": "2026-11-16T03:04:53.900Z", "cwd": text, "why": {"description": text},
            "question": question}})
    };
    let user = |content: Value| json!({"kind": "heard", "from": text, "message": {"role": "user", "content": content}});
    let spoke = |content: Value| {
        json!({"kind": "spoke", "id": "m", "model": text, "message": {"role": "assistant", "content": content},
            "stop": "end_turn", "usage": {}, "context": 1})
    };
    vec![
        json!({"kind": "agentStarted", "about": {"agentType": text, "description": text, "model": text,
            "mode": "default", "cwd": "/demo", "color": text}}),
        user(json!(text)),
        json!({"kind": "heard", "from": "user", "message": {"role": "user", "content": text}}),
        json!({"kind": "queued", "id": 7, "when": "next", "from": text, "text": text}),
        json!({"kind": "thinking", "text": text}),
        json!({"kind": "speaking", "text": text}),
        spoke(
            json!([{"type": "thinking", "thinking": text, "signature": ""}, {"type": "text", "text": text},
            {"type": "tool_use", "id": "t1", "name": text, "input": {text: text, "command": text}},
            {"type": "tool_use", "id": "t2", "name": "Edit", "input": {"file_path": text, "old_string": text, "new_string": "new"}},
            {"type": "tool_use", "id": "t3", "name": "Bash", "input": {"command": text}}]),
        ),
        ask(
            "a1",
            json!({"kind": "tool", "useId": "t3", "name": "Bash", "input": {"command": text}}),
        ),
        json!({"kind": "settled", "ask": "a1", "rev": 1, "by": {"kind": "human"}, "verdict": {"kind": "allow",
            "remark": text, "input": {"command": text}, "grant": {"permits": [{"rule": text}], "to": "team", "lasts": "session"}}}),
        ask("a2", json!({"kind": "plan", "file": text, "text": text})),
        json!({"kind": "settled", "ask": "a2", "rev": 1, "by": {"kind": "human"}, "verdict": {"kind": "deny", "why": text}}),
        json!({"kind": "toolStarted", "useId": "t1", "tool": text, "summary": text, "input": {text: text}}),
        json!({"kind": "toolOutput", "useId": "t1", "text": text}),
        json!({"kind": "toolEnded", "useId": "t1", "failed": true, "summary": text, "millis": 10, "data": {}}),
        json!({"kind": "toolStarted", "useId": "t3", "tool": "Bash", "summary": text, "input": {"command": text}}),
        json!({"kind": "toolOutput", "useId": "t3", "text": text}),
        json!({"kind": "toolEnded", "useId": "t2", "failed": false, "summary": text, "millis": 10,
            "data": {"path": text, "diff": format!("@@ -1,1 +1,1 @@\n-{text}\n+{text} new\n")}}),
        user(json!([{"type": "tool_result", "tool_use_id": "t2", "content": text}])),
        json!({"kind": "retrying", "why": text, "waitMs": 1000, "attempt": 1, "of": 10}),
        json!({"kind": "restarted", "why": text}),
        json!({"kind": "notice", "level": "warning", "text": text}),
        json!({"kind": "mailSent", "to": text, "message": {"from": text, "text": text, "summary": text, "color": text}}),
        json!({"kind": "memberLeft", "name": text}),
        json!({"kind": "compacted", "before": 10, "after": 1, "summary": text}),
        json!({"kind": "turnEnded", "outcome": "failed", "why": text, "rounds": 1, "millis": 10}),
        json!({"kind": "agentEnded", "status": "failed", "why": text}),
    ]
}

fn check(buffer: &Buffer, about: &str) {
    for cell in &buffer.content {
        let symbol = cell.symbol();
        let bad = |c: char| {
            c.is_control()
                || matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}')
        };
        assert!(!symbol.contains(bad), "{symbol:?} on the screen, from {about:?}");
        assert!(width(symbol) <= 2 && symbol.chars().count() <= 16, "{symbol:?} from {about:?}");
    }
}

#[test]
fn hostile_text_is_harmless_wherever_it_stands() {
    for text in texts() {
        let about: String = text.chars().take(30).collect();
        let mut story = Story::new();
        for fact in facts(&text) {
            story.json(fact);
            check(&story.draw(60, 24), &about);
        }
        story.child(
            "t1",
            json!({"kind": "agentStarted", "about": {"agentType": text, "description": text,
            "model": "m", "mode": "default", "cwd": "/", "useId": "t1"}}),
        );
        story.child("t1", json!({"kind": "toolStarted", "useId": "c1", "tool": text, "summary": text, "input": {}}));
        story.child("t1", json!({"kind": "speaking", "text": text}));
        for step in 0..2 {
            for columns in [1, 7, 83] {
                story.scroll.top(&story.transcript);
                check(&story.draw(columns, 150), &about);
            }
            if step == 0 {
                story.transcript.toggle_all();
            }
        }
        for cell in story.transcript.cells() {
            let most = 4 * LONGEST;
            assert!(cell.text().len() <= most, "{} bytes in {:?}", cell.text().len(), cell.id);
        }
    }
}

#[test]
fn ten_megabytes_without_a_line_end_are_kept_as_their_last_words() {
    let mut story = Story::new();
    for _ in 0..10 {
        story.json(json!({"kind": "speaking", "text": "y".repeat(1_000_000)}));
    }
    story.json(json!({"kind": "speaking", "text": " the end"}));
    let cell = story.transcript.at(0).unwrap();
    assert!(cell.text().len() <= LONGEST && cell.text().ends_with(" the end"));
    assert!(story.picture(80, 10).ends_with("the end"));
}

#[test]
fn ascii_signs_stay_ascii() {
    let mut story = Story::new();
    story.theme = story.theme.with_glyphs(Glyphs::ASCII);
    for fact in facts("plain words | `code`\n- item\n") {
        story.json(fact);
    }
    story.transcript.toggle_all();
    story.scroll.top(&story.transcript);
    let picture = story.picture(100, 200);
    let odd: String = picture.chars().filter(|c| !c.is_ascii()).collect();
    // Line ends inside a field, cut text, quotation marks: they come from words, not from signs.
    let odd = odd.replace(['⏎', '…', '“', '”'], "");
    assert_eq!(odd, "", "{picture}");
}
