//! What a rehearsal keeps from one request to the next: the prompt cache, and which faults have
//! happened. Both the model and the server play on one.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cache::{Cache, Part};
use super::playbook::FaultKind;
use super::player::{FaultKey, Play};
use super::script;
use crate::model::usage::Usage;

#[derive(Debug, Default)]
pub struct Stage {
    cache: Mutex<Cache>,
    /// How often each fault has happened.
    faults: Mutex<HashMap<FaultKey, u32>>,
}

impl Stage {
    /// What goes wrong this time.
    pub fn take_fault(&self, play: &Play) -> Option<FaultKind> {
        let (key, fault) = play.fault.as_ref()?;
        let mut faults = held(&self.faults);
        let times = faults.entry(key.clone()).or_default();
        if *times >= fault.times {
            return None;
        }
        *times += 1;
        Some(fault.kind)
    }

    /// What the answer costs. The cache learns the request, unless it is refused.
    pub fn usage(&self, play: &Play, parts: &[Part], fault: Option<FaultKind>) -> Usage {
        let read = match fault {
            Some(FaultKind::Status { .. } | FaultKind::TooLong) => Usage::default(),
            Some(FaultKind::CutAfter(_) | FaultKind::Stall(_) | FaultKind::Garbage) | None => {
                held(&self.cache).read(parts)
            }
        };
        script::usage(play, read)
    }
}

/// A panic elsewhere leaves counts behind that are still good.
fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
