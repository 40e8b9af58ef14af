//! Request bodies in pieces, and response bodies within limits.

use std::convert::Infallible;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use connection::NetworkTimeout;
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, StreamBody};
use url::Url;

use crate::{Kind, RestError, Result, diagnosis};

/// The largest response that is not a notebook: a listing of thousands of files takes a few megabytes.
pub(crate) const MAX_BYTES: usize = 64 << 20;

/// The largest body of a failed request.
pub(crate) const MAX_FAILURE_BYTES: usize = 1 << 20;

/// The largest notebook: the limit of servers for rooms.
pub(crate) const MAX_NOTEBOOK_BYTES: usize = 1 << 30;

/// Timeout of a response body, from the first byte to the last.
const BODY_TIMEOUT: Duration = Duration::from_secs(600);

/// The largest buffer that is allocated because of a `Content-Length`.
const MAX_PREALLOCATED: usize = 64 << 20;

/// The body of a request. Clones share the bytes.
#[derive(Clone, Default)]
pub(crate) struct Payload {
    /// Empty if there is no body.
    pub(crate) pieces: Vec<Bytes>,
    /// A form instead of JSON, for the login page.
    pub(crate) is_form: bool,
}

impl Payload {
    /// Writes `value` as JSON.
    pub(crate) fn json(value: &impl serde::Serialize) -> Result<Self> {
        let text = serde_json::to_vec(value).map_err(|error| {
            RestError::defect(Kind::Malformed, format!("The request cannot be written: {error}."))
                .with_source(error)
        })?;
        Ok(Self { pieces: vec![Bytes::from(text)], is_form: false })
    }

    /// The length of all pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// Sends the pieces in order without copying them together.
    pub(crate) fn into_body(mut self) -> reqwest::Body {
        if self.pieces.len() < 2 {
            return self.pieces.pop().unwrap_or_default().into();
        }
        // Wrapping each piece in its own body avoids a dependency on `http_body` for its `Frame`.
        let frames = futures_util::stream::iter(self.pieces)
            .filter_map(|piece| async move { Full::new(piece).frame().await })
            .map(|frame| frame.map_err(|never: Infallible| match never {}));
        reqwest::Body::wrap(StreamBody::new(frames))
    }
}

/// Reads a response body of at most `limit` bytes, whose parts follow each other within the timeout.
pub(crate) async fn read(
    response: reqwest::Response,
    base: &Url,
    limit: usize,
    network_timeout: NetworkTimeout,
) -> Result<Bytes> {
    let bound =
        tokio::time::timeout(BODY_TIMEOUT, collect(response, base, limit, network_timeout.duration())).await;
    bound.map_err(|_| diagnosis::timed_out(base, BODY_TIMEOUT))?
}

async fn collect(
    mut response: reqwest::Response,
    base: &Url,
    limit: usize,
    chunk_timeout: Duration,
) -> Result<Bytes> {
    let announced = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large(limit));
    }
    let mut whole = BytesMut::with_capacity(announced.min(MAX_PREALLOCATED));
    loop {
        let Some(chunk) = next(&mut response, base, chunk_timeout).await? else { return Ok(whole.freeze()) };
        if whole.len() + chunk.len() > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&chunk);
    }
}

/// The next part of a response body.
pub(crate) async fn next(
    response: &mut reqwest::Response,
    base: &Url,
    timeout: Duration,
) -> Result<Option<Bytes>> {
    let part = tokio::time::timeout(timeout, response.chunk()).await;
    part.map_err(|_| diagnosis::timed_out(base, timeout))?
        .map_err(|error| diagnosis::of_transport(error, base))
}

fn too_large(limit: usize) -> RestError {
    RestError::new(
        Kind::TooLarge,
        format!("The server's response is larger than {} MB.", limit >> 20),
        "Clear the largest outputs of the notebook in JupyterLab, or list a smaller folder.",
    )
}
