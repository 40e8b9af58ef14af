//! Explains why a request got no response.

use std::error::Error;
use std::io;
use std::time::Duration;

use rustls::CertificateError;
use url::Url;

use crate::address::origin_and_path;
use crate::certificates::is_of_authority;
use crate::options::CONNECT_TIMEOUT;
use crate::{Kind, NextStep, RestError, ServerProxy};

/// Explains why a request to the server at `url` got no further than to its proxy.
pub(crate) fn of_proxy(proxy: ServerProxy<'_>, error: reqwest::Error, url: &Url) -> RestError {
    let error = error.without_url();
    if certificate_problem(&error).is_some() {
        return of_transport(error, url);
    }
    let (kind, reason) = if error.is_timeout() {
        (Kind::Timeout, "no answer in time".to_owned())
    } else {
        (Kind::Unreachable, innermost(&error))
    };
    beyond_proxy(kind, proxy, &reason, url).with_source(error)
}

/// The server at `url` is not reached through its proxy.
pub(crate) fn beyond_proxy(kind: Kind, proxy: ServerProxy<'_>, reason: &str, url: &Url) -> RestError {
    RestError::new(
        kind,
        format!("{} is not reached through the proxy {proxy}: {reason}.", origin_and_path(url)),
        format!(
            "Correct or unset {}, or add {} to NO_PROXY.",
            proxy.variable,
            url.host_str().unwrap_or("the server's host")
        ),
    )
}

/// Explains why the server at `url` sent no response.
pub(crate) fn of_transport(error: reqwest::Error, url: &Url) -> RestError {
    // The URL of a request may contain a token.
    let error = error.without_url();
    transport(&error, url).with_source(error)
}

fn transport(error: &reqwest::Error, url: &Url) -> RestError {
    let server = origin_and_path(url);
    if let Some((cause, next)) = certificate_problem(error) {
        return RestError::new(
            Kind::Tls,
            format!("The certificate of {server} is not accepted: {cause}."),
            next,
        );
    }
    if error.is_dns() {
        return RestError::new(
            Kind::Unreachable,
            format!("There is no host named {}.", url.host_str().unwrap_or_default()),
            "Check the name in the server's address, and the network or VPN.",
        );
    }
    if error.is_timeout() {
        let timeout = timed_out(url, CONNECT_TIMEOUT);
        return match wrong_scheme(url) {
            Some(next) if error.is_connect() => RestError { next: next.into(), ..timeout },
            _ => timeout,
        };
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => RestError::new(
            Kind::Unreachable,
            format!("Nothing listens at {server}: the connection was refused."),
            "Start the Jupyter server, or correct the port in its address.",
        ),
        _ if error.is_connect() => RestError::new(
            Kind::Unreachable,
            format!("{server} cannot be reached: {}.", innermost(error)),
            wrong_scheme(url).unwrap_or("Check the server's address, the network and the proxy settings."),
        ),
        _ => RestError::new(
            Kind::Unreachable,
            format!("The connection to {server} broke: {}.", innermost(error)),
            match url.scheme() {
                "http" => {
                    "Check that the server is running, and whether its address starts with https://; the next call \
                     reconnects."
                }
                _ => "Check that the server is running; the next call reconnects.",
            },
        ),
    }
}

/// The server sent no response within `timeout`.
pub(crate) fn timed_out(url: &Url, timeout: Duration) -> RestError {
    RestError::new(
        Kind::Timeout,
        format!("{} did not answer within {} s.", origin_and_path(url), timeout.as_secs().max(1)),
        "Check that the server responds, and that no proxy or firewall drops connections; the next call tries again.",
    )
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// The last cause in a chain of errors. The outer errors repeat the request's URL.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    chain(error).filter_map(|error| error.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

/// Why rustls rejected a certificate. The rustls error may be inside an I/O error, which does not return it as `source`.
fn certificate_problem(error: &(dyn Error + 'static)) -> Option<(String, NextStep)> {
    fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
        let inner = || error.downcast_ref::<io::Error>()?.get_ref();
        error.downcast_ref().or_else(|| inside(inner()?))
    }
    let rustls::Error::InvalidCertificate(problem) = chain(error).find_map(inside)? else { return None };
    Some(explain_certificate(problem))
}

fn explain_certificate(problem: &CertificateError) -> (String, NextStep) {
    use CertificateError::{
        NotValidForName, NotValidForNameContext, NotValidYet, NotValidYetContext, UnknownIssuer,
    };
    let give = NextStep::GiveCertificate { given: None };
    match problem {
        problem if is_of_authority(problem) => ("it is self-signed".to_owned(), give),
        UnknownIssuer => ("its issuer is unknown".to_owned(), give),
        // A common name does not count (RFC 9525, 2).
        NotValidForNameContext { presented, .. } if presented.is_empty() => (
            "it names no host, because it has no subjectAltName".to_owned(),
            "No option cures that. The server needs a new certificate with its host name, such as by `openssl req -x509 … -addext \
             subjectAltName=DNS:HOST`."
                .into(),
        ),
        NotValidForName | NotValidForNameContext { .. } => {
            (problem.to_string(), "Use the host name of the server's certificate in the address.".into())
        }
        NotValidYet | NotValidYetContext { .. } => {
            (problem.to_string(), "Check the clocks of this machine and of the server.".into())
        }
        _ => (problem.to_string(), "The server needs a new certificate.".into()),
    }
}

/// The next step if the server may have no TLS. Such a server rejects the handshake, or waits for the rest of a line
/// until the timeout.
fn wrong_scheme(url: &Url) -> Option<&'static str> {
    (url.scheme() == "https").then_some("If the server has no TLS, start its address with http://.")
}

#[cfg(test)]
mod tests {
    use rustls::pki_types::ServerName;

    use super::*;

    #[test]
    fn a_certificate_without_names_needs_no_option_but_a_name() {
        let expected = ServerName::try_from("h.test").unwrap();
        let of = |presented| {
            explain_certificate(&CertificateError::NotValidForNameContext {
                expected: expected.clone(),
                presented,
            })
        };
        let (cause, next) = of(Vec::new());
        assert!(
            cause.contains("no subjectAltName") && next.to_string().contains("-addext"),
            "{cause} {next}"
        );
        let (_, next) = of(vec!["DnsName(\"other.test\")".to_owned()]);
        assert!(next.to_string().contains("in the address"), "{next}");
    }

    #[test]
    fn a_given_file_that_does_not_help_is_named() {
        let (_, next) = explain_certificate(&CertificateError::UnknownIssuer);
        assert_eq!(next, NextStep::GiveCertificate { given: None });
        let next = NextStep::GiveCertificate { given: Some("a.pem".into()) };
        assert!(next.to_string().starts_with("The certificates in a.pem do not help."), "{next}");
    }
}
