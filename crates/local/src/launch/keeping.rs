use std::path::PathBuf;
use std::time::Duration;

/// How kernels are kept when this program ends. Keepers need Unix sockets and signals: elsewhere, every kernel ends with it.
#[derive(Debug, Clone)]
pub struct KernelKeeping {
    /// This program, which is also the keeper.
    pub program: PathBuf,
    /// How long a kernel is kept that nobody uses.
    pub idle: Duration,
    /// Whether this process only stores the runs of earlier servers, which the next server reports.
    pub only_stores: bool,
}
