//! Reads arbitrary bytes as messages of a kernel: their parts over `ZeroMQ`, and frames of a server's WebSocket.
#![no_main]

use bytes::Bytes;
use kernel::Message;
use kernel::messages::Channel;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let data = Bytes::copy_from_slice(data);
    let parts = data.split(|byte| *byte == 0).map(|part| data.slice_ref(part)).collect();
    if let Some(message) = Message::of_parts(Channel::Iopub, parts) {
        look_at(&message);
    }
    for message in transports::frame_messages(&data) {
        look_at(&message);
    }
});

fn look_at(message: &Message) {
    let _ = (message.date(), message.process(), message.announced_end(), message.status());
    let parts = message.to_parts();
    assert!(Message::of_parts(message.channel, parts).is_some());
}
