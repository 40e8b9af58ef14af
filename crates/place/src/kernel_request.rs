//! Which kernel is wanted, and for what.

use std::path::PathBuf;

use notebook::Kernelspec;

use crate::{KernelId, NotebookPath};

/// A request for a kernel.
#[derive(Debug, Clone, Default)]
pub struct KernelRequest {
    /// The notebook that will use the kernel.
    pub notebook: Option<NotebookPath>,
    pub kernel: KernelSelector,
    /// Whether a run waits for the kernel.
    pub is_for_run: bool,
    /// The kernelspec in the notebook's metadata.
    pub preferred: Option<Kernelspec>,
    /// Where a kernel of no notebook works in place of the notebook's folder: in a copy that the place made.
    pub folder: Option<PathBuf>,
}

impl KernelRequest {
    /// Whether a place may return [`KernelChoice::OnFirstRun`](crate::KernelChoice::OnFirstRun).
    pub fn can_wait(&self) -> bool {
        !self.is_for_run && self.kernel == KernelSelector::Any
    }
}

/// Which kernel is wanted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum KernelSelector {
    /// The one that the notebook has, or else one that the place chooses.
    #[default]
    Any,
    /// The one that the notebook has if it has this kernelspec, else a new one.
    Kernelspec(String),
    /// A new one, even if the notebook has one; of this kernelspec if one is named.
    New(Option<String>),
    Existing(KernelId),
    /// A new one in the notebook's folder, which is not the notebook's and ends with this program; of this kernelspec if one is
    /// named.
    Scratch(Option<String>),
}

impl KernelSelector {
    /// The name of the kernelspec that a new kernel has to have.
    pub fn kernelspec(&self) -> Option<&str> {
        match self {
            Self::Kernelspec(name) => Some(name),
            Self::New(name) | Self::Scratch(name) => name.as_deref(),
            Self::Any | Self::Existing(_) => None,
        }
    }

    /// Whether a kernel that the notebook has, of this kernelspec, need not be replaced.
    pub fn fits(&self, kernelspec: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Kernelspec(name) => name == kernelspec,
            Self::New(_) | Self::Existing(_) | Self::Scratch(_) => false,
        }
    }
}
