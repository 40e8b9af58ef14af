//! How long the other end may be silent.

use std::time::Duration;

/// How long a server or a connection may be silent before it is given up. 30 s by default.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NetworkTimeout(Duration);

impl NetworkTimeout {
    const MIN_SECONDS: f64 = 0.1;
    const MAX_SECONDS: f64 = 3600.0;

    /// Fails, with what is expected, if `seconds` is not between 0.1 and 3600.
    pub fn from_seconds(seconds: f64) -> Result<Self, &'static str> {
        if (Self::MIN_SECONDS..=Self::MAX_SECONDS).contains(&seconds) {
            Ok(Self(Duration::from_secs_f64(seconds)))
        } else {
            Err("expected a number of seconds from 0.1 to 3600")
        }
    }

    pub fn duration(self) -> Duration {
        self.0
    }

    /// How long nothing may arrive before a ping: a third. By default that is 10 s, less than the half minute after which
    /// many proxies drop a silent connection.
    pub fn ping_interval(self) -> Duration {
        self.0 / 3
    }

    /// How long a server may take for what it does not answer at once, such as loading or writing a file: 10 s, but at least
    /// a third of the timeout and at most all of it.
    pub fn operation(self) -> Duration {
        Duration::from_secs(10).clamp(self.ping_interval(), self.0)
    }
}

impl Default for NetworkTimeout {
    fn default() -> Self {
        Self(Duration::from_secs(30))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_default_a_silent_connection_is_pinged_after_10_seconds_and_given_up_after_30() {
        let timeout = NetworkTimeout::default();
        assert_eq!(timeout.duration(), Duration::from_secs(30));
        assert_eq!(timeout.ping_interval(), Duration::from_secs(10));
    }

    #[test]
    fn servers_get_10_seconds_for_an_operation_unless_the_network_is_slower_or_faster() {
        for (timeout, operation) in [(3.0, 3), (30.0, 10), (120.0, 40)] {
            let timeout = NetworkTimeout::from_seconds(timeout).unwrap();
            assert_eq!(timeout.operation(), Duration::from_secs(operation));
        }
    }

    #[test]
    fn fractions_of_seconds_are_accepted() {
        assert_eq!(NetworkTimeout::from_seconds(1.5).unwrap().duration(), Duration::from_millis(1500));
    }

    #[test]
    fn a_timeout_that_is_not_positive_or_too_long_is_refused() {
        for seconds in [0.0, -1.0, 0.01, 3601.0, f64::NAN, f64::INFINITY] {
            assert!(NetworkTimeout::from_seconds(seconds).is_err(), "{seconds}");
        }
    }
}
