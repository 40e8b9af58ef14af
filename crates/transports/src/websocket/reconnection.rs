//! The pauses and the time limit of restoring a connection. No I/O; time is passed in.

use std::time::Duration;

use tokio::time::Instant;

/// The first pause between two attempts, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Time limit for all attempts.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);
/// Time before a lost connection is reported.
const REPORT_AFTER: Duration = Duration::from_secs(10);
/// A socket that was open for so long worked, though the kernel had nothing to send.
const STABLE: Duration = Duration::from_secs(30);

/// The attempts to restore a connection. One is restored with the first message of the kernel, not with an open socket: a proxy may accept
/// sockets and close them.
///
/// | time | event | next |
/// |---|---|---|
/// | 0 s | the socket closes | dial at once |
/// | 0 s | the next one opens, and closes | dial after 0.1 s |
/// | 0.1 s | the same | dial after 0.2 s |
/// | 10 s | | report the cause |
/// | 120 s | a socket closes, or none opens | give up |
#[derive(Debug, Default)]
pub(super) struct Reconnection {
    opened: Option<Instant>,
    /// Start of the time without a working connection.
    lost: Option<Instant>,
    pause: Duration,
    /// The reason why the last socket closed, or did not open.
    pub(super) cause: String,
    /// When to report it.
    pub(super) report_at: Option<Instant>,
    is_reported: bool,
}

impl Reconnection {
    pub(super) fn opened(&mut self, now: Instant) {
        self.opened = Some(now);
    }

    /// The kernel has sent a message. Returns whether a report must be withdrawn.
    pub(super) fn restored(&mut self) -> bool {
        (self.lost, self.report_at) = (None, None);
        std::mem::take(&mut self.is_reported)
    }

    /// There is no socket. Returns the pause before the next attempt, and the time at which that ends.
    pub(super) fn lost(&mut self, cause: String, now: Instant) -> (Duration, Instant) {
        if self.opened.take().is_some_and(|opened| now - opened >= STABLE) {
            (self.lost, self.pause) = (None, Duration::ZERO);
        }
        let lost = *self.lost.get_or_insert_with(|| {
            self.report_at = Some(now + REPORT_AFTER);
            now
        });
        self.cause = cause;
        let pause = self.pause;
        self.pause = (pause * 2).clamp(PAUSES.0, PAUSES.1);
        (pause, lost + TIMEOUT)
    }

    /// The cause, when `report_at` has come. None if a socket has been open for a while: its kernel is silent.
    pub(super) fn report(&mut self, now: Instant) -> Option<&str> {
        let is_silent = self.opened.is_some_and(|opened| now - opened >= PAUSES.1);
        self.report_at = is_silent.then_some(now + REPORT_AFTER);
        self.is_reported |= !is_silent;
        (!is_silent).then_some(&*self.cause)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    /// Sockets that are open for this long, one after the other. Returns how many there are, and when the attempts end.
    fn attempts(is_answered: bool, open: Duration, most: usize) -> (usize, Duration) {
        let (start, mut reconnection) = (Instant::now(), Reconnection::default());
        let mut now = start;
        for count in 0..most {
            reconnection.opened(now);
            if is_answered {
                reconnection.restored();
            }
            now += open;
            let (pause, end) = reconnection.lost(String::new(), now);
            now += pause;
            if now >= end {
                return (count, end - start);
            }
        }
        (most, now - start)
    }

    #[test]
    fn sockets_that_close_at_once_are_dialled_with_growing_pauses_until_the_end() {
        assert_eq!(attempts(false, Duration::ZERO, 1000), (29, TIMEOUT));
        // A socket that a proxy holds for a second is no better.
        assert!(attempts(false, seconds(1), 1000).0 < 29);
    }

    #[test]
    fn a_message_extends_the_time_but_shortens_no_pause() {
        let (count, time) = attempts(true, Duration::ZERO, 100);
        assert_eq!(count, 100);
        assert!(time > seconds(400), "{time:?}");
    }

    #[test]
    fn a_socket_that_was_open_for_long_is_dialled_again_at_once() {
        assert_eq!(attempts(false, STABLE, 1000), (1000, 1000 * STABLE));
    }

    #[test]
    fn a_loss_is_reported_unless_a_socket_is_open() {
        let (start, mut reconnection) = (Instant::now(), Reconnection::default());
        reconnection.lost("cut".to_owned(), start);
        assert_eq!(reconnection.report_at, Some(start + REPORT_AFTER));
        reconnection.lost("refused".to_owned(), start + seconds(9));
        assert_eq!(reconnection.report(start + REPORT_AFTER), Some("refused"));
        assert_eq!(reconnection.report_at, None);
        assert!(reconnection.restored() && !reconnection.restored());

        reconnection.lost("cut".to_owned(), start);
        reconnection.opened(start + seconds(1));
        assert_eq!(reconnection.report(start + REPORT_AFTER), None);
        assert!(!reconnection.restored() && reconnection.report_at.is_none());
    }
}
