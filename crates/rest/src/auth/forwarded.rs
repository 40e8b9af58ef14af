//! Headers that identify the user of an agent's request, sent again to the server in whose process we run.

use std::fmt;

use parking_lot::RwLock;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

use crate::client::SECRET_HEADER;

/// Headers that belong to one request or connection and do not identify a user.
const DROPPED: &str = include_str!("forwarded.txt");
const DROPPED_PREFIXES: &[&str] = &["accept", "content-", "if-", "mcp-", "sec-"];

/// The newest headers that identify a user: a token, cookies with their XSRF token, and the headers of identity
/// providers. `Host` is one of them, because Jupyter derives the name of its cookie from it.
#[derive(Default)]
pub struct Forwarded {
    headers: RwLock<HeaderMap>,
}

impl Forwarded {
    /// Takes the names and values of a request's headers, and keeps those that may identify a user.
    pub fn new(headers: &[(String, String)]) -> Self {
        let forwarded = Self::default();
        forwarded.replace(headers);
        forwarded
    }

    /// Replaces all headers by those of a newer request.
    pub fn replace(&self, headers: &[(String, String)]) {
        let newest = headers.iter().filter_map(|(name, value)| identifying(name, value)).collect();
        *self.headers.write() = newest;
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.read().clone()
    }
}

fn identifying(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let name = name.to_ascii_lowercase();
    if name.as_str() == SECRET_HEADER
        || DROPPED.lines().any(|it| it == name.as_str())
        || DROPPED_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    {
        return None;
    }
    let name = HeaderName::from_bytes(name.as_bytes()).ok()?;
    let mut value = HeaderValue::from_bytes(value.as_bytes()).ok()?;
    value.set_sensitive(true);
    Some((name, value))
}

impl fmt::Debug for Forwarded {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Forwarded").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_identifying_headers_are_kept_and_newer_ones_replace_them() {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let forwarded = Forwarded::new(&[
            header("Authorization", "token t"),
            header("Cookie", "_xsrf=x; username-h=y"),
            header("X-XSRFToken", "x"),
            header("X-Remote-User", "ada"),
            header("Host", "example.org"),
            header("Origin", "https://example.org"),
            header("Content-Length", "7"),
            header("Accept", "text/event-stream"),
            header("Mcp-Session-Id", "s"),
            header("Upgrade", "websocket"),
            header("X-Cellbridge-Secret", "guessed"),
            header("not a name", "v"),
            header("x-bad", "a\r\nb"),
        ]);
        let headers = forwarded.headers();
        let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["authorization", "cookie", "x-xsrftoken", "x-remote-user", "host"]);
        assert!(!format!("{headers:?} {forwarded:?}").contains("token t"));
        forwarded.replace(&[header("authorization", "token new")]);
        assert_eq!(forwarded.headers()["authorization"], "token new");
        assert_eq!(forwarded.headers().len(), 1);
    }
}
