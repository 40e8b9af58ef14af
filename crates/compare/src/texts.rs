//! Whether two texts differ only in what differs from run to run.

use std::ops::Range;
use std::sync::LazyLock;
use std::time::SystemTime;

use regex::Regex;

use crate::dates;

/// What a piece of text is that may differ. The order decides which one a text is taken for.
const KINDS: [&str; 11] = [
    "address",
    "path",
    "bar",
    "named_date",
    "date",
    "short_date",
    "constructor",
    "epoch",
    "time",
    "duration",
    "count",
];

static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?x)
        \bat\ (?P<address> 0x[0-9a-fA-F]{4,16}\b )
      | (?P<path> (?:/private)?/(?:tmp|var/folders)/[^\s'<>:,;)\]\x22]+
                | [A-Za-z]:\\[^\s'<>|\x22]*\\Temp\\[^\s'<>|:,;)\]\x22]+ )
      | (?P<bar> \[[\d:]+<[^\]]*\] )
      | (?P<named_date> \b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\ +(?:\d{1,2}\ +)?
                        (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\ +(?:\d{1,2},?\ +)?
                        (?:\d{1,2}:\d\d(?::\d\d)?\ +)?(?:[A-Z]{3,4}\ +)?\d{4}(?:\ +\d{1,2}:\d\d(?::\d\d)?)? )
      | (?P<date> \b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:\ ?Z|\ ?[+-]\d\d:?\d\d)?)? )
      | (?P<short_date> \b(?:\d\d[/.]\d\d[/.](?:\d{4}|\d\d)|\d{4}/\d\d/\d\d)\b )
      | (?P<constructor> \bdatetime\.date(?:time)?\(\d{4},\ \d{1,2},\ \d{1,2}(?:,\ [^()]*)?\) )
      | (?P<epoch> \b\d{10}(?:\.\d+)?\b )
      | (?P<time> \b\d{1,2}:\d\d:\d\d(?:\.\d+)?\b )
      | (?P<duration> \b(?:\d+(?:d|h|min)\ )*\d+(?:\.\d+)?(?:e[-+]?\d+)?\ ?(?:ns|µs|μs|us|ms|secs?|seconds?|s)\b
                    | \b\d+\.\d+\ ?(?:mins?|minutes?|hours?|h)\b
                    | \b\d[\d,]*\ loops?\ each )
      | (?P<count> \b(?:In|Out)\ ?\[\d+\] | <ipython-input-[^>]*> )";
    #[expect(clippy::expect_used, reason = "the pattern is fixed, and tests use it")]
    Regex::new(pattern).expect("the pattern is a regular expression")
});

/// Whether `before` and `after` are the same but for addresses, temporary paths, durations, and what the clock said. Amounts of
/// space within a line do not count. `after` was made `during` that time.
pub(crate) fn are_same(before: &str, after: &str, during: &Range<SystemTime>) -> bool {
    if before == after {
        return true;
    }
    let (before, after) = (tidied(before), tidied(after));
    let (mut left, mut right) = (Pieces::of(&before), Pieces::of(&after));
    loop {
        return match (left.next(), right.next()) {
            (Some(one), Some(other)) if one.text == other.text && one.may_become(&other, during) => continue,
            (None, None) => left.rest() == right.rest(),
            _ => false,
        };
    }
}

