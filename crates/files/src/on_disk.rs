//! Work that reads or writes a disk, on a thread that may block.

use place::{Error, ErrorKind, NextStep};

/// Does the work, which goes on if the caller is dropped.
pub async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::new(
            ErrorKind::Internal,
            format!("A task that reads the folder failed: {error}."),
            NextStep::TryAgain,
        )
        .with_source(error))
    })
}
