//! Order statistics of times, and times as text.

use std::time::{Duration, Instant};

/// What one series of calls took.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Series {
    pub(crate) p50: Duration,
    pub(crate) p99: Duration,
    pub(crate) per_second: f64,
}

impl Series {
    /// Sums up the times of single calls, the last of which ended now.
    pub(crate) fn new(mut times: Vec<Duration>, start: Instant) -> Self {
        let whole = start.elapsed();
        times.sort_unstable();
        #[expect(clippy::cast_precision_loss, reason = "the number of calls is far below 2^52")]
        let per_second = times.len() as f64 / whole.as_secs_f64();
        Self { p50: percentile(&times, 50), p99: percentile(&times, 99), per_second }
    }

    /// The middle one of several rounds, each figure for itself.
    pub(crate) fn middle(rounds: &[Self]) -> Self {
        let mut rates: Vec<_> = rounds.iter().map(|round| round.per_second).collect();
        rates.sort_by(f64::total_cmp);
        Self {
            p50: median(rounds.iter().map(|round| round.p50).collect()),
            p99: median(rounds.iter().map(|round| round.p99).collect()),
            per_second: rates[rates.len() / 2],
        }
    }
}

/// The time that so many hundredths of the sorted times do not exceed.
pub(crate) fn percentile(sorted: &[Duration], hundredths: usize) -> Duration {
    sorted[(sorted.len() - 1) * hundredths / 100]
}

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

pub(crate) fn us(time: Duration) -> String {
    format!("{:.1} us", time.as_secs_f64() * 1e6)
}

pub(crate) fn ms(time: Duration) -> String {
    format!("{:.2} ms", time.as_secs_f64() * 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middles_and_ends() {
        let times: Vec<_> = (1..=100).rev().map(Duration::from_micros).collect();
        assert_eq!(median(times[..3].to_vec()), Duration::from_micros(99));
        let series = Series::new(times, Instant::now());
        assert_eq!((series.p50, series.p99), (Duration::from_micros(50), Duration::from_micros(99)));
    }
}
