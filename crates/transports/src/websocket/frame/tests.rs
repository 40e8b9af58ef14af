//! Frames of both formats, valid and malformed.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const CHANNELS: [Channel; 4] = [Channel::Shell, Channel::Control, Channel::Stdin, Channel::Iopub];

fn parts(content: &Value) -> [Bytes; 4] {
    let header = json!({ "msg_id": "s_1_2", "msg_type": "stream", "session": "s" });
    let metadata = json!({ "colab_msg_id": 1 });
    [header, json!({ "msg_id": "of ours" }), metadata, content.clone()].map(|part| part.to_string().into())
}

fn payload(frame: tungstenite::Message) -> (Bytes, bool) {
    let is_text = frame.is_text();
    (frame.into_data(), is_text)
}

/// As Jupyter Server writes it: `struct.pack("!I…")` of the number of buffers and their offsets, then they.
fn with_buffers(buffers: &[&[u8]]) -> Bytes {
    let mut offset = 4 * (buffers.len() + 1);
    let mut frame = BytesMut::new();
    frame.put_u32(u32::try_from(buffers.len()).unwrap());
    for buffer in buffers {
        frame.put_u32(u32::try_from(offset).unwrap());
        offset += buffer.len();
    }
    for buffer in buffers {
        frame.put_slice(buffer);
    }
    frame.freeze()
}

