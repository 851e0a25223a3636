//! A playbook as a Messages API, on loopback only.
//!
//! What a client sees is what the real API sends: the same events in the same order, the same
//! shape of errors. Faults happen on the wire, so a real client meets them as in the field.

mod body;
mod caller;
mod log;
mod refusal;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, FromRequest, Request, State};
use axum::http::{HeaderMap, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::serve::ListenerExt;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::cache;
use super::events;
use super::paced::{Step, paced};
use super::playbook::{FaultKind, Pace, Playbook};
use super::player::{Play, Player, Unmatched};
use super::script;
use super::stage::Stage;
use crate::model::Stop;
use crate::model::usage::Usage;
use body::{Asked, Came};
use log::Entry;
pub use log::Log;
use refusal::Refusal;

/// What the real API takes, too.
const LARGEST: usize = 32 * 1024 * 1024;
/// How long connections may go on after a stop. Answers end at once; this is for the rest.
const GRACE: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Another pace than the playbook's.
    pub pace: Option<Pace>,
    /// Where each request is written, as a line of JSON.
    pub log: Option<Log>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("{0} is not a loopback address; a playbook is served to this machine only")]
    NotLoopback(SocketAddr),
    #[error("cannot serve: {0}")]
    Io(#[from] io::Error),
}

/// Answers until it is stopped.
pub async fn serve(
    listener: TcpListener,
    playbook: Arc<Playbook>,
    options: Options,
    stop: Stop,
) -> Result<(), ServeError> {
    let address = listener.local_addr()?;
    if !address.ip().is_loopback() {
        return Err(ServeError::NotLoopback(address));
    }
    let house = Arc::new(House {
        pace: options.pace.unwrap_or(playbook.pace),
        player: Player::new(playbook, Unmatched::Fail),
        stage: Stage::default(),
        log: options.log,
        stop: stop.clone(),
    });
    let app = Router::new()
        .route("/v1/messages", post(messages))
        .route("/v1/messages/count_tokens", post(count_tokens))
        .fallback(no_route)
        .method_not_allowed_fallback(no_method)
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(house);
    let listener = listener.tap_io(|connection| {
        // Small events should not wait for each other. It is slower without, not wrong.
        let _ = connection.set_nodelay(true);
    });
    let serving = axum::serve(listener, app).with_graceful_shutdown(stop.clone().cancelled_owned());
    tokio::select! {
        done = serving.into_future() => Ok(done?),
        () = overdue(&stop) => Ok(()),
    }
}

async fn overdue(stop: &Stop) {
    stop.cancelled().await;
    tokio::time::sleep(GRACE).await;
}

struct House {
    player: Player,
    stage: Stage,
    pace: Pace,
    log: Option<Log>,
    stop: Stop,
}

/// What is said in answer, and what it costs.
struct Reply {
    play: Play,
    usage: Usage,
    fault: Option<FaultKind>,
    /// The tokens of the request.
    asked: u64,
}

/// A request before anybody has looked into it.
struct Arrival {
    headers: HeaderMap,
    body: Came,
    entry: Entry,
}

impl<S: Send + Sync> FromRequest<S> for Arrival {
    type Rejection = Infallible;

    async fn from_request(request: Request, state: &S) -> Result<Self, Infallible> {
        let headers = request.headers().clone();
        let entry = Entry::new(&request);
        let body = Came::read(Bytes::from_request(request, state).await);
        Ok(Self { headers, body, entry })
    }
}

async fn messages(State(house): State<Arc<House>>, arrival: Arrival) -> Response {
    let Arrival { headers, body, mut entry } = arrival;
    let response = body.json().and_then(|json| {
        let asked = Asked::parse(json)?;
        let reply = house.reply(&asked, &headers, json, &mut entry)?;
        Ok((asked, reply))
    });
    match &response {
        Ok((_, reply)) => entry.replied(reply),
        Err(refusal) => entry.refused(refusal),
    }
    house.note(entry, body).await;
    match response {
        Ok((asked, reply)) => house.respond(&asked, reply).await,
        Err(refusal) => refusal.into_response(),
    }
}

async fn count_tokens(State(house): State<Arc<House>>, arrival: Arrival) -> Response {
    let Arrival { body, mut entry, .. } = arrival;
    let counted = body.json().and_then(|json| {
        body::check_countable(json)?;
        Ok(json!({ "input_tokens": cache::count(&cache::parts_of_body(json)) }))
    });
    match &counted {
        Ok(count) => entry.counted(count),
        Err(refusal) => entry.refused(refusal),
    }
    house.note(entry, body).await;
    match counted {
        Ok(count) => json_response(&count),
        Err(refusal) => refusal.into_response(),
    }
}

async fn no_route(State(house): State<Arc<House>>, arrival: Arrival) -> Response {
    house.turn_away(arrival, Refusal::new(404, "Not found")).await
}

async fn no_method(State(house): State<Arc<House>>, arrival: Arrival) -> Response {
    house.turn_away(arrival, Refusal::new(405, "Method Not Allowed")).await
}

