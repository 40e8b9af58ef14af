//! When a login expires. Google ends the refresh tokens of a client whose consent screen is in "Testing" after seven days.

use std::time::{Duration, SystemTime};

use crate::Login;

const IN_TESTING: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How long before the end it is announced.
const NOTICE: Duration = Duration::from_secs(2 * 24 * 60 * 60);

/// When the refresh token expires, as far as is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expiry {
    /// Google has named the time.
    At(SystemTime),
    /// Google has not, so the login ends then if the consent screen is in "Testing".
    IfTesting(SystemTime),
    /// The login is valid although it is older than one of "Testing" can be.
    Unlimited,
}

impl Expiry {
    /// `is_valid` if Google has just accepted the login.
    pub fn of(login: &Login, now: SystemTime, is_valid: bool) -> Self {
        let in_testing = login.signed_in + IN_TESTING;
        match login.expires {
            Some(time) => Self::At(time),
            None if is_valid && now > in_testing => Self::Unlimited,
            None => Self::IfTesting(in_testing),
        }
    }

    pub fn time(self) -> Option<SystemTime> {
        match self {
            Self::At(time) | Self::IfTesting(time) => Some(time),
            Self::Unlimited => None,
        }
    }

    /// Whether the end is near or past.
    pub fn is_near(self, now: SystemTime) -> bool {
        self.time().is_some_and(|time| now + NOTICE >= time)
    }

    pub fn is_past(self, now: SystemTime) -> bool {
        self.time().is_some_and(|time| now >= time)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::tests::login;

    const DAY: Duration = Duration::from_secs(24 * 60 * 60);

    #[test]
    fn the_end_after_seven_days_is_announced_two_days_before() {
        let login = login();
        let at = |days: u32| login.signed_in + DAY * days;
        let expiry = |days| Expiry::of(&login, at(days), days < 7);
        assert_eq!(expiry(0), Expiry::IfTesting(at(7)));
        assert!(!expiry(4).is_near(at(4)) && expiry(5).is_near(at(5)) && !expiry(5).is_past(at(5)));
        assert!(expiry(7).is_past(at(7)));
        assert_eq!(expiry(9), Expiry::IfTesting(at(7)));
    }

    #[test]
    fn a_valid_login_of_more_than_seven_days_has_no_end() {
        let login = login();
        let later = login.signed_in + DAY * 9;
        assert_eq!(Expiry::of(&login, later, true), Expiry::Unlimited);
        assert!(!Expiry::Unlimited.is_near(later));
    }

    #[test]
    fn the_time_that_google_names_counts() {
        let mut login = login();
        let end = login.signed_in + DAY * 30;
        login.expires = Some(end);
        assert_eq!(Expiry::of(&login, login.signed_in + DAY * 9, true), Expiry::At(end));
    }
}
