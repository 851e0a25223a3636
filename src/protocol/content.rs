//! What is said to and by a language model: messages made of blocks.
//!
//! The shape is that of the Messages API, which is also what transcripts hold. Whatever does not
//! come out of our types as it went in is kept verbatim beside its meaning, so that a transcript
//! survives a round trip.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ChatMessage {
    pub role: Role,
    pub content: Content,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    User,
    Assistant,
}

/// Plain text, or blocks. Both forms occur; each is written as it was read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Content {
    Text(String),
    Blocks(Vec<Block>),
}

#[derive(Debug, Clone, PartialEq)]
pub enum Block {
    Known(Known),
    /// A block of a type we do not know, or with fields we do not know.
    Kept {
        value: Value,
        /// What it means, as far as we understand it.
        meaning: Option<Known>,
    },
}

/// The blocks that we understand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Known {
    Text {
        text: String,
    },
    Thinking {
        thinking: String,
        #[serde(default)]
        signature: String,
    },
    RedactedThinking {
        data: String,
    },
    ToolUse {
        id: String,
        name: String,
        input: Value,
    },
    ToolResult {
        tool_use_id: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        content: Option<Content>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        is_error: Option<bool>,
    },
    Image {
        source: ImageSource,
    },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum ImageSource {
    Base64 { media_type: String, data: String },
    Url { url: String },
}

impl ChatMessage {
    pub fn user(text: impl Into<String>) -> Self {
        Self { role: Role::User, content: Content::Text(text.into()) }
    }

    pub fn assistant(blocks: Vec<Block>) -> Self {
        Self { role: Role::Assistant, content: Content::Blocks(blocks) }
    }

    /// Answers to tool calls, in the order of the calls.
    pub fn results(blocks: Vec<Block>) -> Self {
        Self { role: Role::User, content: Content::Blocks(blocks) }
    }
}

impl Content {
    /// What is in it, block by block; plain text is one block.
    pub fn known(&self) -> Vec<Known> {
        match self {
            Self::Text(text) => vec![Known::Text { text: text.clone() }],
            Self::Blocks(blocks) => blocks.iter().filter_map(Block::meaning).cloned().collect(),
        }
    }

    /// All of its text, one block after the other. Results of tools count, thinking does not.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Blocks(blocks) => {
                let texts = blocks.iter().filter_map(Block::meaning).filter_map(Known::text);
                texts.filter(|text| !text.is_empty()).collect::<Vec<_>>().join("\n")
            }
        }
    }
}

impl Block {
    pub fn text(text: impl Into<String>) -> Self {
        Self::Known(Known::Text { text: text.into() })
    }

    pub fn tool_use(id: impl Into<String>, name: impl Into<String>, input: Value) -> Self {
        Self::Known(Known::ToolUse { id: id.into(), name: name.into(), input })
    }

    pub fn tool_result(tool_use_id: impl Into<String>, text: impl Into<String>) -> Self {
        let content = Some(Content::Text(text.into()));
        Self::Known(Known::ToolResult { tool_use_id: tool_use_id.into(), content, is_error: None })
    }

    pub fn tool_error(tool_use_id: impl Into<String>, text: impl Into<String>) -> Self {
        let content = Some(Content::Text(text.into()));
        let is_error = Some(true);
        Self::Known(Known::ToolResult { tool_use_id: tool_use_id.into(), content, is_error })
    }

    pub fn meaning(&self) -> Option<&Known> {
        match self {
            Self::Known(known) => Some(known),
            Self::Kept { meaning, .. } => meaning.as_ref(),
        }
    }
}

impl Known {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text { text } => Some(text.clone()),
            Self::ToolResult { content, .. } => content.as_ref().map(Content::text),
            Self::Thinking { .. }
            | Self::RedactedThinking { .. }
            | Self::ToolUse { .. }
            | Self::Image { .. } => None,
        }
    }
}

impl Serialize for Block {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(known) => known.serialize(serializer),
            Self::Kept { value, .. } => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Block {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        let Ok(known) = serde_json::from_value::<Known>(value.clone()) else {
            return Ok(Self::Kept { value, meaning: None });
        };
        // Compared as text: the order of keys counts, too.
        let text = value.to_string();
        let same = serde_json::to_string(&known).is_ok_and(|own| own == text);
        Ok(match same {
            true => Self::Known(known),
            false => Self::Kept { value, meaning: Some(known) },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_written_as_they_were_read() {
        let lines = [
            r#"{"role":"user","content":"plain"}"#,
            r#"{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b","cache_control":{"type":"ephemeral"}}]}"#,
            r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"s"},{"type":"redacted_thinking","data":"x"}]}"#,
            r#"{"role":"assistant","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"z":1,"a":2},"caller":{"type":"direct"}}]}"#,
            r#"{"role":"user","content":[{"tool_use_id":"t1","type":"tool_result","content":"done"}]}"#,
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":[{"type":"text","text":"x"}],"is_error":true}]}"#,
            r#"{"role":"user","content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]}"#,
            r#"{"role":"assistant","content":[{"type":"server_tool_use","id":"s","zeta":1,"alpha":[]}]}"#,
        ];
        for line in lines {
            let message: ChatMessage = serde_json::from_str(line).unwrap();
            assert_eq!(serde_json::to_string(&message).unwrap(), line);
        }
        let odd: ChatMessage = serde_json::from_str(lines[4]).unwrap();
        assert_eq!(odd.content.text(), "done", "kept, and understood all the same");
        let unknown: ChatMessage = serde_json::from_str(lines[7]).unwrap();
        assert_eq!(unknown.content.known(), []);
    }
}
