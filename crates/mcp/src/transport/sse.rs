//! The body of an event stream, in which carried results are restored.
//! <https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation>

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body::Frame;

use super::detached_calls::StreamWatch;
use crate::relayed::raw;

/// An event stream as `rmcp` writes it (`data:` on one line), rewritten event by event.
pub(crate) struct Restored {
    inner: Body,
    partial: BytesMut,
    _watch: Option<StreamWatch>,
}

impl Restored {
    /// Sends the messages `kept` first.
    pub(crate) fn new(inner: Body, watch: Option<StreamWatch>, kept: &[Arc<str>]) -> Self {
        let mut partial = BytesMut::new();
        for message in kept {
            partial.extend_from_slice(format!("data: {message}\n\n").as_bytes());
        }
        Self { inner, partial, _watch: watch }
    }
}

impl http_body::Body for Restored {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        loop {
            if let Some(whole) = whole_events(&mut self.partial) {
                return Poll::Ready(Some(Ok(Frame::data(restore(whole)))));
            }
            let frame = match ready!(Pin::new(&mut self.inner).poll_frame(cx)) {
                Some(Ok(frame)) => frame,
                Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                None => {
                    let rest = self.partial.split();
                    return Poll::Ready((!rest.is_empty()).then(|| Ok(Frame::data(rest.freeze()))));
                }
            };
            let data = match frame.into_data() {
                Ok(data) => data,
                Err(trailers) => return Poll::Ready(Some(Ok(trailers))),
            };
            self.partial.extend_from_slice(&data);
        }
    }
}

/// Removes everything up to the end of the last whole event.
fn whole_events(partial: &mut BytesMut) -> Option<Bytes> {
    let end = memchr::memmem::rfind(partial, b"\n\n")? + 2;
    Some(partial.split_to(end).freeze())
}

fn restore(events: Bytes) -> Bytes {
    let Ok(text) = str::from_utf8(&events) else { return events };
    let mut rewritten: Option<String> = None;
    let mut done = 0;
    for line in text.split_inclusive('\n') {
        let start = done;
        done += line.len();
        let data = line.strip_prefix("data:").map(|data| data.trim_start_matches(' ').trim_end_matches('\n'));
        let restored = data.and_then(raw::restore);
        match (restored, &mut rewritten) {
            (Some(message), out) => {
                let out = out.get_or_insert_with(|| text[..start].to_owned());
                out.push_str("data: ");
                out.push_str(&message);
                out.push('\n');
            }
            (None, Some(out)) => out.push_str(line),
            (None, None) => {}
        }
    }
    rewritten.map_or(events, Bytes::from)
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::BodyExt as _;
    use rmcp::model::{NumberOrString, ServerJsonRpcMessage, ServerResult};

    use super::*;

    /// Sends the chunks as frames of a body and collects what comes out.
    async fn through(chunks: Vec<Vec<u8>>) -> String {
        let frames = chunks.into_iter().map(|chunk| Ok::<_, Infallible>(Bytes::from(chunk)));
        let body = Body::from_stream(futures_util::stream::iter(frames));
        let collected = Restored::new(body, None, &["{}".into()]).collect().await.unwrap().to_bytes();
        let text = String::from_utf8(collected.to_vec()).unwrap();
        text.strip_prefix("data: {}\n\n").expect("what was kept comes first").to_owned()
    }

    fn event(payload: &str) -> String {
        let result = ServerResult::CallToolResult(raw::carry(payload.into()));
        let message = ServerJsonRpcMessage::response(result, NumberOrString::Number(1));
        format!("id: 0/1\ndata: {}\n\n", serde_json::to_string(&message).unwrap())
    }

    #[tokio::test]
    async fn carried_results_are_restored_across_chunks() {
        let stream = format!(
            "retry: 1000\ndata:\n\n: ping\n\n{}data: {{\"jsonrpc\":\"2.0\"}}\n\n",
            event(r#"{"a":1.0}"#)
        );
        let expected = "retry: 1000\ndata:\n\n: ping\n\nid: 0/1\ndata: \
            {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"resultType\":\"complete\",\"a\":1.0}}\n\n\
            data: {\"jsonrpc\":\"2.0\"}\n\n";
        for size in [1, 2, 7, 64, 4096] {
            let chunks = stream.as_bytes().chunks(size).map(<[u8]>::to_vec).collect();
            assert_eq!(through(chunks).await, expected, "in chunks of {size}");
        }
    }

    #[tokio::test]
    async fn other_events_and_unfinished_ones_pass_as_they_are() {
        let stream = "data: {\"a\":\"é\"}\n\ndata: unfinished";
        assert_eq!(through(vec![stream.as_bytes().to_vec()]).await, stream);
    }
}
