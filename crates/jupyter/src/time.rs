//! Times as servers write them (ISO 8601).

use std::time::{Duration, SystemTime};

/// Reads `2026-11-21T15:33:59.123456Z` or with an offset, `+01:00`. `None` for anything else.
pub(crate) fn parse(text: &str) -> Option<SystemTime> {
    let (date, time) = text.split_once(['T', ' '])?;
    let mut date = date.splitn(3, '-').map(str::parse::<i64>);
    let (year, month, day) = (date.next()?.ok()?, date.next()?.ok()?, date.next()?.ok()?);
    let at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = time.split_at(at);
    let mut clock = clock.splitn(3, ':');
    let (hours, minutes) = (clock.next()?.parse::<i64>().ok()?, clock.next()?.parse::<i64>().ok()?);
    let seconds: f64 = clock.next().unwrap_or("0").parse().ok()?;
    let is_valid = (1970..=9999).contains(&year)
        && (1..=12).contains(&month)
        && (1..=31).contains(&day)
        && (0..24).contains(&hours)
        && (0..60).contains(&minutes)
        && (0.0..61.0).contains(&seconds);
    if !is_valid {
        return None;
    }
    let whole = days(year, month, day) * 86_400 + hours * 3600 + minutes * 60 - offset(zone)?;
    let whole = Duration::from_secs(u64::try_from(whole).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(whole + Duration::from_secs_f64(seconds))
}

/// The seconds that a zone is ahead of UTC.
fn offset(zone: &str) -> Option<i64> {
    let sign = match zone.chars().next() {
        None | Some('Z' | 'z') => return Some(0),
        Some('-') => -1,
        Some(_) => 1,
    };
    let digits: String = zone[1..].chars().filter(|c| *c != ':').collect();
    let number: i64 = digits.parse().ok()?;
    let (hours, minutes) = if digits.len() <= 2 { (number, 0) } else { (number / 100, number % 100) };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// Days from 1970-01-01, by counting years from March on.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_to_the_millisecond() {
        let table = [
            ("1970-01-01T00:00:00Z", Some(0)),
            ("2026-11-21T15:33:59.250000Z", Some(1_795_275_239_250)),
            ("2026-11-21T16:33:59.25+01:00", Some(1_795_275_239_250)),
            ("2026-11-21T10:03:59.25-0530", Some(1_795_275_239_250)),
            ("2024-02-29 12:00", Some(1_709_208_000_000)),
            ("1969-12-31T00:00:00Z", None),
            ("2026-13-01T00:00:00Z", None),
            ("yesterday", None),
            ("2026-11-21T15:33:59+é", None),
            ("", None),
        ];
        for (text, expected) in table {
            let read =
                parse(text).map(|time| time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis());
            assert_eq!(read, expected, "{text}");
        }
    }
}
