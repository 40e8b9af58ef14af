//! Explains failed requests: the cause, and the action that helps.

mod message;
mod transport;

use reqwest::StatusCode;
use url::Url;

pub use message::safe;
use message::{IS_MISSING, IS_REFUSED, detail};
pub(crate) use message::{is_json, is_page, message};
pub use transport::unreached;
pub(crate) use transport::{beyond_proxy, innermost, of_transport, timed_out};

use crate::address::origin_and_path;
use crate::hub::address::HubServer;
use crate::{Credentials, Kind, NextStep, RestError};

/// How to get a server's token, as a sentence.
const FROM_LOG: &str = "Take the token from the server's log or from `jupyter server list`.";

/// A request with another response than the expected one.
pub(crate) struct FailedRequest<'a> {
    pub(crate) base: &'a Url,
    pub(crate) credentials: &'a Credentials,
    /// The object of the request, as part of a sentence: `"x.ipynb"`, `kernel 1f…`.
    pub(crate) subject: &'a str,
    pub(crate) status: StatusCode,
    pub(crate) location: Option<&'a str>,
    pub(crate) body: &'a [u8],
}

/// Explains a response other than the expected one.
///
/// The status alone is not enough. For a new notebook on a full disk, Jupyter responds 500 with "No such file or directory:
/// '…/.~x.ipynb'", the name of its backup; for a missing folder, it responds 500 with "No such file or directory" and
/// another name; and for a missing kernelspec, it responds 501.
pub(crate) fn of_response(request: &FailedRequest<'_>) -> RestError {
    let message = message(request.body);
    let reason = message.as_deref().map(|text| format!(": {text}")).unwrap_or_default();
    let (kind, cause, next) = match request.status.as_u16() {
        200..=299 => return not_jupyter(request.base),
        300..=399 => return of_redirect(request, request.location.unwrap_or_default()),
        // A file's permissions are not the login's.
        401 | 403 if !reason.contains("Permission denied") => {
            return of_denial(request, message.as_deref().unwrap_or_default());
        }
        424 => return stopped(request.base),
        502..=504 if matches!(request.credentials, Credentials::Issued(_)) && !is_json(request.body) => {
            return starting(request.base);
        }
        status @ 500..=599 => of_server_error(request, status, message.as_deref(), &reason),
        status => of_client_error(request, status, message.as_deref(), &reason),
    };
    RestError::new(kind, cause, next)
}

fn of_client_error(
    request: &FailedRequest<'_>,
    status: u16,
    message: Option<&str>,
    reason: &str,
) -> (Kind, String, &'static str) {
    let server = origin_and_path(request.base);
    let subject = request.subject;
    match status {
        // The server process may not read or write the file (`perm_to_403` in `jupyter_server/services/contents/fileio.py`).
        403 => (
            Kind::Forbidden,
            format!("{server} is not allowed to read or write {subject}{reason}."),
            "The token is not the cause: on the server's machine, give the user that runs Jupyter write permission for the file and its folder.",
        ),
        404 | 410 => (
            Kind::NotFound,
            format!("{server} has no {subject}{}.", detail(message, &IS_MISSING)),
            "Check the name, and that the address is the base URL of the Jupyter server.",
        ),
        405 => cannot_do(request, status, reason),
        409 => (
            Kind::Conflict,
            format!("{server} refuses {subject}{reason}."),
            "Check what exists there now; choose another name or try again.",
        ),
        413 => (
            Kind::TooLarge,
            format!("{server} does not accept a request of this size for {subject}{reason}."),
            "Clear large outputs, or raise the server's (or its proxy's) limit for request bodies.",
        ),
        // jupyter_server's words for any other encoding.
        400 if reason.contains("is not UTF-8 encoded") => (
            Kind::Refused,
            format!("{server} cannot read {subject}{reason}: it is in another encoding, such as UTF-16."),
            "Save it as UTF-8 in an editor, or convert it on the server (`iconv -f UTF-16 -t UTF-8`), then open it again.",
        ),
        _ => (
            Kind::Refused,
            format!("{server} refuses {subject}{reason} (status {status})."),
            "Correct the request; see the server's log.",
        ),
    }
}

