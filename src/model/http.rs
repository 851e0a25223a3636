//! Requests over HTTP: one client, its limits, and errors that keep keys to themselves.
//!
//! There is no limit on the length of an answer, only on silence. Redirects are not followed:
//! they would carry the key to another host.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt, stream};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Response, Url, redirect};
use secrecy::{ExposeSecret, SecretString};
use tokio::time::timeout;

use super::ModelError;
use super::refusal::{first_line, refusal};

/// No bytes for so long, and a server is taken for dead.
pub const STALL: Duration = Duration::from_secs(90);

const CONNECT: Duration = Duration::from_secs(15);
/// Of what a server says about an error, so many characters are shown.
const LONGEST_MESSAGE: usize = 600;
/// And so many bytes are read.
const LONGEST_REFUSAL: usize = 64 * 1024;
/// And for so long: the status says most of it.
const REFUSAL_TIME: Duration = Duration::from_secs(5);

/// An answer that does not stream is read up to here.
const LONGEST_WHOLE: usize = 64 * 1024 * 1024;

/// Clients that are made when they are first used. Clones share their connections.
#[derive(Clone, Default)]
pub struct Http {
    remote: Arc<Client>,
    own: Arc<Client>,
}

type Client = OnceLock<Result<reqwest::Client, String>>;

impl std::fmt::Debug for Http {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Http")
    }
}

/// One request, ready to be sent as often as it takes.
#[derive(Clone)]
pub struct Outgoing {
    pub url: Url,
    pub headers: HeaderMap,
    pub body: Bytes,
    pub stall: Duration,
}

/// A body that arrives, cut when it is silent for too long.
pub type Incoming = BoxStream<'static, Result<Bytes, ModelError>>;

/// What a server answers with.
pub enum Answered {
    /// Server-sent events.
    Events(Incoming),
    /// One JSON document.
    Whole(String),
}

impl Http {
    /// Posts JSON. An answer that is neither a success nor of a type we can read is an error.
    pub async fn post(&self, outgoing: Outgoing) -> Result<Answered, ModelError> {
        // No proxy can reach what runs on this machine, whatever the environment says, and
        // without TLS there is no need to load certificates.
        let client = match is_loopback(&outgoing.url) && outgoing.url.scheme() == "http" {
            true => self.own.get_or_init(|| client(|new| new.no_proxy().tls_certs_only([]))),
            false => self.remote.get_or_init(|| client(|new| new)),
        };
        let client =
            client.as_ref().map_err(|message| ModelError::Network { message: message.clone() })?;
        let Outgoing { url, mut headers, body, stall } = outgoing;
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let sending = client.post(url).headers(headers).body(body).send();
        let response = match timeout(stall, sending).await {
            Err(_) => return Err(stalled(stall)),
            Ok(sent) => sent.map_err(no_connection)?,
        };
        tracing::debug!(status = response.status().as_u16(), "the server answers");
        if !response.status().is_success() {
            let (status, headers) = (response.status(), response.headers().clone());
            // Whatever the body is, the status counts.
            let body = text(incoming(response, stall), LONGEST_REFUSAL);
            let body = timeout(REFUSAL_TIME, body).await.unwrap_or_else(|_| Ok(String::new()));
            return Err(refusal(status, &headers, &body.unwrap_or_default()));
        }
        match kind(response.headers()) {
            Kind::Events => Ok(Answered::Events(incoming(response, stall))),
            Kind::Json => {
                Ok(Answered::Whole(text(incoming(response, stall), LONGEST_WHOLE).await?))
            }
            Kind::Unsaid => sniffed(incoming(response, stall)).await,
            Kind::Other(kind) => {
                let body = text(incoming(response, stall), LONGEST_REFUSAL);
                let body =
                    timeout(REFUSAL_TIME, body).await.unwrap_or_else(|_| Ok(String::new()))?;
                let begin = first_line(&body);
                let message = format!("expected a stream of events, but {kind} came: {begin}");
                Err(ModelError::BadAnswer { message })
            }
        }
    }
}

