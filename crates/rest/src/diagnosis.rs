//! What a failure means for the person whose server it is: one line on the cause, one on the way out.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use rustls::CertificateError;
use serde::Deserialize;
use url::Url;

use crate::hub::HubServer;
use crate::{Kind, RestError};

/// The most of a server's own message that is repeated.
const MESSAGE: usize = 300;

/// What was shown to the server of who we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shown {
    Nothing,
    Token,
    Password,
    Forwarded,
}

/// What was asked of whom.
pub(crate) struct Asked<'a> {
    pub(crate) base: &'a Url,
    pub(crate) shown: Shown,
    /// What the request was about, to stand in a sentence: `"x.ipynb"`, `kernel 1f…`.
    pub(crate) subject: &'a str,
}

/// An answer that is not what was asked for.
pub(crate) struct Answer<'a> {
    pub(crate) status: StatusCode,
    pub(crate) location: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// Explains why there is no answer at all from the server at `url`.
pub(crate) fn of_transport(error: &reqwest::Error, url: &Url) -> RestError {
    let place = place(url);
    if let Some((cause, hint)) = certificate_problem(error) {
        return RestError::new(
            Kind::Tls,
            format!("The certificate of {place} is not accepted: {cause}."),
            hint,
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
        let slow = too_slow(url, crate::client::CONNECT);
        return match wrong_scheme(url) {
            Some(hint) if error.is_connect() => RestError { hint: hint.to_owned(), ..slow },
            _ => slow,
        };
    }
    match io_kind(error) {
        Some(io::ErrorKind::ConnectionRefused) => RestError::new(
            Kind::Unreachable,
            format!("Nothing listens at {place}: the connection was refused."),
            "Start the Jupyter server, or correct the port in its address.",
        ),
        _ if error.is_connect() => RestError::new(
            Kind::Unreachable,
            format!("{place} cannot be reached: {}.", innermost(error)),
            wrong_scheme(url).unwrap_or("Check the server's address, the network and the proxy settings."),
        ),
        _ => RestError::new(
            Kind::Unreachable,
            format!("The connection to {place} broke: {}.", innermost(error)),
            match url.scheme() {
                "http" => {
                    "Check that the server still runs, and whether its address begins with https://; the next call connects again."
                }
                _ => "Check that the server still runs; the next call connects again.",
            },
        ),
    }
}

/// Explains that there was no answer within `bound`.
pub(crate) fn too_slow(url: &Url, bound: Duration) -> RestError {
    RestError::new(
        Kind::TooSlow,
        format!("{} did not answer within {} s.", place(url), bound.as_secs().max(1)),
        "Check that the server is not stuck and that nothing between drops connections; the next call tries again.",
    )
}

/// Explains an answer that is a refusal, a redirect or a failure.
pub(crate) fn of_answer(asked: &Asked<'_>, answer: &Answer<'_>) -> RestError {
    let message = message(answer.body);
    let said = message.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    let place = place(asked.base);
    let subject = asked.subject;
    match answer.status.as_u16() {
        300..=399 => of_redirect(asked, answer.location.unwrap_or_default()),
        // The server's own rights over its files (`perm_to_403` in `jupyter_server/services/contents/fileio.py`).
        403 if said.contains("Permission denied") => RestError::new(
            Kind::Forbidden,
            format!("{place} may not write or read {subject} itself{said}."),
            "It is not the token: on the server's machine, give the user that runs Jupyter the right to write the file and its folder.",
        ),
        401 | 403 => of_refusal(asked, message.as_deref().unwrap_or_default()),
        404 | 410 => RestError::new(
            Kind::NotFound,
            format!("{place} has no {subject}."),
            "List what is there, and check the name; and that the address is the base URL of the Jupyter server.",
        ),
        409 => RestError::new(
            Kind::Conflict,
            format!("{place} refuses {subject}{said}."),
            "Look at what is there now, and take another name or try again.",
        ),
        413 => RestError::new(
            Kind::TooLarge,
            format!("{place} takes no request of this size for {subject}."),
            "Clear large outputs, or raise the server's (or its proxy's) limit for request bodies.",
        ),
        424 => stopped(asked.base),
        // A kernelspec that is not installed (jupyter_server/services/sessions/handlers.py).
        501 if said.contains("kernel is not available") => RestError::new(
            Kind::NotFound,
            format!("{place} has no such kernel{said}."),
            "Take one of the kernels that the server has.",
        ),
        405 | 501 => RestError::new(
            Kind::Unsupported,
            format!("{place} cannot do this with {subject}{said} (status {}).", answer.status.as_u16()),
            "Update the Jupyter server, or check that the address is its base URL.",
        ),
        502..=504 => RestError::new(
            Kind::Unreachable,
            format!("The proxy before {place} cannot reach the server (status {}).", answer.status.as_u16()),
            "Wait until the server is up, or start it; the next call tries again.",
        ),
        500..=599 if is_disk_full(&said) => RestError::new(
            Kind::Server,
            format!("{place} cannot store {subject}, its disk seems to be full{said}."),
            "Free space on the server's disk, and look whether a part of a new file was left.",
        ),
        500..=599 if said.contains("No such file or directory") => RestError::new(
            Kind::NotFound,
            format!("{place} has no folder for {subject}."),
            "Take a folder that is there, or make it first.",
        ),
        500..=599 => RestError::new(
            Kind::Server,
            format!("{place} failed on {subject}{said} (status {}).", answer.status.as_u16()),
            "The server's log says more.",
        ),
        200..=299 => not_jupyter(asked.base),
        status => RestError::new(
            Kind::Refused,
            format!("{place} refuses {subject}{said} (status {status})."),
            "Correct the request; the server's log says more.",
        ),
    }
}

/// Something that is not Jupyter answers at `base`.
pub(crate) fn not_jupyter(base: &Url) -> RestError {
    RestError::new(
        Kind::NotJupyter,
        format!("{} answers, but not as a Jupyter server.", place(base)),
        "Give the server's base URL: the address of JupyterLab in the browser, up to and without /lab.",
    )
}

/// The server is known to its Hub, but does not run.
pub(crate) fn stopped(base: &Url) -> RestError {
    let Some(server) = HubServer::of(base) else {
        return RestError::new(
            Kind::Stopped,
            format!("The server at {} is not running.", place(base)),
            "Start it where it is managed.",
        );
    };
    RestError::new(
        Kind::Stopped,
        format!("{} is not running.", server.title()),
        format!(
            "Press \"Start My Server\" at {}, or give a token with the scope servers!user={} so that it can be started from here.",
            server.home(),
            server.user
        ),
    )
}

fn of_refusal(asked: &Asked<'_>, message: &str) -> RestError {
    let place = place(asked.base);
    if message.contains("_xsrf") || message.contains("XSRF") {
        return RestError::new(
            Kind::Unauthorized,
            format!("{place} takes changes only from whoever is logged in: {message}."),
            "Give the server's token or password.",
        );
    }
    let hub = HubServer::of(asked.base);
    let obtain = match &hub {
        Some(hub) => format!(
            "Make a token with the scope access:servers!user={} at {}, and give it with --jupyter-token, in JUPYTER_TOKEN, or to connect_to_jupyter.",
            hub.user,
            hub.tokens()
        ),
        None => "Take it from the server's log or from `jupyter server list`, and give it with --jupyter-token, in JUPYTER_TOKEN, or to connect_to_jupyter."
            .to_owned(),
    };
    let cause = match asked.shown {
        Shown::Nothing => format!("{place} wants a token, and none was given."),
        Shown::Token if hub.is_some() => {
            format!("{place} does not accept the token, or its scopes do not allow this.")
        }
        Shown::Token => format!("{place} does not accept the token."),
        Shown::Password => format!("{place} does not accept the login with the password."),
        Shown::Forwarded => format!("{place} does not let the user of this agent do that."),
    };
    let hint = match asked.shown {
        Shown::Password if hub.is_none() => "Correct the password, or give a token instead.".to_owned(),
        Shown::Forwarded => "Use a token or a login with the right to it.".to_owned(),
        _ => obtain,
    };
    RestError::new(Kind::Unauthorized, cause, hint)
}

fn of_redirect(asked: &Asked<'_>, location: &str) -> RestError {
    let Ok(target) = asked.base.join(location) else { return not_jupyter(asked.base) };
    let path = target.path();
    if path.contains("/hub/spawn-pending/") {
        return RestError::new(
            Kind::Starting,
            format!("The server at {} is being started.", place(asked.base)),
            "The next call tries again.",
        );
    }
    if path.contains("/hub/login")
        || path.contains("/hub/api/oauth2/")
        || path.trim_end_matches('/').ends_with("/login")
    {
        return of_refusal(asked, "");
    }
    if path.contains("/hub/user/") || path.contains("/hub/spawn") {
        return stopped(asked.base);
    }
    if path.contains("/hub/") && HubServer::of(asked.base).is_none() {
        return RestError::new(
            Kind::NotJupyter,
            format!("{} is a JupyterHub, not a Jupyter server.", place(asked.base)),
            "Open your server from it and give that address: https://…/user/NAME/.",
        );
    }
    let to = place(&target);
    let secure = target.scheme() == "https" && asked.base.scheme() == "http";
    if secure && target.host_str() == asked.base.host_str() {
        return RestError::new(
            Kind::Address,
            format!("{} can only be used over https.", place(asked.base)),
            "Begin the server's address with https://.",
        );
    }
    RestError::new(
        Kind::NotJupyter,
        format!("{} leads elsewhere, to {to}.", place(asked.base)),
        "If that is your Jupyter server, give that address; if it is a login page, give a token.",
    )
}

/// The address without what might be secret in it.
pub(crate) fn place(url: &Url) -> String {
    let path = url.path().trim_end_matches('/');
    format!("{}{path}", url.origin().ascii_serialization())
}

/// The message that Jupyter puts into its errors, or a short text as it is.
pub(crate) fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct Said {
        message: Option<String>,
        reason: Option<serde_json::Value>,
    }
    let text = match serde_json::from_slice::<Said>(body) {
        Ok(Said { message, reason }) => {
            let reason = reason.and_then(|reason| reason.as_str().map(str::to_owned));
            let parts: Vec<String> =
                [message, reason].into_iter().flatten().filter(|part| !part.is_empty()).collect();
            parts.join(" ")
        }
        Err(_) if is_page(body) || body.first() == Some(&b'{') => return None,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let cut: String = line.chars().take(MESSAGE).collect();
    let cut = cut.trim_end_matches('.');
    (!cut.is_empty()).then(|| cut.to_owned())
}

/// Whether a body is a page for browsers.
pub(crate) fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// Whether there was no room for a file. A new file's failure is told as the absence of its backup `.~NAME`, whatever
/// the failure was (`atomic_writing` in `jupyter_server/services/contents/fileio.py`).
fn is_disk_full(said: &str) -> bool {
    ["/.~", "No space left on device", "Errno 28", "Disk quota exceeded"]
        .iter()
        .any(|sign| said.contains(sign))
}

fn chain<'a>(error: &'a (dyn Error + 'static)) -> impl Iterator<Item = &'a (dyn Error + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let error = next?;
        next = error.source();
        Some(error)
    })
}

