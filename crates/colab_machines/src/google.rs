//! Google's addresses. No file and no variable changes them: whoever answers at these gets the person's tokens.

use std::net::Ipv4Addr;

use url::{Host, Url};

const AUTHORIZATION: &str = "https://accounts.google.com/o/oauth2/v2/auth";
const TOKEN: &str = "https://oauth2.googleapis.com/token";
const REVOCATION: &str = "https://oauth2.googleapis.com/revoke";
const API: &str = "https://colaboratory.googleapis.com";

/// The domains of the proxies in front of machines.
const MACHINES: [&str; 2] = [".prod.colab.dev", ".colab.googleusercontent.com"];

/// The servers that sign a person in, and that of the Colab API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Google {
    pub(crate) authorization: String,
    pub(crate) token: String,
    pub(crate) revocation: String,
    /// Without a slash at its end.
    pub(crate) api: String,
}

impl Default for Google {
    fn default() -> Self {
        let [authorization, token, revocation, api] =
            [AUTHORIZATION, TOKEN, REVOCATION, API].map(str::to_owned);
        Self { authorization, token, revocation, api }
    }
}

impl Google {
    /// A stand-in for tests, at `http://127.0.0.1:PORT`: nothing beyond this machine can be named.
    pub fn on_loopback(address: &str) -> Option<Self> {
        let url = Url::parse(address).ok()?;
        let is_loopback = url.host() == Some(Host::Ipv4(Ipv4Addr::LOCALHOST)) && url.scheme() == "http";
        let port = url.port().filter(|_| is_loopback && url.path() == "/" && url.query().is_none())?;
        let at = |path: &str| format!("http://127.0.0.1:{port}{path}");
        Some(Self {
            authorization: at("/o/oauth2/v2/auth"),
            token: at("/token"),
            revocation: at("/revoke"),
            api: at(""),
        })
    }

    /// The address of the stand-in, if there is one.
    pub fn stand_in(&self) -> Option<String> {
        self.is_on_loopback().then(|| self.api.clone())
    }

    pub(crate) fn is_on_loopback(&self) -> bool {
        self.token != TOKEN
    }

    /// The base URL of a machine. `None` for an address that is not one of a machine: it would get the machine's token.
    pub(crate) fn machine(&self, address: &str) -> Option<String> {
        let url = Url::parse(address).ok()?;
        let is_known = match url.host()? {
            Host::Domain(host) if !self.is_on_loopback() => {
                url.scheme() == "https"
                    && url.port().is_none()
                    && MACHINES.iter().any(|it| host.ends_with(it))
            }
            Host::Ipv4(host) if self.is_on_loopback() => {
                url.scheme() == "http" && url.port().is_some() && host == Ipv4Addr::LOCALHOST
            }
            _ => false,
        };
        // A path, a query, a fragment or user information would be in the text after the origin.
        let is_origin = url.as_str() == format!("{}/", url.origin().ascii_serialization());
        (is_known && is_origin).then(|| url.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_this_machine_can_stand_in_for_google() {
        let google = Google::on_loopback("http://127.0.0.1:4000").unwrap();
        assert_eq!(google.token, "http://127.0.0.1:4000/token");
        assert_eq!(google.api, "http://127.0.0.1:4000");
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
    #[test]
    fn only_addresses_of_machines_are_accepted() {
        let (google, stand_in) = (Google::default(), Google::on_loopback("http://127.0.0.1:4000").unwrap());
        let machine = "https://8080-gpu-t4-s-kkb-usw1b1-abc-b.us-west1-1.prod.colab.dev";
        assert_eq!(google.machine(machine), Some(format!("{machine}/")));
        assert!(google.machine("https://a-b.colab.googleusercontent.com/").is_some());
        assert_eq!(stand_in.machine("http://127.0.0.1:5000").as_deref(), Some("http://127.0.0.1:5000/"));
        for other in [
            "http://a.prod.colab.dev",
            "https://prod.colab.dev",
            "https://aprod.colab.dev",
            "https://a.prod.colab.dev.example.com",
            "https://example.com/a.prod.colab.dev",
            "https://example.com\\.prod.colab.dev",
            "https://a.prod.colab.dev@example.com",
            "https://ada:x@a.prod.colab.dev",
            "https://ada@a.prod.colab.dev",
            "https://a.prod.colab.dev/?token=x",
            "https://a.prod.colab.dev/#x",
            "https://a.prod.colab.dev/path",
            "https://a.prod.colab.dev:8443",
            "http://127.0.0.1:5000",
            "https://127.0.0.1",
            "a.prod.colab.dev",
            "",
        ] {
            assert_eq!(google.machine(other), None, "{other}");
        }
        for other in [
            machine,
            "http://127.0.0.1",
            "http://127.0.0.2:5000",
            "http://localhost:5000",
            "https://127.0.0.1:5000",
            "http://x@127.0.0.1:5000",
        ] {
            assert_eq!(stand_in.machine(other), None, "{other}");
        }
    }
}
