//! The kernels of a folder that keepers keep.

use std::path::Path;
use std::sync::Arc;

use futures_util::future::join_all;
use keeper::{KeeperFolder, KeptKernel, KernelFile, StartLock, keepers};
use place::Kernel as _;

use super::{Folder, START_TIMEOUT};
use crate::launch::{LocalKernel, not_used, refusal};
use environments::KernelChoice;

const LEFT_OF_NO_NOTEBOOK: &str = "This kernel is from an earlier server, with its variables.";

impl Folder {
    /// The keepers' reports about their kernels, if kernels are kept here.
    fn kept(&self) -> Vec<(KeeperFolder, KernelFile)> {
        if self.keeping.is_some() { keepers(&self.process_env.state_folder()) } else { Vec::new() }
    }

    /// The kernels of this program, and those that other servers have left to keepers.
    pub(super) async fn with_kept(&self, mut all: Vec<Arc<LocalKernel>>) -> Vec<Arc<LocalKernel>> {
        all.retain(|kernel| !kernel.is_only_listed());
        join_all(all.iter().map(|kernel| kernel.refresh())).await;
        for (folder, record) in self.kept() {
            if !self.is_here(&record) || all.iter().any(|known| *known.id() == *record.id) {
                continue;
            }
            let known = KeptKernel::ask(folder, record).await;
            if known.answers() {
                all.extend(self.of_keeper(known));
            }
        }
        if let Some(kernels) = &mut *self.kernels.lock() {
            kernels.clone_from(&all);
        }
        all
    }

    /// The kernel that an earlier server started, if it fits and a new one is not wanted. If not, what to know of those that are not
    /// used.
    pub(super) async fn earlier_kernel(
        &self,
        notebook: Option<&Path>,
        choice: &KernelChoice,
        is_to_be_new: bool,
    ) -> Result<Arc<LocalKernel>, Vec<String>> {
        let earlier = match notebook {
            _ if is_to_be_new => None,
            Some(notebook) => self.kept_kernel(notebook, choice).await,
            None => self.left_kernel_of_no_notebook(choice).await.map(Ok),
        };
        let refused = match earlier {
            Some(Ok(kernel)) => return Ok(kernel),
            Some(Err(cause)) => Some(not_used(&cause)),
            None => None,
        };
        let left = match notebook {
            Some(notebook) if refused.is_none() => self.left_kernels(notebook, choice),
            _ => Vec::new(),
        };
        Err(refused.into_iter().chain(left).chain(self.unused_folders()).collect())
    }

    /// Whether a kept kernel runs for the notebook, or has left what it did.
    pub(super) fn keeps_kernel_of(&self, notebook: &Path) -> bool {
        self.kept().into_iter().any(|(folder, record)| {
            let is_usable = if folder.is_kept() { record.is_ready() } else { record.is_readable() };
            record.notebook.as_deref() == Some(notebook) && is_usable
        })
    }

    /// Whether a kernel is that of this folder or of a notebook in it.
    pub(super) fn is_here(&self, record: &KernelFile) -> bool {
        let home = record.notebook.as_ref().unwrap_or(&record.folder);
        self.root.relative(home).is_some()
    }

    /// What to know of kernels that a new one of `notebook` does not replace: of the notebook itself, and of notebooks that are
    /// gone, of which this may be one under another name.
    fn left_kernels(&self, notebook: &Path, choice: &KernelChoice) -> Vec<String> {
        let mut notices = Vec::new();
        // Those that a session here has started are known to it.
        let started = |kernel: &Arc<LocalKernel>| {
            kernel.description().keeping.is_some_and(|keeping| !keeping.is_from_earlier)
        };
        let ours: Vec<_> = self.live_kernels().into_iter().filter(started).collect();
        for (folder, record) in self.kept() {
            let is_left = record.is_ready() && ours.iter().all(|kernel| **kernel.id() != *record.id);
            let Some(of) = record.notebook.as_deref().filter(|_| is_left && folder.is_kept()) else {
                continue;
            };
            if of == notebook {
                notices.push(format!(
                    "The earlier kernel {} of this notebook is still running, in addition to this one.",
                    record.id
                ));
            } else if !of.exists()
                && record.is_of(of, &choice.kernelspec.name, &choice.program)
                && let Some(path) = self.root.relative(of)
            {
                notices.push(format!(
                    "The kernel {} of {path} is still running, although that notebook no longer exists. If this is \
                     the same notebook under another name, join that kernel to use its variables.",
                    record.id
                ));
            }
        }
        notices
    }

