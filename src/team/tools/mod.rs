//! The tools of this layer: making a team, ending it, and plan mode.

mod enter_plan;
pub mod exit_plan;
mod team_create;
mod team_delete;

use std::sync::{Arc, OnceLock, Weak};

use super::crew::Team;
use crate::tools::Tool;

/// Where the tools find the team, which is made after them.
#[derive(Clone, Default)]
pub struct Slot(Arc<OnceLock<Weak<Team>>>);

impl Slot {
    pub fn set(&self, team: &Arc<Team>) {
        // A session has one crew, and sets it once.
        let _ = self.0.set(Arc::downgrade(team));
    }

    fn get(&self) -> Option<Arc<Team>> {
        self.0.get()?.upgrade()
    }
}

/// The tools of this layer, in the order the model sees them.
pub fn builtin(team: &Slot) -> Vec<Arc<dyn Tool>> {
    vec![
        Arc::new(team_create::TeamCreateTool::new(team.clone())),
        Arc::new(team_delete::TeamDeleteTool::new(team.clone())),
        Arc::new(enter_plan::EnterPlanTool::new(team.clone())),
        Arc::new(exit_plan::ExitPlanTool::new(team.clone())),
    ]
}
