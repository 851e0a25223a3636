//! What a server means when it does not answer: its status, headers and words become an error
//! of a kind that callers decide on.

use std::time::Duration;

use reqwest::StatusCode;
use reqwest::header::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use super::ModelError;
use crate::protocol::json;

/// How servers say that a conversation does not fit, in lower case.
const TOO_LONG: &[&str] = &[
    "prompt is too long",
    "input is too long",
    "context_length_exceeded",
    "exceed_context_size",
    "maximum context length",
    "context limit",
    "context window",
    "context size",
    "context length",
];

/// An error as servers describe it, inside a stream or instead of one.
#[derive(Debug, Default)]
pub struct Words {
    message: String,
    /// `error.type` and `error.code`: what kind of error the server thinks it is.
    kinds: Vec<String>,
    /// A status that stands where others have a code.
    status: Option<u16>,
}

#[derive(Deserialize)]
struct BodyRecord {
    error: Option<Value>,
    message: Option<String>,
    detail: Option<Value>,
}

impl Words {
    /// Of a body that may be anything: JSON of several kinds, a page, or nothing.
    pub fn of_body(body: &str) -> Self {
        let Ok(record) = json::from_text::<BodyRecord>(body) else {
            return Self { message: first_line(body), ..Self::default() };
        };
        match (record.error, record.message, record.detail) {
            (Some(error), ..) => Self::of_error(&error),
            (None, Some(message), _) => Self { message, ..Self::default() },
            (None, None, Some(detail)) => Self { message: plain(&detail), ..Self::default() },
            (None, None, None) => Self { message: first_line(body), ..Self::default() },
        }
    }

    /// Of the value that stands under `error`.
    pub fn of_error(error: &Value) -> Self {
        let text = |key: &str| error.get(key).and_then(Value::as_str).map(str::to_owned);
        let number = error.get("code").and_then(Value::as_u64);
        Self {
            message: text("message").unwrap_or_else(|| plain(error)),
            kinds: [text("type"), text("code")].into_iter().flatten().collect(),
            status: number.and_then(|number| number.try_into().ok()),
        }
    }

    /// The error that it is when it comes inside a stream, where there is no status.
    pub fn within_stream(self) -> ModelError {
        let status = self.kinds.iter().find_map(|kind| usual_status(kind)).or(self.status);
        match status {
            Some(status) => self.judge(status, None),
            None if self.says_too_long() => ModelError::ContextTooLong { message: self.message },
            // A server that fails in the middle, and does not say why, may do better next time.
            None => ModelError::Overloaded { message: self.message, retry_after: None },
        }
    }

    /// The error that goes with a status.
    pub(super) fn judge(self, status: u16, retry_after: Option<Duration>) -> ModelError {
        let too_long = self.says_too_long();
        let out_of_money = self.kinds.iter().any(|kind| kind == "insufficient_quota");
        let message = self.message;
        match status {
            401 | 403 => ModelError::Authentication { message },
            404 => ModelError::NotFound { message },
            400 | 413 | 422 if too_long => ModelError::ContextTooLong { message },
            // Sent as 429, but no waiting helps.
            429 if out_of_money => ModelError::InvalidRequest { message },
            429 => ModelError::RateLimited { message, retry_after },
            408 | 409 | 500.. => ModelError::Overloaded { message, retry_after },
            _ => ModelError::InvalidRequest { message },
        }
    }

    fn says_too_long(&self) -> bool {
        let all = self.kinds.iter().chain([&self.message]).map(|text| text.to_lowercase());
        all.into_iter().any(|text| TOO_LONG.iter().any(|phrase| text.contains(phrase)))
    }
}

/// The error for an answer that is not a success.
pub fn refusal(status: StatusCode, headers: &HeaderMap, body: &str) -> ModelError {
    let mut words = Words::of_body(body);
    let code = status.as_u16();
    let named = status.canonical_reason().map(|reason| format!(" {reason}")).unwrap_or_default();
    let request = ["request-id", "x-request-id"].iter().find_map(|name| header(headers, name));
    let request = request.map(|id| format!(", request {id}")).unwrap_or_default();
    words.message = match words.message.trim() {
        "" => format!("HTTP {code}{named}{request}"),
        said => format!("{said} (HTTP {code}{named}{request})"),
    };
    words.judge(code, retry_after(headers, jiff::Timestamp::now()))
}

/// How long the server wants us to wait: milliseconds, seconds, or a date.
fn retry_after(headers: &HeaderMap, now: jiff::Timestamp) -> Option<Duration> {
    let seconds = |text: &str, unit: f64| {
        let number = text.parse::<f64>().ok()?;
        Duration::try_from_secs_f64(number / unit).ok()
    };
    if let Some(wait) = header(headers, "retry-after-ms").and_then(|text| seconds(text, 1000.0)) {
        return Some(wait);
    }
    let text = header(headers, "retry-after")?;
    let date = || {
        let date = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(text).ok()?;
        Some(Duration::try_from(date.duration_since(now)).unwrap_or_default())
    };
    seconds(text, 1.0).or_else(date)
}

fn header<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name)?.to_str().ok().map(str::trim)
}

