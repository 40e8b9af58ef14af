//! Detects a connection that died without a close: a laptop that went to sleep, a router that forgot it.

use std::time::Instant;

use crate::NetworkTimeout;

/// What is due.
#[derive(Debug, PartialEq, Eq)]
pub enum Beat {
    /// Send a WebSocket ping.
    Ping,
    /// Nothing was received for the network timeout, although pings were sent: the connection is dead.
    Dead,
}

/// Decides when to ping and when a connection is dead.
///
/// Example, with the default timeout: the connection opens at 0 s and dies. Pings are sent at 10 and 20 s; at 30 s it is dead.
/// If something is received at 25 s instead, the next ping is sent at 35 s. If this program is suspended from 5 to 100 s, a
/// ping is sent at 100 s, and the connection is dead at 120 s.
#[derive(Debug)]
pub struct Liveness {
    timeout: NetworkTimeout,
    next_ping: Instant,
    /// When the connection is dead unless something is received; from the first unanswered ping on.
    dead_at: Option<Instant>,
}

impl Liveness {
    pub fn new(timeout: NetworkTimeout, now: Instant) -> Self {
        Self { timeout, next_ping: now + timeout.ping_interval(), dead_at: None }
    }

    /// Something was received.
    pub fn received(&mut self, now: Instant) {
        *self = Self::new(self.timeout, now);
    }

    /// When [`Liveness::poll`] is due.
    pub fn deadline(&self) -> Instant {
        self.dead_at.map_or(self.next_ping, |dead_at| dead_at.min(self.next_ping))
    }

    /// What is due now, if anything. Read what has arrived before.
    pub fn poll(&mut self, now: Instant) -> Option<Beat> {
        if self.dead_at.is_some_and(|dead_at| now >= dead_at) {
            return Some(Beat::Dead);
        }
        if now < self.next_ping {
            return None;
        }
        let interval = self.timeout.ping_interval();
        self.next_ping = now + interval;
        // The last was received an interval ago, which is a third of the timeout.
        self.dead_at.get_or_insert(now + 2 * interval);
        Some(Beat::Ping)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// The times at which a connection is pinged, and at which it is dead.
    fn beats(liveness: &mut Liveness, start: Instant, from: u64) -> (Vec<u64>, u64) {
        let (mut pings, mut now) = (Vec::new(), start + seconds(from));
        loop {
            match liveness.poll(now) {
                None => now = liveness.deadline(),
                Some(Beat::Ping) => pings.push((now - start).as_secs()),
                Some(Beat::Dead) => return (pings, (now - start).as_secs()),
            }
        }
    }

    #[test]
    fn a_silent_connection_is_pinged_and_then_dead() {
        let start = Instant::now();
        let mut liveness = Liveness::new(NetworkTimeout::default(), start);
        assert_eq!(beats(&mut liveness, start, 0), (vec![10, 20], 30));
    }

    #[test]
    fn a_shorter_timeout_shortens_both() {
        let start = Instant::now();
        let mut liveness = Liveness::new(NetworkTimeout::from_seconds(3.0).unwrap(), start);
        assert_eq!(beats(&mut liveness, start, 0), (vec![1, 2], 3));
    }

    #[test]
    fn whatever_is_received_keeps_the_connection_alive() {
        let start = Instant::now();
        let mut liveness = Liveness::new(NetworkTimeout::default(), start);
        for now in (0..600).step_by(25).map(|now| start + seconds(now)) {
            assert_ne!(liveness.poll(now), Some(Beat::Dead));
            liveness.received(now);
            assert_eq!(liveness.poll(now), None);
            assert_eq!(liveness.deadline(), now + seconds(10));
        }
        assert_eq!(beats(&mut liveness, start, 575), (vec![585, 595], 605));
    }

    #[test]
    fn after_a_suspension_a_ping_decides() {
        let start = Instant::now();
        let mut liveness = Liveness::new(NetworkTimeout::default(), start);
        assert_eq!(beats(&mut liveness, start, 100), (vec![100, 110], 120));
    }
}
