//! A kernel of a place, and what is known of it.

use std::future::ready;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use kernel::Death;
use notebook::Json;
use serde_json::Value;

use crate::earlier_runs::EarlierKernelRuns;
use crate::executor::Executor;
use crate::{Error, ErrorKind, Future, KernelId, NotebookPath};

/// A kernel, started or not. Without further methods, it is only observed.
pub trait Kernel: Send + Sync + 'static {
    fn id(&self) -> &KernelId;

    /// What is known about it now. Never waits.
    fn description(&self) -> KernelDescription;

    /// Whether it was shut down, or is known not to exist any longer: nothing will run on it again. Never waits.
    fn is_gone(&self) -> bool;

    /// Whether another client uses it now, so that shutting it down would affect somebody else.
    fn is_shared(&self) -> BoxFuture<'_, bool> {
        Box::pin(ready(false))
    }

    /// Whether it keeps running when this program ends, as the kernel of a notebook on a server does. Never waits.
    fn outlives_us(&self) -> bool {
        false
    }

    /// What tells the process that it is now from every other that ran, or will run, under the same id, whoever restarted it: the
    /// same text in every server. `None` while that is not known, or never is. Never waits.
    fn instance(&self) -> Option<String> {
        None
    }

    /// The [instance](Kernel::instance) that it was last, if that has ended, or is about to, and the next one is not known yet. Never
    /// waits.
    fn ended_instance(&self) -> Option<String> {
        None
    }

    /// Finds out which instance it is, if no connection shows that. Returns in bounded time.
    fn identify(&self) -> BoxFuture<'_, ()> {
        Box::pin(ready(()))
    }

    /// Notices for the agent about other kernels, because this one was started. Each is returned once.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Notices for the person about the choice of the kernel.
    fn introduction(&self) -> Vec<String> {
        let KernelDescription { name, environment, .. } = self.description();
        let first = if environment.is_empty() { name } else { format!("{name}, {environment}") };
        std::iter::once(format!("kernel: {first}")).chain(self.take_notices()).collect()
    }

    /// The runs of other servers on it; `None` if runs end with this program.
    fn earlier_runs(&self) -> Option<&dyn EarlierKernelRuns> {
        None
    }

    /// Connects; starts the kernel if it is not running, and waits until it is ready.
    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        only_observed(self.id())
    }

    /// Problems of cells in its environment and folder, as `memory/handler/problems.py` of the crate `kernel` finds them, from files
    /// alone: nothing of the environment is imported, and nothing in the folder is started. `None` if they cannot be read. Returns in
    /// bounded time.
    fn lacking(&self, _wanted: Value) -> BoxFuture<'_, Option<Json>> {
        Box::pin(ready(None))
    }

    /// Fails if it can never be interrupted from here; the error says who can. Never waits.
    fn check_interruptible(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Fails if it can never be restarted from here; the error says who can. Never waits.
    fn check_restartable(&self) -> Result<(), Error> {
        Ok(())
    }

    /// Interrupts the running code, by message or signal as its kernelspec says.
    fn interrupt(&self) -> Future<'_, ()> {
        only_observed(self.id())
    }

    /// Restarts it and waits until it is ready.
    fn restart(&self) -> Future<'_, ()> {
        only_observed(self.id())
    }

    fn shutdown(&self) -> Future<'_, ()> {
        only_observed(self.id())
    }
}

fn only_observed<T: Send + 'static>(kernel: &KernelId) -> Future<'static, T> {
    let cause = format!("Kernel {kernel} can only be observed here.");
    Box::pin(ready(Err(Error::new(ErrorKind::Unsupported, cause, "Ask the agent that uses it."))))
}

/// A kernel as shown to agents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelDescription {
    /// The kernelspec's name.
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The language, in lower case.
    pub language: String,
    /// The interpreter or program that it runs.
    pub environment: String,
    pub state: KernelState,
    /// When it was last used.
    pub last_activity: Option<SystemTime>,
    /// The number of connected clients, if known.
    pub connections: Option<u64>,
    /// Who else uses it and since when, if it is a process of its own that outlives this program.
    pub keeping: Option<Keeping>,
    /// Who has started it, if it is another program of this machine, which alone restarts or ends it.
    pub foreign: Option<Foreign>,
}

/// What is known of a kernel that another program of this machine has started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Foreign {
    pub started_at: SystemTime,
    /// Who has started it, as far as that can be seen: `started for a.ipynb, as a Jupyter server does`.
    pub origin: String,
}

/// What is known of a kernel that outlives this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keeping {
    pub started_at: SystemTime,
    /// The notebook for which it was started.
    pub notebook: Option<NotebookPath>,
    /// When a server last sent it something, as far as is known.
    pub last_request: SystemTime,
    /// The processes of the servers that are attached to it.
    pub attached: Vec<u32>,
    /// Whether an earlier server started it.
    pub is_from_earlier: bool,
    /// What its process held in memory when it was asked last, in bytes.
    pub memory: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KernelState {
    /// The first run starts it.
    NotStarted,
    /// Its process is running but not ready yet.
    Starting,
    Idle,
    Busy,
    /// Nothing reaches it, but its process may live, with its variables: its keeper is stopped, or cannot write.
    Unreachable {
        how: String,
    },
    /// Its process ended unexpectedly.
    Dead {
        how: Death,
    },
}

/// A kernel that could be started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KernelspecInfo {
    pub name: String,
    /// The name for people.
    pub display_name: String,
    /// The language, in lower case.
    pub language: String,
    /// The interpreter or program that it runs.
    pub environment: String,
}

/// The result of [`Place::kernel`].
pub enum KernelChoice {
    Kernel {
        kernel: Arc<dyn Kernel>,
        /// Whether this request created it.
        is_new: bool,
    },
    /// None yet: the first run starts this one, described for people.
    OnFirstRun(String),
}
