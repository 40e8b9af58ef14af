//! Messages as they travel over `ZeroMQ`: a delimiter, the signature, and the parts.

use bytes::Bytes;
use jupyter_protocol::ConnectionInfo;
use ring::hmac;
use subtle::ConstantTimeEq;
use zeromq::ZmqMessage;

use kernel::messages::Channel;

/// Precedes the signature in every message.
// Routing identities may stand in front, however many (Jupyter messaging, "The wire protocol").
const DELIMITER: &[u8] = b"<IDS|MSG>";

/// How many parts are signed: header, parent header, metadata, content. Buffers may follow.
// The signature does not cover buffers (Jupyter messaging, "The wire protocol").
const SIGNED_PARTS: usize = 4;

/// Signs and checks the messages of one kernel.
pub(crate) struct Wire {
    key: Option<hmac::Key>,
}

impl Wire {
    pub(crate) fn new(info: &ConnectionInfo) -> Self {
        // The key is the text of the connection file; it looks like hexadecimal, and is not decoded.
        let key = (!info.key.is_empty()).then(|| hmac::Key::new(hmac::HMAC_SHA256, info.key.as_bytes()));
        Self { key }
    }

    /// The parts of a genuine message, at least four.
    pub(crate) fn open(&self, channel: Channel, frames: ZmqMessage) -> Option<Vec<Bytes>> {
        // The topic of a publication stands before the delimiter.
        let mut frames = frames.into_vec();
        // The first one: a buffer behind it may contain the same bytes.
        let start = frames.iter().position(|frame| frame == DELIMITER)? + 1;
        let Some([signature, parts @ ..]) = frames.get(start..) else { return None };
        // Over the bytes as they came: the same JSON written again could differ in spaces and escapes.
        if !is_genuine(self.key.as_ref(), parts.get(..SIGNED_PARTS)?, signature) {
            tracing::warn!(?channel, "a message with a wrong signature was dropped");
            return None;
        }
        Some(frames.split_off(start + 1))
    }

    /// The signed message of these parts.
    pub(crate) fn seal(&self, parts: Vec<Bytes>) -> ZmqMessage {
        let signed = parts.get(..SIGNED_PARTS).unwrap_or(&parts);
        let signature = sign(self.key.as_ref(), signed);
        // No identity in front: the kernel's ROUTER socket adds it, from our handshake (ZeroMQ RFC 28).
        let mut frames = ZmqMessage::from(Bytes::from_static(DELIMITER));
        frames.push_back(signature.into());
        for part in parts {
            frames.push_back(part);
        }
        frames
    }
}

/// The signature of `parts` under `key`; empty without a key, which means that kernel and clients trust each other.
fn sign(key: Option<&hmac::Key>, parts: &[Bytes]) -> String {
    let Some(key) = key else { return String::new() };
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(part);
    }
    const_hex::encode(context.sign())
}

/// Compares `signature` with that of `parts` under `key`. Without a key every message is genuine.
///
/// `hmac::verify` wants the message in one piece, and that would be a second copy of an image of 100 MB. So the
/// parts are hashed where they lie, and the result is compared in constant time.
fn is_genuine(key: Option<&hmac::Key>, parts: &[Bytes], signature: &[u8]) -> bool {
    key.is_none() || bool::from(sign(key, parts).as_bytes().ct_eq(signature))
}
