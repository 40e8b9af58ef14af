//! Bodies: what is sent, kept in pieces, and what comes back, within bounds.

use std::convert::Infallible;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures_util::StreamExt as _;
use http_body_util::{BodyExt as _, Full, StreamBody};
use url::Url;

use crate::{Kind, RestError, Result, diagnosis};

/// Answers to everything but notebooks: listings of thousands of files are a few megabytes.
pub(crate) const SMALL: usize = 64 << 20;

/// The explanation in a refusal.
pub(crate) const REFUSAL: usize = 1 << 20;

/// A notebook: as much as servers themselves take in rooms.
pub(crate) const NOTEBOOK: usize = 1 << 30;

/// How long an answer may pause.
const SILENCE: Duration = Duration::from_secs(30);

/// How long an answer may take from its first byte to its last.
const WHOLE: Duration = Duration::from_secs(600);

/// The most that is set aside before an answer's bytes are there.
const AHEAD: usize = 64 << 20;

/// What a request carries. Clones share the bytes.
#[derive(Clone, Default)]
pub(crate) struct Payload {
    /// Empty if there is no body.
    pub(crate) pieces: Vec<Bytes>,
    /// A form of a login page instead of JSON.
    pub(crate) is_form: bool,
}

impl Payload {
    /// Writes `value` as JSON.
    pub(crate) fn json(value: &impl serde::Serialize) -> Result<Self> {
        let text = serde_json::to_vec(value).map_err(|error| {
            RestError::new(
                Kind::Malformed,
                format!("The request cannot be written: {error}."),
                "This is a defect of ours.",
            )
        })?;
        Ok(Self { pieces: vec![Bytes::from(text)], is_form: false })
    }

    /// The length of all pieces.
    pub(crate) fn len(&self) -> usize {
        self.pieces.iter().map(Bytes::len).sum()
    }

    /// The body, which sends the pieces one after the other without joining them.
    pub(crate) fn into_body(mut self) -> reqwest::Body {
        if self.pieces.len() < 2 {
            return self.pieces.pop().unwrap_or_default().into();
        }
        // A piece becomes a frame by being a body of its own: `http_body::Frame` needs no dependency then.
        let frames = futures_util::stream::iter(self.pieces)
            .filter_map(|piece| async move { Full::new(piece).frame().await })
            .map(|frame| frame.map_err(|never: Infallible| match never {}));
        reqwest::Body::wrap(StreamBody::new(frames))
    }
}

/// Reads an answer to its end, of at most `limit` bytes.
pub(crate) async fn read(response: reqwest::Response, base: &Url, limit: usize) -> Result<Bytes> {
    let bound = tokio::time::timeout(WHOLE, collect(response, base, limit)).await;
    bound.map_err(|_| diagnosis::too_slow(base, WHOLE))?
}

async fn collect(mut response: reqwest::Response, base: &Url, limit: usize) -> Result<Bytes> {
    let announced = usize::try_from(response.content_length().unwrap_or(0)).unwrap_or(usize::MAX);
    if announced > limit {
        return Err(too_large(limit));
    }
    let mut whole = BytesMut::with_capacity(announced.min(AHEAD));
    loop {
        let chunk = tokio::time::timeout(SILENCE, response.chunk())
            .await
            .map_err(|_| diagnosis::too_slow(base, SILENCE))?
            .map_err(|error| diagnosis::of_transport(&error, base))?;
        let Some(chunk) = chunk else { return Ok(whole.freeze()) };
        if whole.len() + chunk.len() > limit {
            return Err(too_large(limit));
        }
        whole.extend_from_slice(&chunk);
    }
}

fn too_large(limit: usize) -> RestError {
    RestError::new(
        Kind::TooLarge,
        format!("The server's answer is larger than {} MB.", limit >> 20),
        "Clear the largest outputs of the notebook in JupyterLab, or list a smaller folder.",
    )
}
