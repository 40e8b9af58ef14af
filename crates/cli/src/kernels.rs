//! `cellbridge kernels`: the kernels that outlive their servers, and those of other programs.

mod foreign;
#[cfg(unix)]
mod kept;
#[cfg(unix)]
mod logs;

use std::time::{Duration, SystemTime};

use anyhow::bail;
use environments::ProcessEnv;
use local::{foreign_kernels, is_foreign_kernel};
use serde_json::Value;

#[cfg(unix)]
use self::kept::KeptListing;
use crate::args::{Kernels, KernelsVerb, ListKernels};
#[cfg(not(unix))]
use crate::args::{LogsOfKernel, StopKernels};
#[cfg(not(unix))]
use terminal::say;
use terminal::say_json;

#[cfg(not(unix))]
const NONE: &str = "No kernel outlives its server on this system.";

pub(crate) async fn run(options: Kernels) -> anyhow::Result<()> {
    let process_env = ProcessEnv::inherited(std::env::vars_os(), std::env::home_dir(), &[]);
    match options.verb {
        None => list(options.json, &process_env).await,
        Some(KernelsVerb::List(ListKernels { json })) => list(json, &process_env).await,
        #[cfg(unix)]
        Some(KernelsVerb::Stop(options)) => {
            KeptListing::find(&process_env).await.stop(&options, &process_env).await
        }
        #[cfg(unix)]
        Some(KernelsVerb::Logs(options)) => {
            KeptListing::find(&process_env).await.show_logs(&options, &process_env)
        }
        #[cfg(not(unix))]
        Some(KernelsVerb::Stop(StopKernels { id: None, .. })) => Ok(()),
        #[cfg(not(unix))]
        Some(
            KernelsVerb::Stop(StopKernels { id: Some(id), .. }) | KernelsVerb::Logs(LogsOfKernel { id, .. }),
        ) => {
            check_is_not_foreign(&id, &process_env)?;
            bail!("there is no kernel {id:?}. {NONE}")
        }
    }
}

async fn list(as_json: bool, process_env: &ProcessEnv) -> anyhow::Result<()> {
    #[cfg(unix)]
    let kept = KeptListing::find(process_env).await;
    let (others, refused) = foreign_kernels(process_env).await;
    if as_json {
        let all = others.iter().map(foreign::to_json);
        #[cfg(unix)]
        let all = kept.to_json().chain(all);
        return say_json(&all.collect::<Value>());
    }
    let now = SystemTime::now();
    #[cfg(unix)]
    kept.list(now)?;
    #[cfg(not(unix))]
    say(NONE)?;
    foreign::list(&others, &refused, now)
}

/// Fails if the kernel whose id begins so is one of another program.
fn check_is_not_foreign(id: &str, process_env: &ProcessEnv) -> anyhow::Result<()> {
    if is_foreign_kernel(process_env, id) {
        bail!("kernel {id:?} belongs to another program: Cellbridge never ends it, and has no log of it");
    }
    Ok(())
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
