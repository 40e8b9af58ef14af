//! What differs in texts from run to run.

use std::sync::LazyLock;

use regex::Regex;

use crate::dates;
use crate::ids::pattern;
use crate::rerun::Rerun;

/// What may differ, each with its kind. The order decides which one a text is taken for.
static VOLATILE: LazyLock<Regex> = LazyLock::new(|| {
    pattern(
        r"(?x)
        (?: \bat\ | \bid[=:]\ ? ) (?P<address> 0x[0-9a-fA-F]{4,16}\b | 0x[0-9a-fA-F]{0,16}(?:\.{3}|…) )
      | (?:\.{3}|…) (?P<cut_address> (?:[at]{0,2}\ )?0?x[0-9a-fA-F]{1,16} | [0-9a-fA-F]{6,16} ) >
      | (?: \b[Tt]hread(?:[\ _-]?(?:[Ii][Dd]|ident))?['\x22]?\ ?[=:]?\ ? | \b(?:native_id|ident|[Tt][Ii][Dd])['\x22]?\ ?[=:]\ ? )
        (?P<thread> \d{4,}\b )
      | \b(?:display|model|comm)_id['\x22]?\ ?[=:]\ ?['\x22]? (?P<id> [0-9a-f]{32}\b )
      | \bT_ (?P<table> [0-9a-f]{5} ) [_\x22\x27\ \n]
      | (?P<uuid> \b(?:[0-9a-f]{8}-[0-9a-f]{4}-[1467][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}
                | [0-9A-F]{8}-[0-9A-F]{4}-[1467][0-9A-F]{3}-[89AB][0-9A-F]{3}-[0-9A-F]{12})\b )
      | (?P<path> (?:/private)?/(?:tmp|var/folders)/[^\s'<>:,;)\]\x22]+
                | [A-Za-z]:\\[^\s'<>|\x22]*\\Temp\\[^\s'<>|:,;)\]\x22]+ )
      | (?P<bar> \[\d+:[\d:]+(?:<[^\]]*|,\ [^\]]*/s|,\ [^\]]*s/[a-zA-Z]+)\] )
      | (?P<named_date> \b(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,?\ +(?:\d{1,2}\ +)?
                        (?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\ +(?:\d{1,2},?\ +)?
                        (?:\d{1,2}:\d\d(?::\d\d)?\ +)?(?:[A-Z]{3,4}\ +)?\d{4}(?:\ +\d{1,2}:\d\d(?::\d\d)?)? )
      | (?P<date> \b\d{4}-\d\d-\d\d(?:[T\ ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:\ ?Z|\ ?[+-]\d\d:?\d\d)?)? )
      | (?P<short_date> \b(?:\d\d[/.]\d\d[/.](?:\d{4}|\d\d)|\d{4}/\d\d/\d\d)(?:,?\ \d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)?\b )
      | (?: \b|_ ) (?P<stamp> 20\d{6}[_-]\d{6}\b )
      | (?P<constructor> \bdatetime\.date(?:time)?\(\d{4},\ \d{1,2},\ \d{1,2}(?:,\ [^()]*)?\) )
      | (?: Thread\([^()]*(?:\([^()]*\))?[^()]*,\ started\ (?:daemon\ )? | \b(?:p?pid|PP?ID)['\x22]?\ ?[=:]?\ ?
                | \bparent= | \b[Pp]rocess\ [Ii][Dd]:?\ ) (?P<number> \d{3,}\b )
      | (?P<rate> \b\d[\d,]*(?:\.\d+)?\ ?(?:it|[kKMGT]i?B|[kMGT]?bytes?)/s(?:ec)?\b )
      | (?: \b[Ee]lapsed(?:\ time)?\ ?[:=]?\ ? ) (?P<elapsed> \d+\.\d+(?:e-?\d+)? )
      | (?P<epoch> \b1\d{9}(?:\d{3}|\d{6}|\d{9}|\.\d+)?\b )
      | (?P<time> \b\d{1,2}:\d\d:\d\d(?:[.,]\d+)?\b )
      | (?P<duration> \b(?:\d+(?:d|h|min)\ )*\d+(?:\.\d+)?(?:e[-+]?\d+)?\ ?(?:ns|µs|μs|us|ms|secs?|seconds?|s)\b
                    | \b\d+\.\d+\ ?(?:mins?|minutes?|hours?|h)\b
                    | \b\d[\d,]*\ loops?\ each | \b\d[\d,]*\ loops?,\ best\ of )
      | (?P<count> \b(?:In|Out)\ ?\[\d+\] | <ipython-input-[^>]*> )",
    )
});

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
