//! What differs in texts from run to run.

use std::sync::LazyLock;

use regex::Regex;

use super::dates;
use super::ids::pattern;
use super::rerun::Rerun;

/// Volatile texts, each with its kind. The first pattern that matches decides.
static VOLATILE: LazyLock<Regex> = LazyLock::new(|| pattern(include_str!("volatile/pattern.txt")));

/// Lines that are printed or not, as fast as the machine is: the remarks of `%timeit` and `%time`.
static REMARK: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"^(?:The slowest run took [\d.]+ times longer than the fastest\. This could mean that .*|Compiler time: [\d.]+ s|(?:Compiler|Parser) *: [\d.]+ \S+)$",
    )
});
/// A line of signs that fills the screen around a duration, as pytest prints it.
static RULER: LazyLock<Regex> = LazyLock::new(|| pattern(r"^(=+)( .* in \d.*s.* )(=+)$"));

/// A line without what depends on the speed of the machine; `None` if the whole line does.
pub(crate) fn steady(line: &str) -> Option<&str> {
    if REMARK.is_match(line) {
        return None;
    }
    Some(match RULER.captures(line).and_then(|found| found.get(2)) {
        Some(middle) => middle.as_str().trim(),
        None => line,
    })
}

/// A text, cut at what may differ.
pub(crate) struct Pieces<'t> {
    text: &'t str,
    matches: regex::CaptureMatches<'static, 't>,
    end: usize,
}

pub(crate) struct Piece<'t> {
    /// What comes before it.
    pub(crate) text: &'t str,
    kind: &'static str,
    volatile: &'t str,
}

impl<'t> Pieces<'t> {
    pub(crate) fn of(text: &'t str) -> Self {
        Self { text, matches: VOLATILE.captures_iter(text), end: 0 }
    }

    pub(crate) fn next(&mut self) -> Option<Piece<'t>> {
        let found = self.matches.next()?;
        let (kind, volatile) =
            VOLATILE.capture_names().flatten().find_map(|kind| Some((kind, found.name(kind)?)))?;
        let text = &self.text[self.end..volatile.start()];
        self.end = volatile.end();
        Some(Piece { text, kind, volatile: volatile.as_str() })
    }

    pub(crate) fn rest(&self) -> &'t str {
        &self.text[self.end..]
    }
}

impl Piece<'_> {
    fn is_constant(&self, rerun: &Rerun) -> bool {
        let is_known = match self.kind {
            "count" => false,
            // A whole number of seconds stands in the code for other reasons, too.
            "duration" => self.volatile.contains('.'),
            _ => true,
        };
        is_known && rerun.is_constant(self.volatile)
    }

    /// Whether another run may show `other` in its place.
    pub(crate) fn may_become(&self, other: &Self, rerun: &Rerun) -> bool {
        if self.volatile == other.volatile {
            return true;
        }
        self.kind == other.kind
            && ![self, other].iter().any(|piece| piece.is_constant(rerun))
            && match other.kind {
                // Dates and times that are not those of the clock are data.
                "named_date" | "date" | "short_date" | "constructor" => {
                    dates::is_of_today(other.volatile, rerun.during.end)
                }
                "stamp" => {
                    let digits = other.volatile;
                    let date = format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..8]);
                    dates::is_of_today(&date, rerun.during.end)
                }
                "epoch" => dates::is_recent(other.volatile, rerun.during.end),
                "time" => {
                    is_measured(self.volatile) && is_measured(other.volatile)
                        || dates::is_time_of(other.volatile, &rerun.during)
                }
                _ => true,
            }
    }
}

/// Whether a time looks like a measured one: less than an hour, or with a fraction of a second.
fn is_measured(time: &str) -> bool {
    time.starts_with("0:") || time.starts_with("00:") || time.contains(['.', ','])
}
