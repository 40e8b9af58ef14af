//! Connects a server to a keeper, or to what a dead one has left.

use std::io;
use std::time::Duration;

use kernel::KernelError;
use kernel::keeper::{self, Connect, Kept, ReadLog, VERSION, Welcome, connect_kept};
use tokio::net::UnixStream;
use tokio::task::spawn_blocking;

use super::folder::{KeeperFolder, KernelFile};
use super::keep::Keeper;
use super::log::read_piece;

/// How long a keeper may be silent during a run until it is asked whether it is there, and how long it may take to answer. It
/// does nothing that takes long.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(15);

/// A connection to a keeper.
#[derive(Debug)]
pub(crate) struct Attached {
    pub(crate) kept: Kept,
    /// Whether the keeper lives. If not, the kernel is dead, and `kept` tells how its runs ended.
    pub(crate) is_kept: bool,
}

/// Connects to the keeper of a folder, and adopts runs whose servers are gone. With `restart` the kernel is restarted
/// first, if its keeper lives.
pub(crate) async fn attach(
    folder: &KeeperFolder,
    record: &KernelFile,
    restart: bool,
    ready_timeout: Duration,
) -> Result<Attached, KernelError> {
    let unreachable =
        |error: io::Error| KernelError::Unusable { cause: format!("its keeper cannot be reached: {error}") };
    let (stream, is_kept) = match folder.lock().map_err(unreachable)? {
        None => (folder.connect(record).await.map_err(unreachable)?, true),
        Some(_) if !record.is_readable() => return Err(later_version(record.protocol)),
        Some(lock) => {
            let (ours, theirs) = UnixStream::pair().map_err(unreachable)?;
            let folder = folder.clone();
            let read = spawn_blocking(move || Keeper::of_leftovers(folder, lock));
            let mut keep = read.await.map_err(io::Error::from).flatten().map_err(unreachable)?;
            keep.serve(theirs);
            // Ends with the connection.
            tokio::spawn(async move {
                let ending = keep.run(None, std::future::pending()).await;
                keep.end(ending).await;
            });
            (ours, false)
        }
    };
    let path = folder.path.clone();
    let read_log: ReadLog = Box::new(move |offset| read_piece(&path, offset));
    let read_log = Some(read_log).filter(|_| is_kept);
    let connect = Connect {
        stream,
        read_log,
        restart: restart && is_kept,
        ready_timeout,
        process: record.process,
        silence_timeout: SILENCE_TIMEOUT,
    };
    let kept = connect_kept(connect).await?;
    Ok(Attached { kept, is_kept })
}

/// Asks a keeper how it is.
pub(crate) async fn greet(folder: &KeeperFolder, record: &KernelFile) -> Result<Welcome, Ungreeted> {
    if !record.is_ready() {
        return Err(Ungreeted::Absent);
    }
    let stream = folder.connect(record).await.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => Ungreeted::Absent,
        _ => Ungreeted::Silent,
    })?;
    match keeper::greet(stream).await {
        Ok(welcome) => Ok(welcome),
        Err(_) if !folder.is_kept() => Err(Ungreeted::Absent),
        Err(KernelError::Unusable { cause }) => Err(Ungreeted::Refused { cause }),
        Err(_) => Err(Ungreeted::Silent),
    }
}

/// Why a keeper has not said how it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ungreeted {
    /// It has ended, or is not ready: nobody listens.
    Absent,
    /// It lives and does not answer.
    Silent,
    /// It lives and cannot be used: it is of another version of this program, for example.
    Refused { cause: String },
}

fn later_version(protocol: u32) -> KernelError {
    let cause = format!(
        "its keeper was of a later version of cellbridge (protocol {protocol}, here {VERSION}); that version can \
         read its log"
    );
    KernelError::Unusable { cause }
}
