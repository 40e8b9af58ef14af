//! Explains failed requests: the cause, and the action that helps.

use std::error::Error;
use std::io;
use std::time::Duration;

use reqwest::StatusCode;
use rustls::CertificateError;
use serde::Deserialize;
use url::Url;

use crate::address::origin_and_path;
use crate::hub::HubServer;
use crate::options::CONNECT_TIMEOUT;
use crate::{Kind, NextStep, RestError};

/// How to get a server's token, as a sentence.
const FROM_LOG: &str = "Take the token from the server's log or from `jupyter server list`.";

/// Longer messages of a server are cut, in characters.
const MAX_MESSAGE: usize = 300;

/// The kind of credentials sent to the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Authentication {
    None,
    Token,
    Password,
    Forwarded,
}

/// A request that failed.
pub(crate) struct FailedRequest<'a> {
    pub(crate) base: &'a Url,
    pub(crate) authentication: Authentication,
    /// The object of the request, as part of a sentence: `"x.ipynb"`, `kernel 1f…`.
    pub(crate) subject: &'a str,
}

/// A response other than the expected one.
pub(crate) struct FailedResponse<'a> {
    pub(crate) status: StatusCode,
    pub(crate) location: Option<&'a str>,
    pub(crate) body: &'a [u8],
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

/// Explains a response other than the expected one.
///
/// The status alone is not enough. For a new notebook on a full disk, Jupyter responds 500 with "No such file or directory:
/// '…/.~x.ipynb'", the name of its backup; for a missing folder, it responds 500 with "No such file or directory" and
/// another name; and for a missing kernelspec, it responds 501.
pub(crate) fn of_response(request: &FailedRequest<'_>, response: &FailedResponse<'_>) -> RestError {
    let message = message(response.body);
    let reason = message.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    let server = origin_and_path(request.base);
    let subject = request.subject;
    match response.status.as_u16() {
        300..=399 => of_redirect(request, response.location.unwrap_or_default()),
        // The server process may not read or write the file (`perm_to_403` in `jupyter_server/services/contents/fileio.py`).
        403 if reason.contains("Permission denied") => RestError::new(
            Kind::Forbidden,
            format!("{server} is not allowed to read or write {subject}{reason}."),
            "The token is not the cause: on the server's machine, give the user that runs Jupyter write permission for the file and its folder.",
        ),
        401 | 403 => of_refusal(request, message.as_deref().unwrap_or_default()),
        404 | 410 => RestError::new(
            Kind::NotFound,
            format!("{server} has no {subject}{}.", told(message.as_deref(), &IS_MISSING)),
            "Check the name, and that the address is the base URL of the Jupyter server.",
        ),
        409 => RestError::new(
            Kind::Conflict,
            format!("{server} refuses {subject}{reason}."),
            "Check what exists there now; choose another name or try again.",
        ),
        413 => RestError::new(
            Kind::TooLarge,
            format!("{server} does not accept a request of this size for {subject}{reason}."),
            "Clear large outputs, or raise the server's (or its proxy's) limit for request bodies.",
        ),
        424 => stopped(request.base),
        // A kernelspec that is not installed (jupyter_server/services/sessions/handlers.py).
        501 if reason.contains("kernel is not available") => RestError::new(
            Kind::NotFound,
            format!("{server} has no such kernel{reason}."),
            "Choose one of the server's kernels.",
        ),
        405 | 501 => RestError::new(
            Kind::Unsupported,
            format!("{server} cannot do this with {subject}{reason} (status {}).", response.status.as_u16()),
            "Update the Jupyter server, or check that the address is its base URL.",
        ),
        // A server of kernels behind this one, or a kernel that does not start.
        502..=504 if is_json(response.body) && message.is_some() => RestError::new(
            Kind::Unreachable,
            format!("{server} failed on {subject}{reason} (status {}).", response.status.as_u16()),
            "See the server's log; the next call tries again.",
        ),
        502..=504 => RestError::new(
            Kind::Unreachable,
            format!(
                "The proxy in front of {server} cannot reach the server (status {}){}.",
                response.status.as_u16(),
                told(message.as_deref(), &[])
            ),
            "Wait until the server is up, or start it; the next call tries again.",
        ),
        500..=599 if is_disk_full(&reason) => RestError::new(
            Kind::Server,
            format!("{server} cannot store {subject}: its disk seems to be full{reason}."),
            "Free space on the server's disk, and check whether a partial new file was left behind.",
        ),
        // Other requests fail so if a kernel's program is missing.
        500..=599 if is_path(subject) && reason.contains("No such file or directory") => RestError::new(
            Kind::NotFound,
            format!("{server} has no folder for {subject}{reason}."),
            "Choose an existing folder, or create this one first.",
        ),
        500..=599 => RestError::new(
            Kind::Server,
            format!("{server} failed on {subject}{reason} (status {}).", response.status.as_u16()),
            "See the server's log.",
        ),
        200..=299 => not_jupyter(request.base),
        // jupyter_server's words for any other encoding.
        400 if reason.contains("is not UTF-8 encoded") => RestError::new(
            Kind::Refused,
            format!("{server} cannot read {subject}{reason}: it is in another encoding, such as UTF-16."),
            "Save it as UTF-8 in an editor, or convert it on the server (`iconv -f UTF-16 -t UTF-8`), then open it again.",
        ),
        status => RestError::new(
            Kind::Refused,
            format!("{server} refuses {subject}{reason} (status {status})."),
            "Correct the request; see the server's log.",
        ),
    }
}

