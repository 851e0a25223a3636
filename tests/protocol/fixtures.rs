//! Every fixture parses, as a document and as its type, and is written back to the same bytes.

use std::fs;
use std::path::Path;

use quarterdeck::protocol::content::Content;
use quarterdeck::protocol::json::{self, Elements, Json};
use quarterdeck::protocol::message::{Body, Message};
use quarterdeck::protocol::task::Task;
use quarterdeck::protocol::team::{Form, Team};

use crate::support::fixtures;

fn is_in(path: &Path, folder: &str) -> bool {
    path.components().any(|part| part.as_os_str() == folder)
}

#[test]
fn every_json_file_survives_a_rewrite() {
    let files = fixtures(".json");
    assert!(files.len() >= 70, "only {} fixtures found", files.len());
    for path in files {
        let text = fs::read_to_string(&path).unwrap();
        let document = Json::parse(&text).unwrap();
        let meta = path.to_string_lossy().ends_with(".meta.json");
        let written = if meta { document.compact() } else { document.pretty() };
        assert_eq!(written, text, "{}", path.display());
    }
}

#[test]
fn every_transcript_survives_line_by_line() {
    let mut lines = 0;
    for path in fixtures(".jsonl") {
        for line in fs::read_to_string(&path).unwrap().lines() {
            assert_eq!(Json::parse(line).unwrap().compact(), line, "{}", path.display());
            lines += 1;
        }
    }
    assert!(lines > 500, "only {lines} transcript lines found");
}

#[test]
fn every_roster_is_a_team_and_classic_ones_are_written_as_we_would() {
    for path in fixtures("config.json") {
        let text = fs::read_to_string(&path).unwrap();
        let team: Team = json::from_text(&text).unwrap();
        let classic = path.to_string_lossy().contains("classic");
        assert_eq!(team.form(), if classic { Form::Classic } else { Form::Session });
        assert!(team.lead().is_some(), "{}", path.display());
        if classic {
            assert_eq!(json::to_pretty(&team), text, "{}", path.display());
        }
    }
}

#[test]
fn every_task_is_written_as_we_would() {
    let tasks = fixtures(".json").into_iter().filter(|path| is_in(path, "tasks"));
    let mut count = 0;
    for path in tasks {
        let text = fs::read_to_string(&path).unwrap();
        let task: Task = json::from_text(&text).unwrap();
        assert_eq!(json::to_pretty(&task), text, "{}", path.display());
        count += 1;
    }
    assert!(count >= 15, "only {count} tasks found");
}

#[test]
fn every_message_is_written_as_we_would_and_its_body_is_understood() {
    let inbox = |path: &Path| is_in(path, "inboxes") || is_in(path, "inbox-v1");
    let mut bodies = 0;
    for path in fixtures(".json").into_iter().filter(|path| inbox(path)) {
        let text = fs::read_to_string(&path).unwrap();
        let elements = Elements::of(&text);
        assert_eq!(elements.torn, None);
        let messages: Vec<Message> =
            elements.whole.iter().map(|element| json::from_text(element).unwrap()).collect();
        assert_eq!(json::to_pretty(&messages), text, "{}", path.display());
        for message in messages {
            let body = message.body();
            assert!(!matches!(body, Body::Unknown { .. }), "{}", message.text);
            assert_eq!(body.to_text(), message.text);
            bodies += usize::from(!matches!(body, Body::Plain(_)));
        }
    }
    assert!(bodies > 50, "only {bodies} typed bodies found");
}

/// What was said to and by models: every content of every transcript comes out as it went in.
#[test]
fn every_content_of_a_transcript_survives() {
    let mut contents = 0;
    for path in fixtures(".jsonl") {
        for line in fs::read_to_string(&path).unwrap().lines() {
            let record = Json::parse(line).unwrap();
            let Some(content) = record.get("message").and_then(|message| message.get("content"))
            else {
                continue;
            };
            let text = content.compact();
            let read: Content = json::from_text(&text).unwrap();
            assert_eq!(json::to_compact(&read), text, "{}", path.display());
            contents += 1;
        }
    }
    assert!(contents > 300, "only {contents} contents found");
}
