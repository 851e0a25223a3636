//! The request log: one line of JSON for each request, written before it is answered.
//!
//! Headers are not in it, so keys are not either.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use axum::extract::Request;
use jiff::Timestamp;
use rustix::fs::{self, OFlags};
use rustix::io::Errno;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::{FaultKind, Reply, caller, events};
use crate::model::request::Caller;

/// A file that requests are added to.
#[derive(Debug, Clone)]
pub struct Log {
    file: Arc<Mutex<File>>,
}

impl Log {
    pub fn open(path: &Path) -> io::Result<Self> {
        // What people ask of models is nobody else's business. A pipe that nobody reads must not
        // keep us waiting here; later, when it is full, it may.
        let wait = OFlags::NONBLOCK.bits().cast_signed();
        let mut options = OpenOptions::new();
        options.create(true).append(true).mode(0o600).custom_flags(wait);
        let file = options.open(path).map_err(|error| match Errno::from_io_error(&error) {
            Some(Errno::NXIO) => io::Error::new(error.kind(), "nobody reads from this pipe"),
            Some(_) | None => error,
        })?;
        let flags = fs::fcntl_getfl(&file)?;
        fs::fcntl_setfl(&file, flags - OFlags::NONBLOCK)?;
        Ok(Self { file: Arc::new(Mutex::new(file)) })
    }

    pub(super) async fn write(&self, line: String) {
        let file = Arc::clone(&self.file);
        let written = tokio::task::spawn_blocking(move || {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            file.write_all(line.as_bytes())
        });
        match written.await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the request log cannot be written"),
            Err(error) => tracing::warn!(%error, "the request log was not written"),
        }
    }
}

/// What is known about a request while it is answered.
#[derive(Debug)]
pub struct Entry {
    time: Timestamp,
    method: String,
    path: String,
    agent: Option<String>,
    purpose: Option<String>,
    outcome: Value,
}

impl Entry {
    pub fn new(request: &Request) -> Self {
        let headers = request.headers();
        Self {
            time: Timestamp::now(),
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            agent: caller::header(headers, "agent"),
            purpose: caller::header(headers, "purpose"),
            outcome: Value::Null,
        }
    }

    pub fn caller(&mut self, caller: &Caller) {
        self.agent = Some(caller.agent.clone());
        self.purpose = Some(caller.purpose.as_str().to_owned());
    }

    pub fn replied(&mut self, reply: &Reply) {
        let (status, usage) = match reply.fault {
            Some(FaultKind::Status { status, .. }) => (status, Value::Null),
            Some(FaultKind::TooLong) => (400, Value::Null),
            Some(FaultKind::CutAfter(_) | FaultKind::Stall(_) | FaultKind::Garbage) | None => {
                (200, events::usage(reply.usage))
            }
        };
        self.outcome = json!({ "line": reply.play.line, "usage": usage, "status": status });
    }

    pub fn counted(&mut self, count: &Value) {
        self.outcome = json!({ "line": null, "usage": count, "status": 200 });
    }

    pub fn refused(&mut self, refusal: &Refusal) {
        self.outcome = json!({
            "line": null, "usage": null, "status": refusal.status, "error": refusal.message,
        });
    }

    pub fn line(self, request: Value) -> String {
        let mut line = json!({
            "time": format!("{:.3}", self.time), "method": self.method, "path": self.path,
            "agent": self.agent, "purpose": self.purpose,
        });
        if let (Some(line), Value::Object(outcome)) = (line.as_object_mut(), self.outcome) {
            line.extend(outcome);
            line.insert("request".to_owned(), request);
        }
        format!("{line}\n")
    }
}
