//! Which dates are those of the clock.

use std::ops::Range;
use std::time::{Duration, SystemTime};

/// How many days a date may be from now to be one that the code took from the clock.
const NEAR: i64 = 2;
const DAY: i64 = 24 * 60 * 60;
/// Time zones differ by multiples of this, in seconds.
const ZONE: i64 = 15 * 60;
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Whether a text with a date means today, in any order of year, month and day that makes one: `2026-11-23`, `23/11/26`,
/// `Mon Nov 23 12:00:00 2026`.
pub(crate) fn is_of_today(text: &str, now: SystemTime) -> bool {
    let is_near =
        |year, month, day| day_of(year, month, day).is_some_and(|day| (day - today(now)).abs() <= NEAR);
    let mut numbers = text.split(|c: char| !c.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let mut words = text.split(|c: char| !c.is_ascii_alphabetic());
    if let Some(month) = words.find_map(|word| MONTHS.iter().position(|month| word.starts_with(month))) {
        let (years, others): (Vec<&str>, Vec<&str>) = numbers.partition(|digits| digits.len() == 4);
        let first = |numbers: &[&str]| numbers.first()?.parse::<i64>().ok();
        let (year, day) = (first(&years), first(&others));
        return i64::try_from(month + 1)
            .is_ok_and(|month| year.zip(day).is_some_and(|(year, day)| is_near(year, month, day)));
    }
    let mut number = || numbers.next()?.parse::<i64>().ok();
    let (Some(one), Some(two), Some(three)) = (number(), number(), number()) else { return false };
    [(one, two, three), (three, two, one), (three, one, two)].into_iter().any(|(year, month, day)| {
        // Of the years that two digits may mean, only this one is the clock's.
        let year = if (0..100).contains(&year) { 2000 + year } else { year };
        is_near(year, month, day)
    })
}

/// Whether a time, such as `12:30:05`, is one of these, in any time zone.
///
/// Example: 11:59:00 UTC is 840 s after a quarter of an hour, and 17:29:40 in India (+5:30) is 880 s after one. So that is 40 s
/// later, and one of 11:59:00 to 12:00:00 UTC.
pub(crate) fn is_time_of(text: &str, during: &Range<SystemTime>) -> bool {
    let seconds = text
        .split([':', '.', ','])
        .take(3)
        .try_fold(0, |sum, part| Some(sum * 60 + part.parse::<i64>().ok()?));
    let length = during.end.duration_since(during.start).unwrap_or_default();
    // A clock that shows no fractions is up to a second behind.
    let length = i64::try_from(length.as_secs()).unwrap_or(i64::MAX).saturating_add(2);
    seconds.is_some_and(|seconds| (seconds - since_1970(during.start) + 1).rem_euclid(ZONE) <= length)
}

/// Whether a number counts the seconds from 1970 until about now.
pub(crate) fn is_recent(text: &str, now: SystemTime) -> bool {
    // Of milliseconds and nanoseconds, too, the first ten digits are the seconds.
    let seconds = text.get(..10).and_then(|seconds| seconds.parse::<i64>().ok());
    seconds.is_some_and(|seconds| (seconds / DAY - today(now)).abs() <= NEAR)
}

/// Days since 1970.
fn today(now: SystemTime) -> i64 {
    since_1970(now) / DAY
}

/// In seconds.
fn since_1970(now: SystemTime) -> i64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// The days from 1970 to a date, by the count of days before March of a year.
fn day_of(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let year = if month <= 2 { year - 1 } else { year };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    Some(year * 365 + year / 4 - year / 100 + year / 400 + day_of_year - 719_468)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-11-23 12:00:00 UTC
    fn now() -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_435_200)
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(day_of(1970, 1, 1), Some(0));
        assert_eq!(day_of(2000, 3, 1), Some(11_017));
        assert_eq!(day_of(2026, 11, 23), Some(today(now())));
        assert_eq!(day_of(2026, 13, 1), None);
    }

    #[test]
    fn today_is_found_in_each_order() {
        for text in ["2026-11-23T10:00", "23/11/26", "11/24/2026", "22.11.2026", "date(2026, 11, 23, 5, 6)"] {
            assert!(is_of_today(text, now()), "{text}");
        }
        for text in ["2025-11-23", "11/26", "23/11/16", "31/31/26", ""] {
            assert!(!is_of_today(text, now()), "{text}");
        }
    }
}
