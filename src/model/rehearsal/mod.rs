//! The rehearsal model: it plays a playbook instead of asking a language model.
//!
//! Everything around it is the real thing. The same playbook can be served as an
//! Anthropic-compatible API; see [`server`].

mod cache;
mod digest;
mod events;
mod history;
mod paced;
pub mod playbook;
pub mod player;
mod reading;
mod script;
pub mod server;
mod stage;
mod template;
mod values;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream;

use super::http;
use super::retry::{Policy, retrying};
use super::{Answer, Model, ModelError, Request, Stop};
use paced::{Step, paced};
use playbook::{Pace, Playbook};
use player::{Player, Unmatched};
use stage::Stage;

/// Cloning it gives another handle to the same rehearsal.
#[derive(Debug, Clone)]
pub struct Rehearsal {
    player: Player,
    pace: Pace,
    patience: Duration,
    retry: Policy,
    stage: Arc<Stage>,
}

impl Rehearsal {
    pub fn new(playbook: Arc<Playbook>, unmatched: Unmatched) -> Self {
        let pace = playbook.pace;
        let player = Player::new(playbook, unmatched);
        let (patience, retry) = (http::STALL, Policy::default());
        Self { player, pace, patience, retry, stage: Arc::default() }
    }

    /// At another pace than the playbook's.
    #[must_use]
    pub fn at_pace(self, pace: Pace) -> Self {
        Self { pace, ..self }
    }

    /// With another limit on how long a stall is borne.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Self {
        Self { patience, ..self }
    }

    /// With another way of trying again after a fault.
    #[must_use]
    pub fn with_retry(self, retry: Policy) -> Self {
        Self { retry, ..self }
    }

    pub fn playbook(&self) -> &Arc<Playbook> {
        self.player.playbook()
    }

    /// Answers once, and fails when the playbook has a fault here.
    pub fn attempt(&self, request: Arc<Request>, stop: Stop) -> Answer {
        let own = self.clone();
        // Nothing happens before somebody listens, so a fault is not spent on nobody.
        let answer = async move { own.perform(&request, stop) };
        stream::once(answer).flatten().boxed()
    }

    fn perform(&self, request: &Request, stop: Stop) -> Answer {
        let steps = match stop.is_cancelled() {
            true => Err(ModelError::Stopped),
            false => self.steps(request),
        };
        let steps = steps.unwrap_or_else(|error| vec![Step::Fail(error)]);
        paced(steps, self.pace, stop, || ModelError::Stopped).boxed()
    }

    fn steps(&self, request: &Request) -> Result<Vec<Step<super::Chunk, ModelError>>, ModelError> {
        let messages: Vec<_> = request.messages.messages().collect();
        let play = self
            .player
            .play(&request.caller, &messages)
            .map_err(|error| ModelError::InvalidRequest { message: error.to_string() })?;
        let fault = self.stage.take_fault(&play);
        let parts = cache::parts_of(request);
        let usage = self.stage.usage(&play, &parts, fault);
        let chunks = script::chunks(&play, &request.model, usage);
        Ok(script::steps(chunks, fault, cache::count(&parts), self.patience))
    }
}

impl Model for Rehearsal {
    fn stream(&self, request: Arc<Request>, stop: Stop) -> Answer {
        let (own, retry) = (self.clone(), self.retry);
        let attempt_stop = stop.clone();
        retrying(retry, stop, move |_| own.attempt(Arc::clone(&request), attempt_stop.clone()))
    }
}
