//! The frames in which mail and news of background work enter a conversation.

/// What a text is made of.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Part<'a> {
    Plain(&'a str),
    Mail {
        from: String,
        color: Option<String>,
        summary: Option<String>,
        text: String,
    },
    /// Work in the background has ended.
    Note {
        status: &'a str,
        summary: String,
        result: String,
    },
}

const MAIL: &str = "teammate-message";
const NOTE: &str = "task-notification";

/// The parts of a text in order. What looks like a frame but is none stays text.
pub(super) fn parts(text: &str) -> Vec<Part<'_>> {
    let mut parts = Vec::new();
    let mut rest = text;
    let mut from = 0;
    while let Some(at) = next_frame(rest, from) {
        let (before, frame) = rest.split_at(at);
        match mail(frame).or_else(|| note(frame)) {
            Some((part, after)) => {
                plain(before, &mut parts);
                parts.push(part);
                (rest, from) = (after, 0);
            }
            None => from = at + 1,
        }
    }
    plain(rest, &mut parts);
    parts
}

fn plain<'a>(text: &'a str, parts: &mut Vec<Part<'a>>) {
    if !text.trim().is_empty() {
        parts.push(Part::Plain(text.trim_matches('\n')));
    }
}

fn next_frame(text: &str, from: usize) -> Option<usize> {
    let after = text.get(from..)?;
    let find = |tag: &str| after.find(&format!("<{tag}"));
    [find(MAIL), find(NOTE)].into_iter().flatten().min().map(|at| from + at)
}

fn mail(frame: &str) -> Option<(Part<'_>, &str)> {
    let (head, body, after) = element(frame, MAIL)?;
    let attribute = |name: &str| {
        let (_, value) = head.split_once(&format!(" {name}=\""))?;
        value.split_once('"').map(|(value, _)| unescaped(value))
    };
    let from = attribute("teammate_id")?;
    let text = unescaped(body.trim_matches('\n'));
    let (color, summary) = (attribute("color"), attribute("summary"));
    Some((Part::Mail { from, color, summary, text }, after))
}

fn note(frame: &str) -> Option<(Part<'_>, &str)> {
    let (_, body, after) = element(frame, NOTE)?;
    let field = |name: &str| element(body.get(body.find(&format!("<{name}>"))?..)?, name);
    let text = |name: &str| field(name).map(|(_, text, _)| text.trim()).unwrap_or_default();
    let (summary, result) = (unescaped(text("summary")), unescaped(text("result")));
    Some((Part::Note { status: text("status"), summary, result }, after))
}

/// Attributes, content and what follows of the element that begins the text.
fn element<'a>(text: &'a str, tag: &str) -> Option<(&'a str, &'a str, &'a str)> {
    let rest = text.strip_prefix('<')?.strip_prefix(tag)?;
    let mut quoted = false;
    let end = rest.char_indices().find(|(_, c)| {
        quoted ^= *c == '"';
        *c == '>' && !quoted
    })?;
    let (head, body) = rest.split_at(end.0);
    if !head.is_empty() && !head.starts_with(char::is_whitespace) {
        return None;
    }
    let (body, after) = body.strip_prefix('>')?.split_once(&format!("</{tag}>"))?;
    Some((head, body, after))
}

fn unescaped(text: &str) -> String {
    let plain = text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"");
    plain.replace("&#39;", "'").replace("&amp;", "&")
}
