//! How an answer can fail, in kinds that callers decide on.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    #[error("the key was refused: {message}")]
    Authentication { message: String },
    #[error("not found: {message}")]
    NotFound { message: String },
    #[error("the request was refused: {message}")]
    InvalidRequest { message: String },
    #[error("too many requests: {message}")]
    RateLimited { message: String, retry_after: Option<Duration> },
    #[error("overloaded: {message}")]
    Overloaded { message: String, retry_after: Option<Duration> },
    #[error("the conversation is too long for the model: {message}")]
    ContextTooLong { message: String },
    #[error("no connection: {message}")]
    Network { message: String },
    #[error("the answer was cut off: {message}")]
    StreamBroken { message: String },
    #[error("the answer could not be understood: {message}")]
    BadAnswer { message: String },
    #[error("stopped")]
    Stopped,
}

impl ModelError {
    /// Whether the same request may succeed a little later, and how soon the server wants it.
    pub fn is_passing(&self) -> bool {
        match self {
            Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::Network { .. }
            | Self::StreamBroken { .. } => true,
            Self::Authentication { .. }
            | Self::NotFound { .. }
            | Self::InvalidRequest { .. }
            | Self::ContextTooLong { .. }
            | Self::BadAnswer { .. }
            | Self::Stopped => false,
        }
    }

    /// The same error in other words.
    pub fn reworded(mut self, reword: impl FnOnce(&str) -> String) -> Self {
        match &mut self {
            Self::Authentication { message }
            | Self::NotFound { message }
            | Self::InvalidRequest { message }
            | Self::RateLimited { message, .. }
            | Self::Overloaded { message, .. }
            | Self::ContextTooLong { message }
            | Self::Network { message }
            | Self::StreamBroken { message }
            | Self::BadAnswer { message } => *message = reword(message),
            Self::Stopped => {}
        }
        self
    }

    /// The same error with what the person can do about it: which variables hold the key and the
    /// address.
    pub fn advised(self, key: &str, address: &str) -> Self {
        let advice = match &self {
            Self::Authentication { .. } => {
                format!("set {key} to a valid key, then start again with -c")
            }
            Self::NotFound { .. } => {
                "choose another model with --model, or /model in the console; `quarterdeck model list` \
                 shows them"
                    .to_owned()
            }
            Self::Network { .. } => format!("check the network, and {address} if it is set"),
            Self::InvalidRequest { .. }
            | Self::RateLimited { .. }
            | Self::Overloaded { .. }
            | Self::ContextTooLong { .. }
            | Self::StreamBroken { .. }
            | Self::BadAnswer { .. }
            | Self::Stopped => return self,
        };
        self.reworded(|message| format!("{message}; {advice}"))
    }

    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::RateLimited { retry_after, .. } | Self::Overloaded { retry_after, .. } => {
                *retry_after
            }
            Self::Authentication { .. }
            | Self::NotFound { .. }
            | Self::InvalidRequest { .. }
            | Self::ContextTooLong { .. }
            | Self::Network { .. }
            | Self::StreamBroken { .. }
            | Self::BadAnswer { .. }
            | Self::Stopped => None,
        }
    }
}