/// Something other than Jupyter responded at `base`.
pub(crate) fn not_jupyter(base: &Url) -> RestError {
    RestError::new(
        Kind::NotJupyter,
        format!("{} answers, but not as a Jupyter server.", origin_and_path(base)),
        "Give the server's base URL: the address of JupyterLab in the browser, up to and without /lab.",
    )
}

/// The Hub knows the server, but it is not running.
pub(crate) fn stopped(base: &Url) -> RestError {
    let Some(server) = HubServer::of(base) else {
        return RestError::new(
            Kind::Stopped,
            format!("The server at {} is not running.", origin_and_path(base)),
            "Start it where it is managed, then try again.",
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

fn of_refusal(request: &FailedRequest<'_>, message: &str) -> RestError {
    let server = origin_and_path(request.base);
    if message.contains("_xsrf") || message.contains("XSRF") {
        return RestError::new(
            Kind::Unauthorized,
            format!("{server} accepts changes only with a login: {message}."),
            NextStep::GiveToken { obtain: FROM_LOG.into() },
        );
    }
    let hub = HubServer::of(request.base);
    let give_token =
        NextStep::GiveToken { obtain: hub.as_ref().map_or(FROM_LOG.into(), |hub| hub.make_token().into()) };
    let told = told(Some(message), &IS_REFUSED);
    let cause = match request.authentication {
        Authentication::None => format!("{server} requires a token, and none was given{told}."),
        Authentication::Token if hub.is_some() => {
            format!("{server} does not accept the token, or its scopes do not allow this{told}.")
        }
        Authentication::Token => format!("{server} does not accept the token{told}."),
        Authentication::Password => format!("{server} does not accept the login with the password{told}."),
        Authentication::Forwarded => format!("{server} does not allow this agent's user to do that."),
    };
    let next = match request.authentication {
        Authentication::Password if hub.is_none() => "Correct the password, or give a token instead.".into(),
        Authentication::Forwarded => "Use a token or a login that has this permission.".into(),
        _ => give_token,
    };
    RestError::new(Kind::Unauthorized, cause, next)
}

/// Explains a redirect. Jupyter's API never redirects, so the target shows what responded instead.
///
/// | base | redirect to | explanation |
/// |---|---|---|
/// | `http://h:8888/` | `/login?next=%2Fapi` | a token is required |
/// | `https://h/user/ada/` | `/hub/spawn-pending/ada` | the Hub is starting the server |
/// | `https://h/user/ada/` | `/hub/user/ada/api/status` | the Hub has stopped the server |
/// | `https://h/user/ada/` | `/hub/api/oauth2/authorize?…` | a token is required |
/// | `https://h/` | `/hub/` | the address is the Hub's, not a server's |
/// | `http://h/` | `https://h/api` | the server requires https |
/// | `https://h/` | `https://sso.example/authorize?…` | not Jupyter: perhaps a login page |
fn of_redirect(request: &FailedRequest<'_>, location: &str) -> RestError {
    let Ok(target) = request.base.join(location) else { return not_jupyter(request.base) };
    let path = target.path();
    if path.contains("/hub/spawn-pending/") {
        return RestError::new(
            Kind::Starting,
            format!("The server at {} is being started.", origin_and_path(request.base)),
            "The next call tries again.",
        );
    }
    if path.contains("/hub/login")
        || path.contains("/hub/api/oauth2/")
        || path.trim_end_matches('/').ends_with("/login")
    {
        return of_refusal(request, "");
    }
    if path.contains("/hub/user/") || path.contains("/hub/spawn") {
        return stopped(request.base);
    }
    if path.contains("/hub/") && HubServer::of(request.base).is_none() {
        return RestError::new(
            Kind::NotJupyter,
            format!("{} is a JupyterHub, not a Jupyter server.", origin_and_path(request.base)),
            "Open your server from it and give that address: https://…/user/NAME/.",
        );
    }
    let to = origin_and_path(&target);
    let secure = target.scheme() == "https" && request.base.scheme() == "http";
    if secure && target.host_str() == request.base.host_str() {
        return RestError::new(
            Kind::Address,
            format!("{} can only be used over https.", origin_and_path(request.base)),
            "Start the server's address with https://.",
        );
    }
    RestError::new(
        Kind::NotJupyter,
        format!("{} redirects to {to}.", origin_and_path(request.base)),
        "If that is your Jupyter server, give that address; if it is a login page, give a token.",
    )
}

/// The message in the body of a failed response: Jupyter's JSON error, or plain text.
pub(crate) fn message(body: &[u8]) -> Option<String> {
    #[derive(Deserialize)]
    struct JupyterError {
        message: Option<String>,
        reason: Option<serde_json::Value>,
    }
    let text = match serde_json::from_slice::<JupyterError>(body) {
        Ok(JupyterError { message, reason }) => {
            let reason = reason.and_then(|reason| reason.as_str().map(str::to_owned));
            let parts: Vec<String> =
                [message, reason].into_iter().flatten().filter(|part| !part.is_empty()).collect();
            parts.join(" ")
        }
        Err(_) if is_page(body) || body.first() == Some(&b'{') => return None,
        Err(_) => String::from_utf8_lossy(body).into_owned(),
    };
    let message = safe(&text);
    let message = message.trim_end_matches('.');
    (!message.is_empty()).then(|| message.to_owned())
}

/// One short line of what a server has written, without control characters, characters that reorder the line, and secrets in URLs.
pub fn safe(text: &str) -> String {
    let is_harmless = |char: char| {
        !char.is_control()
            && !matches!(char, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' | '\u{feff}')
    };
    let words = text.split_whitespace().map(|word| {
        let secret = ["token=", "password=", "Authorization:"]
            .iter()
            .find_map(|name| Some(word.find(name)? + name.len()));
        word[..secret.unwrap_or(word.len())].chars().filter(|char| is_harmless(*char)).collect::<String>()
            + if secret.is_some() { "…" } else { "" }
    });
    let line = words.filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    line.chars().take(MAX_MESSAGE).collect()
}

/// What a message adds to the status: nothing if it only repeats it.
fn told(message: Option<&str>, repeats: &[&str]) -> String {
    match message {
        Some(message) if !message.is_empty() => {
            let lower = message.to_lowercase();
            if repeats.iter().any(|repeat| lower.contains(repeat)) {
                String::new()
            } else {
                format!(": {message}")
            }
        }
        _ => String::new(),
    }
}

/// Words of messages that say no more than that something is missing.
const IS_MISSING: [&str; 3] = ["not found", "does not exist", "no such"];
/// The same for a refusal.
const IS_REFUSED: [&str; 2] = ["forbidden", "unauthorized"];

/// Whether the object of a request is a path, which is quoted.
fn is_path(subject: &str) -> bool {
    subject.starts_with('"')
}

fn is_json(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'{')
}

/// Whether a body is an HTML page.
pub(crate) fn is_page(body: &[u8]) -> bool {
    body.trim_ascii_start().first() == Some(&b'<')
}

/// Whether the disk is full. If Jupyter cannot write a new file, it reports that the file's backup `.~NAME` is missing
/// (`atomic_writing` in `jupyter_server/services/contents/fileio.py`).
fn is_disk_full(message: &str) -> bool {
    ["/.~", "No space left on device", "Errno 28", "Disk quota exceeded"]
        .iter()
        .any(|text| message.contains(text))
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
    Some(match problem {
        CertificateError::UnknownIssuer => ("its issuer is unknown".to_owned(), NextStep::GiveCertificate),
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => {
            (problem.to_string(), "Use the host name of the server's certificate in the address.".into())
        }
        _ => (problem.to_string(), "The server needs a new certificate.".into()),
    })
}

/// The next step if the server may have no TLS. Such a server rejects the handshake, or waits for the rest of a line
/// until the timeout.
fn wrong_scheme(url: &Url) -> Option<&'static str> {
    (url.scheme() == "https").then_some("If the server has no TLS, start its address with http://.")
}

#[cfg(test)]
mod tests;
