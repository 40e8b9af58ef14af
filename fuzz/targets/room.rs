//! Feeds arbitrary frames to a room, as its server could send them.
#![no_main]

use std::panic;
use std::sync::Once;
use std::time::Instant;

use libfuzzer_sys::fuzz_target;
use ydoc::{LiveNotebook, Room};

static HOOK: Once = Once::new();

fuzz_target!(|data: &[u8]| {
    HOOK.call_once(pass_over_the_library);
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

/// libFuzzer's hook ends the process at a panic, also at one of the library, which the crate catches.
fn pass_over_the_library() {
    let hook = panic::take_hook();
    panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|at| at.file().contains("yrs")) {
            hook(panic);
        }
    }));
}
