//! What the API refuses, as it says so: the status of a response or the error of an operation. Without I/O.

use serde_json::Value;

/// The codes of `google.rpc.Code` that differ for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument,
    NotFound,
    /// There is no such method for the project of the OAuth client.
    NotOffered,
    AlreadyExists,
    PermissionDenied,
    /// Too many requests in a minute.
    RateLimited,
    /// The account's quota is used up, or Google has no capacity.
    Exhausted,
    FailedPrecondition,
    Unauthenticated,
    /// Google fails, or cannot answer now.
    Unavailable,
    Other,
}

/// A refused request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: Code,
    /// The reason in upper-case letters, such as `DENYLISTED`.
    pub(crate) reason: Option<String>,
    /// Google's message, in quotes, with status and reason.
    pub(crate) words: String,
}

impl Refusal {
    /// Reads a response that is no success.
    pub(crate) fn of_response(status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = &body["error"];
        let (name, message) = (error["status"].as_str(), error["message"].as_str().unwrap_or_default());
        // One status stands for several codes.
        let code = match (status, name) {
            (400, Some("FAILED_PRECONDITION")) | (412, _) => Code::FailedPrecondition,
            (409, Some("ABORTED")) | (408 | 500 | 502.., _) => Code::Unavailable,
            (400, _) => Code::InvalidArgument,
            (401, _) => Code::Unauthenticated,
            (403, _) => Code::PermissionDenied,
            // The answer to a project for which Google has not opened the API.
            (404 | 501, _) if message.contains("ethod not found") => Code::NotOffered,
            (404, _) => Code::NotFound,
            (409, _) => Code::AlreadyExists,
            (429, _) => Code::RateLimited,
            _ => Code::Other,
        };
        let name = name.filter(|name| is_plain(name)).unwrap_or_default();
        Self::new(code, &format!("{status} {name}"), error)
    }

    /// Reads the error of an operation.
    pub(crate) fn of_operation(error: &Value) -> Self {
        let code = match error["code"].as_u64() {
            Some(3 | 11) => Code::InvalidArgument,
            Some(5) => Code::NotFound,
            Some(6) => Code::AlreadyExists,
            Some(7) => Code::PermissionDenied,
            Some(8) if reason(error).as_deref() == Some("RATE_LIMIT_EXCEEDED") => Code::RateLimited,
            Some(8) => Code::Exhausted,
            Some(9) => Code::FailedPrecondition,
            Some(16) => Code::Unauthenticated,
            Some(4 | 10 | 13 | 14) => Code::Unavailable,
            _ => Code::Other,
        };
        Self::new(code, &format!("code {}", error["code"]), error)
    }

    fn new(code: Code, status: &str, error: &Value) -> Self {
        let reason = reason(error);
        let message = rest::safe(error["message"].as_str().unwrap_or_default());
        let status = rest::safe(&[status, reason.as_deref().unwrap_or_default()].join(" "));
        Self { code, words: format!("\"{message}\" ({status})"), reason }
    }

    pub(crate) fn has_reason(&self, reason: &str) -> bool {
        self.reason.as_deref() == Some(reason)
    }
}

/// The first reason among the details. A text of another form could be a secret.
fn reason(error: &Value) -> Option<String> {
    let mut reasons = error["details"].as_array()?.iter().filter_map(|it| it["reason"].as_str());
    reasons.find(|reason| is_plain(reason)).map(str::to_owned)
}

fn is_plain(name: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_';
    (1..=60).contains(&name.len()) && name.bytes().all(is_plain)
}
