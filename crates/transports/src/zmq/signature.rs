//! The signature of a message: HMAC-SHA256 over its four JSON parts, in hexadecimal.

use bytes::Bytes;
use ring::hmac;
use subtle::ConstantTimeEq;

/// The signature of `parts` under `key`; empty without a key, which means that kernel and clients trust each other.
pub(crate) fn sign(key: Option<&hmac::Key>, parts: &[Bytes]) -> String {
    let Some(key) = key else { return String::new() };
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(part);
    }
    const_hex::encode(context.sign())
}

/// Whether `signature` is that of `parts` under `key`. Without a key every message is genuine.
///
/// `hmac::verify` wants the message in one piece, and that would be a second copy of an image of 100 MB. So the
/// parts are hashed where they lie, and the result is compared in constant time.
pub(crate) fn is_genuine(key: Option<&hmac::Key>, parts: &[Bytes], signature: &[u8]) -> bool {
    key.is_none() || bool::from(sign(key, parts).as_bytes().ct_eq(signature))
}
