//! No kernel outlives this program: keepers need Unix sockets and signals.

use std::future::ready;
use std::path::Path;
use std::sync::Arc;

use notebook::CellId;
use place::{Error, FoundRun, Leftovers, NotebookPath, RunDetails, RunId};

use super::{Folder, Refused};
use crate::environment::KernelChoice;
use crate::launch::LocalKernel;

impl Folder {
    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn find_kept_run(&self, _run: &RunId) -> impl Future<Output = Option<FoundRun>> + use<> {
        ready(None)
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn note_waiting(&self, _note: &RunDetails) {}

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn forget_waiting(&self, _run: &RunId) {}

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn unused_folders(&self) -> Vec<String> {
        Vec::new()
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn leftovers(&self) -> impl Future<Output = Leftovers> + Send + use<> {
        ready(Leftovers::default())
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn left_kernel_of_no_notebook(
        &self,
        _choice: &KernelChoice,
    ) -> impl Future<Output = Option<Arc<LocalKernel>>> + use<> {
        ready(None)
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn kept_cells(
        &self,
        _notebook: &NotebookPath,
    ) -> impl Future<Output = Result<Vec<CellId>, Error>> + use<> {
        ready(Ok(Vec::new()))
    }

    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn left_kernels(&self, _notebook: &Path, _choice: &KernelChoice) -> Vec<String> {
        Vec::new()
    }

    /// The kernels of this program.
    pub(super) fn all_kernels(&self) -> impl Future<Output = Vec<Arc<LocalKernel>>> {
        ready(self.live_kernels())
    }

    /// No earlier server has left one.
    #[expect(clippy::unused_self, reason = "where kernels are kept, it is needed")]
    pub(super) fn kept_kernel(
        &self,
        _notebook: &Path,
        _choice: &KernelChoice,
    ) -> impl Future<Output = Option<Result<Arc<LocalKernel>, Refused>>> + use<> {
        ready(None)
    }
}
