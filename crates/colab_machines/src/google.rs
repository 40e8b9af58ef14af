//! Google's addresses. No file and no variable changes them: whoever answers at these gets the person's tokens.

use std::net::Ipv4Addr;

use url::{Host, Url};

const AUTHORIZATION: &str = "https://accounts.google.com/o/oauth2/v2/auth";
const TOKEN: &str = "https://oauth2.googleapis.com/token";
const REVOCATION: &str = "https://oauth2.googleapis.com/revoke";

/// The servers that sign a person in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Google {
    pub(crate) authorization: String,
    pub(crate) token: String,
    pub(crate) revocation: String,
}

impl Default for Google {
    fn default() -> Self {
        let [authorization, token, revocation] = [AUTHORIZATION, TOKEN, REVOCATION].map(str::to_owned);
        Self { authorization, token, revocation }
    }
}

impl Google {
    /// A stand-in for tests, at `http://127.0.0.1:PORT`: nothing beyond this machine can be named.
    pub fn on_loopback(address: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let is_loopback = url.host() == Some(Host::Ipv4(Ipv4Addr::LOCALHOST)) && url.scheme() == "http";
        let port = url.port().filter(|_| is_loopback && url.path() == "/" && url.query().is_none())?;
        let at = |path: &str| format!("http://127.0.0.1:{port}/{path}");
        Some(Self { authorization: at("o/oauth2/v2/auth"), token: at("token"), revocation: at("revoke") })
    }

    pub(crate) fn is_on_loopback(&self) -> bool {
        self.token != TOKEN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_can_stand_in_for_google() {
        let google = Google::on_loopback("http://127.0.0.1:4000").unwrap();
        assert_eq!(google.token, "http://127.0.0.1:4000/token");
        assert!(google.is_on_loopback() && !Google::default().is_on_loopback());
        for other in [
            "http://192.0.2.1:4000",
            "https://127.0.0.1:4000",
            "http://127.0.0.1",
            "http://localhost:4000",
            "http://127.0.0.1.example.com:4000",
            "http://127.0.0.1:4000@example.com",
            "http://127.0.0.1:4000/?x",
            "",
        ] {
            assert_eq!(Google::on_loopback(other), None, "{other}");
        }
    }
}
