//! When a keeper ends its kernel by itself.
//!
//! | kernel | a server is attached | ends |
//! |---|---|---|
//! | busy | yes | never |
//! | busy | no | 24 h after the last server left |
//! | idle | no | after the idle time, counted from the last request or the end of the last run |
//! | idle | yes | after 4 h, counted in the same way: clients forget servers without ending them |

use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

const HOUR: Duration = Duration::from_secs(3600);

/// How long kernels are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lifetimes {
    /// Idle, with no server attached.
    pub idle: Duration,
    /// Idle, while servers are attached.
    pub unused: Duration,
    /// Busy, with no server attached.
    pub unattended: Duration,
}

impl Lifetimes {
    /// Those of kernels that are kept for `idle` when nobody uses them.
    pub fn of_idle(idle: Duration) -> Self {
        Self { idle, unused: idle.max(4 * HOUR), unattended: idle.max(24 * HOUR) }
    }
}

/// The reason for which a keeper ends its kernel, for people.
const IDLE: &str = "it was idle, and no server was attached";
const UNUSED: &str = "it was not used";
const UNATTENDED: &str = "it was busy for too long without any server";

/// What the lifetime of one kernel depends on.
#[derive(Debug)]
pub(crate) struct Lifetime {
    limits: Lifetimes,
    /// The last request, or the end of the last run.
    last_active: Instant,
    last_attached: Instant,
    attached: usize,
    is_busy: bool,
}

impl Lifetime {
    /// That of a kernel that is starting, which counts as busy.
    pub(crate) fn new(limits: Lifetimes, now: Instant) -> Self {
        Self { limits, last_active: now, last_attached: now, attached: 0, is_busy: true }
    }

    /// A client has asked for something.
    pub(crate) fn requested(&mut self, now: Instant) {
        self.last_active = now;
    }

    /// How many servers are attached now.
    pub(crate) fn set_attached(&mut self, attached: usize, now: Instant) {
        self.attached = attached;
        self.last_attached = now;
    }

    pub(crate) fn set_busy(&mut self, is_busy: bool, now: Instant) {
        if self.is_busy && !is_busy {
            self.last_active = now;
        }
        self.is_busy = is_busy;
    }

    /// When the kernel ends unless something happens before, and why.
    pub(crate) fn expiry(&self) -> Option<(Instant, &'static str)> {
        match (self.is_busy, self.attached > 0) {
            (true, true) => None,
            (true, false) => Some((self.last_attached + self.limits.unattended, UNATTENDED)),
            (false, false) => Some((self.last_active + self.limits.idle, IDLE)),
            (false, true) => Some((self.last_active + self.limits.unused, UNUSED)),
        }
    }

    /// Why it is over at `now`, if it is.
    pub(crate) fn expired(&self, now: Instant) -> Option<&'static str> {
        self.expiry().filter(|(at, _)| *at <= now).map(|(_, why)| why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINUTE: Duration = Duration::from_secs(60);

    /// Of a kernel that has just started.
    fn lifetime() -> (Lifetime, Instant) {
        let now = Instant::now();
        let mut lifetime = Lifetime::new(Lifetimes::of_idle(30 * MINUTE), now);
        lifetime.set_busy(false, now);
        (lifetime, now)
    }

    #[test]
    fn the_time_that_a_kernel_takes_to_start_does_not_count() {
        let start = Instant::now();
        let mut lifetime = Lifetime::new(Lifetimes::of_idle(MINUTE), start);
        lifetime.set_busy(false, start + 5 * MINUTE);
        assert_eq!(lifetime.expired(start + 5 * MINUTE), None);
        assert_eq!(lifetime.expired(start + 6 * MINUTE), Some(IDLE));
    }

    #[test]
    fn an_idle_kernel_ends_half_an_hour_after_the_last_request() {
        let (mut lifetime, start) = lifetime();
        lifetime.requested(start + 10 * MINUTE);
        assert_eq!(lifetime.expired(start + 39 * MINUTE), None);
        assert_eq!(lifetime.expired(start + 40 * MINUTE), Some(IDLE));
    }

    #[test]
    fn attached_is_not_used() {
        let (mut lifetime, start) = lifetime();
        lifetime.set_attached(1, start);
        assert_eq!(lifetime.expired(start + 3 * HOUR), None);
        assert_eq!(lifetime.expired(start + 4 * HOUR), Some(UNUSED));
        lifetime.set_attached(0, start + HOUR);
        assert_eq!(lifetime.expired(start + HOUR), Some(IDLE), "the last request was an hour ago");
    }

    #[test]
    fn a_busy_kernel_ends_only_without_any_server_for_a_day() {
        let (mut lifetime, start) = lifetime();
        lifetime.set_busy(true, start);
        lifetime.set_attached(1, start);
        assert_eq!(lifetime.expiry(), None);
        lifetime.set_attached(0, start + HOUR);
        assert_eq!(lifetime.expired(start + 24 * HOUR), None);
        assert_eq!(lifetime.expired(start + 25 * HOUR), Some(UNATTENDED));
        lifetime.set_busy(false, start + 20 * HOUR);
        assert_eq!(lifetime.expired(start + 20 * HOUR + 29 * MINUTE), None);
        assert_eq!(lifetime.expired(start + 20 * HOUR + 30 * MINUTE), Some(IDLE));
    }

    #[test]
    fn a_long_idle_time_is_no_shorter_when_attached() {
        let limits = Lifetimes::of_idle(48 * HOUR);
        assert_eq!((limits.unused, limits.unattended), (48 * HOUR, 48 * HOUR));
    }
}