/// The last cause in a chain of errors: outer ones repeat the request's URL.
pub(crate) fn innermost(error: &(dyn Error + 'static)) -> String {
    chain(error).last().map(ToString::to_string).unwrap_or_default()
}

fn io_kind(error: &(dyn Error + 'static)) -> Option<io::ErrorKind> {
    chain(error).filter_map(|error| error.downcast_ref::<io::Error>()).last().map(io::Error::kind)
}

/// What rustls has against a certificate. An I/O error holds another error without calling it its source.
fn certificate_problem(error: &(dyn Error + 'static)) -> Option<(String, &'static str)> {
    fn inside<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a rustls::Error> {
        let held = || error.downcast_ref::<io::Error>()?.get_ref();
        error.downcast_ref().or_else(|| inside(held()?))
    }
    let rustls::Error::InvalidCertificate(problem) = chain(error).find_map(inside)? else { return None };
    Some(match problem {
        CertificateError::UnknownIssuer => (
            "its issuer is unknown".to_owned(),
            "If the server's certificate is of an authority of your own, give the authority's (PEM) with --ca-file.",
        ),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            (problem.to_string(), "Use the server's address with the name that its certificate has.")
        }
        _ => (problem.to_string(), "The server needs a new certificate."),
    })
}

/// A server without TLS answers a TLS greeting with something else, or waits for the end of a line in it.
fn wrong_scheme(url: &Url) -> Option<&'static str> {
    (url.scheme() == "https").then_some("If the server has no TLS, begin its address with http://.")
}

#[cfg(test)]
mod tests;