/// The status that goes with a kind of error, where the kind has a name.
fn usual_status(kind: &str) -> Option<u16> {
    Some(match kind {
        "invalid_request_error" | "context_length_exceeded" | "exceed_context_size_error" => 400,
        "authentication_error" | "invalid_api_key" => 401,
        "billing_error" => 402,
        "permission_error" => 403,
        "not_found_error" | "model_not_found" => 404,
        "timeout_error" => 408,
        "request_too_large" => 413,
        "rate_limit_error" | "rate_limit_exceeded" | "insufficient_quota" => 429,
        "api_error" | "server_error" => 500,
        "overloaded_error" => 529,
        _ => return None,
    })
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A page is named by its title; of other text, the first line that says something.
pub fn first_line(body: &str) -> String {
    let title = body.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    let text = title.map_or(body, |(title, _)| title);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    fn error(status: u16, body: &str) -> ModelError {
        refusal(StatusCode::from_u16(status).unwrap(), &HeaderMap::new(), body)
    }

    #[test]
    fn a_status_becomes_a_kind_and_the_server_is_quoted() {
        let body = r#"{"type":"error","error":{"type":"x","message":"Say it."}}"#;
        let message = |code: &str| format!("Say it. (HTTP {code})");
        let auth = ModelError::Authentication { message: message("401 Unauthorized") };
        assert_eq!(error(401, body), auth);
        let missing = ModelError::NotFound { message: message("404 Not Found") };
        assert_eq!(error(404, body), missing);
        let invalid = ModelError::InvalidRequest { message: message("400 Bad Request") };
        assert_eq!(error(400, body), invalid);
        let busy = ModelError::Overloaded { message: message("529"), retry_after: None };
        assert_eq!(error(529, body), busy);
        for passing in [408, 409, 429, 500, 502, 503, 504, 529] {
            assert!(error(passing, body).is_passing(), "{passing}");
        }
        for lasting in [301, 400, 401, 402, 403, 404, 405, 413, 422, 451] {
            assert!(!error(lasting, body).is_passing(), "{lasting}");
        }
    }

    #[test]
    fn bodies_of_all_kinds_give_their_words() {
        let said = |body: &str| Words::of_body(body).message;
        assert_eq!(said(r#"{"error":{"message":"one","code":500}}"#), "one");
        assert_eq!(said(r#"{"error":"two"}"#), "two");
        assert_eq!(said(r#"{"message":"three","object":"error"}"#), "three");
        assert_eq!(said(r#"{"detail":"four"}"#), "four");
        assert_eq!(said("\n\n five \nsix"), "five");
        assert_eq!(said("<html><head><title>502 Bad Gateway</title>"), "502 Bad Gateway");
        assert_eq!(error(502, "").to_string(), "overloaded: HTTP 502 Bad Gateway");
    }

    #[test]
    fn a_conversation_that_does_not_fit_is_recognised() {
        let bodies = [
            r#"{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}"#,
            r#"{"error":{"message":"Too big.","type":"invalid_request_error","code":"context_length_exceeded"}}"#,
            r#"{"error":{"message":"This model's maximum context length is 8192 tokens.","code":400}}"#,
            r#"{"error":{"code":400,"message":"the request exceeds the available context size"}}"#,
            r#"{"error":{"message":"input length and `max_tokens` exceed context limit: 1 + 2 > 2"}}"#,
        ];
        for body in bodies {
            for status in [400, 413, 422] {
                let error = error(status, body);
                assert!(matches!(error, ModelError::ContextTooLong { .. }), "{status}: {error}");
            }
        }
        let large = error(413, r#"{"error":{"message":"Request exceeds the maximum size"}}"#);
        assert!(matches!(large, ModelError::InvalidRequest { .. }), "{large}");
    }

    #[test]
    fn an_error_inside_a_stream_has_a_kind_too() {
        let kind =
            |text: &str| Words::of_error(&serde_json::from_str(text).unwrap()).within_stream();
        let busy = ModelError::Overloaded { message: "Busy".into(), retry_after: None };
        assert_eq!(kind(r#"{"type":"overloaded_error","message":"Busy"}"#), busy);
        assert_eq!(kind(r#"{"message":"Busy","code":502}"#), busy);
        assert_eq!(kind(r#""Busy""#), busy);
        let limit = ModelError::RateLimited { message: "m".into(), retry_after: None };
        assert_eq!(kind(r#"{"type":"rate_limit_error","message":"m"}"#), limit);
        let long = r#"{"type":"invalid_request_error","message":"prompt is too long"}"#;
        assert!(matches!(kind(long), ModelError::ContextTooLong { .. }));
        let broke = r#"{"type":"insufficient_quota","message":"m"}"#;
        assert!(matches!(kind(broke), ModelError::InvalidRequest { .. }));
    }

    #[test]
    fn the_wait_that_a_server_asks_for_is_read_in_all_its_forms() {
        let now = "1994-11-06T08:49:30Z".parse().unwrap();
        let wait = |pairs: &[(&'static str, &str)]| {
            let pairs = pairs.iter().map(|(name, value)| {
                (
                    reqwest::header::HeaderName::from_static(name),
                    HeaderValue::from_str(value).unwrap(),
                )
            });
            retry_after(&pairs.collect(), now)
        };
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after", "0.5")]), Some(Duration::from_millis(500)));
        let date = [("retry-after", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(wait(&date), Some(Duration::from_secs(7)));
        let past = [("retry-after", "Sun, 06 Nov 1994 08:49:00 GMT")];
        assert_eq!(wait(&past), Some(Duration::ZERO));
        let both = [("retry-after-ms", "1500"), ("retry-after", "9")];
        assert_eq!(wait(&both), Some(Duration::from_millis(1500)));
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[]), None);
    }
}
