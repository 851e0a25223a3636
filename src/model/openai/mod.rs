//! Chat completions, as OpenAI and many others speak them: hosted models, Ollama, llama.cpp,
//! vLLM. Servers differ in the details; whatever can be understood is.

mod body;
mod decode;

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use reqwest::Url;
use reqwest::header::{AUTHORIZATION, HeaderMap};
use secrecy::{ExposeSecret, SecretString};

pub use body::{Limit, body};

use super::http::{self, Http, Outgoing};
use super::reading;
use super::request::Request;
use super::retry::{self, Policy};
use super::{Answer, Model, ModelError, Stop};

const BASE_URL: &str = "https://api.openai.com/v1";

/// Where a server is and how to speak to it.
#[derive(Clone)]
pub struct Endpoint {
    pub base_url: String,
    /// Servers on one's own machine want none.
    pub key: Option<SecretString>,
    /// No bytes for so long, and the stream is cut.
    pub stall: Duration,
    pub retry: Policy,
}

impl Default for Endpoint {
    fn default() -> Self {
        let (stall, retry) = (http::STALL, Policy::default());
        Self { base_url: BASE_URL.to_owned(), key: None, stall, retry }
    }
}

impl std::fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { base_url, key, stall, retry } = self;
        f.debug_struct("Endpoint")
            .field("base_url", &http::without_password(base_url))
            .field("key", key)
            .field("stall", stall)
            .field("retry", retry)
            .finish()
    }
}

impl Endpoint {
    /// What the environment says; `lookup` gives the value of a variable.
    pub fn from_env(lookup: impl Fn(&str) -> Option<String>) -> Self {
        Self {
            base_url: http::setting(&lookup, "OPENAI_BASE_URL")
                .unwrap_or_else(|| BASE_URL.to_owned()),
            key: http::secret(&lookup, "OPENAI_API_KEY"),
            stall: http::stall(&lookup),
            retry: Policy::from_env(&lookup),
        }
    }

    /// Which name the limit of an answer has: OpenAI's new models refuse the old name, most
    /// other servers know no other.
    fn limit(&self) -> body::Limit {
        let own = self.url().is_ok_and(|url| url.host_str() == Some("api.openai.com"));
        match own {
            true => body::Limit::MaxCompletionTokens,
            false => body::Limit::MaxTokens,
        }
    }

    /// The address of the one call that we make. People write the base with `/v1` and without,
    /// and sometimes the whole address; a base with a version of its own stays as it is.
    fn url(&self) -> Result<Url, ModelError> {
        let base = self.base_url.trim_end_matches('/');
        let base = base.strip_suffix("/chat/completions").unwrap_or(base);
        let url = http::parse_url(base)?;
        let is_version = |part: &str| {
            part.strip_prefix('v')
                .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        let has_version = url.path_segments().is_some_and(|mut parts| parts.any(is_version));
        let version = if has_version { "" } else { "/v1" };
        http::parse_url(&format!("{base}{version}/chat/completions"))
    }

    fn outgoing(&self, body: Bytes) -> Result<Outgoing, ModelError> {
        let mut headers = HeaderMap::new();
        if let Some(key) = &self.key {
            let value = http::secret_header(&format!("Bearer {}", key.expose_secret()))?;
            headers.insert(AUTHORIZATION, value);
        }
        Ok(Outgoing { url: self.url()?, headers, body, stall: self.stall })
    }
}

/// A server that speaks chat completions.
#[derive(Debug, Clone)]
pub struct OpenAi {
    endpoint: Arc<Endpoint>,
    http: Http,
}

impl OpenAi {
    pub fn new(endpoint: Endpoint) -> Self {
        Self { endpoint: Arc::new(endpoint), http: Http::default() }
    }
}

impl Model for OpenAi {
    fn stream(&self, request: Arc<Request>, stop: Stop) -> Answer {
        let Self { endpoint, http } = self.clone();
        let policy = endpoint.retry;
        let mut made = None;
        let attempt = move |_| {
            let make = || Bytes::from(body(&request, endpoint.limit()));
            let body = made.get_or_insert_with(make).clone();
            let endpoint = endpoint.clone();
            let answer = match endpoint.outgoing(body) {
                Ok(outgoing) => reading::ask(http.clone(), outgoing, decode::Decoder::default()),
                Err(error) => futures::stream::once(async { Err(error) }).boxed(),
            };
            let fit = move |error| {
                http::presentable(error, endpoint.key.as_ref())
                    .advised("OPENAI_API_KEY", "OPENAI_BASE_URL")
            };
            answer.map_err(fit).boxed()
        };
        retry::retrying(policy, stop, attempt)
    }
}

/// Reads a stream that was recorded, or that comes from elsewhere.
pub fn read(body: http::Incoming) -> Answer {
    reading::read(body, decode::Decoder::default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_taken_as_people_write_them() {
        let url = |base: &str| {
            let endpoint = Endpoint { base_url: base.to_owned(), ..Endpoint::default() };
            endpoint.url().unwrap().to_string()
        };
        let local = "http://localhost:11434/v1/chat/completions";
        for base in [
            "http://localhost:11434",
            "http://localhost:11434/",
            "http://localhost:11434/v1",
            "http://localhost:11434/v1/",
            "http://localhost:11434/v1/chat/completions",
        ] {
            assert_eq!(url(base), local, "{base}");
        }
        assert_eq!(url("https://x.example/api/v1"), "https://x.example/api/v1/chat/completions");
        let versioned = "https://x.example/v1beta/openai";
        assert_eq!(url(versioned), format!("{versioned}/chat/completions"));
        let wrong = Endpoint { base_url: "localhost:11434".to_owned(), ..Endpoint::default() };
        assert!(matches!(wrong.url(), Err(ModelError::InvalidRequest { .. })));
    }
}
