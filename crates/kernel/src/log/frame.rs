//! Frames on a byte stream: the length in four bytes, big-endian, then as many bytes.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

use super::record::FormatError;

/// The longest frame or record. A message of the kernel is no longer than a Jupyter server takes.
pub(super) const MAX_FRAME_BYTES: usize = 1 << 30;

pub(super) const LENGTH_BYTES: usize = 4;

/// Appends a frame to `out`.
pub fn write_frame(out: &mut BytesMut, payload: &[u8]) {
    debug_assert!(payload.len() <= MAX_FRAME_BYTES);
    out.reserve(LENGTH_BYTES + payload.len());
    out.put_u32(u32::try_from(payload.len()).unwrap_or(u32::MAX));
    out.put_slice(payload);
}

/// Cuts what arrives into frames.
#[derive(Debug, Default)]
pub struct FrameReader {
    buffer: BytesMut,
}

impl FrameReader {
    /// Where to put what arrives, at the end.
    pub fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next whole frame, if it has arrived.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, FormatError> {
        let Some(length) = self.buffer.first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
        let length = u32::from_be_bytes(*length) as usize;
        if length > MAX_FRAME_BYTES {
            return Err(FormatError::TooLong { length });
        }
        let missing = (LENGTH_BYTES + length).saturating_sub(self.buffer.len());
        if missing > 0 {
            // One allocation for a large frame. A length alone must not cost a gigabyte, so it grows with what arrives.
            self.buffer.reserve(missing.min(self.buffer.len().max(64 * 1024)));
            return Ok(None);
        }
        self.buffer.advance(LENGTH_BYTES);
        Ok(Some(self.buffer.split_to(length).freeze()))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn frames_arrive_whole_however_the_stream_is_cut(
            payloads: Vec<Vec<u8>>, cuts in prop::collection::vec(1_usize..40, 1..20)
        ) {
            let mut stream = BytesMut::new();
            for payload in &payloads {
                write_frame(&mut stream, payload);
            }
            let (mut reader, mut arrived, mut cuts) = (FrameReader::default(), Vec::new(), cuts.iter().cycle());
            while !stream.is_empty() {
                let length = cuts.next().map_or(1, |cut| *cut).min(stream.len());
                reader.buffer().extend_from_slice(&stream.split_to(length));
                while let Some(frame) = reader.next_frame().unwrap() {
                    arrived.push(frame.to_vec());
                }
            }
            prop_assert_eq!(arrived, payloads);
        }
    }

    #[test]
    fn a_length_beyond_the_limit_is_refused_at_once() {
        let mut reader = FrameReader::default();
        reader.buffer().extend_from_slice(b"GET / HTTP/1.1");
        assert!(matches!(reader.next_frame(), Err(FormatError::TooLong { .. })));
    }

    #[test]
    fn a_length_alone_reserves_little() {
        let mut reader = FrameReader::default();
        reader.buffer().extend_from_slice(&(1_u32 << 30).to_be_bytes());
        assert_eq!(reader.next_frame(), Ok(None));
        assert!(reader.buffer().capacity() < 1 << 20);
    }
}
