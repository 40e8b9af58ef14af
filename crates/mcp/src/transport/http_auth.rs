//! The requests that the HTTP listener serves.

use axum::http::request::Parts;
use connection::Secret;
use front_door::{Origins, Policy, Refusal, candidates};

/// The checks of one listener.
#[derive(Debug, Clone)]
pub struct HttpAuth {
    token: Option<Secret>,
    policy: Policy,
}

impl HttpAuth {
    /// Requires `token`, if there is one, and this machine or one of `hosts` as the Host. A listener that `is_public` can
    /// be addressed by any IP address, too.
    pub fn new(token: Option<Secret>, hosts: impl IntoIterator<Item = String>, is_public: bool) -> Self {
        let policy = Policy { hosts: hosts.into_iter().collect(), is_public, origins: Origins::Own };
        Self { token, policy }
    }

    /// Checks Host and Origin, and the token unless the path `is_open`. No token stays in the request.
    pub(crate) fn check(&self, parts: &mut Parts, is_open: bool) -> Result<(), Refusal> {
        self.policy.check(parts)?;
        let candidates = candidates(parts, "token");
        match &self.token {
            Some(token) if !is_open => match candidates.iter().any(|it| token.matches(it)) {
                true => Ok(()),
                false if candidates.is_empty() => Err(Refusal::MissingToken),
                false => Err(Refusal::WrongToken),
            },
            _ => Ok(()),
        }
    }
}

/// The text of a refusal for the client.
pub(crate) fn message(refusal: &Refusal) -> String {
    match refusal {
        Refusal::Host => "Forbidden: this Host is not allowed; add it with --allowed-host\n".to_owned(),
        Refusal::Origin(_) | Refusal::MissingOrigin => {
            "Forbidden: web pages of that Origin may not use this server\n".to_owned()
        }
        Refusal::MissingToken => {
            "Unauthorized: send the header \"Authorization: Bearer <token>\"\n".to_owned()
        }
        Refusal::WrongToken => {
            "Unauthorized: the token is not the one this server was started with\n".to_owned()
        }
        Refusal::NoUpgrade | Refusal::Handshake(_) => format!("Bad Request: {refusal}\n"),
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    #[test]
    fn only_the_token_is_right_unless_the_path_is_open() {
        let auth = HttpAuth::new(Secret::new("secret"), [], false);
        let check = |auth: &HttpAuth, uri: &str, is_open| {
            let request = Request::builder().uri(uri).header("host", "localhost").body(()).unwrap();
            auth.check(&mut request.into_parts().0, is_open)
        };
        assert_eq!(check(&auth, "/mcp?token=secret", false), Ok(()));
        assert_eq!(check(&auth, "/mcp?token=secret&token=other", false), Ok(()));
        assert_eq!(check(&auth, "/mcp", false), Err(Refusal::MissingToken));
        assert_eq!(check(&auth, "/mcp?token=secrets", false), Err(Refusal::WrongToken));
        assert_eq!(check(&auth, "/mcp?token=", false), Err(Refusal::WrongToken));
        assert_eq!(check(&auth, "/mcp?token=wrong", true), Ok(()));
        assert_eq!(check(&HttpAuth::new(None, [], false), "/mcp", false), Ok(()));
    }
}
