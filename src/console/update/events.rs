//! What the session tells, and what effects bring back.

use super::composer::restore;
use super::{Editing, Effect, asks, story};
use crate::console::state::State;
use crate::console::text::sanitize::one_line;
use crate::protocol::event::{Event, Fact, Level};
use crate::protocol::op::Op;

/// Notices of the journal that are older than this were seen in another life of the session.
const OLD_MS: i64 = 30_000;

pub fn on_event(state: &mut State, event: &Event) -> Vec<Effect> {
    // A journal is read again from where it broke off; nothing counts twice.
    if event.seq <= state.about.seq && event.seq != 0 {
        return Vec::new();
    }
    state.about.seq = event.seq;
    state.agents.absorb(event);
    state.tasks.absorb(event);
    let mut effects = asks::on_event(state, event);
    if let Some(agent) = state.agents.get_mut(&state.selected).filter(|_| state.ui.is_watched) {
        agent.unseen = 0;
    }
    of_session(state, event);
    effects.extend(story::on_event(state, event));
    effects
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest is told by agents, asks and tasks")]
fn of_session(state: &mut State, event: &Event) {
    match &event.fact {
        Fact::AgentStarted { about } if about.parent.is_none() => {
            // A recorded session may have another lead than the one that was assumed.
            let assumed = state.agents.get(&state.selected).is_some_and(|one| one.about.is_none());
            if let Some(lead) = event.agent.clone().filter(|_| assumed) {
                state.agents.replace_lead(&lead);
                super::reach::select(state, &lead);
            }
        }
        Fact::TeamCreated { name, .. } => state.about.team = Some(one_line(name.as_str())),
        Fact::TeamDeleted { .. } => state.about.team = None,
        Fact::Spoke { usd: Some(usd), .. } => state.about.usd = Some(*usd),
        Fact::Granted { grant } => state.about.grants.push(grant.clone()),
        Fact::Revoked { grant } => state.about.grants.retain(|known| known.id != grant.id),
        // It stands in the transcript that is looked at.
        Fact::Notice { level: Level::Info, .. }
            if event.agent.as_ref() == Some(&state.selected) => {}
        Fact::Notice { level, text } if state.now.millis() - event.at.millis() < OLD_MS => {
            let whose = event.agent.as_ref().and_then(|id| state.agents.get(id));
            let text = match whose.filter(|agent| agent.id != state.selected) {
                Some(agent) => format!("{}: {}", agent.name, one_line(text)),
                None => one_line(text),
            };
            state.say(*level, text);
        }
        _ => {}
    }
}

pub fn on_refused(state: &mut State, op: Op, why: &str) -> Vec<Effect> {
    let why = one_line(why);
    match op {
        Op::Answer { ask, .. } => asks::on_refused(state, &ask, &why),
        Op::Say { to, text, .. } => {
            restore(state, &to, &text);
            state.say(Level::Error, format!("Not sent: {why}."));
        }
        Op::Recipe { agent, name, arguments } => {
            restore(state, &agent, format!("/{name} {arguments}").trim_end());
            state.say(Level::Error, format!("Not sent: {why}."));
        }
        Op::Interrupt { .. }
        | Op::Stop { .. }
        | Op::Mode { .. }
        | Op::Pause { .. }
        | Op::Unpause { .. }
        | Op::Spawn { .. }
        | Op::Shutdown { .. }
        | Op::Task { .. }
        | Op::Background { .. }
        | Op::Model { .. }
        | Op::Delegate { .. }
        | Op::Compact { .. } => state.say(Level::Error, format!("Not done: {why}.")),
    }
    Vec::new()
}

pub fn on_edited(state: &mut State, purpose: &Editing, text: Option<String>) -> Vec<Effect> {
    let Some(text) = text else {
        state.info("The editor closed without saving; nothing changed.");
        return Vec::new();
    };
    match purpose {
        Editing::Draft => state.composer.set_text(&text),
        Editing::Ask | Editing::Task => {
            if let Some(editor) = state.asks.dialog.as_mut().and_then(|dialog| dialog.editor_mut())
            {
                editor.set_text(&text);
            }
        }
        Editing::Reading => {}
    }
    Vec::new()
}
