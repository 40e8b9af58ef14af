//! The requests that a listener serves: checks of Host, Origin and token, before anything else.

use std::borrow::Cow;
use std::net::IpAddr;

use hyper::http::request::Parts;
use hyper::http::uri::Authority;
use hyper::{StatusCode, Uri, header};

/// The checks of one listener.
#[derive(Debug, Clone)]
pub struct Policy {
    /// The names of this machine, beside its loopback addresses.
    pub hosts: Vec<String>,
    /// It can be addressed by any IP address: a hostile page can rebind only names.
    pub is_public: bool,
    pub origins: Origins,
}

/// The web pages that may send requests.
#[derive(Debug, Clone, Copy)]
pub enum Origins {
    /// The listener's own, and programs that are no page.
    Own,
    /// These alone.
    Only(&'static [&'static str]),
}

/// The check that a request failed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    #[error("invalid Host header; expected this machine")]
    Host,
    #[error("missing Origin header")]
    MissingOrigin,
    #[error("invalid Origin header: {0}")]
    Origin(String),
    #[error("missing authorization")]
    MissingToken,
    #[error("bad authorization token")]
    WrongToken,
    #[error("expected GET with Connection: Upgrade and Upgrade: websocket")]
    NoUpgrade,
    #[error("{0}")]
    Handshake(&'static str),
}

impl Refusal {
    pub fn status(&self) -> StatusCode {
        match self {
            Self::Host | Self::Origin(_) | Self::MissingOrigin => StatusCode::FORBIDDEN,
            Self::MissingToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
            Self::NoUpgrade => StatusCode::UPGRADE_REQUIRED,
            Self::Handshake(_) => StatusCode::BAD_REQUEST,
        }
    }
}

impl Policy {
    /// Checks Host and Origin.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning>
    pub fn check(&self, parts: &Parts) -> Result<(), Refusal> {
        let host = single(parts, &header::HOST)
            .map_err(|()| Refusal::Host)?
            .and_then(|host| host.parse::<Authority>().ok())
            .or_else(|| parts.uri.authority().cloned())
            .ok_or(Refusal::Host)?;
        let is_address = self.is_public && address(host.host()).is_some();
        if host.as_str().contains('@') || !(is_address || self.is_own(host.host())) {
            return Err(Refusal::Host);
        }
        let origin = single(parts, &header::ORIGIN).map_err(|()| Refusal::Origin("repeated".into()))?;
        match (self.origins, origin) {
            (Origins::Own, None) => Ok(()),
            (Origins::Own, Some(origin)) if self.is_own_origin(origin, &host) => Ok(()),
            (Origins::Only(pages), Some(origin)) if pages.contains(&origin) => Ok(()),
            (_, Some(origin)) => Err(Refusal::Origin(origin.chars().take(100).collect())),
            (Origins::Only(_), None) => Err(Refusal::MissingOrigin),
        }
    }

    fn is_own_origin(&self, origin: &str, host: &Authority) -> bool {
        let Ok(origin) = origin.parse::<Uri>() else { return false };
        matches!(origin.scheme_str(), Some("http" | "https"))
            && origin.authority().is_some_and(|authority| {
                self.is_own(authority.host()) && authority.port_u16() == host.port_u16()
            })
    }

    /// Whether a host is this machine: loopback, or a name that the person gave.
    fn is_own(&self, host: &str) -> bool {
        host.eq_ignore_ascii_case("localhost")
            || address(host).is_some_and(|address| address.is_loopback())
            || self.hosts.iter().any(|own| own.eq_ignore_ascii_case(bare(host)))
    }
}

/// Removes all tokens from a request, so that nothing behind the checks can log them, and returns them: those of the query `parameter`
/// first, then the bearer's.
pub fn candidates(parts: &mut Parts, parameter: &str) -> Vec<String> {
    let query = parts.uri.query().unwrap_or_default().to_owned();
    if let Ok(bare) = parts.uri.path().parse() {
        parts.uri = bare;
    }
    let header = single(parts, &header::AUTHORIZATION).ok().flatten().and_then(|header| {
        let (scheme, token) = header.split_once(char::is_whitespace)?;
        scheme.eq_ignore_ascii_case("bearer").then(|| Cow::from(token.trim().to_owned()))
    });
    parts.headers.remove(header::AUTHORIZATION);
    let named = form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == parameter);
    named.map(|(_, value)| value).chain(header).map(Cow::into_owned).collect()
}

fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

fn address(host: &str) -> Option<IpAddr> {
    bare(host).parse().ok()
}

