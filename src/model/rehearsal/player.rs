//! Which turn of a playbook answers a request, and what it says.
//!
//! Nothing is remembered between requests: which turns are used follows from the conversation
//! itself, replayed answer by answer. So a restart changes nothing, the same request gets the
//! same answer, and agents that share an actor do not share its turns.

use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use super::digest::Digest;
use super::history::{Cue, History};
use super::playbook::{Actor, Fault, GivenUsage, Input, Playbook, Repeat, Turn, When, Who};
use super::template::{Missing, Template, Values};
use crate::model::chunk::StopReason;
use crate::model::request::{Caller, Purpose};
use crate::protocol::content::{ChatMessage, Known};

/// What happens when no turn fits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmatched {
    /// It is an error that names what was left.
    Fail,
    /// The actor says so and ends its turn.
    EndPolitely,
}

#[derive(Debug, Clone)]
pub struct Player {
    playbook: Arc<Playbook>,
    unmatched: Unmatched,
}

/// An answer, ready to be given.
#[derive(Debug, Clone, PartialEq)]
pub struct Play {
    pub id: String,
    pub blocks: Vec<Known>,
    pub usage: GivenUsage,
    pub fault: Option<(FaultKey, Fault)>,
    /// Where the turn stands in the playbook; nothing for what we say of our own accord.
    pub line: Option<usize>,
}

/// Whose fault it is: each agent meets each fault for itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FaultKey {
    team: Option<String>,
    agent: String,
    line: usize,
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlayError {
    #[error("the playbook has no actor for {caller}; it has {actors}")]
    NoActor { caller: String, actors: String },
    #[error("the playbook has no turn for {actor} here; the newest text is {newest:?}, and {left}")]
    NoTurn { actor: String, newest: String, left: String },
    #[error("the turn in line {line} of the playbook cannot be played: {what}")]
    Unfilled { line: usize, what: String },
}

impl Play {
    pub fn stop(&self) -> StopReason {
        let calls = self.blocks.iter().any(|block| matches!(block, Known::ToolUse { .. }));
        if calls { StopReason::ToolUse } else { StopReason::EndTurn }
    }
}

impl Player {
    pub fn new(playbook: Arc<Playbook>, unmatched: Unmatched) -> Self {
        Self { playbook, unmatched }
    }

    pub fn playbook(&self) -> &Arc<Playbook> {
        &self.playbook
    }

    /// The answer to a request with these messages.
    pub fn play(&self, caller: &Caller, messages: &[&ChatMessage]) -> Result<Play, PlayError> {
        let history = History::of(messages);
        let actors = &self.playbook.actors;
        match self.playbook.actor_of(caller).and_then(|index| actors.get(index)) {
            Some(actor) => self.act(actor, caller, history),
            None => match neutral(caller.purpose) {
                Some(text) => Ok(spoken(caller, &history, text)),
                None => self.without(caller, &history, || self.no_actor(caller)),
            },
        }
    }

    /// The answer of this actor, whoever asks.
    pub fn play_as(
        &self,
        actor: &Actor,
        caller: &Caller,
        messages: &[&ChatMessage],
    ) -> Result<Play, PlayError> {
        self.act(actor, caller, History::of(messages))
    }

    fn act(&self, actor: &Actor, caller: &Caller, history: History<'_>) -> Result<Play, PlayError> {
        let history = match actor.who {
            Who::Fork => history.since_fork(),
            Who::Named(_) | Who::Kind(_) | Who::Internal(_) => history,
        };
        let (answered, now) = history.split();
        let mut unused: Vec<&Turn> = actor.turns.iter().collect();
        if !matches!(actor.who, Who::Internal(_)) {
            for (index, cue) in answered.iter().enumerate() {
                let before = History::newest_in(&answered[..index]);
                consume(&mut unused, cue, before);
            }
        }
        let before = History::newest_in(answered);
        let found = unused
            .iter()
            .find_map(|turn| turn.when.holds(now, before).map(|groups| (*turn, groups)));
        let Some((turn, groups)) = found else {
            return self.without(caller, &history, || no_turn(actor, caller, &history, &unused));
        };
        self.speak(turn, groups, caller, &history)
    }

