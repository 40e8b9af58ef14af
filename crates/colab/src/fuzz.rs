//! The entry point of the fuzz target.

use tokio::time::Instant;

use crate::json_rpc;
use crate::page_session::PageSession;

/// Parses bytes as one frame from a page, alone and in a new session.
pub fn envelope(data: &[u8]) {
    let now = Instant::now();
    let (mut session, _) = PageSession::open(now);
    let events = session.receive(data, now);
    assert_eq!(json_rpc::parse(data).is_err(), is_dropped_as_nonsense(&events, data));
}

fn is_dropped_as_nonsense(events: &[crate::page_session::Event], data: &[u8]) -> bool {
    use crate::page_session::Event;
    let reason = json_rpc::parse(data).err();
    matches!(events, [Event::Dropped(seen)] if Some(*seen) == reason)
}
