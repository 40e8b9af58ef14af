//! Finds out whether an edit is in the file. What servers say about saving cannot be relied on.

use std::time::Duration;

use notebook::{Cell, Notebook};
use rest::{ContentsQuery, Entry, Kind, RestError};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout_at};
use ydoc::{Dialect, Intent, SaveOutcome};

use super::file_lookup;
use super::save_queue::Reply;
use super::shared::Shared;

/// The new hash arrives right before or after the server's answer.
const HASH_TIMEOUT: Duration = Duration::from_millis(60);
/// How often a save is requested that did not get into the file, and the first pause in between; it doubles.
const MAX_REQUESTS: u32 = 4;
const REQUEST_PAUSE: Duration = Duration::from_millis(40);
/// How often the file is checked where the server saves by itself, every half second. The pause grows to the longest.
const CHECK_INTERVAL: Duration = Duration::from_millis(120);
const LONGEST_CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// How often the file may be missing before that is the answer.
const MAX_MISSING: u32 = 2;

pub(super) enum Confirmation {
    OnDisk,
    /// Others see the edits, but they are not known to be in the file, for this reason.
    NotYet(String),
    /// The server may not write the file.
    ReadOnly,
    /// The connection ended, or others no longer see the edits.
    Lost,
}

/// Waits until edits are in the file, or it is clear that this takes longer. Bounded.
pub(super) async fn confirm(shared: &Shared, intents: &[Intent]) -> Confirmation {
    let deadline = Instant::now() + shared.load_timeout;
    match shared.dialect {
        Dialect::Collaboration => request_save(shared, intents, deadline).await,
        Dialect::ServerDocuments => watch_file(shared, intents, deadline).await,
    }
}

/// jupyter-collaboration saves when it is requested to.
///
/// An example, with the times in milliseconds. The document contains the hash h1 of the file, and an edit was sent.
///
/// - 0: a save is requested. 5: the server answers "success". 7: the document contains the hash h2, so the file was
///   written after the request: the edit is on disk.
/// - Or the disk is full. 5: "success" all the same. 65: the hash is still h1, so the file is read, and it does not show
///   the edit. 105, 250, 475: the request is repeated after pauses of 40, 80 and 160 ms, with the same result: the edit is
///   not on disk yet.
async fn request_save(shared: &Shared, intents: &[Intent], deadline: Instant) -> Confirmation {
    let mut pause = REQUEST_PAUSE;
    let mut requests = 1;
    loop {
        let mut inbound = shared.inbound();
        let Some(reply) = shared.state().replica.request_save() else { return Confirmation::Lost };
        let reply = match timeout_at(deadline, reply).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => return Confirmation::Lost,
            Err(_) => {
                let why = format!(
                    "the server did not answer the request to save within {} s",
                    shared.load_timeout.as_secs_f64()
                );
                return Confirmation::NotYet(why);
            }
        };
        if reply.outcome == SaveOutcome::Saved && is_written(shared, &reply, &mut inbound).await {
            return Confirmation::OnDisk;
        }
        tracing::debug!(path = shared.path, ?reply, "the save is not confirmed; reading the file");
        let problem = match in_file(shared, intents, deadline).await {
            Ok(Some(confirmation)) => return confirmation,
            Ok(None) if reply.outcome == SaveOutcome::Failed => {
                "the server could not save it; see its log".to_owned()
            }
            Ok(None) => {
                "the server reports that it has saved the notebook, but the change is not in the file: its disk may \
                 be full, or the file not writable; see its log"
                    .to_owned()
            }
            Err(error) => unreadable(&error),
        };
        requests += 1;
        if requests > MAX_REQUESTS || Instant::now() + pause >= deadline {
            return Confirmation::NotYet(problem);
        }
        sleep(pause).await;
        pause *= 2;
    }
}

/// Whether the document shows that the file was written since the request.
async fn is_written(shared: &Shared, reply: &Reply, inbound: &mut watch::Receiver<u64>) -> bool {
    let deadline = Instant::now() + HASH_TIMEOUT;
    loop {
        let hash = shared.state().replica.live.hash();
        if hash.is_some() && hash != reply.hash {
            return true;
        }
        // Documents of older servers contain no hash.
        if hash.is_none() || timeout_at(deadline, inbound.changed()).await.is_err() {
            return false;
        }
    }
}

