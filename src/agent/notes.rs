//! News of background work in the words that a model gets.

use crate::tools::Note;

/// A note as it stands in the conversation.
pub fn notification(note: &Note) -> String {
    let mut text = String::from("<task-notification>\n");
    let mut part = |name: &str, value: &str| {
        if !value.is_empty() {
            text.push_str(&format!("<{name}>{}</{name}>\n", escaped(value)));
        }
    };
    part("task-id", &note.task);
    part("tool-use-id", &note.use_id);
    part("output-file", &note.output.to_string_lossy());
    part("status", note.status.as_str());
    part("summary", &note.summary);
    part("result", note.result.as_deref().unwrap_or_default());
    part("usage", note.usage.as_deref().unwrap_or_default());
    text.push_str("</task-notification>");
    text
}

/// What comes from outside must not be able to close the tag it stands in.
fn escaped(text: &str) -> String {
    const TAGS: [&str; 8] = [
        "task-notification",
        "task-id",
        "tool-use-id",
        "output-file",
        "status",
        "summary",
        "result",
        "usage",
    ];
    let mut safe = text.to_owned();
    for tag in TAGS {
        let close = format!("</{tag}");
        if safe.contains(&close) {
            safe = safe.replace(&close, &format!("&lt;/{tag}"));
        }
    }
    safe
}
