//! The pauses and the time limit of restoring a connection. No I/O; time is passed in.

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The first pause between two attempts, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// Time limit for all attempts.
pub(super) const TIMEOUT: Duration = Duration::from_secs(120);
/// Time before a lost connection is reported.
const REPORT_AFTER: Duration = Duration::from_secs(10);
/// A socket that was open for so long worked, though the kernel had nothing to send. Faults before that say nothing of the next attempt.
const STABLE: Duration = Duration::from_secs(30);

/// The faults of all sockets to one kernel, whatever connection opened them: the next connection waits for the pause of the last.
#[derive(Debug, Clone, Default)]
pub struct Outage(Arc<Mutex<Faults>>);

#[derive(Debug, Default)]
struct Faults {
    /// The pause after the next fault.
    pause: Duration,
    /// The end of the pause after the last one.
    next_dial: Option<Instant>,
    /// The reason why the last socket closed, or did not open.
    cause: String,
    is_reported: bool,
}

impl Outage {
    /// The reason why no socket works, once one has not for a while.
    pub fn cause(&self) -> Option<String> {
        self.cause_until(Instant::now(), STABLE)
    }

    /// The same, up to this time after the last pause.
    fn cause_until(&self, now: Instant, rest: Duration) -> Option<String> {
        let faults = self.0.lock();
        let is_current = faults.is_reported && faults.next_dial.is_some_and(|next| now < next + rest);
        is_current.then(|| faults.cause.clone())
    }
}

/// The attempts of one connection. It is restored with the first message of the kernel, not with an open socket: a proxy may accept
/// sockets and close them.
///
/// | time | event | next |
/// |---|---|---|
/// | 0 s | the socket closes | dial at once |
/// | 0 s | the next one opens, and closes | dial after 0.1 s |
/// | 0.1 s | the same | dial after 0.2 s |
/// | 10 s | | report the cause |
/// | 120 s | a socket closes, or none opens | give up |
#[derive(Debug)]
pub(super) struct Reconnection {
    outage: Outage,
    opened: Option<Instant>,
    /// Start of the time without a working connection.
    lost: Option<Instant>,
    /// When to report the cause.
    pub(super) report_at: Option<Instant>,
    is_reported: bool,
}

impl Reconnection {
    /// Fails with the reported cause while the last connection's pause lasts.
    pub(super) fn start(outage: Outage, now: Instant) -> (Self, Result<(Duration, Instant), String>) {
        let refused = outage.cause_until(now, Duration::ZERO);
        {
            let mut faults = outage.0.lock();
            if faults.next_dial.is_some_and(|next| now >= next + STABLE) {
                *faults = Faults::default();
            }
            if refused.is_none() {
                faults.cause.clear();
            }
        }
        let mut this = Self { outage, opened: None, lost: None, report_at: None, is_reported: false };
        let next = this.renew(now);
        (this, refused.map_or(Ok(next), Err))
    }

    /// Returns the reason why the last connection ended.
    pub(super) fn opened(&mut self, now: Instant) -> String {
        let is_first = self.opened.replace(now).is_none();
        match self.cause() {
            cause if !cause.is_empty() => cause,
            _ if is_first => "the program that made it ended".to_owned(),
            _ => "Cellbridge renewed it".to_owned(),
        }
    }

    /// The kernel has sent a message. Returns whether a report must be withdrawn.
    pub(super) fn restored(&mut self) -> bool {
        (self.lost, self.report_at) = (None, None);
        let mut faults = self.outage.0.lock();
        faults.is_reported = false;
        faults.cause.clear();
        drop(faults);
        self.withdraw()
    }

    /// No further attempt is made. Returns whether a report must be withdrawn.
    pub(super) fn withdraw(&mut self) -> bool {
        std::mem::take(&mut self.is_reported)
    }

    /// Another socket must replace the one that is there, or comes. Returns the pause before the attempt, and the time at which it ends.
    pub(super) fn renew(&mut self, now: Instant) -> (Duration, Instant) {
        let lost = *self.lost.get_or_insert_with(|| {
            self.report_at = Some(now + REPORT_AFTER);
            now
        });
        let next_dial = self.outage.0.lock().next_dial;
        (next_dial.map(|next| next.saturating_duration_since(now)).unwrap_or_default(), lost + TIMEOUT)
    }

