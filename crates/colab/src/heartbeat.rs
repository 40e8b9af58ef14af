//! Detects a connection that died without a close: a laptop that went to sleep.

use std::time::Duration;

use tokio::time::Instant;

/// How often a page is pinged.
const PING_INTERVAL: Duration = Duration::from_secs(20);
/// How long the page may take to send anything after a ping. Together, both stay below 45 seconds.
const PONG_TIMEOUT: Duration = Duration::from_secs(20);

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Do nothing before this time.
    Wait(Instant),
    /// Send a WebSocket ping.
    Ping,
    /// Nothing was received since the ping: the connection is dead.
    Dead,
}

/// Decides when to ping and when the connection is dead. The caller passes the time in.
pub(crate) struct Heartbeat {
    next_ping: Instant,
    /// How many bytes had been received when the last ping was sent, and the deadline for more.
    unanswered: Option<(u64, Instant)>,
}

impl Heartbeat {
    pub(crate) fn new(now: Instant) -> Self {
        Self { next_ping: now + PING_INTERVAL, unanswered: None }
    }

    /// `received` counts all bytes ever received: part of a huge frame on a slow line counts as an answer, too.
    ///
    /// Example: the connection opens at 0 s with 7 bytes received, then dies. At 20 s a ping is sent. At 40 s the
    /// count is still 7, so the connection is dead. If the count were 8, another ping would be sent at 40 s.
    pub(crate) fn poll(&mut self, now: Instant, received: u64) -> Beat {
        if let Some((before, deadline)) = self.unanswered {
            if received == before {
                return if now >= deadline { Beat::Dead } else { Beat::Wait(deadline) };
            }
            self.unanswered = None;
        }
        if now < self.next_ping {
            return Beat::Wait(self.next_ping);
        }
        self.next_ping = now + PING_INTERVAL;
        self.unanswered = Some((received, now + PONG_TIMEOUT));
        Beat::Ping
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    #[test]
    fn a_responsive_page_is_pinged_every_20_seconds() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start);
        for round in 1..10 {
            let now = start + seconds(20 * round);
            assert_eq!(heartbeat.poll(now, round), Beat::Ping);
            assert_eq!(heartbeat.poll(now, round), Beat::Wait(now + seconds(20)));
        }
    }

    #[test]
    fn a_silent_page_is_dead_within_45_seconds() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start);
        assert_eq!(heartbeat.poll(start, 7), Beat::Wait(start + seconds(20)));
        assert_eq!(heartbeat.poll(start + seconds(20), 7), Beat::Ping);
        assert_eq!(heartbeat.poll(start + seconds(39), 7), Beat::Wait(start + seconds(40)));
        assert_eq!(heartbeat.poll(start + seconds(40), 7), Beat::Dead);
    }

    #[test]
    fn a_slowly_arriving_frame_keeps_the_page_alive() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start);
        assert_eq!(heartbeat.poll(start + seconds(20), 7), Beat::Ping);
        assert_eq!(heartbeat.poll(start + seconds(40), 8), Beat::Ping);
        assert_eq!(heartbeat.poll(start + seconds(60), 8), Beat::Dead);
    }
}