    fn speak(
        &self,
        turn: &Turn,
        groups: HashMap<String, String>,
        caller: &Caller,
        history: &History<'_>,
    ) -> Result<Play, PlayError> {
        let tool = turn.when.result_of.as_deref().or(turn.when.error_of.as_deref());
        let values = Values {
            groups,
            result: history.newest_result(tool).map(|result| result.text.clone()),
            request_id: history.request_id().map(str::to_owned),
            cwd: caller.cwd.clone(),
            me: caller.agent.clone(),
            team: caller.team.clone(),
        };
        let unfilled = |Missing(what)| PlayError::Unfilled { line: turn.line, what };
        let digest = digest(caller, history).with(&turn.line.to_le_bytes());
        let blocks = blocks(turn, &values, digest).map_err(unfilled)?;
        let key =
            FaultKey { team: caller.team.clone(), agent: caller.agent.clone(), line: turn.line };
        Ok(Play {
            id: format!("msg_{}", digest.short()),
            blocks,
            usage: turn.usage,
            fault: turn.fault.map(|fault| (key, fault)),
            line: Some(turn.line),
        })
    }

    fn without(
        &self,
        caller: &Caller,
        history: &History<'_>,
        error: impl FnOnce() -> PlayError,
    ) -> Result<Play, PlayError> {
        match self.unmatched {
            Unmatched::Fail => Err(error()),
            Unmatched::EndPolitely => {
                Ok(spoken(caller, history, "(The playbook has nothing more to say to this.)"))
            }
        }
    }

    fn no_actor(&self, caller: &Caller) -> PlayError {
        let kind = caller.agent_type.as_ref().map(|kind| format!(" (type:{kind})"));
        let fork = caller.purpose == Purpose::Fork;
        let purpose = if fork { " as a fork" } else { "" };
        let actors: Vec<String> =
            self.playbook.actors.iter().map(|actor| actor.who.to_string()).collect();
        PlayError::NoActor {
            caller: format!("{}{}{purpose}", caller.agent, kind.unwrap_or_default()),
            actors: actors.join(", "),
        }
    }
}

/// Takes out the turn that was played on this cue.
fn consume(unused: &mut Vec<&Turn>, cue: &Cue<'_>, before: Option<&str>) {
    let played = unused.iter().position(|turn| turn.when.holds(cue, before).is_some());
    if let Some(index) = played
        && unused[index].repeat == Repeat::Once
    {
        unused.remove(index);
    }
}

impl When {
    /// What the patterns found, if everything holds. `before` is the newest text before this cue.
    fn holds(&self, cue: &Cue<'_>, before: Option<&str>) -> Option<HashMap<String, String>> {
        let Self { user, result_of, error_of, mail_from, matching } = self;
        let result = |tool: &String| cue.results.iter().rev().find(|result| result.tool == *tool);
        let mut groups = HashMap::new();
        // Without mail, it is the result that must match.
        let of_result = matching.as_ref().filter(|_| mail_from.is_none());
        for (tool, must_fail) in [(result_of, false), (error_of, true)] {
            let Some(tool) = tool else { continue };
            let result = result(tool).filter(|result| result.is_error || !must_fail)?;
            if let Some(pattern) = of_result {
                groups.extend(captures(pattern, &result.text)?);
            }
        }
        if let Some(user) = user {
            // Together with a result, what was said before the tool was called counts.
            let asked = result_of.as_ref().or(error_of.as_ref()).and(before);
            let mut texts = cue.texts.last().copied().into_iter().chain(asked);
            groups.extend(texts.find_map(|text| captures(user, text))?);
        }
        if let Some(sender) = mail_from {
            let mut mails = cue.mails().filter(|mail| sender.matches(mail.from));
            groups.extend(match matching {
                Some(pattern) => mails.find_map(|mail| captures(pattern, mail.text))?,
                None => mails.next().map(|_| HashMap::new())?,
            });
        }
        Some(groups)
    }
}

fn captures(pattern: &Regex, text: &str) -> Option<HashMap<String, String>> {
    let found = pattern.captures(text)?;
    let named = pattern.capture_names().flatten();
    let groups =
        named.filter_map(|name| Some((name.to_owned(), found.name(name)?.as_str().to_owned())));
    Some(groups.collect())
}