    /// A socket closed, or did not open.
    pub(super) fn lost(&mut self, cause: String, now: Instant) -> (Duration, Instant) {
        {
            let mut faults = self.outage.0.lock();
            if self.opened.take().is_some_and(|opened| now - opened >= STABLE) {
                (self.lost, faults.pause) = (None, Duration::ZERO);
            }
            faults.next_dial = Some(now + faults.pause);
            faults.pause = (faults.pause * 2).clamp(PAUSES.0, PAUSES.1);
            faults.cause = cause;
        }
        self.renew(now)
    }

    /// The reason of the last fault; empty if there was none.
    pub(super) fn cause(&self) -> String {
        self.outage.0.lock().cause.clone()
    }

    /// The cause, when `report_at` has come. None if no socket has failed, or one has been open for a while: its kernel is silent.
    pub(super) fn report(&mut self, now: Instant) -> Option<String> {
        let mut faults = self.outage.0.lock();
        let is_silent = faults.cause.is_empty() || self.opened.is_some_and(|opened| now - opened >= PAUSES.1);
        self.report_at = is_silent.then_some(now + REPORT_AFTER);
        self.is_reported |= !is_silent;
        faults.is_reported |= !is_silent;
        (!is_silent).then(|| faults.cause.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(count: u64) -> Duration {
        Duration::from_secs(count)
    }

    fn started(now: Instant) -> Reconnection {
        Reconnection::start(Outage::default(), now).0
    }

    /// Sockets that are open for this long, one after the other. Returns how many there are, and when the attempts end.
    fn attempts(is_answered: bool, open: Duration, most: usize) -> (usize, Duration) {
        let start = Instant::now();
        let mut reconnection = started(start);
        let mut now = start;
        for count in 0..most {
            reconnection.opened(now);
            if is_answered {
                reconnection.restored();
            }
            now += open;
            let (pause, end) = reconnection.lost("cut".to_owned(), now);
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
        let start = Instant::now();
        let mut reconnection = started(start);
        reconnection.restored();
        reconnection.lost("cut".to_owned(), start);
        assert_eq!(reconnection.report_at, Some(start + REPORT_AFTER));
        reconnection.lost("refused".to_owned(), start + seconds(9));
        assert_eq!(reconnection.report(start + REPORT_AFTER).as_deref(), Some("refused"));
        assert_eq!(reconnection.report_at, None);
        assert!(reconnection.restored() && !reconnection.restored());

        reconnection.lost("cut".to_owned(), start);
        reconnection.opened(start + seconds(1));
        assert_eq!(reconnection.report(start + REPORT_AFTER), None);
        assert!(!reconnection.restored() && reconnection.report_at.is_none());
    }

    #[test]
    fn a_first_answer_that_takes_long_is_no_outage() {
        let start = Instant::now();
        let mut reconnection = started(start);
        assert_eq!(reconnection.report_at, Some(start + REPORT_AFTER));
        assert_eq!(reconnection.report(start + REPORT_AFTER), None);
    }

    #[test]
    fn the_next_connection_waits_for_the_pause_of_the_last() {
        let (outage, mut now) = (Outage::default(), Instant::now());
        let mut first = Reconnection::start(outage.clone(), now).0;
        for _ in 0..8 {
            now += first.lost("closed".to_owned(), now).0;
        }
        let pause = first.lost("closed".to_owned(), now).0;
        assert_eq!(pause, PAUSES.1);
        assert_eq!(Reconnection::start(outage.clone(), now).1.unwrap().0, pause, "nothing is reported yet");
        first.lost("closed".to_owned(), now);
        first.report(now);
        assert_eq!(Reconnection::start(outage.clone(), now).1, Err("closed".to_owned()));
        let later = now + pause;
        assert_eq!(Reconnection::start(outage.clone(), later).1, Ok((Duration::ZERO, later + TIMEOUT)));
        assert_eq!(outage.cause_until(later + STABLE, STABLE), None);
    }
}
