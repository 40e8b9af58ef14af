//! Whether two texts differ only in what differs from run to run.

use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use regex::Regex;

/// How far a date may be from now to be one that the code took from the clock.
const NOW: i64 = 2;
const DAY: i64 = 24 * 60 * 60;

/// What a piece of text is that may differ. The order decides which one a text is taken for.
const KINDS: [&str; 9] =
    ["address", "path", "bar", "named_date", "date", "epoch", "time", "duration", "count"];

static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)
        (?P<address> \b0x[0-9a-fA-F]{4,16}\b )
      | (?P<path> (?:/private)?/(?:tmp|var/folders)/[^\s'<>:,;)\]\x22]+
                | [A-Za-z]:\\[^\s'<>|\x22]*\\Temp\\[^\s'<>|:,;)\]\x22]+ )
      | (?P<bar> \[[\d:]+<[^\]]*\] )
      | (?P<named_date> \b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\ +(?:\d{1,2}\ +)?
                        (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\ +(?:\d{1,2},?\ +)?
                        (?:\d{1,2}:\d\d(?::\d\d)?\ +)?(?:[A-Z]{3,4}\ +)?\d{4}(?:\ +\d{1,2}:\d\d(?::\d\d)?)? )
      | (?P<date> \b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\ ?Z|\ ?[+-]\d\d:?\d\d)?)? )
      | (?P<epoch> \b\d{10}(?:\.\d+)?\b )
      | (?P<time> \b\d{1,2}:\d\d:\d\d(?:\.\d+)?\b )
      | (?P<duration> \b\d+(?:\.\d+)?(?:e[-+]?\d+)?\ ?(?:ns|µs|μs|us|ms|secs?|seconds?|mins?|minutes?|hours?|s|h)\b
                    | \b\d[\d,]*\ loops?\ each )
      | (?P<count> \b(?:In|Out)\ ?\[\d+\] | <ipython-input-[^>]*> )";
    #[expect(clippy::expect_used, reason = "the pattern is fixed, and tests use it")]
    Regex::new(pattern).expect("the pattern is a regular expression")
});

/// Whether `before` and `after` are the same but for addresses, temporary paths, durations, and what the clock said. Amounts of
/// space within a line do not count. `after` was made at `now`.
pub(super) fn are_same(before: &str, after: &str, now: SystemTime) -> bool {
    if before == after {
        return true;
    }
    let (before, after) = (tidied(before), tidied(after));
    let (mut left, mut right) = (Pieces::of(&before), Pieces::of(&after));
    loop {
        return match (left.next(), right.next()) {
            (Some(one), Some(other)) if one.text == other.text && one.may_become(&other, now) => continue,
            (None, None) => left.rest() == right.rest(),
            _ => false,
        };
    }
}

/// Without space at the ends of lines, and with one space for several.
fn tidied(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    for line in text.trim_end().lines() {
        let mut is_first = true;
        for word in line.split_whitespace() {
            if !std::mem::take(&mut is_first) {
                tidied.push(' ');
            }
            tidied.push_str(word);
        }
        tidied.push('\n');
    }
    tidied
}

/// A text, cut at what may differ.
struct Pieces<'t> {
    text: &'t str,
    matches: regex::CaptureMatches<'static, 't>,
    end: usize,
}

struct Piece<'t> {
    /// What comes before it.
    text: &'t str,
    kind: &'static str,
    volatile: &'t str,
}

impl<'t> Pieces<'t> {
    fn of(text: &'t str) -> Self {
        Self { text, matches: VOLATILE.captures_iter(text), end: 0 }
    }

    fn next(&mut self) -> Option<Piece<'t>> {
        let found = self.matches.next()?;
        let (kind, volatile) = KINDS.into_iter().find_map(|kind| Some((kind, found.name(kind)?)))?;
        let text = &self.text[self.end..volatile.start()];
        self.end = volatile.end();
        Some(Piece { text, kind, volatile: volatile.as_str() })
    }

    fn rest(&self) -> &'t str {
        &self.text[self.end..]
    }
}

impl Piece<'_> {
    /// Whether another run may show `other` in its place.
    fn may_become(&self, other: &Self, now: SystemTime) -> bool {
        if self.volatile == other.volatile {
            return true;
        }
        self.kind == other.kind
            && match other.kind {
                // Dates that are not today's are data.
                "date" => day_of(other.volatile).is_some_and(|day| (day - today(now)).abs() <= NOW),
                "epoch" => other.volatile.split('.').next().is_some_and(|seconds| {
                    seconds.parse::<i64>().is_ok_and(|seconds| (seconds / DAY - today(now)).abs() <= NOW)
                }),
                _ => true,
            }
    }
}

/// Days since 1970.
fn today(now: SystemTime) -> i64 {
    let since = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX) / DAY
}

/// The days from 1970 to a date like `2026-11-23`, by the count of days before March of a year.
fn day_of(date: &str) -> Option<i64> {
    let number = |from, to| date.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
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
    fn what_differs_from_run_to_run_is_the_same() {
        for (before, after) in [
            ("<A object at 0x7f01a2b3c4d5>", "<A object at 0x7fffa2b3c4d5>"),
            ("saved to /tmp/tmpab12/x.csv", "saved to /tmp/tmpzz99/x.csv"),
            ("/private/var/folders/x/y: 1", "/private/var/folders/z/y2: 1"),
            (r"C:\Users\me\AppData\Local\Temp\a1", r"C:\Users\me\AppData\Local\Temp\b2"),
            ("2025-01-01 10:11:12.123456", "2026-11-23 09:00:00"),
            ("made on 2024-02-29", "made on 2026-11-22"),
            ("Mon Jan 5 10:11:12 2025", "Mon Nov 23 12:00:00 2026"),
            ("Mon Jan 05 10:11:12 UTC 2025", "Mon Nov 23 12:00:00 UTC 2026"),
            ("1700000000.123", "1795435201.5"),
            ("took 0:00:01.5", "took 0:00:02.25"),
            (
                "1.2 ms ± 3 µs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
                "970 µs ± 12 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
            ),
            (
                "CPU times: user 3 µs, sys: 0 ns, total: 3 µs\nWall time: 5.01 µs",
                "CPU times: user 12 ms, sys: 1 ms, total: 13 ms\nWall time: 14 ms",
            ),
            ("100%|██| 10/10 [00:00<00:00, 123.4it/s]", "100%|██| 10/10 [00:01<00:00,  9.10it/s]"),
            ("done in 3.2s", "done in 10s"),
            ("Cell In[3], line 1", "Cell In[17], line 1"),
            ("a  b \n", "a b"),
        ] {
            assert!(are_same(before, after, now()), "{before} / {after}");
        }
    }

    #[test]
    fn other_differences_count() {
        for (before, after) in [
            ("0.123", "0.124"),
            ("row 10", "row 11"),
            ("2020-01-01 5", "2020-01-02 5"),
            ("2026-11-23", "2020-01-02"),
            ("1700000000", "1700000001"),
            ("x 0x7f01a2b3c4d5", "x"),
            ("3 ms", "3 MB"),
            ("a\nb", "a b"),
            ("5 apples", "6 apples"),
        ] {
            assert!(!are_same(before, after, now()), "{before} / {after}");
        }
    }

    #[test]
    fn days_are_counted_from_1970() {
        assert_eq!(day_of("1970-01-01"), Some(0));
        assert_eq!(day_of("2000-03-01"), Some(11_017));
        assert_eq!(day_of("2026-11-23"), Some(today(now())));
        assert_eq!(day_of("2026-13-01"), None);
    }
}