fn of_server_error(
    request: &FailedRequest<'_>,
    status: u16,
    message: Option<&str>,
    reason: &str,
) -> (Kind, String, &'static str) {
    let server = origin_and_path(request.base);
    let subject = request.subject;
    let failed = || format!("{server} failed on {subject}{reason} (status {status}).");
    match status {
        // A kernelspec that is not installed (jupyter_server/services/sessions/handlers.py).
        501 if reason.contains("kernel is not available") => (
            Kind::NotFound,
            format!("{server} has no such kernel{reason}."),
            "Choose one of the server's kernels.",
        ),
        501 => cannot_do(request, status, reason),
        // A server of kernels behind this one, or a kernel that does not start.
        502..=504 if is_json(request.body) && message.is_some() => {
            (Kind::Unreachable, failed(), "See the server's log; the next call tries again.")
        }
        502..=504 => (
            Kind::Unreachable,
            format!(
                "The proxy in front of {server} cannot reach the server (status {status}){}.",
                detail(message, &[])
            ),
            "Wait until the server is up, or start it; the next call tries again.",
        ),
        _ if is_disk_full(reason) => (
            Kind::Server,
            format!("{server} cannot store {subject}: its disk seems to be full{reason}."),
            "Free space on the server's disk, and check whether a partial new file remains.",
        ),
        // The subject is a quoted path: requests for kernels fail with the same words if a kernel's program is missing.
        _ if subject.starts_with('"') && reason.contains("No such file or directory") => (
            Kind::NotFound,
            format!("{server} has no folder for {subject}{reason}."),
            "Choose an existing folder, or create this one first.",
        ),
        _ => (Kind::Server, failed(), "See the server's log."),
    }
}

fn cannot_do(request: &FailedRequest<'_>, status: u16, reason: &str) -> (Kind, String, &'static str) {
    let server = origin_and_path(request.base);
    (
        Kind::Unsupported,
        format!("{server} cannot do this with {}{reason} (status {status}).", request.subject),
        "Update the Jupyter server, or check that the address is its base URL.",
    )
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

/// A proxy knows the server, which does not answer.
pub(crate) fn starting(base: &Url) -> RestError {
    RestError::new(
        Kind::Starting,
        format!("The server at {} does not answer yet.", origin_and_path(base)),
        "The next call tries again.",
    )
}

fn of_denial(request: &FailedRequest<'_>, message: &str) -> RestError {
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
    let detail = detail(Some(message), &IS_REFUSED);
    let (denial, next) = match request.credentials {
        Credentials::None => ("requires a token or a password, and none was given", give_token),
        Credentials::Token(_) if hub.is_some() => {
            ("does not accept the token, or its scopes do not allow this", give_token)
        }
        Credentials::Token(_) => ("does not accept the token", give_token),
        Credentials::Password(_) if hub.is_some() => {
            ("does not accept the login with the password", give_token)
        }
        Credentials::Password(_) => (
            "does not accept the login with the password",
            "Correct the password, or give a token instead.".into(),
        ),
        Credentials::Forwarded(_) => (
            "does not allow this agent's user to do that",
            "Use a token or a login that has this permission.".into(),
        ),
        Credentials::Issued(_) => (
            "does not allow that",
            "Check the path: only files can be read and written, each by itself.".into(),
        ),
    };
    let cause = format!("{server} {denial}{detail}.");
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
        return of_denial(request, "");
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

/// Whether the disk is full. If Jupyter cannot write a new file, it reports that the file's backup `.~NAME` is missing
/// (`atomic_writing` in `jupyter_server/services/contents/fileio.py`).
fn is_disk_full(message: &str) -> bool {
    ["/.~", "No space left on device", "Errno 28", "Disk quota exceeded"]
        .iter()
        .any(|text| message.contains(text))
}

#[cfg(test)]
mod tests;
