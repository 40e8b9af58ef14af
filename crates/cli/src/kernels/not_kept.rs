//! No kernel outlives its server here.

use std::future::ready;
use std::iter::empty;
use std::time::SystemTime;

use anyhow::bail;
use local::{ProcessEnv, is_foreign_kernel};
use serde_json::Value;

use crate::args::{LogsOfKernel, StopKernels};
use crate::terminal::say;

const NONE: &str = "No kernel outlives its server on this system.";

pub(super) struct Kept;

impl Kept {
    pub(super) fn find(_process_env: &ProcessEnv) -> impl Future<Output = Self> + use<> {
        ready(Self)
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn to_json(&self) -> impl Iterator<Item = Value> + use<> {
        empty()
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn list(&self, _now: SystemTime) -> anyhow::Result<()> {
        say(NONE)
    }

    pub(super) fn stop(
        &self,
        options: &StopKernels,
        process_env: &ProcessEnv,
    ) -> impl Future<Output = anyhow::Result<()>> + use<> {
        ready(match &options.id {
            Some(id) => self.refuse(id, process_env),
            None => Ok(()),
        })
    }

    pub(super) fn show_logs(&self, options: &LogsOfKernel, process_env: &ProcessEnv) -> anyhow::Result<()> {
        self.refuse(&options.id, process_env)
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    fn refuse(&self, id: &str, process_env: &ProcessEnv) -> anyhow::Result<()> {
        if is_foreign_kernel(process_env, id) {
            bail!("kernel {id:?} belongs to another program: Cellbridge never ends it, and has no log of it");
        }
        bail!("there is no kernel {id:?}. {NONE}")
    }
}
