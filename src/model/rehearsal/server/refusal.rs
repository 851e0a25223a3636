//! Errors in the shape of the Messages API.

use std::time::Duration;

use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use uuid::Uuid;

pub const REQUEST_ID: HeaderName = HeaderName::from_static("request-id");

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    pub status: u16,
    pub message: String,
    retry_after: Option<Duration>,
}

/// An id in the style of the API.
pub fn request_id() -> String {
    format!("req_{}", Uuid::new_v4().simple())
}

impl Refusal {
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), retry_after: None }
    }

    /// The request is wrong.
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(400, message)
    }

    /// As a playbook wants it.
    pub fn scripted(status: u16, retry_after: Option<Duration>) -> Self {
        let message = match status {
            401 => "invalid x-api-key",
            429 => "This request would exceed your rate limit.",
            529 => "Overloaded",
            500..=599 => "Internal server error",
            _ => "The playbook refuses this request.",
        };
        Self { status, message: message.to_owned(), retry_after }
    }

    fn kind(&self) -> &'static str {
        match self.status {
            401 => "authentication_error",
            403 => "permission_error",
            404 => "not_found_error",
            413 => "request_too_large",
            429 => "rate_limit_error",
            504 => "timeout_error",
            529 => "overloaded_error",
            500.. => "api_error",
            _ => "invalid_request_error",
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let id = request_id();
        let body = json!({
            "type": "error",
            "error": { "type": self.kind(), "message": self.message },
            "request_id": id,
        });
        let status = StatusCode::from_u16(self.status).unwrap_or(StatusCode::BAD_REQUEST);
        let head = [(header::CONTENT_TYPE, "application/json".to_owned()), (REQUEST_ID, id)];
        let mut response = (status, head, body.to_string()).into_response();
        if let Some(wait) = self.retry_after {
            response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(wait.as_secs()));
        }
        response
    }
}
