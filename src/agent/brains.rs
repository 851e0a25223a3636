//! The models of a session, by name: each is opened once, and a session on a playbook has only
//! that.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::context::Brain;
use crate::model::Model;
use crate::model::choose::{self, ChooseError};
use crate::model::request::{Effort, Thinking};
use crate::settings::models::{Catalog, Chosen, Provider, ThinkingKind};

/// The most tokens of one answer, where the model allows more.
const MAX_TOKENS: u32 = 32_000;

/// Names of small models by provider: for work beside the conversation.
const SMALL: &str = "haiku";

pub struct Brains {
    catalog: Catalog,
    /// What answers, whoever is named: a playbook.
    only: Option<Brain>,
    opened: Mutex<HashMap<String, Arc<dyn Model>>>,
    lookup: fn(&str) -> Option<String>,
}

impl Brains {
    /// Models that are reached with the keys that `lookup` finds.
    pub fn real(catalog: Catalog, lookup: fn(&str) -> Option<String>) -> Self {
        Self { catalog, only: None, opened: Mutex::default(), lookup }
    }

    /// One model for everyone.
    pub fn only(catalog: Catalog, model: Arc<dyn Model>, chosen: Chosen) -> Self {
        let only = Some(brain(model, chosen));
        Self { catalog, only, opened: Mutex::default(), lookup: |_| None }
    }

    /// The model of this name.
    pub fn named(&self, name: &str) -> Result<Brain, ChooseError> {
        match &self.only {
            Some(only) => Ok(only.clone()),
            None => self.open(self.catalog.resolve(name)?),
        }
    }

    /// The names that can be given, the short ones first.
    pub fn names(&self) -> Vec<String> {
        if let Some(only) = &self.only {
            return vec![only.chosen.name()];
        }
        let aliases = self.catalog.aliases().map(|(alias, _)| alias.to_owned());
        aliases.chain(self.catalog.models().map(|(name, _)| name.to_owned())).collect()
    }

    /// A model that was chosen already.
    pub fn open(&self, chosen: Chosen) -> Result<Brain, ChooseError> {
        if let Some(only) = &self.only {
            return Ok(only.clone());
        }
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let known = opened.get(&chosen.name()).cloned();
        let model = match known {
            Some(model) => model,
            None => {
                let model = choose::open(&chosen, self.lookup)?;
                opened.insert(chosen.name(), Arc::clone(&model));
                model
            }
        };
        Ok(brain(model, chosen))
    }

    /// A small model of the same provider, if there is one.
    pub fn small(&self, beside: &Brain) -> Option<Brain> {
        match beside.chosen.provider {
            Provider::Anthropic => self.named(SMALL).ok(),
            Provider::Rehearsal => Some(beside.clone()),
            Provider::OpenAi => None,
        }
    }
}

fn brain(model: Arc<dyn Model>, chosen: Chosen) -> Brain {
    let thinking = match chosen.facts.thinking {
        Some(ThinkingKind::Adaptive) => Thinking::Adaptive(Effort::Usual),
        Some(ThinkingKind::Budget) | None => Thinking::Off,
    };
    let max_tokens = chosen.facts.output.unwrap_or(MAX_TOKENS).min(MAX_TOKENS);
    Brain { model, chosen: Arc::new(chosen), thinking, max_tokens }
}
