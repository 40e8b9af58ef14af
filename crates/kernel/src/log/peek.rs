//! The parts of a message that decide what becomes of it.

use bytes::Bytes;
use serde::Deserialize;

use crate::messages::content::Status;
use crate::messages::{Channel, HeaderFields};

/// What is read of a message for the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Peek {
    /// `msg_id`.
    pub id: String,
    /// `msg_type`.
    pub kind: String,
    /// The `msg_id` of the request that it belongs to; empty if there is none.
    pub parent: String,
    /// The `execution_state` of a `status`.
    pub state: Option<String>,
}

impl Peek {
    /// How much a log may hold of a run's outputs so that it still keeps this, with its usual `limit`; `None` if that has none.
    pub fn limit(&self, channel: Channel, limit: u64) -> Option<u64> {
        match (channel, &*self.kind) {
            (Channel::Iopub, "status" | "execute_input") => None,
            // It may say how the run ended, after whatever was left out.
            (Channel::Iopub, "error") => Some(limit.saturating_mul(2)),
            (Channel::Iopub, _) => Some(limit),
            _ => None,
        }
    }

    /// Reads the headers of a message, given as header, parent header, metadata, content. What is malformed is left empty: the
    /// keeper passes on whatever the kernel sends.
    pub fn of(channel: Channel, parts: &[Bytes]) -> Self {
        fn read<'a, T: Deserialize<'a> + Default>(part: Option<&'a Bytes>) -> T {
            part.and_then(|part| serde_json::from_slice(part).ok()).unwrap_or_default()
        }
        let (header, parent): (HeaderFields, HeaderFields) = (read(parts.first()), read(parts.get(1)));
        let kind = header.msg_type.unwrap_or_default();
        let state = if channel == Channel::Iopub && kind == "status" {
            Some(read::<Status>(parts.get(3)).execution_state.0).filter(|state| !state.is_empty())
        } else {
            None
        };
        Self { id: header.msg_id.unwrap_or_default(), kind, parent: parent.msg_id.unwrap_or_default(), state }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts(header: &str, parent: &str, content: &str) -> Vec<Bytes> {
        [header, parent, "{}", content].map(|part| Bytes::copy_from_slice(part.as_bytes())).into()
    }

    #[test]
    fn headers_are_read_and_the_content_of_a_status_only() {
        let status = parts(
            r#"{"msg_id": "1", "msg_type": "status"}"#,
            r#"{"msg_id": "0"}"#,
            r#"{"execution_state": "busy"}"#,
        );
        let read = Peek::of(Channel::Iopub, &status);
        assert_eq!((&*read.id, &*read.kind, &*read.parent), ("1", "status", "0"));
        assert_eq!(read.state.as_deref(), Some("busy"));
        assert_eq!(Peek::of(Channel::Shell, &status).state, None);
        let other = parts(r#"{"msg_type": "stream"}"#, "{}", r#"{"execution_state": "busy"}"#);
        assert_eq!(Peek::of(Channel::Iopub, &other).state, None);
    }

    #[test]
    fn malformed_messages_are_empty() {
        assert_eq!(Peek::of(Channel::Iopub, &[]), Peek::default());
        assert_eq!(Peek::of(Channel::Iopub, &parts("[", "3", "null")), Peek::default());
        let nulls = parts(r#"{"msg_id": null, "msg_type": "status"}"#, "null", "[]");
        assert_eq!(Peek::of(Channel::Iopub, &nulls), Peek { kind: "status".to_owned(), ..Peek::default() });
    }
}
