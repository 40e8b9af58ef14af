//! Foreign kernels: those of this machine that other programs have started (`jupyter console`, Spyder, a Jupyter server), known by
//! the connection files in Jupyter's runtime folder. They are joined, and never restarted or ended.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use place::{Error, ErrorKind, NextStep};

use environments::ProcessEnv;

mod file;
mod foreign_kernel;
mod list;
mod own_file;
mod process;
mod search;

use file::{ForeignFile, id_of};
use foreign_kernel::ForeignKernel;
pub use list::{ForeignKernelInfo, RefusedFile, foreign_kernels, is_foreign_kernel};
use own_file::refusal_of_folder;
use search::{find, living, on_files};

/// Why a connection file is not used, as the end of a sentence.
type Refusal = String;

/// The failure to join the kernel with this id.
fn refused(id: &str, refusal: &Refusal) -> Error {
    let cause = format!("The connection file of kernel {id} is not used: {refusal}.");
    Error::new(ErrorKind::Unavailable, cause, NextStep::ListKernels)
}

/// The foreign kernels that a folder has listed or joined.
pub(crate) struct ForeignKernels {
    process_env: Arc<ProcessEnv>,
    /// By id. `None` once the place has shut down.
    known: Mutex<Option<HashMap<String, Arc<ForeignKernel>>>>,
}

impl ForeignKernels {
    pub(crate) fn new(process_env: Arc<ProcessEnv>) -> Self {
        Self { process_env, known: Mutex::new(Some(HashMap::new())) }
    }

    /// Those that answer now, the newest first, without those that have an id of `ours`.
    pub(crate) async fn list(&self, ours: HashSet<String>) -> Vec<Arc<ForeignKernel>> {
        let found = on_files(self.process_env.clone(), move |process_env| find(process_env, ours).0).await;
        let living = living(found, |file| self.known(&file.id).is_some_and(|it| it.is_connected())).await;
        let mut known = self.known.lock();
        let Some(known) = &mut *known else { return Vec::new() };
        let kernels = living.into_iter().map(|(file, probe)| {
            let kernel = known
                .entry(file.id.clone())
                .or_insert_with(|| ForeignKernel::new(file.clone(), self.process_env.clone()));
            kernel.update(file, probe);
            kernel.clone()
        });
        let kernels: Vec<_> = kernels.collect();
        // What a notebook uses stays known: its program may be restarting it.
        known.retain(|_, kernel| Arc::strong_count(kernel) > 1);
        kernels
    }

    /// Connects to the kernel with this id.
    pub(crate) async fn join(&self, id: &str) -> Result<Arc<ForeignKernel>, Error> {
        if self.known(id).is_none() {
            // It was found in another place: a Jupyter server of this machine.
            self.list(HashSet::new()).await;
        }
        let kernel = self.known(id).ok_or_else(|| self.unknown(id))?;
        kernel.connect().await?;
        Ok(kernel)
    }

    /// Why there is no kernel with this id.
    pub(crate) fn unknown(&self, id: &str) -> Error {
        let path = |folder: PathBuf| folder.join(format!("kernel-{id}.json"));
        let paths = self.process_env.connection_folders().into_iter().map(path);
        // An id is part of a path only if a file can be named so.
        let Some(path) =
            paths.filter(|path| id_of(path) == Some(id)).find(|path| path.symlink_metadata().is_ok())
        else {
            return Error::no_kernel(id);
        };
        if let Some((folder, refusal)) = path.parent().and_then(|it| Some((it, refusal_of_folder(it)?))) {
            let cause = format!("Connection files in {} are not used: {refusal}.", folder.display());
            return Error::new(ErrorKind::Unavailable, cause, NextStep::ListKernels);
        }
        match ForeignFile::read(&path) {
            // It is of a kernel of this program.
            Ok(None) => Error::no_kernel(id),
            Ok(Some(_)) => Error::new(
                ErrorKind::KernelGone,
                format!("Kernel {id} does not answer; its connection file is stale."),
                NextStep::ListKernels,
            ),
            Err(refusal) => refused(id, &refusal),
        }
    }

    /// Ends the connections. The kernels go on.
    pub(crate) fn leave(&self) {
        for kernel in self.known.lock().take().into_iter().flat_map(HashMap::into_values) {
            kernel.disconnect();
        }
    }

    fn known(&self, id: &str) -> Option<Arc<ForeignKernel>> {
        self.known.lock().as_ref()?.get(id).cloned()
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
