//! One request to a server.

use std::time::Duration;

use reqwest::Method;

use crate::Result;
use crate::body::{self, Payload};

/// Timeout of starting or restarting a kernel, for example on a cluster.
pub(crate) const KERNEL_TIMEOUT: Duration = Duration::from_secs(120);

/// One request. It can be sent again after a login, or when a reused connection turns out to be dead.
pub(crate) struct Request<'a> {
    pub(crate) method: Method,
    /// Relative to the base URL, encoded, with its query.
    pub(crate) path: String,
    pub(crate) payload: Payload,
    /// If it differs from the network timeout.
    pub(crate) timeout: Option<Duration>,
    /// The largest response body, in bytes.
    pub(crate) limit: usize,
    /// What the request is about, as part of a sentence.
    pub(crate) subject: &'a str,
    pub(crate) headers: Vec<(&'static str, String)>,
    /// Whether sending it twice has the same effect as once.
    pub(crate) is_idempotent: bool,
    /// Whether this opens a WebSocket.
    pub(crate) is_upgrade: bool,
}

impl<'a> Request<'a> {
    pub(crate) fn new(method: Method, path: impl Into<String>, subject: &'a str) -> Self {
        Self {
            is_idempotent: matches!(method, Method::GET | Method::PUT | Method::DELETE),
            is_upgrade: false,
            method,
            path: path.into(),
            payload: Payload::default(),
            timeout: None,
            limit: body::MAX_BYTES,
            subject,
            headers: Vec::new(),
        }
    }

    pub(crate) fn get(path: impl Into<String>, subject: &'a str) -> Self {
        Self::new(Method::GET, path, subject)
    }

    pub(crate) fn json(mut self, value: &impl serde::Serialize) -> Result<Self> {
        self.payload = Payload::json(value)?;
        Ok(self)
    }

    pub(crate) fn idempotent(mut self) -> Self {
        self.is_idempotent = true;
        self
    }

    pub(crate) fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    pub(crate) fn limit(mut self, limit: usize) -> Self {
        self.limit = limit;
        self
    }
}
