//! Who is calling: our own clients say so, others are recognised by what they send.

use axum::http::HeaderMap;

use super::body::Asked;
use crate::model::rehearsal::playbook::{Actor, Playbook, Who};
use crate::model::request::{Caller, Purpose};
use crate::protocol::content::{ChatMessage, Content, Known, Role};

/// A caller, and the actor that was recognised in it.
pub struct Found<'a> {
    pub caller: Caller,
    pub actor: Option<&'a Actor>,
}

/// A header of our own clients.
pub fn header(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(format!("x-quarterdeck-{name}"))?;
    Some(String::from_utf8_lossy(value.as_bytes()).into_owned())
}

pub fn find<'a>(playbook: &'a Playbook, headers: &HeaderMap, asked: &Asked) -> Found<'a> {
    let purpose = header(headers, "purpose").and_then(|text| Purpose::parse(&text));
    let caller = |agent: String, purpose: Purpose| Caller {
        agent,
        agent_type: header(headers, "agent-type"),
        team: header(headers, "team"),
        cwd: header(headers, "cwd").unwrap_or_else(|| ".".to_owned()),
        purpose,
    };
    if let Some(agent) = header(headers, "agent") {
        return Found { caller: caller(agent, purpose.unwrap_or(Purpose::Turn)), actor: None };
    }
    let Some(actor) = recognised(playbook, asked).or(playbook.actors.first()) else {
        let caller = caller("somebody".to_owned(), purpose.unwrap_or(Purpose::Turn));
        return Found { caller, actor: None };
    };
    let (agent, usual) = match &actor.who {
        Who::Named(name) | Who::Kind(name) => (name.as_str(), Purpose::Turn),
        Who::Fork => ("fork", Purpose::Fork),
        Who::Internal(name) => {
            (name.as_str(), Purpose::parse(name.as_str()).unwrap_or(Purpose::Summary))
        }
    };
    let caller = caller(plain(agent), purpose.unwrap_or(usual));
    Found { caller, actor: Some(actor) }
}

/// A name for whoever plays an actor that may be played by many.
fn plain(glob: &str) -> String {
    let name = glob.replace('*', "");
    match name.trim_matches(['-', '_', '.', ' ']) {
        "" => "agent".to_owned(),
        name => name.to_owned(),
    }
}

fn recognised<'a>(playbook: &'a Playbook, asked: &Asked) -> Option<&'a Actor> {
    let mut said = asked.messages.iter().filter(|message| message.role == Role::User).map(texts);
    let first = said.find(|text| !text.is_empty()).unwrap_or_default();
    let newest = said.rfind(|text| !text.is_empty()).unwrap_or_default();
    let seen = [asked.system.as_str(), &first, &newest];
    playbook.actors.iter().find(|actor| {
        let pattern = actor.identify.as_ref();
        pattern.is_some_and(|pattern| seen.iter().any(|text| pattern.is_match(text)))
    })
}

/// The text of a message, without results of tools.
fn texts(message: &ChatMessage) -> String {
    match &message.content {
        Content::Text(text) => text.clone(),
        Content::Blocks(blocks) => {
            let texts = blocks.iter().filter_map(|block| match block.meaning() {
                Some(Known::Text { text }) => Some(text.as_str()),
                _ => None,
            });
            texts.collect::<Vec<_>>().join("\n")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::content::Block;

    #[test]
    fn nobody_is_called_by_a_glob() {
        let table = [
            ("scout", "scout"),
            ("worker-*", "worker"),
            ("*-x-*", "x"),
            ("*", "agent"),
            ("", "agent"),
        ];
        for (glob, name) in table {
            assert_eq!(plain(glob), name, "{glob}");
        }
    }

    #[test]
    fn only_text_recognises_a_caller() {
        let blocks = vec![Block::text("a"), Block::tool_result("t", "hidden"), Block::text("b")];
        assert_eq!(texts(&ChatMessage::results(blocks)), "a\nb");
    }
}
