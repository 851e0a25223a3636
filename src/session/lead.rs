//! The lead of a session: how it comes to be.

use std::sync::Arc;

use uuid::Uuid;

use super::live::StartError;
use crate::agent::born::{self, Cradle};
use crate::agent::context::{Agent, Birth, Brain, Limits};
use crate::agent::definition::Definition;
use crate::agent::gear::{Gear, with_effort};
use crate::agent::office::Office;
use crate::agent::planning::MODEL;
use crate::agent::prompt::Reader;
use crate::model::request::Purpose;
use crate::permission::View;
use crate::protocol::event::{AgentAbout, Fact, Level};
use crate::store::StoreError;
use crate::store::state::StateFile;
use crate::team::crew::Team;
use crate::tools::Crew;
use crate::tools::registry::{Limits as ToolLimits, Role};
use crate::tools::seen::ReadCache;

/// What everyone who works for this lead has in common, now and when the session is resumed.
pub(super) fn chain_id(state: &StateFile) -> Result<String, StoreError> {
    const CHAIN: &str = "chain";
    if let Some(known) = state.read(CHAIN)? {
        return Ok(known);
    }
    let new = Uuid::new_v4().to_string();
    state.write(CHAIN, &new)?;
    Ok(new)
}

/// What the lead thinks with: what was asked for now, else what was chosen in the session before,
/// else the usual. Also what is to be said where that cannot be had any more.
pub(super) fn lead_brain(
    office: &Office,
    state: &StateFile,
    brain: Brain,
    is_given: bool,
) -> Result<(Brain, Option<String>), StoreError> {
    if is_given {
        state.write(MODEL, &brain.chosen.name())?;
        return Ok((brain, None));
    }
    let Some(name) = state.read::<String>(MODEL)? else { return Ok((brain, None)) };
    Ok(match office.brains.named(&name) {
        Ok(kept) => (kept, None),
        Err(error) => {
            let usual = brain.chosen.name();
            (brain, Some(format!("The session continues with {usual}: {error}")))
        }
    })
}

pub(super) struct OfLead<'a> {
    pub brain: Brain,
    pub definition: Option<&'a Definition>,
    pub view: View,
    pub limits: Limits,
    pub tools: Option<Vec<String>>,
    pub disallowed: Vec<String>,
    pub chain_id: String,
}

impl OfLead<'_> {
    pub fn bear(
        mut self,
        office: &Arc<Office>,
        crew: &Arc<Team>,
    ) -> Result<Arc<Agent>, StartError> {
        let id = office.lead();
        let own = self.definition;
        let mut disallowed = self.disallowed;
        disallowed.extend(own.into_iter().flat_map(|own| own.disallowed_tools.iter().cloned()));
        let limits = ToolLimits {
            tools: self.tools.or_else(|| own.and_then(|own| own.tools.clone())),
            disallowed,
            planning: true,
            ..ToolLimits::of(Role::Lead)
        };
        let narrowed = office.tools.narrowed(&limits);
        for warning in &narrowed.warnings {
            let fact = Fact::Notice { level: Level::Warning, text: warning.clone() };
            office.journal.emit(Some(&id), fact);
        }
        let reader = Reader::Lead(own.map(|own| own.prompt.as_str()));
        let gear = own.map(|own| Gear::of(own, &office.project, &narrowed.tools, &mut self.view));
        let gear = gear.unwrap_or_default();
        self.brain = with_effort(self.brain, own.and_then(|own| own.effort));
        let (tools, view) = (&narrowed.tools, &self.view);
        let prefix = born::prefix(office, reader, tools, view, &self.brain, &gear);
        let cradle = Cradle {
            chain: vec![id.clone()],
            id,
            seat: None,
            agent_id: None,
            called: "team-lead".to_owned(),
            birth: Birth {
                kind: own.map_or("team-lead".to_owned(), |own| own.name.clone()),
                description: String::new(),
                chain_id: self.chain_id,
                depth: 0,
                is_fork: false,
                may_spawn: own.and_then(|own| own.spawnable.clone()),
                gear,
            },
            cwd: office.project.clone(),
            seen: ReadCache::default(),
            view: self.view,
            tools: narrowed.tools,
            brain: self.brain,
            prefix,
            purpose: Purpose::Turn,
            limits: self.limits,
            echo: None,
            durability: office.store.durability(),
        };
        let crew = Arc::clone(crew) as Arc<dyn Crew>;
        Ok(Arc::new(born::bear(office, crew, cradle)?))
    }
}

pub(super) fn tell_of(lead: &Agent) {
    let about = AgentAbout {
        agent_type: lead.birth.kind.clone(),
        description: String::new(),
        model: lead.brain().chosen.name(),
        mode: lead.mode(),
        cwd: lead.cx.cwd.get().to_string_lossy().into_owned(),
        color: lead.cx.color.clone(),
        parent: None,
        use_id: None,
        background: false,
        chain_id: lead.birth.chain_id.clone(),
        depth: 0,
    };
    lead.tell(Fact::AgentStarted { about: Box::new(about) });
    lead.tell_of_gear();
}
