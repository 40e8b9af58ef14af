//! How long kernels outlive the server.

use std::time::Duration;

const MINUTE: u64 = 60;
const DAY: u64 = 24 * 60 * MINUTE;
/// Longer than any server runs.
const MOST: u64 = 365 * DAY;

/// Keepers are built on what Unix has.
pub(super) const KEPT_BY_DEFAULT: &str = if cfg!(unix) { "30m" } else { "off" };

/// How long kernels that nobody uses outlive the server. With no time, they end with it.
pub(crate) type KeepKernels = Option<Duration>;

/// Reads a number with a unit (`s`, `m`, `h`, `d`), or `off`. A number alone is seconds.
pub(crate) fn keep_kernels(text: &str) -> Result<KeepKernels, String> {
    let text = text.trim().to_ascii_lowercase();
    if ["off", "no", "false", "0"].contains(&&*text) {
        return Ok(None);
    }
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 's')) => (&text[..at], 1),
        Some((at, 'm')) => (&text[..at], MINUTE),
        Some((at, 'h')) => (&text[..at], 60 * MINUTE),
        Some((at, 'd')) => (&text[..at], DAY),
        _ => (&*text, 1),
    };
    let seconds = number.trim().parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let seconds = seconds.filter(|seconds| (1..=MOST).contains(seconds));
    seconds
        .map(|seconds| Some(Duration::from_secs(seconds)))
        .ok_or_else(|| "expected a duration such as 30m or 2h, at most 365d, or off".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_have_a_unit_or_are_seconds() {
        let of = |seconds| Ok(Some(Duration::from_secs(seconds)));
        assert_eq!(keep_kernels("30m"), of(1800));
        assert_eq!(keep_kernels(" 2H "), of(7200));
        assert_eq!(keep_kernels("1d"), of(86_400));
        assert_eq!((keep_kernels("90"), keep_kernels("90s")), (of(90), of(90)));
        assert_eq!((keep_kernels("off"), keep_kernels("0")), (Ok(None), Ok(None)));
        for wrong in ["", "m", "-3m", "1.5h", "366d", "99999999999999999999d", "soon", "5é"] {
            assert!(keep_kernels(wrong).is_err(), "{wrong}");
        }
    }
}
