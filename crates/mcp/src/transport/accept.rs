//! `Accept`: which form of an answer a client takes. `rmcp` wants clients to name JSON and event streams both; many name one of
//! them, a wildcard, or nothing.

use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use connection::Envelope;
use http_body_util::BodyExt as _;

const JSON: &str = "application/json";
const EVENTS: &str = "text/event-stream";
const BOTH: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");

/// The forms that a client takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Accepted {
    json: bool,
    events: bool,
}

impl Accepted {
    /// Reads the header. Without it a client takes any form.
    pub(crate) fn read(headers: &HeaderMap) -> Self {
        let values: Vec<&str> =
            headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok()).collect();
        if values.iter().all(|value| value.trim().is_empty()) {
            return Self { json: true, events: true };
        }
        let ranges = || values.iter().flat_map(|value| value.split(',')).filter_map(range);
        let takes = |kind: &str, group: &str| {
            // The most specific range decides.
            [kind, group, "*/*"].into_iter().find_map(|wanted| {
                ranges().find(|(name, _)| name.eq_ignore_ascii_case(wanted)).map(|(_, is_taken)| is_taken)
            })
        };
        Self {
            json: takes(JSON, "application/*") == Some(true),
            events: takes(EVENTS, "text/*") == Some(true),
        }
    }

    /// Has `rmcp` answer the request if there is a form for it.
    pub(crate) fn rewrite(self, method: &Method, headers: &mut HeaderMap) {
        let is_answered = if method == Method::GET { self.events } else { self.json || self.events };
        if is_answered {
            headers.insert(header::ACCEPT, BOTH);
        }
    }

    /// The answer to a message in a form that the client takes.
    pub(crate) async fn fit(self, response: Response) -> Response {
        if response.status() != StatusCode::OK || (self.json && self.events) {
            return response;
        }
        let kind = response.headers().get(header::CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        match self {
            Self { json: false, .. } if kind.starts_with(JSON.as_bytes()) => as_events(response).await,
            Self { events: false, .. } if kind.starts_with(EVENTS.as_bytes()) => as_json(response).await,
            _ => response,
        }
    }
}

/// A media range, and whether its quality is not zero.
fn range(text: &str) -> Option<(&str, bool)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?;
    let quality = parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
    let is_zero = quality.is_some_and(|quality| quality.trim().parse() == Ok(0.0_f32));
    Some((name, !is_zero))
}

/// A JSON answer as a stream with one event.
async fn as_events(response: Response) -> Response {
    let (mut parts, body) = response.into_parts();
    let Ok(body) = body.collect().await else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    let text = String::from_utf8_lossy(&body.to_bytes()).trim_end().replace('\n', "\ndata: ");
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(EVENTS));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(format!("data: {text}\n\n")))
}

/// The response in an event stream. Notifications before it are dropped; a request to the client has no place in JSON.
async fn as_json(response: Response) -> Response {
    let (mut parts, mut body) = response.into_parts();
    let mut received = Vec::new();
    let answer = loop {
        let Some(Ok(frame)) = body.frame().await else { break None };
        received.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        let Some(end) = memchr::memmem::rfind(&received, b"\n\n") else { continue };
        let events: Vec<u8> = received.drain(..end + 2).collect();
        match answer_in(&events) {
            Found::Nothing => {}
            Found::Answer(answer) => break Some(answer),
            Found::Request => {
                let message = "Not Acceptable: the server must ask the client something, which requires \
                 text/event-stream\n";
                return (StatusCode::NOT_ACCEPTABLE, message).into_response();
            }
        }
    };
    let Some(answer) = answer else {
        return (StatusCode::BAD_GATEWAY, "the session ended before the answer\n").into_response();
    };
    parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(JSON));
    parts.headers.remove(header::CONTENT_LENGTH);
    Response::from_parts(parts, Body::from(answer))
}

enum Found {
    Nothing,
    Answer(Bytes),
    Request,
}

/// What a client that takes no events needs of these.
fn answer_in(events: &[u8]) -> Found {
    for line in events.split(|byte| *byte == b'\n') {
        let Some(data) = line.strip_prefix(b"data:") else { continue };
        let data = Bytes::copy_from_slice(data.trim_ascii());
        match Envelope::parse(&data) {
            Some(message) if message.id.is_none() => {}
            Some(message) if message.method.is_some() => return Found::Request,
            Some(_) => return Found::Answer(data),
            None => {}
        }
    }
    Found::Nothing
}

#[cfg(test)]
mod tests {
    use super::*;

    fn accepted(values: &[&'static str]) -> Accepted {
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(header::ACCEPT, HeaderValue::from_static(value));
        }
        Accepted::read(&headers)
    }

    #[test]
    fn forms_are_read_from_ranges() {
        for (values, json, events) in [
            (&[][..], true, true),
            (&[""], true, true),
            (&["*/*"], true, true),
            (&["application/*"], true, false),
            (&["application/json"], true, false),
            (&["Application/JSON; charset=utf-8"], true, false),
            (&["text/event-stream"], false, true),
            (&["text/*"], false, true),
            (&["application/json", "text/event-stream"], true, true),
            (&["application/json;q=0.9, text/event-stream;q=0"], true, false),
            (&["*/*, text/event-stream;q=0.0"], true, false),
            (&["text/html, */*;q=0.8"], true, true),
            (&["text/html"], false, false),
            (&["*/*;q=0"], false, false),
        ] {
            assert_eq!(accepted(values), Accepted { json, events }, "{values:?}");
        }
    }

    #[test]
    fn only_what_can_be_answered_reaches_the_protocol() {
        for (value, method, is_rewritten) in [
            ("*/*", Method::POST, true),
            ("application/json", Method::POST, true),
            ("application/json", Method::GET, false),
            ("text/event-stream", Method::GET, true),
            ("text/html", Method::POST, false),
        ] {
            let mut headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(value))]);
            Accepted::read(&headers).rewrite(&method, &mut headers);
            assert_eq!(headers[header::ACCEPT] == BOTH, is_rewritten, "{value} {method}");
        }
    }

    #[tokio::test]
    async fn an_answer_changes_its_form() {
        let response =
            |kind: &'static str, body: &'static str| ([(header::CONTENT_TYPE, kind)], body).into_response();
        let text = async |response: Response| {
            String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
        };
        let answer = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
        let as_events = accepted(&[EVENTS]).fit(response(JSON, answer)).await;
        assert_eq!(as_events.headers()[header::CONTENT_TYPE], EVENTS);
        assert_eq!(text(as_events).await, format!("data: {answer}\n\n"));
        let stream = "retry: 1\ndata:\n\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"n\"}\n\nid: 1\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n";
        let as_json = accepted(&[JSON]).fit(response(EVENTS, stream)).await;
        assert_eq!(as_json.headers()[header::CONTENT_TYPE], JSON);
        assert_eq!(text(as_json).await, answer);
        let asking = "data: {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"elicitation/create\"}\n\n";
        assert_eq!(accepted(&[JSON]).fit(response(EVENTS, asking)).await.status(), 406);
        assert_eq!(text(accepted(&["*/*"]).fit(response(EVENTS, stream)).await).await, stream);
    }
}
