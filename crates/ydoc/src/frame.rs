//! The frames of a room: lib0's variable-length numbers and the messages of y-protocols
//! (<https://github.com/yjs/y-protocols/blob/master/PROTOCOL.md>), with the raw messages of `jupyter-collaboration`.

/// One message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// Somebody's state vector, to be answered.
    Step1(&'a [u8]),
    /// The answer to ours.
    Step2(&'a [u8]),
    /// A change.
    Update(&'a [u8]),
    /// States of clients.
    Awareness(&'a [u8]),
    /// The request for all states of clients.
    AwarenessQuery,
    /// A message of the server, outside of the protocol.
    Raw(&'a str),
    /// Anything that a newer server may send.
    Unknown(u64),
}

const SYNC: u64 = 0;
const AWARENESS: u64 = 1;
/// y-protocols has `auth` here. <https://github.com/jupyterlab/jupyter-collaboration>, `MessageType.RAW`.
const RAW: u64 = 2;
const AWARENESS_QUERY: u64 = 3;

/// Reads bytes from the front.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8]);

impl<'a> Reader<'a> {
    /// A number of 64 bits at most.
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

    /// Bytes with their length before them.
    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = usize::try_from(self.number()?).ok()?;
        let (bytes, rest) = self.0.split_at_checked(length)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Text with its length before it.
    pub(crate) fn text(&mut self) -> Option<&'a str> {
        str::from_utf8(self.bytes()?).ok()
    }

    /// The next message. `None` if the bytes are none.
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
                // What else a server may add to it belongs to it.
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

/// The request to save, which the server answers under `id`.
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
    fn messages_are_read_as_they_were_written() {
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
    fn what_is_cut_short_is_no_message() {
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
        fn numbers_come_back(number: u64) {
            let mut out = Vec::new();
            write_number(number, &mut out);
            prop_assert_eq!(Reader(&out).number(), Some(number));
        }
    }
}
