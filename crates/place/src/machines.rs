//! Machines that a person has for a while, such as Google's; each is a place as long as it runs.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use futures_util::future::BoxFuture;
use serde::{Deserialize, Serialize};

use crate::Future;
use crate::place::Place;

/// The machines of one account.
pub trait Machines: Send + Sync + 'static {
    /// The [scheme](Place::scheme) of their places.
    fn scheme(&self) -> &'static str;

    /// Whether a person has signed in. Never waits for the network.
    fn is_present(&self) -> bool;

    /// Whether a text can only be the id of a machine, which may have ended.
    fn is_id(&self, text: &str) -> bool;

    /// The places of those that run: the same place for the same machine each time.
    fn places(&self) -> Future<'_, Vec<Arc<dyn Place>>>;

    /// Those that run, and what could be started.
    fn list(&self) -> Future<'_, MachineList>;

    /// What a start would be. Fails if there is no such machine, or this account may not have it; the error names those that it
    /// may have.
    fn offer(&self, wanted: WantedMachine) -> Future<'_, MachineOffer>;

    /// Starts one, and waits until it can be used. It ends with this program, unless `keeps` says otherwise.
    fn start(&self, kind: MachineKind, keeps: bool) -> Future<'_, Arc<dyn Place>>;

    /// Ends one, with everything on it. One that is not there any longer is no error.
    fn stop<'a>(&'a self, id: &'a str) -> Future<'a, StoppedMachine>;

    /// Ends those that this program has started and that are not kept. Returns in bounded time.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// The machines of an account.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineList {
    /// Whose they are, as part of a sentence: `ada@example.com (Colab Pro)`.
    pub account: String,
    pub running: Vec<Machine>,
    pub offers: Vec<MachineOffer>,
    /// What the person should know, such as when their login ends; sentences.
    pub notices: Vec<String>,
}

/// A machine that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Machine {
    pub id: String,
    pub kind: MachineKind,
    pub origin: MachineOrigin,
}

/// Who has started a machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MachineOrigin {
    /// This program, which ends it, unless it is kept. `is_shared` if another process of this program uses it, too.
    Here { keeps: bool, is_shared: bool },
    /// Another process of this program on this computer, at that time. `is_running` if that process still runs.
    OtherProcess { at: SystemTime, is_running: bool, keeps: bool },
    /// Something else, such as a browser tab.
    Elsewhere,
}

/// What an agent asks for. What it omits is chosen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WantedMachine {
    /// `CPU`, `GPU` or `TPU`, in any case.
    pub variant: Option<String>,
    /// The model, in any case: `T4`.
    pub accelerator: Option<String>,
    pub has_high_memory: Option<bool>,
}

/// A type of machine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MachineKind {
    /// `CPU`, `GPU`, `TPU`, or a new one.
    pub variant: String,
    /// The model; `None` for a CPU.
    pub accelerator: Option<String>,
    pub has_high_memory: bool,
}

impl fmt::Display for MachineKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(accelerator) = &self.accelerator {
            write!(f, "{accelerator} ")?;
        }
        f.write_str(&self.variant)?;
        if self.has_high_memory { f.write_str(" with high RAM") } else { Ok(()) }
    }
}

/// A type of machine that an account may or may not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MachineOffer {
    pub kind: MachineKind,
    pub is_eligible: bool,
    /// Who pays, if it may cost something; a sentence. `None` if it costs nothing.
    pub cost: Option<String>,
}

/// A machine that was ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoppedMachine {
    pub id: String,
    /// Whether it was there.
    pub was_running: bool,
    /// The folder of this computer with copies of its notebooks, if there are any.
    pub copies: Option<PathBuf>,
}
