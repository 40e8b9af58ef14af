//! `cellbridge kernels`: the kernels that outlive their servers, and those of other programs.

mod foreign;
#[cfg(unix)]
mod kept;
#[cfg(unix)]
mod logs;
#[cfg(not(unix))]
mod not_kept;

use std::time::{Duration, SystemTime};

use local::{ProcessEnv, foreign_kernels};
use serde_json::Value;

#[cfg(unix)]
use self::kept::Kept;
#[cfg(not(unix))]
use self::not_kept::Kept;
use crate::args::{Kernels, KernelsVerb, ListKernels};
use crate::terminal::say_json;

pub(crate) async fn run(options: Kernels) -> anyhow::Result<()> {
    let process_env = ProcessEnv::inherited(std::env::vars_os(), std::env::home_dir(), &[]);
    let kept = Kept::find(&process_env).await;
    match options.verb {
        None => list(&kept, options.json, &process_env).await,
        Some(KernelsVerb::List(ListKernels { json })) => list(&kept, json, &process_env).await,
        Some(KernelsVerb::Stop(options)) => kept.stop(&options, &process_env).await,
        Some(KernelsVerb::Logs(options)) => kept.show_logs(&options, &process_env),
    }
}

async fn list(kept: &Kept, as_json: bool, process_env: &ProcessEnv) -> anyhow::Result<()> {
    let (others, refused) = foreign_kernels(process_env).await;
    if as_json {
        let all = kept.to_json().chain(others.iter().map(foreign::to_json));
        return say_json(&all.collect::<Value>());
    }
    let now = SystemTime::now();
    kept.list(now)?;
    foreign::list(&others, &refused, now)
}

/// A duration in its largest unit.
fn shown(duration: Duration) -> String {
    match duration.as_secs() {
        seconds @ 0..60 => format!("{seconds} s"),
        seconds @ 60..3600 => format!("{} min", seconds / 60),
        seconds => format!("{} h", seconds / 3600),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_shown_in_their_largest_unit() {
        let of = |seconds| shown(Duration::from_secs(seconds));
        assert_eq!((&*of(59), &*of(60), &*of(3599), &*of(7300)), ("59 s", "1 min", "59 min", "2 h"));
    }
}