/// Without space at the ends of lines, and with one space for several behind the indentation.
fn tidied(text: &str) -> String {
    let mut tidied = String::with_capacity(text.len());
    for line in text.trim_end().lines() {
        tidied.push_str(&line[..line.len() - line.trim_start().len()]);
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
    fn may_become(&self, other: &Self, during: &Range<SystemTime>) -> bool {
        if self.volatile == other.volatile {
            return true;
        }
        self.kind == other.kind
            && match other.kind {
                // Dates and times that are not those of the clock are data.
                "named_date" | "date" | "short_date" | "constructor" => {
                    dates::is_of_today(other.volatile, during.end)
                }
                "epoch" => dates::is_recent(other.volatile, during.end),
                "time" => {
                    is_measured(self.volatile) && is_measured(other.volatile)
                        || dates::is_time_of(other.volatile, during)
                }
                _ => true,
            }
    }
}

/// Whether a time looks like a measured one: less than an hour, or with a fraction of a second.
fn is_measured(time: &str) -> bool {
    time.starts_with("0:") || time.starts_with("00:") || time.contains('.')
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// The minute until 2026-11-23 12:00:00 UTC
    fn during() -> Range<SystemTime> {
        let end = SystemTime::UNIX_EPOCH + Duration::from_secs(1_795_435_200);
        end - Duration::from_secs(60)..end
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
            ("Sunday, 21 December 2025", "Monday, 23 November 2026"),
            ("Mon Jan 05 10:11:12 UTC 2025", "Mon Nov 23 12:00:00 UTC 2026"),
            ("Today's date is: 21/12/16", "Today's date is: 23/11/26"),
            ("as of 12/21/2016", "as of 11/23/2026"),
            ("21.12.2016", "22.11.2026"),
            ("2016/12/21", "2026/11/23"),
            ("datetime.datetime(2018, 6, 1, 12, 33, 8, 310117)", "datetime.datetime(2026, 11, 23, 3, 6, 34)"),
            ("datetime.date(2018, 6, 1)", "datetime.date(2026, 11, 23)"),
            ("1700000000.123", "1795435201.5"),
            ("took 0:00:01.5", "took 0:00:02.25"),
            ("took 00:01:59", "took 00:02:01"),
            ("took 1:02:03.25", "took 2:03:04.5"),
            ("started at 08:30:07", "started at 11:59:30"),
            ("started at 08:30:07", "started at 17:29:59"),
            ("took 2.5 hours", "took 2.6 hours"),
            (
                "1.2 ms ± 3 µs per loop (mean ± std. dev. of 7 runs, 1,000 loops each)",
                "970 µs ± 12 µs per loop (mean ± std. dev. of 7 runs, 100 loops each)",
            ),
            ("Wall time: 1min 3s", "Wall time: 1h 2min 3s"),
            (
                "CPU times: user 3 µs, sys: 0 ns, total: 3 µs\nWall time: 5.01 µs",
                "CPU times: user 12 ms, sys: 1 ms, total: 13 ms\nWall time: 14 ms",
            ),
            ("100%|██| 10/10 [00:00<00:00, 123.4it/s]", "100%|██| 10/10 [00:01<00:00,  9.10it/s]"),
            ("done in 3.2s", "done in 10s"),
            ("Cell In[3], line 1", "Cell In[17], line 1"),
            ("a  b \n", "a b"),
        ] {
            assert!(are_same(before, after, &during()), "{before} / {after}");
        }
    }

    #[test]
    fn other_differences_count() {
        for (before, after) in [
            ("0.123", "0.124"),
            ("row 10", "row 11"),
            ("2020-01-01 5", "2020-01-02 5"),
            ("2026-11-23", "2020-01-02"),
            ("21/12/16", "22/12/16"),
            ("10.20.30", "10.20.31"),
            ("datetime.date(2018, 6, 1)", "datetime.date(2018, 6, 2)"),
            ("1700000000", "1700000001"),
            ("x 0x7f01a2b3c4d5", "x"),
            ("3 ms", "3 MB"),
            ("12 min", "47 min"),
            ("mask 0xdeadbeef", "mask 0xcafebabe"),
            ("opens at 08:30:00", "opens at 17:50:00"),
            ("Mon Jan 6 2020", "Tue Feb 4 2021"),
            ("if x:\n    y", "if x:\n  y"),
            ("  indented", "indented"),
            ("a\nb", "a b"),
            ("5 apples", "6 apples"),
        ] {
            assert!(!are_same(before, after, &during()), "{before} / {after}");
        }
    }
}
