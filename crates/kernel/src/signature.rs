//! The signature of a message: HMAC-SHA256 over its four JSON parts, in hexadecimal.

use std::fmt::Write;

use bytes::Bytes;
use ring::hmac;
use subtle::ConstantTimeEq;

/// The signature of `parts` under `key`; empty without a key, as between a kernel and clients that trust each other.
pub(crate) fn sign(key: Option<&hmac::Key>, parts: &[Bytes]) -> String {
    let mut signature = String::new();
    if let Some(key) = key {
        let mut context = hmac::Context::with_key(key);
        for part in parts {
            context.update(part);
        }
        for byte in context.sign().as_ref() {
            // Writing to a string cannot fail.
            let _ = write!(signature, "{byte:02x}");
        }
    }
    signature
}

/// Whether `signature` is that of `parts` under `key`. Without a key every message is believed.
///
/// `hmac::verify` wants the message in one piece, and that would be a second copy of an image of 100 MB. So the
/// parts are hashed where they lie, and the result is compared in a time that tells nothing about it.
pub(crate) fn is_genuine(key: Option<&hmac::Key>, parts: &[Bytes], signature: &[u8]) -> bool {
    key.is_none() || bool::from(sign(key, parts).as_bytes().ct_eq(signature))
}
