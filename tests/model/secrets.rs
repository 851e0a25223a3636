//! Keys reach the server and nobody else.

use std::io::Write;
use std::sync::{Arc, Mutex};

use quarterdeck::model::{anthropic, openai};
use tracing_subscriber::fmt::MakeWriter;

use super::dialect::{BOTH, Dialect, KEY, ask, failure};
use crate::support::server::{Server, Step, events, reply};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl MakeWriter<'_> for Log {
    type Writer = Self;

    fn make_writer(&self) -> Self {
        self.clone()
    }
}

#[tokio::test]
async fn a_key_is_in_no_log_and_no_error() {
    let log = Log::default();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(log.clone())
        .finish();
    // For all threads: what the tests beside this one log may not hold the key either.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    for dialect in BOTH {
        let echo = format!("{{\"error\":{{\"message\":\"no such key: {KEY}\"}}}}");
        let page = format!("<title>{KEY}</title>");
        let replies = [
            reply(401, "application/json", "", &echo),
            reply(200, "text/html", "", &page),
            events(&format!("data: {{\"type\":\"error\",{}\n\n", &echo[1..])),
            events(&format!("data: {KEY}\n\n")),
            vec![Step::Reset],
        ];
        for reply in replies {
            let server = Server::start(vec![reply]).await;
            let model = dialect.model(&server.url);
            let error = failure(ask(&model).await);
            assert!(!format!("{error} {error:?}").contains(KEY), "{dialect:?}: {error}");
            let seen = &server.seen()[0];
            let sent = match dialect {
                Dialect::Anthropic => seen.header("x-api-key").unwrap().to_owned(),
                Dialect::OpenAi => seen.header("authorization").unwrap().replace("Bearer ", ""),
            };
            assert_eq!(sent, KEY);
            assert!(!seen.body.contains(KEY));
        }
    }
    let log = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(log.contains("trying again"), "something was logged");
    assert!(!log.contains(KEY), "{log}");
}

#[test]
fn a_key_is_in_no_debug_output() {
    let set = |name: &str| match name {
        "ANTHROPIC_API_KEY" | "ANTHROPIC_AUTH_TOKEN" | "OPENAI_API_KEY" => Some(KEY.to_owned()),
        "ANTHROPIC_BASE_URL" | "OPENAI_BASE_URL" => Some(format!("http://me:{KEY}@host/v1")),
        _ => None,
    };
    let anthropic = anthropic::Endpoint::from_env(set);
    let token =
        anthropic::Endpoint::from_env(|name| set(name).filter(|_| name != "ANTHROPIC_API_KEY"));
    let openai = openai::Endpoint::from_env(set);
    let shown = format!("{anthropic:?} {token:?} {openai:?}");
    assert!(matches!(token.auth, anthropic::Auth::Token(_)));
    let models = (anthropic::Anthropic::new(anthropic), openai::OpenAi::new(openai));
    let shown = format!("{shown} {models:?}");
    assert!(!shown.contains(KEY), "{shown}");
    assert!(shown.contains("http://host/v1"), "{shown}");
}

#[test]
fn the_environment_says_where_and_how() {
    let set = |name: &str| match name {
        "ANTHROPIC_BASE_URL" => Some(" http://127.0.0.1:9 ".to_owned()),
        "ANTHROPIC_BETAS" => Some("one, two,,".to_owned()),
        "ANTHROPIC_API_KEY" => Some(String::new()),
        _ => None,
    };
    let endpoint = anthropic::Endpoint::from_env(set);
    assert_eq!(endpoint.base_url, "http://127.0.0.1:9");
    assert_eq!(endpoint.betas, ["one", "two"]);
    assert!(matches!(endpoint.auth, anthropic::Auth::None), "empty is not set");
    let openai = openai::Endpoint::from_env(|_| None);
    assert_eq!(openai.base_url, "https://api.openai.com/v1");
    assert!(openai.key.is_none());
}
