use std::path::PathBuf;

const KERNELS: &str = "kernels";
const STARTING: &str = "starting";

/// The folder of what this program remembers between two starts. In it, each keeper has a folder.
#[derive(Debug, Clone)]
pub struct StateFolder {
    path: Option<PathBuf>,
}

impl StateFolder {
    /// The folder at `path`, which need not be there. With `None`, no keeper is found, and no kernel can be kept.
    pub fn new(path: Option<PathBuf>) -> Self {
        Self { path }
    }

    /// The folder with the folders of keepers.
    pub(crate) fn of_keepers(&self) -> Option<PathBuf> {
        Some(self.path.as_ref()?.join(KERNELS))
    }

    /// The folder with the locks under which kernels are started.
    pub(crate) fn of_start_locks(&self) -> Option<PathBuf> {
        Some(self.path.as_ref()?.join(STARTING))
    }

    /// That of a test.
    #[cfg(test)]
    pub(crate) fn at(path: impl AsRef<std::path::Path>) -> Self {
        Self::new(Some(path.as_ref().join("cellbridge")))
    }
}
