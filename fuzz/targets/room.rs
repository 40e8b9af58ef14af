//! Feeds arbitrary frames to a room, as its server could send them.
#![no_main]

use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use ydoc::{LiveNotebook, Room};

fuzz_target!(|data: &[u8]| {
    let mut live = LiveNotebook::new();
    let (mut room, _) = Room::open(&live);
    let now = Instant::now();
    // The first byte of each part is its length.
    let mut rest = data;
    while let Some((length, after)) = rest.split_first() {
        let (frame, later) = after.split_at(after.len().min(usize::from(*length)));
        let _ = room.receive(frame, now, &mut live);
        let _ = live.snapshot();
        rest = later;
    }
    let _ = (room.selected(&live), room.leave_all());
});
