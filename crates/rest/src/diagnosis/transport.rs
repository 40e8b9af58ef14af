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

/// Explains why a request to the server at `url`, through a proxy if there is one, got no response.
pub fn unreached(error: reqwest::Error, url: &Url, proxy: Option<ServerProxy<'_>>) -> RestError {
    // The URL of a request may contain a token.
    let error = error.without_url();
    let Some(proxy) = proxy.filter(|_| tls_error(&error).is_none()) else { return of_transport(error, url) };
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
    if let Some(problem) = tls_error(error) {
        return tls_problem(&server, problem);
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
        Some(io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset)
            if error.is_connect() && url.scheme() == "https" =>
        {
            RestError::new(
                Kind::Unreachable,
                format!("The TLS handshake with {server} failed: it closed the connection."),
                "If the server has no TLS, start its address with http://; otherwise see its log, or its proxy's.",
            )
        }
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

/// An error, its cause, and so on. An I/O error does not return the error that it was made of as `source`.
fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&error| {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        inner.map(|inner| inner as _).or_else(|| error.source())
    })
}

/// The last cause in a chain of errors. The outer errors repeat the request's URL.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    chain(error).filter_map(|error| error.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

fn tls_error<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
    chain(error).find_map(|error| error.downcast_ref())
}

/// Explains a TLS handshake that failed.
fn tls_problem(server: &str, problem: &rustls::Error) -> RestError {
    use rustls::AlertDescription as Alert;
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage, PeerIncompatible};
    use rustls::PeerIncompatible as Incompatible;
    if let InvalidCertificate(problem) = problem {
        let (cause, next) = explain_certificate(problem);
        let cause = format!("The certificate of {server} is not accepted: {cause}.");
        return RestError::new(Kind::Tls, cause, next);
    }
    let (cause, next) = match problem {
        InvalidMessage(_) => {
            ("it does not speak TLS", "Start its address with http://, or correct the port.")
        }
        AlertReceived(Alert::ProtocolVersion)
        | PeerIncompatible(
            Incompatible::ServerDoesNotSupportTls12Or13 | Incompatible::ServerTlsVersionIsDisabledByOurConfig,
        ) => (
            "it supports neither TLS 1.2 nor 1.3",
            "Update the server, or the proxy in front of it: older versions are not secure.",
        ),
        AlertReceived(Alert::HandshakeFailure | Alert::InsufficientSecurity) | PeerIncompatible(_) => (
            "it accepts none of the cipher suites and key exchanges of this program",
            "Allow current cipher suites on the server, such as ECDHE with AES-GCM.",
        ),
        AlertReceived(Alert::UnrecognisedName) => (
            "it serves no host of that name",
            "Use a host name in the address that the server, or the proxy in front of it, is configured for.",
        ),
        AlertReceived(Alert::CertificateRequired) => (
            "it requires a client certificate, which is not supported",
            "Use an address that requires none, such as that of an SSH tunnel to the server.",
        ),
        _ => {
            let cause = format!("The TLS handshake with {server} failed: {problem}.");
            return RestError::new(
                Kind::Unreachable,
                cause,
                "See the log of the server, or of the proxy in front of it.",
            );
        }
    };
    RestError::new(Kind::Tls, format!("The TLS handshake with {server} failed: {cause}."), next)
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
