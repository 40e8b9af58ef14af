//! The proxy between this program and a server.

use std::fmt;
use std::net::{IpAddr, UdpSocket};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::Proxy;
use url::{Host, Url};

use crate::{Kind, Proxies, RestError, Result};

/// The proxy for one server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerProxy<'a> {
    /// The environment variable that names it.
    pub variable: &'static str,
    /// May contain a password.
    address: &'a str,
}

/// Without user name and password.
impl fmt::Display for ServerProxy<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let host = self.address.rsplit(['@', '/']).find(|part| !part.is_empty()).unwrap_or_default();
        write!(f, "{} ({})", crate::safe(host), self.variable)
    }
}

impl ServerProxy<'_> {
    pub(crate) fn is_secure(&self) -> bool {
        self.address.starts_with("https:")
    }

    /// Fails without repeating the address.
    pub fn client(&self) -> Result<Proxy> {
        Proxy::all(self.address).map_err(|_| {
            RestError::new(
                Kind::Address,
                format!("The address of the proxy in {} cannot be used.", self.variable),
                "Give it as http://host:port.",
            )
        })
    }
}

impl Proxies {
    /// The proxy for the server at `base`. Servers of this machine need none.
    pub fn for_server(&self, base: &Url) -> Option<ServerProxy<'_>> {
        let of_scheme = match base.scheme() {
            "https" => ("HTTPS_PROXY", &self.https),
            _ => ("HTTP_PROXY", &self.http),
        };
        let (variable, address) =
            [of_scheme, ("ALL_PROXY", &self.all)].into_iter().find_map(|(variable, address)| {
                Some((variable, address.as_deref().filter(|it| !it.is_empty())?))
            })?;
        let exceptions =
            Matcher::builder().all("http://proxy").no(self.no_proxy.as_deref().unwrap_or_default());
        let is_excepted = exceptions.build().intercept(&base.as_str().parse().ok()?).is_none();
        (!is_excepted && !is_own(base)).then_some(ServerProxy { variable, address })
    }
}

/// Whether the address is one of this machine's, or its name, which Jupyter uses for a server on all addresses.
fn is_own(base: &Url) -> bool {
    // Programs can listen on addresses of their own machine only.
    let is_local = |ip: IpAddr| ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok();
    match base.host() {
        Some(Host::Ipv4(ip)) => is_local(ip.into()),
        Some(Host::Ipv6(ip)) => is_local(ip.into()),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost") || is_own_name(name),
        None => false,
    }
}

#[cfg(unix)]
fn is_own_name(name: &str) -> bool {
    rustix::system::uname().nodename().to_str().is_ok_and(|own| own.eq_ignore_ascii_case(name))
}

#[cfg(not(unix))]
fn is_own_name(_: &str) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(proxies: &Proxies, base: &str) -> Option<String> {
        proxies.for_server(&Url::parse(base).unwrap()).map(|proxy| proxy.to_string())
    }

    #[test]
    fn the_scheme_chooses_the_proxy_which_is_named_without_its_password() {
        let proxies = Proxies {
            http: Some("http://ada:hush@one:3128/".to_owned()),
            https: Some(String::new()),
            all: Some("two:8080".to_owned()),
            no_proxy: Some(".example.com, 192.0.2.0/24".to_owned()),
        };
        assert_eq!(chosen(&proxies, "http://h:8888/").as_deref(), Some("one:3128 (HTTP_PROXY)"));
        assert_eq!(chosen(&proxies, "https://h/").as_deref(), Some("two:8080 (ALL_PROXY)"));
        for excepted in ["http://a.example.com/", "http://192.0.2.7:8888/"] {
            assert_eq!(chosen(&proxies, excepted), None, "{excepted}");
        }
        assert_eq!(chosen(&Proxies::default(), "http://h/"), None);
    }

    #[test]
    fn servers_of_this_machine_are_reached_directly() {
        let proxies = Proxies { http: Some("http://proxy:3128".to_owned()), ..Proxies::default() };
        let mut own = ["localhost", "127.0.0.1", "127.9.9.9", "[::1]", "0.0.0.0", "a.localhost"]
            .map(str::to_owned)
            .to_vec();
        #[cfg(unix)]
        own.push(rustix::system::uname().nodename().to_str().unwrap().to_owned());
        for host in own {
            assert_eq!(chosen(&proxies, &format!("http://{host}:8888/")), None, "{host}");
        }
        for other in ["192.0.2.1", "example.com"] {
            assert!(chosen(&proxies, &format!("http://{other}:8888/")).is_some(), "{other}");
        }
    }
}
