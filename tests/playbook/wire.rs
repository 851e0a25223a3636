//! The server on a real socket, and a plain client for it.

use std::sync::{Arc, Once};

use quarterdeck::model::Stop;
use quarterdeck::model::rehearsal::playbook::Playbook;
use quarterdeck::model::rehearsal::server::{Options, ServeError, serve};
use reqwest::Response;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::scene::file;

pub struct Served {
    pub address: String,
    pub stop: Stop,
    client: reqwest::Client,
    task: JoinHandle<Result<(), ServeError>>,
}

impl Served {
    /// `wire.yaml`, served.
    pub async fn start(options: Options) -> Self {
        let playbook = Arc::new(Playbook::load(&file("wire.yaml")).unwrap());
        Self::play(playbook, options).await
    }

    pub async fn play(playbook: Arc<Playbook>, options: Options) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let stop = Stop::new();
        let task = tokio::spawn(serve(listener, playbook, options, stop.clone()));
        Self { address, stop, client: client(), task }
    }

    pub async fn post_to(&self, path: &str, body: String, headers: &[(&str, &str)]) -> Response {
        let mut request = self.client.post(format!("{}{path}", self.address)).body(body);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.send().await.unwrap()
    }

    pub async fn post(&self, body: &Value) -> Response {
        self.post_to("/v1/messages", body.to_string(), &[]).await
    }

    /// The answer to a request that is answered.
    pub async fn ok(&self, body: &Value) -> Value {
        let response = self.post(body).await;
        assert_eq!(response.status(), 200);
        response.json().await.unwrap()
    }

    /// Status, kind and message of a refusal.
    pub async fn refused(&self, body: &Value) -> (u16, String, String) {
        refusal(self.post(body).await).await
    }

    pub async fn end(self) {
        self.stop.cancel();
        self.task.await.unwrap().unwrap();
    }
}

pub fn client() -> reqwest::Client {
    static PROVIDER: Once = Once::new();
    PROVIDER.call_once(|| {
        // Another test binary's doing would be as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
    });
    reqwest::Client::builder().no_proxy().build().unwrap()
}

pub async fn refusal(response: Response) -> (u16, String, String) {
    let status = response.status().as_u16();
    let body: Value = response.json().await.unwrap();
    assert_eq!(body["type"], "error", "{body}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    (status, text(&body["error"]["type"]), text(&body["error"]["message"]))
}

pub fn ask(text: &str) -> Value {
    with_messages(json!([{ "role": "user", "content": text }]))
}

pub fn with_messages(messages: Value) -> Value {
    json!({ "model": "rehearsal", "max_tokens": 100, "messages": messages })
}

pub fn streamed(mut body: Value) -> Value {
    body["stream"] = json!(true);
    body
}

/// A stream, event by event. Every event must be two lines, and its data must say its name.
pub fn events(text: &str) -> Vec<Value> {
    assert!(text.ends_with("\n\n"), "{text}");
    let frames = text.trim_end().split("\n\n");
    let events = frames.map(|frame| {
        let (name, data) = frame.split_once('\n').expect("two lines");
        let data: Value = serde_json::from_str(data.strip_prefix("data: ").unwrap()).unwrap();
        assert_eq!(name.strip_prefix("event: "), data["type"].as_str());
        data
    });
    events.collect()
}
