use std::time::SystemTime;

use bytes::Bytes;
use chrono::DateTime;
use jupyter_protocol::JupyterMessage;
use notebook::{Json, text_id};
use serde::{Deserialize, Serialize};

use super::content;

/// One of the channels of Jupyter's protocol over which messages pass. Logs have their numbers, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Channel {
    /// Requests that run one after the other, and their replies.
    Shell,
    /// Requests that overtake those.
    Control,
    /// The kernel's requests for input.
    Stdin,
    /// What the kernel publishes to all clients.
    Iopub,
}

text_id! {
    /// The `msg_id` of a request. An execution is known by that of its `execute_request`.
    MessageId
}

/// A message to the kernel.
pub type Outgoing = (Channel, JupyterMessage);

/// A message of the kernel.
#[derive(Debug, Clone)]
pub struct Message {
    pub channel: Channel,
    pub header: Header,
    /// The header of the request that it belongs to; empty fields if there is none.
    pub parent: Header,
    /// As it came, not parsed: few messages have any that matters.
    pub metadata: Bytes,
    /// A view of what was received.
    pub content: Json,
    /// The header as it came, to be quoted in an answer.
    pub raw_header: Json,
    /// The binary parts behind the content, which comms use.
    pub buffers: Vec<Bytes>,
    /// A Jupyter server sent it about the kernel, not the kernel itself.
    pub is_of_server: bool,
    /// The length of its parts.
    pub bytes: usize,
}

/// What we need of a header.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Header {
    /// `msg_id`.
    pub id: String,
    /// `msg_type`.
    pub kind: String,
    pub session: String,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(crate) struct HeaderFields {
    pub(crate) msg_id: Option<String>,
    pub(crate) msg_type: Option<String>,
    session: Option<String>,
}

impl Header {
    fn read(json: &Json) -> serde_json::Result<Self> {
        let fields = json.decode::<Option<HeaderFields>>()?.unwrap_or_default();
        Ok(Self {
            id: fields.msg_id.unwrap_or_default(),
            kind: fields.msg_type.unwrap_or_default(),
            session: fields.session.unwrap_or_default(),
        })
    }

    /// The kernel's process and the number of the message, if the sender numbers them as `jupyter_client` does:
    /// `<session>_<process>_<number>`; older versions leave the process out.
    ///
    /// `s_77_42` of session `s` is number 42 of process `s_77`.
    pub fn sequence(&self) -> Option<(&str, u64)> {
        let (process, number) = self.id.rsplit_once('_')?;
        let is_numbered = !self.session.is_empty() && process.starts_with(&self.session);
        if is_numbered { Some((process, number.parse().ok()?)) } else { None }
    }
}

impl Message {
    /// Reads the parts of a message without metadata. Fails if one is no JSON, or the message has no type.
    pub fn read(channel: Channel, header: Bytes, parent: Bytes, content: Bytes) -> serde_json::Result<Self> {
        let bytes = header.len() + parent.len() + content.len();
        let raw_header = Json::parse(header)?;
        let header = Header::read(&raw_header)?;
        if header.kind.is_empty() {
            return Err(serde::de::Error::missing_field("msg_type"));
        }
        let parent = Header::read(&Json::parse(parent)?)?;
        let content = parse_content(content)?;
        let metadata = Bytes::from_static(b"{}");
        let (buffers, is_of_server) = (Vec::new(), false);
        Ok(Self { channel, header, parent, metadata, content, raw_header, buffers, is_of_server, bytes })
    }

    /// The same with this metadata.
    #[must_use]
    pub fn with_metadata(self, metadata: Bytes) -> Self {
        Self { metadata, ..self }
    }

    /// The same with the buffers that follow its parts.
    #[must_use]
    pub fn with_buffers(self, buffers: Vec<Bytes>) -> Self {
        let bytes = self.bytes + buffers.iter().map(Bytes::len).sum::<usize>();
        Self { buffers, bytes, ..self }
    }

    /// Reads a message from its parts: header, parent header, metadata, content, buffers. `None`, with a warning in the log, if
    /// it is malformed.
    pub fn of_parts(channel: Channel, parts: Vec<Bytes>) -> Option<Self> {
        let mut parts = parts.into_iter();
        let (header, parent, metadata, content) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        match Self::read(channel, header, parent, content) {
            Ok(message) => Some(message.with_metadata(metadata).with_buffers(parts.collect())),
            Err(error) => {
                tracing::warn!(?channel, %error, "a message that cannot be read was dropped");
                None
            }
        }
    }

    /// Its parts, with what is needed of the header of its parent, and without its metadata: a request in a log is not answered again.
    pub fn to_parts(&self) -> Vec<Bytes> {
        let Header { id, kind, session } = &self.parent;
        let parent = serde_json::json!({ "msg_id": id, "msg_type": kind, "session": session }).to_string();
        let none = Bytes::from_static(b"{}");
        let parts = [self.raw_header.bytes().clone(), parent.into(), none, self.content.bytes().clone()];
        parts.into_iter().chain(self.buffers.iter().cloned()).collect()
    }

    /// When the kernel sent it, if it says so.
    pub fn date(&self) -> Option<SystemTime> {
        let date = self.raw_header.member("date")?;
        DateTime::parse_from_rfc3339(&date.text()?).ok().map(SystemTime::from)
    }

    /// The session of the kernel's process, each of which has its own; `None` if the kernel takes that of its client.
    pub fn process(&self) -> Option<&str> {
        let session = self.header.session.as_str();
        let is_own = !self.is_of_server && !session.is_empty() && session != self.parent.session;
        is_own.then_some(session)
    }

    /// If the kernel publishes that it ends: whether it will be restarted.
    pub fn announced_end(&self) -> Option<bool> {
        let is_end = self.channel == Channel::Iopub && self.header.kind == "shutdown_reply";
        is_end.then(|| self.content.member("restart").is_some_and(|it| it.as_str() == "true"))
    }

    /// The `execution_state`, if this is a `status`.
    pub fn status(&self) -> Option<String> {
        if self.channel == Channel::Iopub && self.header.kind == "status" {
            self.content.decode::<content::Status>().ok().map(|status| status.execution_state.0)
        } else {
            None
        }
    }
}

/// The parts of a message to the kernel: header, header of the parent, metadata, content. Its header gets this session.
pub fn write_parts(mut message: JupyterMessage, session: &str) -> serde_json::Result<[Bytes; 4]> {
    session.clone_into(&mut message.header.session);
    let parent = message.parent_header.as_ref().map_or_else(|| Ok(Bytes::from_static(b"{}")), json)?;
    Ok([json(&message.header)?, parent, json(&message.metadata)?, json(&message.content)?])
}

fn json(part: &impl Serialize) -> serde_json::Result<Bytes> {
    serde_json::to_vec(part).map(Bytes::from)
}

/// Python writes file names that are not UTF-8 as raw bytes. They must not cost the whole output.
fn parse_content(content: Bytes) -> serde_json::Result<Json> {
    match str::from_utf8(&content) {
        Ok(_) => Json::parse(content),
        Err(_) => Json::parse(Bytes::from(String::from_utf8_lossy(&content).into_owned())),
    }
}
