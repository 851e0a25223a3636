//! Which tools an agent is offered at a moment. The mode decides: a plan can be handed in only
//! where one is made, and a lead that delegates only coordinates. Each of these lists is made
//! once for a model, whose name the prompt says, so that going back to a mode or a model goes back
//! to its cached prefix, byte by byte.

use std::sync::{Arc, Mutex, PoisonError};

use super::context::Agent;
use super::prompt::with_model;
use crate::model::request::Prefix;
use crate::permission::Seat;
use crate::protocol::op::Mode;
use crate::tools::registry::{Limits, Role, ToolSet};

/// Tools, and what the model is told of them.
#[derive(Clone)]
pub struct Offer {
    pub tools: ToolSet,
    pub prefix: Arc<Prefix>,
}

/// The lists that were needed so far.
pub struct Offers {
    /// The model that the agent's own prefix names.
    born_with: String,
    known: Mutex<Vec<((Part, String), Offer)>>,
}

impl Offers {
    pub fn new(born_with: String) -> Self {
        Self { born_with, known: Mutex::default() }
    }
}

/// What an agent does at a moment, as far as its tools are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// It has what its parent has, to the byte.
    Copies,
    Works,
    Plans,
    Delegates,
}

impl Agent {
    /// The tools of this moment.
    pub fn offer(&self) -> Offer {
        let (mode, seat) = {
            let view = self.views.borrow();
            (view.mode, view.seat)
        };
        let part = match mode {
            _ if self.birth.is_fork => Part::Copies,
            Mode::Plan => Part::Plans,
            Mode::Delegate if seat == Seat::Lead => Part::Delegates,
            Mode::Default
            | Mode::AcceptEdits
            | Mode::BypassPermissions
            | Mode::DontAsk
            | Mode::Delegate
            | Mode::Bubble => Part::Works,
        };
        let model = self.brain().chosen.name();
        let key = (part, model);
        let mut known = self.offers.known.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, offer)) = known.iter().find(|(of, _)| *of == key) {
            return offer.clone();
        }
        let offer = self.make_offer(part, &key.1);
        known.push((key, offer.clone()));
        offer
    }

    fn make_offer(&self, part: Part, model: &str) -> Offer {
        let born_with = &self.offers.born_with;
        let is_same = model == born_with;
        let role = match part {
            Part::Copies if is_same => {
                return Offer { tools: self.tools.clone(), prefix: Arc::clone(&self.prefix) };
            }
            Part::Delegates => Role::Delegate,
            Part::Copies | Part::Works | Part::Plans => Role::Lead,
        };
        let limits = Limits { planning: part == Part::Plans, ..Limits::of(role) };
        let tools = match part {
            Part::Copies => self.tools.clone(),
            Part::Works | Part::Plans | Part::Delegates => self.tools.narrowed(&limits).tools,
        };
        let system = match is_same {
            true => self.prefix.system.clone(),
            false => with_model(&self.prefix.system, born_with, model),
        };
        let prefix = Arc::new(Prefix::new(system, tools.specs()));
        Offer { tools, prefix }
    }
}