/// A client that follows no redirects, in the shape that is asked for.
pub fn client(
    shape: impl Fn(reqwest::ClientBuilder) -> reqwest::ClientBuilder,
) -> Result<reqwest::Client, String> {
    // Fails when a provider is there already, and then that one serves.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let builder = || {
        let agent = concat!("quarterdeck/", env!("CARGO_PKG_VERSION"));
        let builder = reqwest::Client::builder().user_agent(agent).connect_timeout(CONNECT);
        shape(builder.redirect(redirect::Policy::none()))
    };
    // A machine without any root certificate can still talk to servers without TLS.
    let bare = |_| builder().tls_certs_only([]).build();
    builder().build().or_else(bare).map_err(|error| all_causes(&error.without_url()))
}

enum Kind {
    Events,
    Json,
    /// Servers written in an afternoon leave it out.
    Unsaid,
    Other(String),
}

fn kind(headers: &HeaderMap) -> Kind {
    let Some(value) = headers.get(CONTENT_TYPE) else { return Kind::Unsaid };
    let value = String::from_utf8_lossy(value.as_bytes());
    let name = value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    match name.as_str() {
        "text/event-stream" => Kind::Events,
        "application/json" => Kind::Json,
        _ => Kind::Other(name),
    }
}

/// An answer whose kind shows in its first byte.
async fn sniffed(mut body: Incoming) -> Result<Answered, ModelError> {
    let first = body.next().await.transpose()?.unwrap_or_default();
    let is_json = first.trim_ascii_start().first() == Some(&b'{');
    let body = stream::iter([Ok(first)]).chain(body).boxed();
    match is_json {
        true => Ok(Answered::Whole(text(body, LONGEST_WHOLE).await?)),
        false => Ok(Answered::Events(body)),
    }
}

/// The body of an answer, with an error in the place of a silence that is too long.
fn incoming(response: Response, stall: Duration) -> Incoming {
    guarded(response.bytes_stream(), stall).boxed()
}

fn guarded(
    bytes: impl Stream<Item = Result<Bytes, reqwest::Error>> + Send + 'static,
    stall: Duration,
) -> impl Stream<Item = Result<Bytes, ModelError>> + Send {
    stream::unfold(Some(Box::pin(bytes)), move |bytes| async move {
        let mut bytes = bytes?;
        match timeout(stall, bytes.next()).await {
            Err(_) => Some((Err(stalled(stall)), None)),
            Ok(None) => None,
            Ok(Some(Ok(piece))) => Some((Ok(piece), Some(bytes))),
            Ok(Some(Err(error))) => {
                let message = all_causes(&error.without_url());
                Some((Err(ModelError::StreamBroken { message }), None))
            }
        }
    })
}

async fn text(mut body: Incoming, longest: usize) -> Result<String, ModelError> {
    let mut whole = Vec::new();
    while let Some(piece) = body.next().await {
        whole.extend_from_slice(&piece?);
        if whole.len() > longest {
            whole.truncate(longest);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&whole).into_owned())
}

fn stalled(stall: Duration) -> ModelError {
    ModelError::StreamBroken { message: format!("no data for {stall:?}") }
}

fn no_connection(error: reqwest::Error) -> ModelError {
    // The address stays out: it may hold a password.
    ModelError::Network { message: root_cause(&error.without_url()) }
}

/// What went wrong in the end, in the system's words: what is above it only names our layers.
fn root_cause(error: &dyn std::error::Error) -> String {
    let mut root = error;
    while let Some(cause) = root.source() {
        root = cause;
    }
    let said = root.to_string();
    said.split(" (os error").next().unwrap_or_default().to_owned()
}

/// An error with what caused it: the outermost alone says nothing that helps.
pub fn all_causes(error: &dyn std::error::Error) -> String {
    let mut said = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let next = error.to_string();
        if !said.ends_with(&next) {
            said = format!("{said}: {next}");
        }
        cause = error.source();
    }
    said
}

