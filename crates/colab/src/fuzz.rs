//! The entry point of the fuzz target.

use tokio::time::Instant;

use crate::json_rpc;
use crate::page_session::{Event, PageSession};

/// Parses bytes as one frame from a page, alone and in a new session.
pub fn envelope(data: &[u8]) {
    let now = Instant::now();
    let (mut session, _) = PageSession::open(now);
    let events = session.receive(data, now);
    if let Err(reason) = json_rpc::parse(data) {
        assert!(matches!(events[..], [Event::Dropped(dropped)] if dropped == reason));
    }
}