    fn of_keeper(&self, keeper: KeptKernel) -> Option<Arc<LocalKernel>> {
        let (keeping, root) = (self.keeping.clone(), self.root.clone());
        LocalKernel::of_keeper(keeper, keeping, root, self.process_env.clone(), START_TIMEOUT)
    }

    fn live_kernel(&self, keeper: &KeptKernel) -> Option<Arc<LocalKernel>> {
        self.live_kernels().into_iter().find(|kernel| *kernel.id() == *keeper.record.id)
    }

    /// The kernel of a keeper, to which this server is connected from here on.
    pub(super) async fn joined(&self, keeper: KeptKernel) -> Option<Arc<LocalKernel>> {
        let kernel = if let Some(kernel) = self.live_kernel(&keeper) {
            kernel
        } else {
            let kernel = self.of_keeper(keeper)?;
            self.kernels.lock().as_mut()?.push(kernel.clone());
            kernel
        };
        join(&kernel).await;
        Some(kernel)
    }

    /// The kernel that an earlier server started for a notebook, if it still fits: of those the newest, those before any
    /// that has died. Fails with the cause if its keeper refuses.
    async fn kept_kernel(
        &self,
        notebook: &Path,
        choice: &KernelChoice,
    ) -> Option<Result<Arc<LocalKernel>, String>> {
        let fits = |(folder, record): &(KeeperFolder, KernelFile)| {
            record.is_of(notebook, &choice.kernelspec.name, &choice.program)
                && if folder.is_kept() { record.is_ready() } else { record.is_readable() }
        };
        let mut found: Vec<_> = self.kept().into_iter().filter(fits).collect();
        found.sort_unstable_by_key(|(folder, record)| (folder.is_kept(), record.started_at));
        while let Some((folder, record)) = found.pop() {
            let keeper = KeptKernel::ask(folder, record).await;
            if self.live_kernel(&keeper).is_none() {
                if let Some(cause) = refusal(&keeper) {
                    return Some(Err(cause));
                }
                if !keeper.answers() && keeper.folder.is_kept() {
                    // Another server reads what it has left.
                    continue;
                }
            }
            let Some(kernel) = self.joined(keeper).await else { continue };
            return Some(Ok(kernel));
        }
        None
    }

    /// The kernel that an earlier server has left which ran code of no notebook in this folder, the newest first. Servers do not
    /// share these: nobody can tell whose code it is.
    async fn left_kernel_of_no_notebook(&self, choice: &KernelChoice) -> Option<Arc<LocalKernel>> {
        self.keeping.as_ref()?;
        let folder = self.root.real();
        // Two servers do not take the same one.
        let _lock = StartLock::take(&self.process_env.state_folder(), folder).await.ok()?;
        let fits = |(folder_of, record): &(KeeperFolder, KernelFile)| {
            record.is_of_no_notebook(folder, &choice.kernelspec.name, &choice.program)
                && record.is_ready()
                && folder_of.is_kept()
        };
        let mut found: Vec<_> = self.kept().into_iter().filter(fits).collect();
        found.sort_unstable_by_key(|(_, record)| std::cmp::Reverse(record.started_at));
        for (folder, record) in found {
            let keeper = KeptKernel::ask(folder, record).await;
            // This server may have looked for one of its runs.
            let is_ours = |server: &u32| *server == std::process::id();
            if !keeper.answers() || !keeper.attached.iter().all(is_ours) {
                continue;
            }
            let Some(kernel) = self.joined(keeper).await else { continue };
            kernel.add_notice(LEFT_OF_NO_NOTEBOOK.to_owned());
            return Some(kernel);
        }
        None
    }
}

/// Connects to the keeper of a kernel. If that fails, the first run tries again or starts another.
pub(super) async fn join(kernel: &LocalKernel) {
    if let Err(error) = kernel.join().await {
        tracing::warn!(%error, kernel = %kernel.id(), "the keeper of a kernel cannot be reached");
    }
}
