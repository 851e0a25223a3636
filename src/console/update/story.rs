//! Follows a rehearsal to its end: then the console offers what was done, or is left.

use super::{Effect, Parting};
use crate::console::state::State;
use crate::console::state::story::Stage;
use crate::protocol::event::{Event, Fact};

pub fn on_event(state: &mut State, event: &Event) -> Vec<Effect> {
    let by_lead = event.agent.is_some() && event.agent.as_ref() == state.lead();
    let Some(story) = state.story.as_mut().filter(|_| by_lead) else { return Vec::new() };
    match (&event.fact, story.stage) {
        (Fact::Spoke { message, .. }, Stage::Playing)
            if message.content.text().contains(&story.last_words) =>
        {
            story.stage = Stage::Ending;
        }
        (Fact::TurnEnded { .. }, Stage::Ending) => {
            story.stage = Stage::Told;
            if story.leave {
                return vec![Effect::Quit(Parting::End)];
            }
            state.composer.offer = Some(story.offer.clone());
        }
        (_, Stage::Playing | Stage::Ending | Stage::Told) => {}
    }
    Vec::new()
}
