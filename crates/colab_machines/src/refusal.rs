//! What the API refuses, as it says so: the status of a response or the error of an operation. Without I/O.

use serde_json::Value;

/// The codes of `google.rpc.Code` that differ for us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Code {
    InvalidArgument,
    NotFound,
    AlreadyExists,
    PermissionDenied,
    ResourceExhausted,
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
    /// The reason in upper-case letters, such as `DENYLISTED`. Nothing else of a response is kept.
    pub(crate) reason: Option<String>,
}

impl Refusal {
    /// Reads a response that is no success.
    pub(crate) fn of_response(status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let error = &body["error"];
        // One status stands for several codes.
        let code = match (status, error["status"].as_str()) {
            (400, Some("FAILED_PRECONDITION")) | (412, _) => Code::FailedPrecondition,
            (409, Some("ABORTED")) | (408 | 500.., _) => Code::Unavailable,
            (400, _) => Code::InvalidArgument,
            (401, _) => Code::Unauthenticated,
            (403, _) => Code::PermissionDenied,
            (404, _) => Code::NotFound,
            (409, _) => Code::AlreadyExists,
            (429, _) => Code::ResourceExhausted,
            _ => Code::Other,
        };
        Self { code, reason: reason(error) }
    }

    /// Reads the error of an operation.
    pub(crate) fn of_operation(error: &Value) -> Self {
        let code = match error["code"].as_u64() {
            Some(3 | 11) => Code::InvalidArgument,
            Some(5) => Code::NotFound,
            Some(6) => Code::AlreadyExists,
            Some(7) => Code::PermissionDenied,
            Some(8) => Code::ResourceExhausted,
            Some(9) => Code::FailedPrecondition,
            Some(16) => Code::Unauthenticated,
            Some(4 | 10 | 13 | 14) => Code::Unavailable,
            _ => Code::Other,
        };
        Self { code, reason: reason(error) }
    }

    /// Whether the same request may succeed a little later.
    pub(crate) fn is_transient(&self) -> bool {
        match self.code {
            Code::Unavailable => true,
            Code::ResourceExhausted => self.reason.as_deref().is_none_or(|it| it == "RATE_LIMIT_EXCEEDED"),
            _ => false,
        }
    }

    pub(crate) fn has_reason(&self, reason: &str) -> bool {
        self.reason.as_deref() == Some(reason)
    }
}

/// The first reason among the details. A text of another form could be a secret.
fn reason(error: &Value) -> Option<String> {
    let is_plain = |it: &&str| {
        !it.is_empty()
            && it.len() <= 60
            && it.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
    };
    let mut reasons = error["details"].as_array()?.iter().filter_map(|it| it["reason"].as_str());
    reasons.find(is_plain).map(str::to_owned)
}
