//! Who may use the HTTP listener: checks of Host, Origin and token, before anything else.

use std::net::IpAddr;

use axum::http::request::Parts;
use axum::http::uri::Authority;
use axum::http::{HeaderValue, StatusCode, Uri, header};
use connection::Secret;

/// The checks of one listener.
#[derive(Debug, Clone)]
pub struct HttpAuth {
    token: Option<Secret>,
    hosts: Vec<String>,
    is_public: bool,
}

/// Why a request is not served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HttpAuthError {
    Host,
    Origin,
    MissingToken,
    WrongToken,
}

impl HttpAuthError {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::Host | Self::Origin => StatusCode::FORBIDDEN,
            Self::MissingToken | Self::WrongToken => StatusCode::UNAUTHORIZED,
        }
    }

    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::Host => "Forbidden: this Host is not allowed; add it with --allowed-host\n",
            Self::Origin => "Forbidden: web pages of that Origin may not use this server\n",
            Self::MissingToken => "Unauthorized: send the header \"Authorization: Bearer <token>\"\n",
            Self::WrongToken => "Unauthorized: the token is not the one this server was started with\n",
        }
    }
}

impl HttpAuth {
    /// Requires `token`, if there is one, and this machine or one of `hosts` as the Host. A listener that `is_public` can
    /// be addressed by any IP address, too: a hostile page can rebind only names.
    pub fn new(token: Option<Secret>, hosts: impl IntoIterator<Item = String>, is_public: bool) -> Self {
        let hosts = hosts.into_iter().map(|host| host.to_ascii_lowercase()).collect();
        Self { token, hosts, is_public }
    }

    /// Checks Host and Origin.
    /// <https://modelcontextprotocol.io/specification/2025-11-25/basic/transports#security-warning>
    pub(crate) fn check_source(&self, parts: &Parts) -> Result<(), HttpAuthError> {
        let host = single(parts, &header::HOST)
            .map_err(|()| HttpAuthError::Host)?
            .and_then(|host| host.to_str().ok()?.parse::<Authority>().ok())
            .or_else(|| parts.uri.authority().cloned())
            .ok_or(HttpAuthError::Host)?;
        let is_address = self.is_public && address(host.host()).is_some();
        if host.as_str().contains('@') || !(is_address || self.is_own(host.host())) {
            return Err(HttpAuthError::Host);
        }
        // Only web pages send an Origin, and we serve none from elsewhere.
        let origin = single(parts, &header::ORIGIN).map_err(|()| HttpAuthError::Origin)?;
        let Some(origin) = origin else { return Ok(()) };
        let origin = origin
            .to_str()
            .ok()
            .and_then(|origin| origin.parse::<Uri>().ok())
            .ok_or(HttpAuthError::Origin)?;
        let is_own = origin.scheme_str().is_some_and(|scheme| scheme == "http" || scheme == "https")
            && origin.authority().is_some_and(|authority| {
                self.is_own(authority.host()) && authority.port_u16() == host.port_u16()
            });
        if is_own { Ok(()) } else { Err(HttpAuthError::Origin) }
    }

    /// Checks the token and removes it from the request, so that nothing behind it can log it.
    pub(crate) fn check_token(&self, parts: &mut Parts) -> Result<(), HttpAuthError> {
        let header = parts.headers.remove(header::AUTHORIZATION);
        let query = parts.uri.query().unwrap_or_default().to_owned();
        if let Ok(bare) = parts.uri.path().parse() {
            parts.uri = bare;
        }
        let Some(token) = &self.token else { return Ok(()) };
        let shown_in_header = header.as_ref().and_then(bearer);
        let mut shown_in_query =
            form_urlencoded::parse(query.as_bytes()).filter(|(name, _)| name == "token").peekable();
        if shown_in_header.is_none() && shown_in_query.peek().is_none() {
            return Err(HttpAuthError::MissingToken);
        }
        let is_right = shown_in_header.is_some_and(|shown| token.matches(shown))
            || shown_in_query.any(|(_, shown)| token.matches(&shown));
        if is_right { Ok(()) } else { Err(HttpAuthError::WrongToken) }
    }

