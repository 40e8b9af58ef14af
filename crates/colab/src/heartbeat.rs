//! Notices a socket whose other end is gone without a word: a laptop that went to sleep.

use std::time::Duration;

use tokio::time::Instant;

/// How often a quiet page is asked for a sign of life.
const INTERVAL: Duration = Duration::from_secs(20);
/// How long it may take to give one. Together they stay below 45 seconds.
const PATIENCE: Duration = Duration::from_secs(20);

/// What is due.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Beat {
    /// Nothing before this time.
    Wait(Instant),
    /// Send a WebSocket ping.
    Ping,
    /// Nothing came back: the page is gone.
    Dead,
}

/// Decides when to ping and when to give up; told the time, never asking for it.
pub(crate) struct Heartbeat {
    next_ping: Instant,
    /// The bytes received when the unanswered ping went out, and when to stop waiting.
    unanswered: Option<(u64, Instant)>,
}

impl Heartbeat {
    pub(crate) fn new(now: Instant) -> Self {
        Self { next_ping: now + INTERVAL, unanswered: None }
    }

    /// `received` counts every byte that ever came: a huge frame on a slow line is a sign of life too.
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
        self.next_ping = now + INTERVAL;
        self.unanswered = Some((received, now + PATIENCE));
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
    fn a_page_that_answers_is_pinged_every_20_seconds() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start);
        for round in 1..10 {
            let now = start + seconds(20 * round);
            assert_eq!(heartbeat.poll(now, round), Beat::Ping);
            assert_eq!(heartbeat.poll(now, round), Beat::Wait(now + seconds(20)));
        }
    }

    #[test]
    fn a_silent_page_is_given_up_within_45_seconds() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start);
        assert_eq!(heartbeat.poll(start, 7), Beat::Wait(start + seconds(20)));
        assert_eq!(heartbeat.poll(start + seconds(20), 7), Beat::Ping);
        assert_eq!(heartbeat.poll(start + seconds(39), 7), Beat::Wait(start + seconds(40)));
        assert_eq!(heartbeat.poll(start + seconds(40), 7), Beat::Dead);
    }

    #[test]
    fn a_frame_that_trickles_in_keeps_the_page_alive() {
        let start = Instant::now();
        let mut heartbeat = Heartbeat::new(start);
        assert_eq!(heartbeat.poll(start + seconds(20), 7), Beat::Ping);
        assert_eq!(heartbeat.poll(start + seconds(40), 8), Beat::Ping);
        assert_eq!(heartbeat.poll(start + seconds(60), 8), Beat::Dead);
    }
}
