//! Remembers the outputs that an agent was shown, so that equal ones are named instead of sent again.

use std::collections::HashMap;

use parking_lot::Mutex;

/// Beyond so many outputs, all are forgotten.
const MAX_OUTPUTS: usize = 4096;

/// Outputs shown to one agent: the digest of each output, and its place.
#[derive(Debug, Default)]
pub struct ShownOutputs(Mutex<HashMap<u64, Vec<String>>>);

impl ShownOutputs {
    /// Where an output was shown first; `None` if it is new, or was shown or named at this place: whoever asks again wants to see it.
    pub(crate) fn elsewhere(&self, digest: Digest, place: &str) -> Option<String> {
        let mut outputs = self.0.lock();
        let places = outputs.get_mut(&digest.0)?;
        if places.iter().any(|shown| shown == place) {
            return None;
        }
        places.push(place.to_owned());
        places.first().cloned()
    }

    pub(crate) fn remember(&self, digest: Digest, place: &str) {
        let mut outputs = self.0.lock();
        if outputs.len() >= MAX_OUTPUTS {
            outputs.clear();
        }
        let places = outputs.entry(digest.0).or_default();
        if !places.iter().any(|shown| shown == place) {
            places.push(place.to_owned());
        }
    }

    /// Whether this text is given for the first time, such as advice.
    pub fn is_first(&self, text: &str) -> bool {
        let mut digest = Digest::default();
        digest.add(text.as_bytes());
        self.0.lock().insert(digest.0, Vec::new()).is_none()
    }
}

/// The FNV-1a hash of a content, whichever pieces it comes in: for versions of one content, and not against an attacker.
#[derive(Debug, Clone, Copy)]
pub struct Digest(pub u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
}
