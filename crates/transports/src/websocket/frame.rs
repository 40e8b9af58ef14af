//! Kernel messages in WebSocket frames, in both of Jupyter's formats.
//!
//! <https://jupyter-server.readthedocs.io/en/latest/developers/websocket-protocols.html>

use std::borrow::Cow;
use std::ops::Range;

use bytes::{BufMut, Bytes, BytesMut};
use notebook::Json;
use serde::Deserialize;
use serde_json::value::RawValue;
use tokio_tungstenite::tungstenite;
use tungstenite::Utf8Bytes;

use kernel::messages::{Channel, Message};

/// The WebSocket subprotocol of the newer format.
pub(super) const V1: &str = "v1.kernel.websocket.jupyter.org";

/// How messages are framed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    /// Parts behind a table of their offsets.
    V1,
    /// One JSON object; if there are buffers, with them behind a table of offsets.
    Legacy,
}

/// Why a frame is not a message.
#[derive(Debug, thiserror::Error)]
pub(super) enum Malformed {
    #[error("its table of offsets is invalid")]
    Offsets,
    #[error("it names an unknown channel")]
    Channel,
    #[error(transparent)]
    Json(#[from] serde_json::Error),
}

impl Dialect {
    /// A message as a frame. `parts`: header, header of the parent, metadata, content.
    pub(super) fn write(self, channel: Channel, parts: &[Bytes; 4]) -> tungstenite::Message {
        let name = match channel {
            Channel::Shell => "shell",
            Channel::Control => "control",
            Channel::Stdin => "stdin",
            Channel::Iopub => "iopub",
        };
        match self {
            Self::V1 => tungstenite::Message::Binary(write_v1(name, parts)),
            Self::Legacy => tungstenite::Message::Text(write_legacy(name, parts)),
        }
    }

    /// The message in a frame of text or bytes.
    pub(super) fn read(self, frame: Bytes, is_text: bool) -> Result<Message, Malformed> {
        match (self, is_text) {
            (Self::V1, false) => read_v1(&frame),
            // From a server that selected no protocol, or one that uses text for its own messages.
            (_, true) => read_object(frame),
            (Self::Legacy, false) => {
                let mut buffers = buffers(&frame)?.into_iter();
                let message = read_object(buffers.next().ok_or(Malformed::Offsets)?)?;
                Ok(message.with_buffers(buffers.collect()))
            }
        }
    }
}

/// The messages in a frame, in each dialect: for a fuzz target.
#[doc(hidden)]
pub fn frame_messages(frame: &Bytes) -> impl Iterator<Item = Message> {
    let dialects = [Dialect::V1, Dialect::Legacy].into_iter();
    let read = dialects.flat_map(|dialect| [false, true].map(|is_text| dialect.read(frame.clone(), is_text)));
    read.flatten()
}

/// Little-endian numbers of 64 bits: how many offsets, the offsets; then the channel's name and the parts, each from
/// its offset to the next.
fn write_v1(channel: &str, parts: &[Bytes; 4]) -> Bytes {
    let pieces = [channel.as_bytes(), &parts[0], &parts[1], &parts[2], &parts[3]];
    let count = pieces.len() + 1;
    let mut offset = 8 * (count + 1);
    let length = offset + pieces.iter().map(|piece| piece.len()).sum::<usize>();
    let mut frame = BytesMut::with_capacity(length);
    frame.put_u64_le(count as u64);
    frame.put_u64_le(offset as u64);
    for piece in pieces {
        offset += piece.len();
        frame.put_u64_le(offset as u64);
    }
    for piece in pieces {
        frame.put_slice(piece);
    }
    frame.freeze()
}

fn read_v1(frame: &Bytes) -> Result<Message, Malformed> {
    let number = |at: usize| {
        let bytes = frame.get(8 * at..8 * at + 8).ok_or(Malformed::Offsets)?;
        let bytes = bytes.try_into().map_err(|_| Malformed::Offsets)?;
        usize::try_from(u64::from_le_bytes(bytes)).map_err(|_| Malformed::Offsets)
    };
    // The channel, four parts and their end; buffers may follow.
    let count = number(0)?;
    if count < 6 {
        return Err(Malformed::Offsets);
    }
    let piece = |at: usize| slice(frame, number(at)?..number(at + 1)?);
    let channel = channel(&piece(1)?)?;
    let message = Message::read(channel, piece(2)?, piece(3)?, piece(5)?)?.with_metadata(piece(4)?);
    let buffers: Result<Vec<_>, _> = (6..count).map(piece).collect();
    Ok(message.with_buffers(buffers?))
}

/// A part of a frame. The offsets are whatever the other end wrote.
fn slice(frame: &Bytes, range: Range<usize>) -> Result<Bytes, Malformed> {
    // `Bytes::slice` panics outside of the frame.
    let is_inside = range.start <= range.end && range.end <= frame.len();
    if is_inside { Ok(frame.slice(range)) } else { Err(Malformed::Offsets) }
}

fn write_legacy(channel: &str, parts: &[Bytes; 4]) -> Utf8Bytes {
    // A text frame must be UTF-8 (RFC 6455, 5.6); a peer fails the whole connection otherwise.
    let [header, parent, metadata, content] = parts.each_ref().map(|part| String::from_utf8_lossy(part));
    format!(
        r#"{{"channel":"{channel}","header":{header},"parent_header":{parent},"metadata":{metadata},"content":{content},"buffers":[]}}"#
    )
    .into()
}

fn read_object(text: Bytes) -> Result<Message, Malformed> {
    #[derive(Deserialize)]
    struct Object<'a> {
        #[serde(borrow)]
        channel: Option<Cow<'a, str>>,
        #[serde(borrow)]
        header: &'a RawValue,
        #[serde(borrow)]
        parent_header: Option<&'a RawValue>,
        #[serde(borrow)]
        metadata: Option<&'a RawValue>,
        #[serde(borrow)]
        content: Option<&'a RawValue>,
    }
    let whole = Json::parse(text)?;
    let object: Object<'_> = whole.decode()?;
    let part = |part: Option<&RawValue>| {
        part.map_or_else(|| Bytes::from_static(b"{}"), |part| whole.part(part).bytes().clone())
    };
    let channel = channel(object.channel.as_deref().unwrap_or_default().as_bytes())?;
    let (header, parent) = (part(Some(object.header)), part(object.parent_header));
    Ok(Message::read(channel, header, parent, part(object.content))?.with_metadata(part(object.metadata)))
}

/// Big-endian numbers of 32 bits: how many buffers, their offsets. The first buffer is the message.
fn buffers(frame: &Bytes) -> Result<Vec<Bytes>, Malformed> {
    let number = |at: usize| {
        let bytes = frame.get(4 * at..4 * at + 4).ok_or(Malformed::Offsets)?;
        let bytes = bytes.try_into().map_err(|_| Malformed::Offsets)?;
        usize::try_from(u32::from_be_bytes(bytes)).map_err(|_| Malformed::Offsets)
    };
    let count = number(0)?;
    let piece = |at: usize| {
        // This format has no offset for the end, unlike the newer one (`serialize_binary_message`).
        slice(frame, number(at)?..if at == count { frame.len() } else { number(at + 1)? })
    };
    (1..=count).map(piece).collect()
}

fn channel(name: &[u8]) -> Result<Channel, Malformed> {
    match name {
        b"shell" => Ok(Channel::Shell),
        b"control" => Ok(Channel::Control),
        b"stdin" => Ok(Channel::Stdin),
        b"iopub" => Ok(Channel::Iopub),
        _ => Err(Malformed::Channel),
    }
}

#[cfg(test)]
mod tests;