/// The value of a header that must not be repeated. One that is not text is none of the expected values.
fn single<'a>(parts: &'a Parts, name: &header::HeaderName) -> Result<Option<&'a str>, ()> {
    let mut values = parts.headers.get_all(name).iter().map(|value| value.to_str().unwrap_or("?"));
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(()),
        (value, None) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use hyper::Request;

    use super::*;

    const PAGES: [&str; 2] = ["https://one.example", "https://other.example"];

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn policy() -> Policy {
        Policy { hosts: vec!["Box.example".to_owned()], is_public: false, origins: Origins::Own }
    }

    #[test]
    fn only_own_hosts_are_allowed() {
        for (host, is_allowed) in [
            ("localhost", true),
            ("LOCALHOST:4040", true),
            ("127.0.0.1:4040", true),
            ("[::1]:4040", true),
            ("192.168.1.5:4040", false),
            ("evil@localhost", false),
            ("box.example:4040", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            let result = policy().check(&parts("/mcp", &[("host", host)]));
            assert_eq!(result.is_ok(), is_allowed, "{host}");
        }
        assert_eq!(policy().check(&parts("/mcp", &[])), Err(Refusal::Host));
        let public = Policy { hosts: Vec::new(), is_public: true, origins: Origins::Own };
        assert!(public.check(&parts("/mcp", &[("host", "192.168.1.5:4040")])).is_ok());
        assert!(public.check(&parts("/mcp", &[("host", "evil.example:4040")])).is_err());
        let rebound = parts("/mcp", &[("host", "6.6.6.6:4040"), ("origin", "http://6.6.6.6:4040")]);
        assert_eq!(public.check(&rebound), Err(Refusal::Origin("http://6.6.6.6:4040".into())));
        let twice = parts("/mcp", &[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(policy().check(&twice), Err(Refusal::Host));
    }

    #[test]
    fn only_own_origins_are_allowed() {
        for (origin, is_allowed) in [
            ("http://localhost:4040", true),
            ("http://127.0.0.1:4040", true),
            ("http://localhost:3000", false),
            ("http://6.6.6.6:4040", false),
            ("http://localhost", false),
            ("http://evil.example:4040", false),
            ("https://evil.example", false),
            ("null", false),
            ("file://", false),
            ("", false),
        ] {
            let result = policy().check(&parts("/mcp", &[("host", "localhost:4040"), ("origin", origin)]));
            assert_eq!(result.is_ok(), is_allowed, "{origin}");
        }
    }

    #[test]
    fn only_the_pages_of_a_list_are_allowed() {
        let policy = Policy { origins: Origins::Only(&PAGES), ..policy() };
        let check = |origins: &[&str]| {
            let origins = origins.iter().map(|origin| ("origin", *origin));
            policy.check(&parts("/", &[("host", "localhost")].into_iter().chain(origins).collect::<Vec<_>>()))
        };
        assert_eq!(PAGES.map(|page| check(&[page])), [Ok(()), Ok(())]);
        assert_eq!(check(&[]), Err(Refusal::MissingOrigin));
        for wrong in [
            "https://one.example/",
            "http://one.example",
            "https://evil.one.example",
            "https://one.example.evil.example",
            "https://one.example:444",
            "http://localhost",
            "null",
        ] {
            assert_eq!(check(&[wrong]), Err(Refusal::Origin(wrong.into())));
        }
        assert!(check(&[PAGES[0], PAGES[0]]).is_err());
    }

    #[test]
    fn tokens_are_found_and_removed() {
        for (uri, header, expected) in [
            ("/mcp", Some("Bearer secret"), &["secret"][..]),
            ("/mcp", Some("bearer  secret"), &["secret"]),
            ("/mcp?token=secret", None, &["secret"]),
            ("/mcp?a=b&token=%73ecret&c", None, &["secret"]),
            ("/mcp?token=one&token=", Some("Bearer other"), &["one", "", "other"]),
            ("/mcp", None, &[]),
            ("/mcp?zz=token=secret&zztoken=secret", None, &[]),
            ("/mcptoken=secret", None, &[]),
            ("/mcp", Some("Basic secret"), &[]),
            ("/mcp", Some("Bearer"), &[]),
            ("/mcp", Some(""), &[]),
        ] {
            let headers: Vec<_> = header.iter().map(|header| ("authorization", *header)).collect();
            let mut parts = parts(uri, &headers);
            assert_eq!(candidates(&mut parts, "token"), expected, "{uri} {header:?}");
            assert!(parts.headers.is_empty());
            assert_eq!(parts.uri.query(), None);
        }
        let mut twice = parts("/", &[("authorization", "Bearer a"), ("authorization", "Bearer b")]);
        assert!(candidates(&mut twice, "token").is_empty());
    }
}
