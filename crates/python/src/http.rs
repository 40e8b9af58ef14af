//! Requests and answers as Python holds them.

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use bytes::Bytes;
use http_body_util::BodyExt as _;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use tokio_util::sync::CancellationToken;

use crate::stream::{self, Stream};

/// A request; header values are text as Tornado has it, a character for each byte.
pub(crate) fn request(
    method: &str,
    path: &str,
    headers: &[(String, String)],
    body: Bytes,
) -> PyResult<Request<Bytes>> {
    let mut request = Request::builder()
        .method(method)
        .uri(path)
        .body(body)
        .map_err(|error| PyValueError::new_err(format!("no request: {error}")))?;
    let headers = headers.iter().filter_map(|(name, value)| {
        let value: Option<Vec<u8>> = value.chars().map(|character| u8::try_from(character).ok()).collect();
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(&value?).ok()?))
    });
    for (name, value) in headers {
        request.headers_mut().append(name, value);
    }
    Ok(request)
}

/// An answer: its whole body, or the stream that it is.
pub(crate) struct Answer {
    status: u16,
    headers: HeaderMap,
    body: AnswerBody,
}

enum AnswerBody {
    Whole(Bytes),
    /// What it has said already, and the rest.
    Stream(Bytes, Body),
}

impl Answer {
    /// Waits for the body, unless it is a stream of events.
    pub(crate) async fn collect(response: Response<Body>) -> Result<Self, axum::Error> {
        let (parts, mut body) = response.into_parts();
        let kind = parts.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        let body = if kind.starts_with(b"text/event-stream") {
            match stream::soon(&mut body).await {
                (said, true) => AnswerBody::Stream(said, body),
                (said, false) => AnswerBody::Whole(said),
            }
        } else {
            AnswerBody::Whole(body.collect().await?.to_bytes())
        };
        Ok(Self { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// `(status, headers, body, stream or None)`; the stream goes on where the body ends, and ends with `over`.
    pub(crate) fn show(self, py: Python<'_>, over: &CancellationToken) -> PyResult<Py<PyAny>> {
        let text = |value: &HeaderValue| value.as_bytes().iter().copied().map(char::from).collect::<String>();
        let headers: Vec<(&str, String)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        let (body, stream) = match self.body {
            AnswerBody::Whole(bytes) => (bytes, None),
            AnswerBody::Stream(said, rest) => (said, Some(Stream::new(rest, over))),
        };
        Ok((self.status, headers, PyBytes::new(py, &body), stream).into_pyobject(py)?.into_any().unbind())
    }
}