fn blocks(turn: &Turn, values: &Values, digest: Digest) -> Result<Vec<Known>, Missing> {
    let mut blocks = Vec::new();
    let fill =
        |template: &Option<Template>| template.as_ref().map(|text| text.fill(values)).transpose();
    if let Some(thinking) = fill(&turn.think)? {
        blocks
            .push(Known::Thinking { thinking, signature: format!("rehearsal-{}", digest.short()) });
    }
    // An empty text is no block: the real API never sends one, and takes none back.
    if let Some(text) = fill(&turn.say)?.filter(|text| !text.is_empty()) {
        blocks.push(Known::Text { text });
    }
    for (index, call) in turn.call.iter().enumerate() {
        let id = format!("toolu_{}", digest.with(&index.to_le_bytes()).short());
        let input = fill_input(&call.input, values)?;
        blocks.push(Known::ToolUse { id, name: call.tool.clone(), input });
    }
    Ok(blocks)
}

fn fill_input(input: &Input, values: &Values) -> Result<Value, Missing> {
    Ok(match input {
        Input::Text(template) => Value::String(template.fill(values)?),
        Input::Fixed(value) => value.clone(),
        Input::List(items) => {
            items.iter().map(|item| fill_input(item, values)).collect::<Result<Value, _>>()?
        }
        Input::Map(fields) => {
            let fields =
                fields.iter().map(|(key, value)| Ok((key.clone(), fill_input(value, values)?)));
            Value::Object(fields.collect::<Result<_, Missing>>()?)
        }
    })
}

/// What an answer's ids are made of: who speaks, when, and to what.
fn digest(caller: &Caller, history: &History<'_>) -> Digest {
    let team = caller.team.as_deref().unwrap_or_default();
    let start = Digest::default()
        .with(caller.agent.as_bytes())
        .with(team.as_bytes())
        .with(caller.purpose.as_str().as_bytes())
        .with(&history.position().to_le_bytes());
    let (_, now) = history.split();
    let texts = now.texts.iter().copied().chain(now.results.iter().map(|result| &*result.text));
    texts.fold(start, |digest, text| digest.with(text.as_bytes()))
}

fn spoken(caller: &Caller, history: &History<'_>, text: &str) -> Play {
    Play {
        id: format!("msg_{}", digest(caller, history).short()),
        blocks: vec![Known::Text { text: text.to_owned() }],
        usage: GivenUsage::default(),
        fault: None,
        line: None,
    }
}

/// What we say when a playbook does not mind.
fn neutral(purpose: Purpose) -> Option<&'static str> {
    match purpose {
        Purpose::Turn | Purpose::Fork => None,
        Purpose::Compact => Some("This is a rehearsal; what was said before is left out here."),
        Purpose::Title => Some("Rehearsal"),
        Purpose::Summary => Some("A rehearsal is under way."),
        Purpose::SideQuestion => Some("This is a rehearsal; the playbook has no answer to that."),
        Purpose::Memory => Some("Nothing: this is a rehearsal."),
    }
}

fn no_turn(actor: &Actor, caller: &Caller, history: &History<'_>, unused: &[&Turn]) -> PlayError {
    let newest = match history.split().1 {
        cue if cue.texts.is_empty() && !cue.results.is_empty() => {
            let tools: Vec<&str> = cue.results.iter().map(|result| result.tool).collect();
            format!("(results of {})", tools.join(", "))
        }
        _ => shortened(history.newest_text().unwrap_or_default()),
    };
    let lines: Vec<String> = unused.iter().map(|turn| turn.line.to_string()).collect();
    let left = match lines.as_slice() {
        [] => "no turns are left".to_owned(),
        [line] => format!("the turn left is in line {line}"),
        lines => format!("the turns left are in lines {}", lines.join(", ")),
    };
    let who = actor.who.to_string();
    let actor = match who == caller.agent {
        true => who,
        false => format!("{} (actor {who})", caller.agent),
    };
    PlayError::NoTurn { actor, newest, left }
}

fn shortened(text: &str) -> String {
    const LONGEST: usize = 120;
    match text.char_indices().nth(LONGEST) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}
