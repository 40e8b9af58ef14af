//! Order statistics of times.

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
    pub(crate) fn new(mut times: Vec<Duration>, begin: Instant) -> Self {
        let whole = begin.elapsed();
        times.sort_unstable();
        let at = |hundredths: usize| times[(times.len() - 1) * hundredths / 100];
        #[expect(clippy::cast_precision_loss, reason = "the number of calls is far below 2^52")]
        let per_second = times.len() as f64 / whole.as_secs_f64();
        Self { p50: at(50), p99: at(99), per_second }
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

/// The middle one.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
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
