//! Connects a server to a keeper, or to what a dead one has left.

use std::io;
use std::time::Duration;

use kernel::KernelError;
use tokio::net::UnixStream;
use tokio::task::spawn_blocking;

use crate::connection::{self, Connect, Connection, ReadLog};
use crate::event_loop::Keeper;
use crate::folder::KeeperFolder;
use crate::kernel_file::KernelFile;
use crate::log::read_piece;
use crate::protocol::VERSION;

/// How long a keeper may be silent during a run until it is asked whether it is there, and how long it may take to answer. It
/// does nothing that takes long.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);

/// A connection to a keeper, or to the log of one that has ended.
#[derive(Debug)]
pub struct Attachment {
    pub connection: Connection,
    /// Whether the keeper lives. If not, the kernel is dead, and the connection reports how its runs ended.
    pub is_kept: bool,
}

/// Connects to the keeper of a folder, and adopts runs whose servers are gone. With `restart` the kernel is restarted
/// first, if its keeper lives. Fails if the keeper cannot be reached or read, or the kernel is not ready within the timeout.
pub async fn attach(
    folder: &KeeperFolder,
    record: &KernelFile,
    restart: bool,
    ready_timeout: Duration,
) -> Result<Attachment, KernelError> {
    let unreachable =
        |error: io::Error| KernelError::Unusable { cause: format!("its keeper cannot be reached: {error}") };
    let (stream, is_kept) = match folder.lock().map_err(unreachable)? {
        None => (folder.connect(record).await.map_err(unreachable)?, true),
        Some(_) if !record.is_readable() => {
            let cause = format!(
                "its keeper was of a later version of cellbridge (protocol {}, here {VERSION}); that version can read its log",
                record.protocol
            );
            return Err(KernelError::Unusable { cause });
        }
        Some(lock) => {
            let (ours, theirs) = UnixStream::pair().map_err(unreachable)?;
            let folder = folder.clone();
            let read = spawn_blocking(move || Keeper::of_leftovers(folder, lock));
            let mut keeper = read.await.map_err(io::Error::from).flatten().map_err(unreachable)?;
            keeper.serve(theirs);
            // Ends with the connection.
            place::spawn(async move {
                let ending = keeper.run(None, std::future::pending()).await;
                keeper.end(ending).await;
            });
            (ours, false)
        }
    };
    let path = folder.path.clone();
    let read_log: ReadLog = Box::new(move |offset| read_piece(&path, offset));
    let read_log = Some(read_log).filter(|_| is_kept);
    let connect = Connect {
        stream: stream.into_std().map_err(unreachable)?,
        read_log,
        restart: restart && is_kept,
        ready_timeout,
        process: record.process,
        silence_timeout: SILENCE_TIMEOUT,
    };
    let connection = connection::connect(connect).await?;
    Ok(Attachment { connection, is_kept })
}