/// jupyter-server-documents saves by itself, and reports nothing about it that can be relied on.
async fn watch_file(shared: &Shared, intents: &[Intent], deadline: Instant) -> Confirmation {
    let mut checked = None;
    let mut problem = "the server has not saved it yet".to_owned();
    let mut pause = CHECK_INTERVAL;
    let mut missing = 0;
    let mut is_location_checked = false;
    loop {
        if Instant::now() + pause >= deadline {
            return Confirmation::NotYet(problem);
        }
        sleep(pause).await;
        if !shared.is_synced() {
            return Confirmation::Lost;
        }
        let modified = match contents(shared, ContentsQuery::Hash, deadline).await {
            Ok(entry) => entry.last_modified,
            Err(error) if error.kind == Kind::NotFound && file_lookup::refresh(shared, deadline).await => {
                continue;
            }
            Err(error) => {
                problem = unreadable(&error);
                missing += u32::from(error.kind == Kind::NotFound);
                if missing > MAX_MISSING {
                    return Confirmation::NotYet(problem);
                }
                pause = (pause * 2).min(LONGEST_CHECK_INTERVAL);
                continue;
            }
        };
        if checked.as_ref() == Some(&modified) {
            pause = (pause * 5 / 4).min(LONGEST_CHECK_INTERVAL);
            continue;
        }
        match in_file(shared, intents, deadline).await {
            Ok(Some(confirmation)) => return confirmation,
            // Another file may be at its path now.
            Ok(None) if !is_location_checked && file_lookup::refresh(shared, deadline).await => {
                is_location_checked = true;
            }
            Ok(None) => {
                is_location_checked = true;
                checked = Some(modified);
            }
            Err(error) => {
                problem = unreadable(&error);
            }
        }
    }
}

/// Reads the file. `None` if it does not show all edits yet.
async fn in_file(
    shared: &Shared,
    intents: &[Intent],
    deadline: Instant,
) -> Result<Option<Confirmation>, RestError> {
    let entry = contents(shared, ContentsQuery::Text, deadline).await?;
    let unsaved = (!entry.is_writable).then_some(Confirmation::ReadOnly);
    let Some(mut file) = entry.content.and_then(|content| Notebook::parse(content).ok()) else {
        return Ok(unsaved);
    };
    let live = {
        let mut state = shared.state();
        shared.snapshot(&mut state).ok()
    };
    if live.as_ref().is_some_and(|live| !intents.iter().all(|intent| intent.holds(live))) {
        return Ok(Some(Confirmation::Lost));
    }
    let is_saved = holds(&mut file, live.as_ref(), intents);
    Ok(if is_saved { Some(Confirmation::OnDisk) } else { unsaved })
}

/// Whether a file shows edits that are in the document.
fn holds(file: &mut Notebook, live: Option<&Notebook>, intents: &[Intent]) -> bool {
    // A file of nbformat 4.4 or older has no ids: its cells are identified by content and position.
    if file.version() < (4, 5)
        && let Some(live) = live
    {
        let is_same = |(one, other): (&Cell, &Cell)| {
            one.cell_type() == other.cell_type()
                && (one.source() == other.source() || intents.iter().all(Intent::keeps_cells))
        };
        let (cells, lives) = (file.cells(), live.cells());
        if cells.len() != lives.len() || !cells.iter().zip(lives).all(is_same) {
            return false;
        }
        file.carry_ids(live);
    }
    intents.iter().all(|intent| intent.holds(file))
}

fn unreadable(error: &RestError) -> String {
    if error.kind == Kind::NotFound {
        return "the file is not where it was: it was renamed or deleted on the server".to_owned();
    }
    format!("whether the server saved it is unknown: {}", error.cause)
}

/// The file, if the server answers in time.
async fn contents(shared: &Shared, want: ContentsQuery, deadline: Instant) -> Result<Entry, RestError> {
    let request = async {
        let server = shared.handle.server().await?;
        server.contents(&shared.path_now(), want).await
    };
    timeout_at(deadline, request).await.unwrap_or_else(|_| {
        Err(RestError::new(Kind::Timeout, "The server did not answer in time.", "Try again in a moment."))
    })
}

#[cfg(test)]
mod tests;
