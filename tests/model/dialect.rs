//! The two formats side by side, so that one list of tests serves both.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::{StreamExt, stream};
use quarterdeck::model::request::{
    Caller, Conversation, Prefix, Purpose, Request, Sampling, SystemBlock, Thinking, ToolChoice,
    ToolSpec,
};
use quarterdeck::model::retry::Policy;
use quarterdeck::model::{Answer, Chunk, Model, ModelError, Stop, anthropic, openai};
use quarterdeck::protocol::content::ChatMessage;
use tokio::time::timeout;

use crate::support::server::PATIENCE;

pub const KEY: &str = "sk-do-not-show-this-key";

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    Anthropic,
    OpenAi,
}

pub const BOTH: [Dialect; 2] = [Dialect::Anthropic, Dialect::OpenAi];

/// Tries again at once.
pub fn hasty() -> Policy {
    Policy {
        tries: 10,
        first_wait: Duration::from_millis(1),
        longest_wait: Duration::from_millis(4),
        total: Duration::from_secs(10),
    }
}

impl Dialect {
    pub fn model(self, url: &str) -> Arc<dyn Model> {
        self.model_with(url, Duration::from_secs(10), hasty())
    }

    pub fn model_with(self, url: &str, stall: Duration, retry: Policy) -> Arc<dyn Model> {
        let base_url = url.to_owned();
        match self {
            Self::Anthropic => {
                let auth = anthropic::Auth::ApiKey(KEY.into());
                let rest = anthropic::Endpoint::default();
                let endpoint = anthropic::Endpoint { base_url, auth, stall, retry, ..rest };
                Arc::new(anthropic::Anthropic::new(endpoint))
            }
            Self::OpenAi => {
                let key = Some(KEY.into());
                Arc::new(openai::OpenAi::new(openai::Endpoint { base_url, key, stall, retry }))
            }
        }
    }

    /// Says "Hé 😀 there", thinks, and calls a tool.
    pub fn recorded(self) -> &'static str {
        match self {
            Self::Anthropic => ANTHROPIC,
            Self::OpenAi => OPENAI,
        }
    }

    /// The recorded stream up to a word in it.
    pub fn up_to(self, word: &str) -> &'static str {
        let text = self.recorded();
        &text[..text.find(word).expect("the word")]
    }

    /// Up to where the answer has begun, but shows nothing.
    pub fn begun(self) -> &'static str {
        match self {
            Self::Anthropic => self.up_to("event: ping"),
            Self::OpenAi => {
                self.up_to("data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"reas")
            }
        }
    }

    pub fn error_event(self) -> &'static str {
        match self {
            Self::Anthropic => {
                "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Busy\"}}\n\n"
            }
            Self::OpenAi => {
                "data: {\"error\":{\"message\":\"Busy\",\"type\":\"server_error\",\"code\":null}}\n\n"
            }
        }
    }

    pub fn read(self, pieces: Vec<Bytes>) -> Answer {
        let body = stream::iter(pieces.into_iter().map(Ok)).boxed();
        match self {
            Self::Anthropic => anthropic::read(body),
            Self::OpenAi => openai::read(body),
        }
    }
}

const ANTHROPIC: &str = concat!(
    "event: message_start\r\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":null,\"usage\":{\"input_tokens\":10,\"cache_creation_input_tokens\":3,\"cache_read_input_tokens\":5,\"output_tokens\":1}}}\r\n\r\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    ": a comment\nevent: invented_later\ndata: {\"type\":\"invented_later\",\"x\":[1]}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"hm, näh\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"c2ln\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":1,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hé 😀\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"shout_delta\",\"shout\":\"!\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":1,\"delta\":{\"type\":\"text_delta\",\"text\":\" the\\u0072e\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":1}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"Bash\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"command\\\": \\\"ls\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\" -l\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":2}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"redacted_thinking\",\"data\":\"xyz\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":3}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":4,\"content_block\":{\"type\":\"server_tool_use\",\"id\":\"s1\",\"name\":\"web_search\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":4,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"query\\\":\\\"q\\\"}\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":4}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\",\"stop_sequence\":null},\"usage\":{\"output_tokens\":42}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const OPENAI: &str = concat!(
    "data: {\"id\":\"c1\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}],\"usage\":null}\r\n\r\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"hm, näh\"}}]}\n\n",
    ": a comment\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hé 😀\"}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"content\":\" the\\u0072e\"}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"id\":\"t1\",\"type\":\"function\",\"function\":{\"name\":\"Bash\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\"{\\\"command\\\": \\\"ls\"}}]}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":0,\"function\":{\"arguments\":\" -l\\\"}\"}}]}}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"id\":\"c1\",\"choices\":[],\"usage\":{\"prompt_tokens\":15,\"completion_tokens\":42,\"total_tokens\":57,\"prompt_tokens_details\":{\"cached_tokens\":5}}}\n\n",
    "data: [DONE]\n\n",
);

pub fn prefix() -> Prefix {
    let block = |text: &str, cached| SystemBlock { text: text.to_owned(), cached };
    let tool = ToolSpec {
        name: "Bash".to_owned(),
        description: "Runs a command.".to_owned(),
        input_schema: serde_json::json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    };
    Prefix::new(vec![block("Be brief.", false), block("You are an agent.", true)], vec![tool])
}

pub fn request_of(prefix: Arc<Prefix>, messages: Conversation) -> Request {
    Request {
        model: "m".to_owned(),
        prefix,
        messages,
        max_tokens: 100,
        sampling: Sampling::default(),
        thinking: Thinking::Off,
        tool_choice: ToolChoice::Auto,
        caller: Caller {
            agent: "ada".to_owned(),
            agent_type: Some("explore".to_owned()),
            team: None,
            cwd: "/demo/größe".to_owned(),
            purpose: Purpose::SideQuestion,
        },
    }
}

pub fn request() -> Arc<Request> {
    let messages = [ChatMessage::user("Hello")].into_iter().collect();
    Arc::new(request_of(Arc::new(prefix()), messages))
}

/// Everything that an answer says.
pub async fn all(answer: Answer) -> Vec<Result<Chunk, ModelError>> {
    timeout(PATIENCE, answer.collect()).await.expect("an answer in time")
}

pub async fn ask(model: &Arc<dyn Model>) -> Vec<Result<Chunk, ModelError>> {
    all(model.stream(request(), Stop::new())).await
}

/// The chunks of an answer that does not fail.
pub fn whole(answer: Vec<Result<Chunk, ModelError>>) -> Vec<Chunk> {
    answer.into_iter().collect::<Result<_, _>>().expect("no error")
}

/// The error of an answer, which is always the last thing in it.
pub fn failure(mut answer: Vec<Result<Chunk, ModelError>>) -> ModelError {
    let last = answer.pop().expect("something").expect_err("an error");
    assert!(answer.iter().all(Result::is_ok), "an error that was not the last");
    last
}

/// Text, thinking and input joined, where they came in pieces.
pub fn joined(chunks: Vec<Chunk>) -> Vec<Chunk> {
    let mut joined: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        match (joined.last_mut(), &chunk) {
            (Some(Chunk::Text { index: a, text }), Chunk::Text { index: b, text: more })
            | (
                Some(Chunk::Thinking { index: a, text }),
                Chunk::Thinking { index: b, text: more },
            )
            | (
                Some(Chunk::ToolInput { index: a, json: text }),
                Chunk::ToolInput { index: b, json: more },
            ) if a == b => {
                text.push_str(more);
            }
            _ => joined.push(chunk),
        }
    }
    joined
}