    /// Whether a host is this machine: loopback, or a name that the person gave.
    fn is_own(&self, host: &str) -> bool {
        let bare = host.trim_start_matches('[').trim_end_matches(']').to_ascii_lowercase();
        bare == "localhost"
            || address(host).is_some_and(|address| address.is_loopback())
            || self.hosts.contains(&bare)
    }
}

fn address(host: &str) -> Option<IpAddr> {
    host.trim_start_matches('[').trim_end_matches(']').parse().ok()
}

fn bearer(header: &HeaderValue) -> Option<&str> {
    let (scheme, token) = header.to_str().ok()?.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

fn single<'a>(parts: &'a Parts, name: &header::HeaderName) -> Result<Option<&'a HeaderValue>, ()> {
    let mut values = parts.headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (_, Some(_)) => Err(()),
        (value, None) => Ok(value),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn parts(uri: &str, headers: &[(&str, &str)]) -> Parts {
        let mut request = Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        request.body(()).unwrap().into_parts().0
    }

    fn auth() -> HttpAuth {
        HttpAuth::new(Secret::new("secret"), ["Box.example".to_owned()], false)
    }

    #[test]
    fn only_own_hosts_are_allowed() {
        for (host, is_allowed) in [
            ("localhost", true),
            ("localhost:4040", true),
            ("127.0.0.1:4040", true),
            ("[::1]:4040", true),
            ("192.168.1.5:4040", false),
            ("evil@localhost", false),
            ("box.example:4040", true),
            ("evil.example", false),
            ("localhost.evil.example", false),
            ("", false),
        ] {
            let result = auth().check_source(&parts("/mcp", &[("host", host)]));
            assert_eq!(result.is_ok(), is_allowed, "{host}");
        }
        assert_eq!(auth().check_source(&parts("/mcp", &[])), Err(HttpAuthError::Host));
        let public = HttpAuth::new(None, [], true);
        assert!(public.check_source(&parts("/mcp", &[("host", "192.168.1.5:4040")])).is_ok());
        assert!(public.check_source(&parts("/mcp", &[("host", "evil.example:4040")])).is_err());
        let rebound = parts("/mcp", &[("host", "6.6.6.6:4040"), ("origin", "http://6.6.6.6:4040")]);
        assert_eq!(public.check_source(&rebound), Err(HttpAuthError::Origin));
        let twice = parts("/mcp", &[("host", "localhost"), ("host", "localhost")]);
        assert_eq!(auth().check_source(&twice), Err(HttpAuthError::Host));
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
            let result =
                auth().check_source(&parts("/mcp", &[("host", "localhost:4040"), ("origin", origin)]));
            assert_eq!(result.is_ok(), is_allowed, "{origin}");
        }
    }

    #[test]
    fn tokens_are_checked_and_removed() {
        let check = |uri: &str, headers: &[(&str, &str)]| {
            let mut parts = parts(uri, headers);
            let result = auth().check_token(&mut parts);
            assert!(parts.headers.get("authorization").is_none());
            assert_eq!(parts.uri, "/mcp");
            result
        };
        assert_eq!(check("/mcp", &[("authorization", "Bearer secret")]), Ok(()));
        assert_eq!(check("/mcp", &[("authorization", "bearer secret")]), Ok(()));
        assert_eq!(check("/mcp?token=secret", &[]), Ok(()));
        assert_eq!(check("/mcp?a=b&token=%73ecret", &[]), Ok(()));
        assert_eq!(check("/mcp", &[]), Err(HttpAuthError::MissingToken));
        assert_eq!(check("/mcp", &[("authorization", "Basic secret")]), Err(HttpAuthError::MissingToken));
        assert_eq!(check("/mcp", &[("authorization", "Bearer secrets")]), Err(HttpAuthError::WrongToken));
        assert_eq!(check("/mcp?token=", &[]), Err(HttpAuthError::WrongToken));
        let mut open = parts("/mcp", &[]);
        assert_eq!(HttpAuth::new(None, [], false).check_token(&mut open), Ok(()));
    }
}
