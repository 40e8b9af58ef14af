//! What an agent shows of who it is, shown again to the server that it spoke to.

use std::fmt;
use std::sync::{PoisonError, RwLock};

use reqwest::header::{HeaderMap, HeaderName, HeaderValue};

/// What belongs to one request or one connection, and identifies nobody.
const OWN: &[&str] = &[
    "connection",
    "expect",
    "keep-alive",
    "last-event-id",
    "origin",
    "range",
    "referer",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "user-agent",
];
const OWN_KINDS: &[&str] = &["accept", "content-", "if-", "mcp-", "sec-"];

/// The headers by which a server knows somebody: a token, cookies with their token against forged requests, and whatever
/// an identity provider looks at; and its own name, after which it names its cookie. The newest are used.
#[derive(Default)]
pub struct Forwarded {
    headers: RwLock<HeaderMap>,
}

impl Forwarded {
    /// Keeps of `headers` (name and value, as they came) what may identify somebody.
    pub fn new(headers: &[(String, String)]) -> Self {
        let forwarded = Self::default();
        forwarded.replace(headers);
        forwarded
    }

    /// Forgets the headers that were kept, in favour of these.
    pub fn replace(&self, headers: &[(String, String)]) {
        let newest = headers.iter().filter_map(|(name, value)| identifying(name, value)).collect();
        *self.headers.write().unwrap_or_else(PoisonError::into_inner) = newest;
    }

    pub(crate) fn headers(&self) -> HeaderMap {
        self.headers.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

fn identifying(name: &str, value: &str) -> Option<(HeaderName, HeaderValue)> {
    let name = name.to_ascii_lowercase();
    if OWN.contains(&name.as_str()) || OWN_KINDS.iter().any(|kind| name.starts_with(kind)) {
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
    fn what_identifies_is_kept_and_the_newest_counts() {
        let own = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let forwarded = Forwarded::new(&[
            own("Authorization", "token t"),
            own("Cookie", "_xsrf=x; username-h=y"),
            own("X-XSRFToken", "x"),
            own("X-Remote-User", "ada"),
            own("Host", "example.org"),
            own("Origin", "https://example.org"),
            own("Content-Length", "7"),
            own("Accept", "text/event-stream"),
            own("Mcp-Session-Id", "s"),
            own("Upgrade", "websocket"),
            own("not a name", "v"),
            own("x-bad", "a\r\nb"),
        ]);
        let headers = forwarded.headers();
        let names: Vec<&str> = headers.keys().map(HeaderName::as_str).collect();
        assert_eq!(names, ["authorization", "cookie", "x-xsrftoken", "x-remote-user", "host"]);
        assert!(!format!("{headers:?} {forwarded:?}").contains("token t"));
        forwarded.replace(&[own("authorization", "token new")]);
        assert_eq!(forwarded.headers()["authorization"], "token new");
        assert_eq!(forwarded.headers().len(), 1);
    }
}
