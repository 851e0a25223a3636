//! The façade of a session: an [`Op`] goes in, events come out. Clients know nothing else.

use std::sync::Arc;

use futures::future::BoxFuture;
use futures::stream::BoxStream;

use crate::protocol::event::Event;
use crate::protocol::op::Op;

mod keeper;
mod lead;
pub mod live;
pub mod markdown;
mod ops;
pub mod replay;
pub mod resume;

/// Why an op was not carried out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(pub String);

/// What a client sees of a session: one that runs, or a recorded one. Every event that was
/// published is in the stream of whoever asks for it, in order and once, however late it asks.
pub trait Session: Send + Sync {
    fn submit(&self, op: Op) -> BoxFuture<'_, Result<(), Refused>>;

    /// Every event with a larger number, then the new ones as they come.
    fn events(&self, after: u64) -> BoxStream<'static, Arc<Event>>;
}

impl Session for live::Live {
    fn submit(&self, op: Op) -> BoxFuture<'_, Result<(), Refused>> {
        Box::pin(Self::submit(self, op))
    }

    fn events(&self, after: u64) -> BoxStream<'static, Arc<Event>> {
        Self::events(self, after)
    }
}
