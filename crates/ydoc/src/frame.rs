//! The frames of a room: the variable-length numbers of lib0 and the messages of y-protocols
//! (<https://github.com/yjs/y-protocols/blob/master/PROTOCOL.md>), with the raw messages of `jupyter-collaboration`.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// A state vector, to be answered with step 2.
    Step1(&'a [u8]),
    /// The changes that we requested in step 1.
    Step2(&'a [u8]),
    Update(&'a [u8]),
    Awareness(&'a [u8]),
    /// A request for all awareness states.
    AwarenessQuery,
    /// A message of the server that is not part of the protocol.
    Raw(&'a str),
    /// A message type that a newer server can send.
    Unknown(u64),
}

const SYNC: u64 = 0;
const AWARENESS: u64 = 1;
/// y-protocols defines this type as `auth`; see <https://github.com/jupyterlab/jupyter-collaboration>, `MessageType.RAW`.
const RAW: u64 = 2;
const AWARENESS_QUERY: u64 = 3;

/// Reads values from the front of a frame.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// A number of at most 64 bits: seven bits per byte, the lowest first; the high bit says that another byte follows.
    ///
    /// Example: 300 is `1_0010_1100` in binary, so its bytes are `1010_1100` (0xAC) and `0000_0010` (0x02).
    pub(crate) fn number(&mut self) -> Option<u64> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let (byte, rest) = self.0.split_first()?;
            self.0 = rest;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                return None;
            }
            number |= bits << shift;
            if byte & 0x80 == 0 {
                return Some(number);
            }
        }
        None
    }

    /// Bytes, preceded by their length.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Text, preceded by its length.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }

    /// The next message; `None` if the bytes are malformed.
    pub(crate) fn message(&mut self) -> Option<Message<'a>> {
        Some(match self.number()? {
            SYNC => match (self.number()?, self.bytes()?) {
                (0, bytes) => Message::Step1(bytes),
                (1, bytes) => Message::Step2(bytes),
                (2, bytes) => Message::Update(bytes),
                _ => return None,
            },
            AWARENESS => Message::Awareness(self.bytes()?),
            AWARENESS_QUERY => Message::AwarenessQuery,
            RAW => {
                let text = self.text()?;
                // Whatever follows in the frame belongs to this message.
                self.0 = &[];
                Message::Raw(text)
            }
            other => {
                self.0 = &[];
                Message::Unknown(other)
            }
        })
    }
}

pub(crate) fn write_number(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

pub(crate) fn write_bytes(bytes: &[u8], out: &mut Vec<u8>) {
    write_number(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(crate) fn step1(state_vector: &[u8]) -> Vec<u8> {
    sync(0, state_vector)
}

pub(crate) fn step2(update: &[u8]) -> Vec<u8> {
    sync(1, update)
}

pub(crate) fn update(update: &[u8]) -> Vec<u8> {
    sync(2, update)
}

fn sync(step: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 8);
    out.extend_from_slice(&[0, step]);
    write_bytes(bytes, &mut out);
    out
}

pub(crate) fn awareness(states: &[u8]) -> Vec<u8> {
    let mut out = vec![1];
    write_bytes(states, &mut out);
    out
}

/// A request to save, which the server answers with this `id`.
pub(crate) fn save(id: u64) -> Vec<u8> {
    let mut out = vec![2];
    write_bytes(b"save", &mut out);
    write_number(id, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn messages_are_read_and_written() {
        let read = |frame: &'static [u8]| Reader(frame).message();
        assert_eq!(read(b"\x00\x00\x01\x00"), Some(Message::Step1(b"\x00")));
        assert_eq!(read(b"\x00\x01\x02ab"), Some(Message::Step2(b"ab")));
        assert_eq!(read(b"\x00\x02\x02ab"), Some(Message::Update(b"ab")));
        assert_eq!(read(b"\x01\x01\x00"), Some(Message::Awareness(b"\x00")));
        assert_eq!(read(b"\x02\x04save\x07"), Some(Message::Raw("save")));
        assert_eq!(read(b"\x03"), Some(Message::AwarenessQuery));
        assert_eq!(read(b"\x07abc"), Some(Message::Unknown(7)));
        assert_eq!(update(b"ab"), b"\x00\x02\x02ab");
        assert_eq!(save(300), b"\x02\x04save\xac\x02");
    }

    #[test]
    fn truncated_frames_are_refused() {
        for frame in [
            &b""[..],
            b"\x00",
            b"\x00\x00",
            b"\x00\x00\x05a",
            b"\x00\x09\x00",
            b"\x01\xff\xff",
            b"\x02\x02\xff\xfe",
        ] {
            assert_eq!(Reader(frame).message(), None, "{frame:?}");
        }
        assert_eq!(Reader(&[0xff; 11]).number(), None);
    }

    proptest! {
        #[test]
        fn numbers_survive_a_round_trip(number: u64) {
            let mut out = Vec::new();
            write_number(number, &mut out);
            prop_assert_eq!(Reader(&out).number(), Some(number));
        }
    }
}
