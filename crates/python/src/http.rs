//! Requests from Python, and answers to it.

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

/// Makes a request. Header values are text as in Tornado, one character for each byte.
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
        .map_err(|error| PyValueError::new_err(format!("invalid request: {error}")))?;
    let headers = headers.iter().filter_map(|(name, value)| {
        let value: Option<Vec<u8>> = value.chars().map(|character| u8::try_from(character).ok()).collect();
        Some((HeaderName::from_bytes(name.as_bytes()).ok()?, HeaderValue::from_bytes(&value?).ok()?))
    });
    for (name, value) in headers {
        request.headers_mut().append(name, value);
    }
    Ok(request)
}

pub(crate) struct Answer {
    status: u16,
    headers: HeaderMap,
    /// The part of the body that has arrived, and the rest if there is more.
    body: (Bytes, Option<Body>),
}

impl Answer {
    /// Waits for the body, unless it is a stream of events.
    pub(crate) async fn collect(response: Response<Body>) -> Result<Self, axum::Error> {
        let (parts, mut body) = response.into_parts();
        let kind = parts.headers.get(CONTENT_TYPE).map_or(&b""[..], HeaderValue::as_bytes);
        let body = if kind.starts_with(b"text/event-stream") {
            let (start, has_more) = stream::soon(&mut body).await;
            (start, has_more.then_some(body))
        } else {
            (body.collect().await?.to_bytes(), None)
        };
        Ok(Self { status: parts.status.as_u16(), headers: parts.headers, body })
    }

    /// `(status, headers, body, stream or None)`. The stream continues the body, and ends with `shutdown`.
    pub(crate) fn into_python(self, py: Python<'_>, shutdown: &CancellationToken) -> PyResult<Py<PyAny>> {
        let text = |value: &HeaderValue| value.as_bytes().iter().copied().map(char::from).collect::<String>();
        let headers: Vec<(&str, String)> =
            self.headers.iter().map(|(name, value)| (name.as_str(), text(value))).collect();
        let (start, rest) = self.body;
        let stream = rest.map(|rest| Stream::new(rest, shutdown));
        Ok((self.status, headers, PyBytes::new(py, &start), stream).into_pyobject(py)?.into_any().unbind())
    }
}
