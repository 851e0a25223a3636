//! Going from agent to agent and from panel to panel.

use super::{Effect, asks, tasks};
use crate::console::keys::Action;
use crate::console::state::State;
use crate::console::state::agents::Group;
use crate::console::state::dialog::Dialog;
use crate::console::state::ui::Focus;
use crate::console::view::layout;
use crate::protocol::ids::AgentId;

/// Makes an agent the selected one. The draft for the one before is kept.
pub fn select(state: &mut State, to: &AgentId) {
    if state.agents.get(to).is_none() {
        return;
    }
    state.composer.switch(&state.selected, to);
    state.selected = to.clone();
    state.ui.armed = None;
    if let Some(agent) = state.agents.get_mut(to) {
        agent.unseen = 0;
        agent.failure_seen = true;
    }
}

/// To the next or the previous one, round the ends.
pub fn step(state: &mut State, by: isize) {
    let team = state.rotation();
    let at = team.iter().position(|id| *id == state.selected).unwrap_or(0);
    let many = isize::try_from(team.len()).unwrap_or(1).max(1);
    let next = (isize::try_from(at).unwrap_or(0) + by).rem_euclid(many);
    if let Some(id) = usize::try_from(next).ok().and_then(|next| team.get(next)) {
        select(state, id);
    }
}

pub fn jump(state: &mut State, place: usize) -> Vec<Effect> {
    match state.rotation().get(place).cloned() {
        Some(id) => select(state, &id),
        None => state.info(format!("There is no teammate {place}.")),
    }
    Vec::new()
}

/// The panels that are on the screen and have something in them, in the order of Tab.
pub fn panels(state: &State) -> Vec<Focus> {
    let plan = layout::arrange(state);
    let mut panels = vec![Focus::Composer, Focus::Pane];
    if plan.tasks.is_some() && !state.tasks.is_empty() {
        panels.push(Focus::Tasks);
    }
    if plan.queue.is_some() && !state.asks.is_empty() {
        panels.push(Focus::Queue);
    }
    panels
}

pub fn next_panel(state: &mut State) {
    if !state.layers.is_empty() {
        return;
    }
    let panels = panels(state);
    let at = panels.iter().position(|panel| *panel == state.ui.focus).unwrap_or(0);
    state.ui.focus = panels[(at + 1) % panels.len()];
}

/// Keeps the focus on something that is there.
pub fn mend_focus(state: &mut State) {
    let is_gone = match state.ui.focus {
        Focus::Composer | Focus::Pane => false,
        Focus::Tasks => state.tasks.is_empty(),
        Focus::Queue => state.asks.is_empty(),
    };
    if is_gone {
        state.ui.focus = Focus::Composer;
    }
}

/// Whoever needs the person: an ask, a failure, a stall. The first after the selected one.
pub fn next_need(state: &mut State) {
    let team = state.rotation();
    let at = team.iter().position(|id| *id == state.selected).unwrap_or(0);
    let needy = |id: &&AgentId| {
        let agent = state.agents.get(id);
        agent.is_some_and(|agent| state.group(agent) == Group::NeedsYou)
            || state.asks_of(id).next().is_some()
    };
    let round = team.iter().cycle().skip(at + 1).take(team.len());
    match round.into_iter().find(needy).cloned() {
        Some(id) => {
            super::everywhere::close_passing(state);
            select(state, &id);
            if state.layers.is_empty() {
                state.ui.focus = Focus::Pane;
            }
        }
        None => state.info("Nobody needs you."),
    }
}

pub fn answer_oldest(state: &mut State) {
    match state.asks.is_empty() {
        true => state.info("Nothing waits for an answer."),
        false => asks::open_oldest(state),
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "the rest means nothing in a queue")]
pub fn act_on_queue(state: &mut State, action: Action) -> Vec<Effect> {
    match action {
        Action::Down => state.asks.select_by(1),
        Action::Up => state.asks.select_by(-1),
        Action::OpenAsk => {
            state.layers.retain(|layer| !matches!(layer, Dialog::Queue));
            asks::open_selected(state);
        }
        _ => {}
    }
    Vec::new()
}

/// Keys on the tasks: in their panel or over the whole screen.
pub fn act_on_tasks(state: &mut State, action: Action) -> Vec<Effect> {
    tasks::on_action(state, action).unwrap_or_default()
}
