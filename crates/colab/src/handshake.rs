//! The checks of a tab's request to open a WebSocket: which tab's token it carries, and whether a page of Colab sent it.
//!
//! They are made before any frame is read, in the order of Google's `colab-mcp`: authorization, upgrade, origin.

use connection::Secret;
use front_door::{Origins, Policy, Refusal, candidates};
use hyper::header::{HeaderMap, SEC_WEBSOCKET_PROTOCOL};
use hyper::{Request, header};

/// The origins of the pages that may connect, as browsers send them.
pub(crate) const ORIGINS: [&str; 2] = ["https://colab.research.google.com", "https://colab.google.com"];

const POLICY: Policy = Policy { hosts: Vec::new(), is_public: false, origins: Origins::Only(&ORIGINS) };

const SUBPROTOCOL: &str = "mcp";

/// Follows a tab's token in the line that a person pastes. A page does not say which notebook it shows, but this tells
/// whether it was opened with a URL.
const LINE_SUFFIX: &str = "-line";

/// The way in which a person has connected a page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ConnectedBy {
    /// With a URL, which opens its notebook.
    Url,
    /// With a line that was pasted into the notebook that was open.
    Line,
}

/// The line that a person can paste into Colab's dialog.
pub(crate) fn line(token: &str, port: u16) -> String {
    format!("{token}{LINE_SUFFIX}&{port}")
}

/// A request that carries the token of a tab.
#[derive(Debug)]
pub(crate) struct Authorized {
    /// The index of the token.
    pub(crate) tab: usize,
    pub(crate) by: ConnectedBy,
    /// The headers of the answer.
    pub(crate) answer: Result<HeaderMap, Refusal>,
}

/// Checks a request. `tokens` are those of the tabs as they are now.
pub(crate) fn check<B>(request: Request<B>, tokens: &[&Secret]) -> Result<Authorized, Refusal> {
    let upgrade = front_door::accept(&request, SUBPROTOCOL);
    let mut parts = request.into_parts().0;
    let candidates = candidates(&mut parts, "access_token");
    // Each comparison takes constant time. How many are made shows only which of the tabs the caller already knows.
    let position = |candidate: &str| tokens.iter().position(|token| token.matches(candidate));
    let tab_of = |candidate: &String| match position(candidate) {
        Some(tab) => Some((tab, ConnectedBy::Url)),
        None => Some((position(candidate.strip_suffix(LINE_SUFFIX)?)?, ConnectedBy::Line)),
    };
    let missing = if candidates.is_empty() { Refusal::MissingToken } else { Refusal::WrongToken };
    let (tab, by) = candidates.iter().find_map(tab_of).ok_or(missing)?;
    let answer = upgrade.and_then(|answer| {
        POLICY.check(&parts)?;
        let names_protocol = answer.contains_key(SEC_WEBSOCKET_PROTOCOL);
        names_protocol.then_some(answer).ok_or(Refusal::Handshake("missing subprotocol"))
    });
    Ok(Authorized { tab, by, answer })
}

/// The answer to a request that is refused, after which the connection is closed.
pub(crate) fn refused(refusal: &Refusal) -> hyper::Response<String> {
    let mut response = hyper::Response::new(format!("Failed to open a WebSocket connection: {refusal}.\n"));
    *response.status_mut() = refusal.status();
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    headers.insert(header::CONTENT_TYPE, header::HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

#[cfg(test)]
mod tests;