#[test]
fn what_is_written_is_read() {
    for dialect in [Dialect::V1, Dialect::Legacy] {
        for channel in CHANNELS {
            let content = json!({ "name": "stdout", "text": "é\u{0}\"" });
            let (frame, is_text) = payload(dialect.write(channel, &parts(&content)));
            assert_eq!(is_text, dialect == Dialect::Legacy);
            let message = dialect.read(frame, is_text).unwrap();
            assert_eq!((message.channel, message.header.kind.as_str()), (channel, "stream"));
            assert_eq!((message.parent.id.as_str(), message.content.to_value()), ("of ours", content));
            assert_eq!(message.metadata, r#"{"colab_msg_id":1}"#);
        }
    }
}

#[test]
fn a_frame_of_v1_has_the_layout_of_the_specification() {
    let parts = ["{\"a\":1}", "{}", "[]", "7"].map(|part| Bytes::from_static(part.as_bytes()));
    let (frame, _) = payload(Dialect::V1.write(Channel::Shell, &parts));
    let offsets: Vec<u64> =
        frame[..56].chunks(8).map(|number| u64::from_le_bytes(number.try_into().unwrap())).collect();
    assert_eq!(offsets, [6, 56, 61, 68, 70, 72, 73]);
    assert_eq!(&frame[56..], b"shell{\"a\":1}{}[]7");
}

#[test]
fn buffers_behind_a_message_are_read() {
    let whole = json!({
        "header": { "msg_id": "1", "msg_type": "comm_msg" }, "parent_header": {}, "metadata": {},
        "content": { "data": 1.50 }, "channel": "iopub",
    });
    let frame = with_buffers(&[whole.to_string().as_bytes(), b"\0\xff", b""]);
    let message = Dialect::Legacy.read(frame, false).unwrap();
    assert_eq!((message.header.kind.as_str(), message.content.as_str()), ("comm_msg", r#"{"data":1.5}"#));
    assert!(message.parent.id.is_empty());
    assert_eq!(message.metadata, "{}");
    assert_eq!(message.buffers, [&b"\0\xff"[..], b""]);
    let alone = with_buffers(&[whole.to_string().as_bytes()]);
    assert!(Dialect::Legacy.read(alone, false).unwrap().buffers.is_empty());
}

#[test]
fn a_frame_of_v1_may_have_buffers() {
    let (frame, _) = payload(Dialect::V1.write(Channel::Iopub, &parts(&json!({}))));
    assert!(Dialect::V1.read(frame.clone(), false).unwrap().buffers.is_empty());
    // Two more offsets, and the two buffers at the end.
    let mut offsets: Vec<u64> =
        frame[..56].chunks(8).map(|number| u64::from_le_bytes(number.try_into().unwrap()) + 16).collect();
    let end = offsets[6];
    offsets[0] = 8;
    offsets.extend([end + 3, end + 3]);
    let table: Vec<u8> = offsets.into_iter().flat_map(u64::to_le_bytes).collect();
    let frame = [&table, &frame[56..], &[0, 255, 7]].concat();
    let message = Dialect::V1.read(frame.into(), false).unwrap();
    assert_eq!(message.buffers, [&[0, 255, 7][..], &[]]);
}

#[test]
fn numbers_keep_their_digits() {
    let text = r#"{"channel":"iopub","header":{"msg_type":"display_data"},"content":{"data":{"a":1.0000000000000000001e2}}}"#;
    for dialect in [Dialect::V1, Dialect::Legacy] {
        let message = dialect.read(Bytes::from_static(text.as_bytes()), true).unwrap();
        assert_eq!(message.content.as_str(), r#"{"data":{"a":1.0000000000000000001e2}}"#);
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let huge = [u64::MAX.to_le_bytes(), 8_u64.to_le_bytes()].concat();
    let (good, _) = payload(Dialect::V1.write(Channel::Shell, &parts(&json!({}))));
    let mut backwards = good.to_vec();
    backwards[24..32].copy_from_slice(&3_u64.to_le_bytes());
    let mut beyond = good.to_vec();
    beyond[48..56].copy_from_slice(&u64::MAX.to_le_bytes());
    let no_channel = String::from_utf8_lossy(&good).replace("shell", "shelf").into_bytes();
    for frame in [vec![], huge, backwards, beyond, vec![0; 64], no_channel] {
        assert!(Dialect::V1.read(frame.into(), false).is_err());
    }
    let nothing: &[u8] = &[0, 0, 0, 0];
    let far: &[u8] = &[0, 0, 0, 2, 0, 0, 0, 12, 255, 255, 255, 255];
    for frame in [&b""[..], nothing, far, b"\0\0\0\x01\0\0\0\x08{}"] {
        assert!(Dialect::Legacy.read(Bytes::copy_from_slice(frame), false).is_err());
    }
    for text in ["", "[]", "{}", r#"{"header": {}, "channel": "shell"}"#, r#"{"header": {"msg_type": "x"}}"#]
    {
        assert!(Dialect::Legacy.read(Bytes::copy_from_slice(text.as_bytes()), true).is_err(), "{text}");
    }
}

proptest! {
    #[test]
    fn no_frame_does_harm(bytes in proptest::collection::vec(any::<u8>(), 0..200), is_text: bool) {
        for dialect in [Dialect::V1, Dialect::Legacy] {
            let _ = dialect.read(bytes.clone().into(), is_text);
        }
    }

    /// Offsets that are small reach further into the reader than random ones.
    #[test]
    fn no_table_does_harm(numbers in proptest::collection::vec(0..100_u64, 0..9), tail in ".{0,60}") {
        let wide: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
        let narrow: Vec<u8> =
            numbers.iter().flat_map(|&number| u32::try_from(number).unwrap().to_be_bytes()).collect();
        let _ = Dialect::V1.read([&wide[..], tail.as_bytes()].concat().into(), false);
        let _ = Dialect::Legacy.read([&narrow[..], tail.as_bytes()].concat().into(), false);
    }

    #[test]
    fn no_part_of_a_frame_is_taken_for_the_whole(cut in 0..100_usize) {
        for dialect in [Dialect::V1, Dialect::Legacy] {
            let (frame, is_text) = payload(dialect.write(Channel::Iopub, &parts(&json!({ "text": "abc" }))));
            let end = frame.len().saturating_sub(cut + 1);
            prop_assert!(dialect.read(frame.slice(..end), is_text).is_err());
        }
    }
}