/// An error fit to be shown: of a sane length, on one line, without the key.
pub fn presentable(error: ModelError, key: Option<&SecretString>) -> ModelError {
    error.reworded(|message| {
        let key = key.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty());
        let message = key.map_or_else(|| message.to_owned(), |key| message.replace(key, "[key]"));
        let line = message.split_whitespace().collect::<Vec<_>>().join(" ");
        match line.char_indices().nth(LONGEST_MESSAGE) {
            Some((at, _)) => format!("{}…", &line[..at]),
            None => line,
        }
    })
}

/// A header whose value no log shows.
pub fn secret_header(value: &str) -> Result<HeaderValue, ModelError> {
    let mut header = HeaderValue::from_str(value).map_err(|_| {
        let message = "it holds characters that cannot be sent".to_owned();
        ModelError::Authentication { message }
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// Adds headers whose values come from outside; one that cannot be sent is left out.
pub fn add_headers(headers: &mut HeaderMap, pairs: &[(&'static str, &str)]) {
    for (name, value) in pairs.iter().filter(|(_, value)| !value.is_empty()) {
        if let Ok(value) = HeaderValue::from_bytes(value.as_bytes()) {
            headers.insert(HeaderName::from_static(name), value);
        }
    }
}

pub fn parse_url(text: &str) -> Result<Url, ModelError> {
    let wrong = |why: &dyn std::fmt::Display| {
        let message = format!("the base URL cannot be used: {why}");
        ModelError::InvalidRequest { message }
    };
    let url = Url::parse(text).map_err(|error| wrong(&error))?;
    match url.scheme() {
        "http" | "https" => Ok(url),
        other => Err(wrong(&format!("{other} is not http or https"))),
    }
}

/// An address for people: without the name and password that it may hold.
pub fn without_password(url: &str) -> String {
    let Ok(mut url) = Url::parse(url) else { return "(not a URL)".to_owned() };
    // Addresses that cannot hold one refuse; then there is none.
    let _ = url.set_password(None);
    let _ = url.set_username("");
    url.to_string()
}

/// Whether a server runs on this machine.
pub fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    match host.parse::<std::net::IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

/// How long a server may be silent: `QUARTERDECK_STALL_SECS`, else the usual time.
pub fn stall(lookup: impl Fn(&str) -> Option<String>) -> Duration {
    let seconds = setting(lookup, "QUARTERDECK_STALL_SECS").and_then(|text| text.parse().ok());
    seconds.filter(|seconds| *seconds > 0).map_or(STALL, Duration::from_secs)
}

/// A variable that is set to something, as a secret.
pub fn secret(lookup: impl Fn(&str) -> Option<String>, name: &str) -> Option<SecretString> {
    setting(lookup, name).map(SecretString::from)
}

/// A variable that is set to something.
pub fn setting(lookup: impl Fn(&str) -> Option<String>, name: &str) -> Option<String> {
    lookup(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_shown_without_the_key_and_not_at_any_length() {
        let key = SecretString::from("sk-very-secret");
        let message = format!("bad key\n  sk-very-secret {}", "é".repeat(2000));
        let error = presentable(ModelError::BadAnswer { message }, Some(&key)).to_string();
        assert!(
            error.starts_with("the answer could not be understood: bad key [key] éé"),
            "{error}"
        );
        assert!(error.chars().count() < 700);
    }

    #[test]
    fn only_this_machine_is_loopback() {
        let is = |text: &str| is_loopback(&parse_url(text).unwrap());
        assert!(is("http://127.0.0.1:8080/x") && is("http://[::1]:1") && is("http://localhost"));
        assert!(!is("https://api.example.com") && !is("http://localhost.example.com"));
        assert!(!is("http://10.0.0.1"));
    }

    #[test]
    fn a_password_in_an_address_is_not_shown() {
        assert_eq!(without_password("http://me:secret@host:1/v1"), "http://host:1/v1");
        assert_eq!(without_password("secret"), "(not a URL)");
    }
}
