//! A session as Markdown in a file: the one way, for `/export` and for `quarterdeck replay`.

use crate::console::text::sanitize::printable;
use crate::protocol::event::Event;
use crate::session::markdown;

/// What happened in a session, for people who were not there. Whoever prints the file has a
/// terminal, too: it holds nothing that one would obey.
pub fn exported<'a>(session: &str, events: impl IntoIterator<Item = &'a Event>) -> String {
    printable(&markdown::of(&format!("Session {session}"), events)).into_owned()
}
