//! Reads arbitrary bytes as frames between a server and a keeper, and writes what was read.
#![no_main]

use keeper::{ClientFrame, KeeperFrame};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    if let Ok(frame) = ClientFrame::read(data.to_vec().into()) {
        let _ = frame.write();
    }
    if let Ok(frame) = KeeperFrame::read(data.to_vec().into()) {
        let _ = frame.write();
    }
});
