//! What came over the wire as text that a model can read: decoded, and Markdown where it was HTML.
//!
//! Pages are written by strangers. A tree that is too deep is cut, converting happens on a thread
//! with a stack that what is left cannot exhaust, and parsing, which takes very long for pages that
//! are made to be slow, ends when nobody waits for it any more.

use std::rc::Rc;
use std::sync::LazyLock;

use encoding_rs::{Encoding, UTF_8};
use htmd::{HtmlToMarkdown, Node};
use html5ever::tendril::{StrTendril, TendrilSink};
use html5ever::{ParseOpts, parse_document};
use markup5ever_rcdom::RcDom;
use regex::bytes::Regex;
use tokio::sync::oneshot;

/// Browsers draw the line there as well.
const DEEPEST: usize = 512;
const STACK: usize = 64 << 20;
/// So much of a page is searched for its charset.
const HEAD: usize = 4096;
/// So much of it is parsed before looking whether somebody still waits.
const PIECE: usize = 4096;

/// What is not part of what a page says.
const NOISE: [&str; 12] = [
    "script", "style", "noscript", "template", "svg", "canvas", "iframe", "object", "nav",
    "button", "input", "select",
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Html,
    Text,
    /// The server does not say.
    Unsaid,
    Binary,
}

/// What a content type means for us.
pub fn kind(content_type: Option<&str>) -> Kind {
    let Some(value) = content_type else { return Kind::Unsaid };
    let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let (family, rest) = name.split_once('/').unwrap_or((name.as_str(), ""));
    let texts =
        ["json", "xml", "javascript", "ecmascript", "yaml", "x-yaml", "toml", "x-ndjson", "x-sh"];
    match (family, rest) {
        ("", _) => Kind::Unsaid,
        ("text", "html") | ("application", "xhtml+xml") => Kind::Html,
        ("text", _) => Kind::Text,
        ("application", rest) if texts.contains(&rest) => Kind::Text,
        ("application" | "image", rest) if rest.ends_with("+json") || rest.ends_with("+xml") => {
            Kind::Text
        }
        (_, _) => Kind::Binary,
    }
}

/// What a body seems to be whose server does not say.
pub fn sniff(bytes: &[u8]) -> Kind {
    let start = &bytes[..bytes.len().min(HEAD)];
    let begins_tag = start.trim_ascii_start().first() == Some(&b'<');
    match () {
        () if start.contains(&0) => Kind::Binary,
        () if begins_tag => Kind::Html,
        () => Kind::Text,
    }
}

/// The text of a body, on a thread of its own.
pub async fn read(bytes: Vec<u8>, content_type: Option<String>, kind: Kind) -> Option<String> {
    let (done, text) = oneshot::channel();
    let work = move || {
        let text = decode(&bytes, content_type.as_deref(), kind);
        let text = match kind {
            Kind::Html => markdown(&text, || done.is_closed()),
            Kind::Text | Kind::Unsaid | Kind::Binary => Some(text),
        };
        // Nobody waits any more where the call was stopped.
        let _ = done.send(text);
    };
    let thread = std::thread::Builder::new().name("page".to_owned()).stack_size(STACK);
    thread.spawn(work).ok()?;
    text.await.ok()?
}

/// By the byte order mark, else what the server says, else what the page says, else UTF-8.
fn decode(bytes: &[u8], content_type: Option<&str>, kind: Kind) -> String {
    let said = content_type.and_then(|value| charset(value.as_bytes()));
    let written = || match kind {
        Kind::Html => charset(&bytes[..bytes.len().min(HEAD)]),
        Kind::Text | Kind::Unsaid | Kind::Binary => None,
    };
    let encoding = said.or_else(written).unwrap_or(UTF_8);
    encoding.decode(bytes).0.into_owned()
}

fn charset(text: &[u8]) -> Option<&'static Encoding> {
    static NAMED: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#"(?i)\bcharset\s*=\s*["']?\s*([a-z0-9_:.+-]+)"#).ok());
    let found = NAMED.as_ref()?.captures(text)?;
    Encoding::for_label(found.get(1)?.as_bytes())
}

/// `None`: it was given up.
fn markdown(html: &str, given_up: impl Fn() -> bool) -> Option<String> {
    let mut parser = parse_document(RcDom::default(), ParseOpts::default());
    let mut left = html;
    while !left.is_empty() {
        if given_up() {
            return None;
        }
        let end = (PIECE..left.len()).find(|at| left.is_char_boundary(*at));
        let (piece, rest) = left.split_at(end.unwrap_or(left.len()));
        parser.process(StrTendril::from_slice(piece));
        left = rest;
    }
    let tree = parser.finish().document;
    prune(&tree);
    let converter = HtmlToMarkdown::builder().skip_tags(NOISE.to_vec()).build();
    Some(converter.tree_to_markdown(&tree))
}

/// Cuts off what lies too deep.
fn prune(root: &Rc<Node>) {
    let mut level = vec![Rc::clone(root)];
    for _ in 0..DEEPEST {
        let below = |node: &Rc<Node>| node.children.borrow().clone();
        level = level.iter().flat_map(below).collect();
    }
    for node in level {
        node.children.borrow_mut().clear();
    }
}

/// A text of at most so many characters, with a word about what is missing.
pub fn cut(text: String, most: usize) -> String {
    match text.char_indices().nth(most) {
        None => text,
        Some((at, _)) => {
            let left = text[at..].chars().count();
            format!("{}\n\n[cut here; {left} more characters follow]", &text[..at])
        }
    }
}

/// An amount of bytes for people.
pub fn amount(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes} bytes"),
        1024..1_048_576 => format!("{} KB", bytes.div_ceil(1024)),
        _ => format!("{}.{} MB", bytes >> 20, ((bytes % (1 << 20)) * 10) >> 20),
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn parsing_ends_soon_after_nobody_waits() {
        let looks = Cell::new(0);
        let given_up = || {
            looks.set(looks.get() + 1);
            looks.get() > 2
        };
        assert_eq!(markdown(&"<p>é".repeat(1 << 20), given_up), None);
        assert_eq!(looks.get(), 3);
        let long = format!("{}!", "é".repeat(PIECE));
        assert_eq!(markdown(&long, || false), Some(long));
    }

    #[test]
    fn amounts_are_short() {
        let shown = [0, 1023, 1024, 123_456, 1 << 20, 10 << 20, 11_900_000].map(amount);
        let wanted = ["0 bytes", "1023 bytes", "1 KB", "121 KB", "1.0 MB", "10.0 MB", "11.3 MB"];
        assert_eq!(shown, wanted);
    }
}
