//! The entry points of the fuzz targets.

use connection::Secret;
use tokio::time::Instant;

use crate::handshake::{Handshake, Step};
use crate::json_rpc;
use crate::page_session::PageSession;

/// Feeds bytes to a handshake, in pieces whose lengths are given by the first four bytes.
pub fn handshake(data: &[u8]) {
    let Some(token) = Secret::new("AAAAAAAAAAAAAAAAAAAAAA") else { return };
    let mut handshake = Handshake::default();
    let (lengths, mut rest) = data.split_at(data.len().min(4));
    for length in lengths {
        let (piece, later) = rest.split_at(rest.len().min(usize::from(*length)));
        rest = later;
        match handshake.feed(piece, &[&token]) {
            Step::More => {}
            Step::Refuse { refusal, .. } => {
                let response = refusal.response();
                assert!(response.starts_with("HTTP/1.1 4"), "{response}");
                return;
            }
            Step::Accept { .. } | Step::Drop => return,
        }
    }
    let _ = handshake.feed(rest, &[&token]);
}

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