impl House {
    async fn note(&self, entry: Entry, body: Came) {
        if let Some(log) = &self.log {
            log.write(entry.line(body.value)).await;
        }
    }

    async fn turn_away(&self, arrival: Arrival, refusal: Refusal) -> Response {
        let Arrival { body, mut entry, .. } = arrival;
        entry.refused(&refusal);
        self.note(entry, body).await;
        refusal.into_response()
    }

    fn reply(
        &self,
        asked: &Asked,
        headers: &HeaderMap,
        json: &Value,
        entry: &mut Entry,
    ) -> Result<Reply, Refusal> {
        let messages: Vec<_> = asked.messages.iter().collect();
        let found = caller::find(self.player.playbook(), headers, asked);
        entry.caller(&found.caller);
        let played = match found.actor {
            Some(actor) => self.player.play_as(actor, &found.caller, &messages),
            None => self.player.play(&found.caller, &messages),
        };
        let play = played.map_err(|error| Refusal::new(400, error.to_string()))?;
        let fault = self.stage.take_fault(&play);
        let parts = cache::parts_of_body(json);
        let usage = self.stage.usage(&play, &parts, fault);
        Ok(Reply { play, usage, fault, asked: cache::count(&parts) })
    }

    async fn respond(&self, asked: &Asked, reply: Reply) -> Response {
        let Reply { play, usage, fault, asked: tokens } = reply;
        if let Some(FaultKind::Status { status, retry_after }) = fault {
            return Refusal::scripted(status, retry_after).into_response();
        }
        if fault == Some(FaultKind::TooLong) {
            return Refusal::invalid(script::too_long(tokens)).into_response();
        }
        let chunks = script::chunks(&play, &asked.model, usage);
        if asked.streams {
            let steps = spoilt(events::frames(&chunks), fault);
            return self.body("text/event-stream; charset=utf-8", steps);
        }
        let message = json!({
            "id": play.id, "type": "message", "role": "assistant", "model": asked.model,
            "content": script::content(&play), "stop_reason": play.stop(), "stop_sequence": null,
            "usage": events::usage(usage),
        });
        let characters = chunks.iter().map(|chunk| script::text_of(chunk).chars().count()).sum();
        let whole = vec![(Bytes::from(message.to_string()), characters)];
        self.body("application/json", spoilt(whole, fault))
    }

    fn body(&self, kind: &'static str, steps: Vec<Step<Bytes, io::Error>>) -> Response {
        let stopped = || io::Error::new(io::ErrorKind::ConnectionAborted, "stopped");
        let stream = paced(steps, self.pace, self.stop.clone(), stopped);
        let head = [
            (header::CONTENT_TYPE, kind.to_owned()),
            (header::CACHE_CONTROL, "no-cache".to_owned()),
            (refusal::REQUEST_ID, refusal::request_id()),
        ];
        (head, Body::from_stream(stream)).into_response()
    }
}

fn json_response(value: &Value) -> Response {
    let head = [
        (header::CONTENT_TYPE, "application/json".to_owned()),
        (refusal::REQUEST_ID, refusal::request_id()),
    ];
    (head, value.to_string()).into_response()
}

/// The steps of a body, with its fault. An error in a body makes the connection end abruptly.
fn spoilt(frames: Vec<(Bytes, usize)>, fault: Option<FaultKind>) -> Vec<Step<Bytes, io::Error>> {
    let mut steps = Vec::new();
    let size: usize = frames.iter().map(|(bytes, _)| bytes.len()).sum();
    let mut frames = frames.into_iter().map(|(bytes, characters)| Step::Show(bytes, characters));
    match fault {
        None | Some(FaultKind::Status { .. } | FaultKind::TooLong) => {}
        Some(FaultKind::Stall(time)) => {
            // Half of a stream comes before the stall; of a whole body, nothing can.
            if frames.len() > 1 {
                steps.extend(frames.next());
            }
            steps.push(Step::Wait(time));
        }
        Some(FaultKind::Garbage) => {
            if frames.len() > 1 {
                steps.extend(frames.next());
            }
            steps.push(Step::Show(Bytes::from_static(events::GARBAGE.as_bytes()), 0));
            return steps;
        }
        // A cut behind the end cuts nothing.
        Some(FaultKind::CutAfter(bytes)) if bytes >= size => {}
        Some(FaultKind::CutAfter(bytes)) => {
            let mut left = bytes;
            for frame in frames {
                let Step::Show(bytes, characters) = frame else { continue };
                let part = bytes.slice(..bytes.len().min(left));
                left -= part.len();
                if !part.is_empty() {
                    steps.push(Step::Show(part, characters));
                }
            }
            // The pause lets what was written leave before the connection goes.
            steps.push(Step::Wait(Duration::ZERO));
            steps.push(Step::Fail(io::ErrorKind::ConnectionReset.into()));
            return steps;
        }
    }
    steps.extend(frames);
    steps
}
