//! The façade of a session: an [`Op`](crate::protocol::op::Op) goes in, events come out.

pub mod live;
pub mod resume;
