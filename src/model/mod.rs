//! Language models: a request goes in, a stream of chunks comes out.
//!
//! One trait, chosen at run time. Whatever the provider, the same chunks come in the same order;
//! waiting and trying again happens below the trait and is announced as a chunk.

pub mod anthropic;
pub mod choose;
pub mod chunk;
pub mod error;
pub mod http;
pub mod openai;
pub mod pricing;
mod reading;
mod refusal;
pub mod rehearsal;
pub mod request;
pub mod retry;
mod sse;
pub mod usage;

use std::sync::Arc;

use futures::stream::BoxStream;
use tokio_util::sync::CancellationToken;

pub use chunk::{Chunk, StopReason};
pub use error::ModelError;
pub use request::Request;

/// Ends whatever was started with it, at once.
pub type Stop = CancellationToken;

/// What comes out of a model, chunk by chunk.
pub type Answer = BoxStream<'static, Result<Chunk, ModelError>>;

/// Something that answers requests.
///
/// An answer is `Chunk::Started`, then any number of chunks, then `Chunk::Ended`; or it ends with
/// one error. `Chunk::Retrying` may come anywhere before the first block is shown. Implementors
/// owe: nothing happens before the answer is polled; a stop, or dropping the answer, closes the
/// connection at once; a tool input that did not arrive whole never becomes a `Chunk::Block`.
pub trait Model: Send + Sync {
    fn stream(&self, request: Arc<Request>, stop: Stop) -> Answer;
}
