//! The Messages API: streaming, prompt caching, counting of tokens.

mod body;
mod decode;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderName};
use secrecy::{ExposeSecret, SecretString};
use serde::Deserialize;

pub use body::{body, count_body, shared_prefix, without_marks};

use super::http::{self, Answered, Http, Outgoing};
use super::reading;
use super::request::{Caller, Request};
use super::retry::{self, Policy};
use super::{Answer, Model, ModelError, Stop};

const BASE_URL: &str = "https://api.anthropic.com";
const VERSION: &str = "2023-06-01";

/// Where a server is and how to speak to it.
#[derive(Clone)]
pub struct Endpoint {
    pub base_url: String,
    pub auth: Auth,
    /// Names for the header `anthropic-beta`.
    pub betas: Vec<String>,
    pub version: String,
    /// No bytes for so long, and the stream is cut.
    pub stall: Duration,
    pub retry: Policy,
}

#[derive(Debug, Clone)]
pub enum Auth {
    /// Goes into `x-api-key`.
    ApiKey(SecretString),
    /// Goes into `authorization`, as a bearer token.
    Token(SecretString),
    None,
}

impl Default for Endpoint {
    fn default() -> Self {
        Self {
            base_url: BASE_URL.to_owned(),
            auth: Auth::None,
            betas: Vec::new(),
            version: VERSION.to_owned(),
            stall: http::STALL,
            retry: Policy::default(),
        }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { base_url, auth, betas, version, stall, retry } = self;
        f.debug_struct("Endpoint")
            .field("base_url", &http::without_password(base_url))
            .field("auth", auth)
            .field("betas", betas)
            .field("version", version)
            .field("stall", stall)
            .field("retry", retry)
            .finish()
    }
}

impl Endpoint {
    /// What the environment says; `lookup` gives the value of a variable.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let key = http::secret(&lookup, "ANTHROPIC_API_KEY").map(Auth::ApiKey);
        let token = || http::secret(&lookup, "ANTHROPIC_AUTH_TOKEN").map(Auth::Token);
        let betas = http::setting(&lookup, "ANTHROPIC_BETAS").unwrap_or_default();
        let betas = betas.split(',').map(str::trim).filter(|beta| !beta.is_empty());
        Self {
            base_url: http::setting(&lookup, "ANTHROPIC_BASE_URL")
                .unwrap_or_else(|| BASE_URL.to_owned()),
            auth: key.or_else(token).unwrap_or(Auth::None),
            betas: betas.map(str::to_owned).collect(),
            stall: http::stall(&lookup),
            retry: Policy::from_env(&lookup),
            ..Self::default()
        }
    }

    /// The address of a call; people write the base with and without `/v1`.
    fn url(&self, call: &str) -> Result<Url, ModelError> {
        let base = self.base_url.trim_end_matches('/');
        let base = base.strip_suffix("/v1").unwrap_or(base);
        http::parse_url(&format!("{base}/v1/{call}"))
    }

    fn outgoing(&self, call: &str, body: Bytes, caller: &Caller) -> Result<Outgoing, ModelError> {
        let url = self.url(call)?;
        let mut headers = HeaderMap::new();
        let betas = self.betas.join(",");
        let common = [("anthropic-version", self.version.as_str()), ("anthropic-beta", &betas)];
        http::add_headers(&mut headers, &common);
        match &self.auth {
            Auth::ApiKey(key) => {
                let value = http::secret_header(key.expose_secret())?;
                headers.insert(HeaderName::from_static("x-api-key"), value);
            }
            Auth::Token(token) => {
                let value = http::secret_header(&format!("Bearer {}", token.expose_secret()))?;
                headers.insert(AUTHORIZATION, value);
            }
            Auth::None => {}
        }
        if http::is_loopback(&url) {
            name_caller(&mut headers, caller);
        }
        Ok(Outgoing { url, headers, body, stall: self.stall })
    }

    fn presentable(&self, error: ModelError) -> ModelError {
        let (key, variable) = match &self.auth {
            Auth::ApiKey(key) => (Some(key), "ANTHROPIC_API_KEY"),
            Auth::Token(token) => (Some(token), "ANTHROPIC_AUTH_TOKEN"),
            Auth::None => (None, "ANTHROPIC_API_KEY"),
        };
        http::presentable(error, key).advised(variable, "ANTHROPIC_BASE_URL")
    }
}

/// Tells a server on this machine, which may be a rehearsal, who asks and what for.
fn name_caller(headers: &mut HeaderMap, caller: &Caller) {
    let pairs = [
        ("x-quarterdeck-agent", caller.agent.as_str()),
        ("x-quarterdeck-agent-type", caller.agent_type.as_deref().unwrap_or_default()),
        ("x-quarterdeck-purpose", caller.purpose.as_str()),
        ("x-quarterdeck-team", caller.team.as_deref().unwrap_or_default()),
        ("x-quarterdeck-cwd", &caller.cwd),
    ];
    http::add_headers(headers, &pairs);
}

/// A server that speaks the Messages API.
#[derive(Debug, Clone)]
pub struct Anthropic {
    endpoint: Arc<Endpoint>,
    http: Http,
}

#[derive(Deserialize)]
struct CountRecord {
    input_tokens: u64,
}

impl Anthropic {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint: Arc::new(endpoint), http: Http::default() }
    }

    /// How many tokens a request would cost as input, as the server counts.
    pub async fn count_tokens(&self, request: &Request) -> Result<u64, ModelError> {
        let Self { endpoint, http } = self;
        let body = Bytes::from(count_body(request));
        let outgoing = endpoint.outgoing("messages/count_tokens", body, &request.caller)?;
        let counted = retry::until_done(endpoint.retry, async |_| {
            let counted = match http.post(outgoing.clone()).await {
                Ok(Answered::Whole(text)) => reading::document::<CountRecord>(&text),
                Ok(Answered::Events(_)) => Err(ModelError::BadAnswer {
                    message: "expected a number of tokens, but a stream of events came".to_owned(),
                }),
                Err(error) => Err(error),
            };
            counted.map_err(|error| endpoint.presentable(error))
        });
        Ok(counted.await?.input_tokens)
    }
}

impl Model for Anthropic {
    fn stream(&self, request: Arc<Request>, stop: Stop) -> Answer {
        let Self { endpoint, http } = self.clone();
        let policy = endpoint.retry;
        let mut made = None;
        let attempt = move |_| {
            let body = made.get_or_insert_with(|| Bytes::from(body(&request))).clone();
            let endpoint = endpoint.clone();
            let answer = match endpoint.outgoing("messages", body, &request.caller) {
                Ok(outgoing) => reading::ask(http.clone(), outgoing, decode::Decoder::default()),
                Err(error) => futures::stream::once(async { Err(error) }).boxed(),
            };
            answer.map_err(move |error| endpoint.presentable(error)).boxed()
        };
        retry::retrying(policy, stop, attempt)
    }
}

/// Reads a stream that was recorded, or that comes from elsewhere.
pub fn read(body: http::Incoming) -> Answer {
    reading::read(body, decode::Decoder::default())
}
