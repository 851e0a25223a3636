//! What an agent can do. One file per tool; [`call`] is the one way to use them: it asks the
//! permission engine, writes down what happens, and runs the tool.
//!
//! Tools know nothing of agents and teams above them; what they need from there comes through
//! the port [`Crew`].

pub mod ask_user;
pub mod bash;
pub mod call;
mod change;
pub mod context;
pub mod edit;
mod file_words;
pub mod glob;
pub mod grep;
mod guarded;
mod lines;
mod matching;
mod newest;
pub mod read;
pub mod registry;
mod replace;
pub mod seen;
pub mod shell;
pub mod tasks;
mod text_file;
mod walk;
pub mod web_fetch;
pub mod write;

use std::borrow::Cow;

use futures::future::BoxFuture;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use call::{Call, Use};
pub use context::{Crew, Cwd, Note, Place, ToolContext};

use crate::permission::Access;
use crate::protocol::content::{Block, Content};

/// Something an agent can do.
///
/// Implementors owe: `access` names everything that `run` would touch, with paths already
/// followed to where they lead; `run` keeps to `call.access`, ends soon after `call.stop` fires
/// and leaves nothing running; what goes wrong is an `Output::failed`, never a panic.
pub trait Tool: Send + Sync {
    fn spec(&self) -> &Spec;

    /// What this use would touch, or what is wrong with the input.
    fn access(&self, cx: &ToolContext, input: &Value) -> Result<Vec<Access>, Bad>;

    /// This use in one line, for people: `src/main.rs:10-20`, `cargo test`.
    fn summary(&self, input: &Value) -> String;

    /// Where the passages stand that this use would replace: the first line of each. Looked up
    /// before somebody is asked, for them to see; nothing where there are none or nobody knows.
    fn lines<'a>(&'a self, _call: &'a Call, _input: &'a Value) -> BoxFuture<'a, Vec<usize>> {
        Box::pin(std::future::ready(Vec::new()))
    }

    fn run<'a>(
        &'a self,
        cx: &'a ToolContext,
        call: &'a Call,
        input: Value,
    ) -> BoxFuture<'a, Output>;
}

/// What is known of a tool without using it.
#[derive(Debug, Clone)]
pub struct Spec {
    pub name: Cow<'static, str>,
    /// Written for the model.
    pub description: Cow<'static, str>,
    /// A JSON schema of the input.
    pub input: Value,
    pub needs: Needs,
    /// Whether it may run while other tools of the same turn do.
    pub side_by_side: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    Reads,
    Writes,
    Runs,
    Network,
}

impl Needs {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Reads => "reads",
            Self::Writes => "writes",
            Self::Runs => "runs",
            Self::Network => "network",
        }
    }
}

impl Spec {
    /// A spec whose schema is that of the input type.
    pub fn of<I: JsonSchema>(
        name: &'static str,
        description: &'static str,
        needs: Needs,
        side_by_side: bool,
    ) -> Self {
        let (name, description) = (Cow::Borrowed(name), Cow::Borrowed(description));
        Self { name, description, input: schema_of::<I>(), needs, side_by_side }
    }
}

/// The schema of a type, without what only schema tools read.
fn schema_of<I: JsonSchema>() -> Value {
    let settings = schemars::generate::SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<I>().to_value();
    if let Some(members) = schema.as_object_mut() {
        members.shift_remove("title");
        members.shift_remove("description");
        members.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    schema
}

/// An input that a tool cannot use, said so that a model can do better.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Bad(pub String);

/// The input of a tool in its own type.
pub fn parse<I: DeserializeOwned>(tool: &str, input: &Value) -> Result<I, Bad> {
    I::deserialize(input).map_err(|error| Bad(format!("{tool} cannot use this input: {error}")))
}

/// What came of using a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct Output {
    /// What the model gets.
    pub content: Content,
    pub failed: bool,
    /// What came of it in one line, for people.
    pub summary: String,
    /// What the console and the transcript get beyond the words: a diff, an exit code.
    pub data: Value,
}

impl Output {
    pub fn text(text: impl Into<String>) -> Self {
        let text = text.into();
        let summary = first_line(&text);
        Self { content: Content::Text(text), failed: false, summary, data: Value::Null }
    }

    pub fn failed(text: impl Into<String>) -> Self {
        Self { failed: true, ..Self::text(text) }
    }

    pub fn blocks(blocks: Vec<Block>, summary: impl Into<String>) -> Self {
        let (content, summary) = (Content::Blocks(blocks), summary.into());
        Self { content, failed: false, summary, data: Value::Null }
    }

    #[must_use]
    pub fn with_summary(mut self, summary: impl Into<String>) -> Self {
        self.summary = summary.into();
        self
    }

    #[must_use]
    pub fn with_data(mut self, data: Value) -> Self {
        self.data = data;
        self
    }
}

/// The first line, cut where it gets long.
pub fn first_line(text: &str) -> String {
    const LONGEST: usize = 120;
    let line = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default().trim();
    match line.char_indices().nth(LONGEST) {
        Some((cut, _)) => format!("{}…", &line[..cut]),
        None => line.to_owned(),
    }
}
