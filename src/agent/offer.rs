//! Which tools an agent is offered at a moment. The mode decides: a plan can be handed in only
//! where one is made, and a lead that delegates only coordinates. Each of these lists is made
//! once, so that going back to a mode goes back to its cached prefix, byte by byte.

use std::sync::{Arc, Mutex, PoisonError};

use super::context::Agent;
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
#[derive(Default)]
pub struct Offers(Mutex<Vec<(Part, Offer)>>);

/// What an agent does at a moment, as far as its tools are concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
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
            // What its parent has, to the byte.
            _ if self.birth.is_fork => return self.whole(),
            Mode::Plan => Part::Plans,
            Mode::Delegate if seat == Seat::Lead => Part::Delegates,
            Mode::Default
            | Mode::AcceptEdits
            | Mode::BypassPermissions
            | Mode::DontAsk
            | Mode::Delegate
            | Mode::Bubble => Part::Works,
        };
        let mut known = self.offers.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, offer)) = known.iter().find(|(of, _)| *of == part) {
            return offer.clone();
        }
        let role = if part == Part::Delegates { Role::Delegate } else { Role::Lead };
        let limits = Limits { planning: part == Part::Plans, ..Limits::of(role) };
        let tools = self.tools.narrowed(&limits).tools;
        let prefix = Arc::new(Prefix::new(self.prefix.system.clone(), tools.specs()));
        let offer = Offer { tools, prefix };
        known.push((part, offer.clone()));
        offer
    }

    fn whole(&self) -> Offer {
        Offer { tools: self.tools.clone(), prefix: Arc::clone(&self.prefix) }
    }
}
