//! Whether an edit is in the file. Neither dialect can be taken at its word.

use std::time::Duration;

use notebook::{Cell, Notebook};
use rest::{Entry, Kind, RestError, Want};
use tokio::time::{Instant, sleep, timeout_at};
use ydoc::{Dialect, SaveOutcome};

use super::intent::Intent;
use super::saves::Reply;
use super::shared::Shared;

/// How long an edit may take to get into the file before the answer says "not yet"; each megabyte gets more.
const PATIENCE: Duration = Duration::from_secs(10);
/// The new hash comes right before or after the server's answer.
const HASH: Duration = Duration::from_millis(60);
/// How often a server is asked that says that it saved and did not.
const ASKED: u32 = 4;
const PAUSE: Duration = Duration::from_millis(40);
/// How often the file is looked at where the server saves by itself, every half second at first.
const LOOK: Duration = Duration::from_millis(120);

pub(super) enum Confirmed {
    OnDisk,
    /// Others see it; why it is not known to be in the file.
    NotYet(String),
    /// The server may not write the file.
    ReadOnly,
    /// The connection is gone, or what others see is not what we made.
    Lost,
}

/// Finds out whether edits have got into the file. Bounded.
pub(super) async fn confirm(shared: &Shared, intents: &[Intent]) -> Confirmed {
    let end = Instant::now() + PATIENCE.max(shared.patience);
    match shared.dialect {
        Dialect::Collaboration => ask(shared, intents, end).await,
        Dialect::ServerDocuments => watch(shared, intents, end).await,
    }
}

/// jupyter-collaboration saves when asked to.
async fn ask(shared: &Shared, intents: &[Intent], end: Instant) -> Confirmed {
    let mut pause = PAUSE;
    let mut asked = 1;
    loop {
        let mut heard = shared.heard.subscribe();
        let reply = {
            let mut state = shared.state();
            let state = &mut *state;
            let (frame, reply) = state.saves.ask(&mut state.room, &state.live);
            if let Some(frame) = frame {
                state.send(frame);
            }
            if state.outbox.is_none() {
                return Confirmed::Lost;
            }
            reply
        };
        let reply = match timeout_at(end, reply).await {
            Ok(Ok(reply)) => reply,
            Ok(Err(_)) => return Confirmed::Lost,
            Err(_) => {
                let why =
                    format!("the server did not answer the request to save within {} s", PATIENCE.as_secs());
                return Confirmed::NotYet(why);
            }
        };
        if reply.outcome == SaveOutcome::Saved && is_written(shared, &reply, &mut heard).await {
            return Confirmed::OnDisk;
        }
        tracing::debug!(
            path = shared.path,
            ?reply,
            "the server does not tell that it saved; looking into the file"
        );
        let problem = match in_file(shared, intents, end).await {
            Ok(Found::All) => return Confirmed::OnDisk,
            Ok(Found::Overwritten) => return Confirmed::Lost,
            Ok(Found::NotAll { is_writable: false }) => return Confirmed::ReadOnly,
            Ok(Found::NotAll { .. }) if reply.outcome == SaveOutcome::Failed => {
                "the server could not save it; its log says why".to_owned()
            }
            Ok(Found::NotAll { .. }) => {
                "the server answers that it saved, but the change is not in the file: its disk may be full, or the file \
                 not writable; its log says more"
                    .to_owned()
            }
            Err(error) => unseen(&error),
        };
        asked += 1;
        if asked > ASKED || Instant::now() + pause >= end {
            return Confirmed::NotYet(problem);
        }
        sleep(pause).await;
        pause *= 2;
    }
}

/// Whether the document tells that the file was written since the save was asked for.
async fn is_written(shared: &Shared, reply: &Reply, heard: &mut tokio::sync::watch::Receiver<u64>) -> bool {
    let end = Instant::now() + HASH;
    loop {
        let hash = shared.state().live.hash();
        if hash.is_some() && hash != reply.hash {
            return true;
        }
        // Older servers tell no hash.
        if hash.is_none() || timeout_at(end, heard.changed()).await.is_err() {
            return false;
        }
    }
}

/// jupyter-server-documents saves by itself, and tells nothing of it that can be relied on.
async fn watch(shared: &Shared, intents: &[Intent], end: Instant) -> Confirmed {
    let mut seen = None;
    let mut problem = "the server has not saved it yet".to_owned();
    let mut pause = LOOK;
    let mut missed = 0;
    let mut is_traced = false;
    loop {
        if Instant::now() + pause >= end {
            return Confirmed::NotYet(problem);
        }
        sleep(pause).await;
        if !shared.is_synced() {
            return Confirmed::Lost;
        }
        let modified = match modified(shared, end).await {
            Ok(modified) => modified,
            Err(error) if error.kind == Kind::NotFound && trace(shared, end).await => continue,
            Err(error) => {
                problem = unseen(&error);
                missed += u32::from(error.kind == Kind::NotFound);
                if missed > 2 {
                    return Confirmed::NotYet(problem);
                }
                pause = (pause * 2).min(Duration::from_secs(1));
                continue;
            }
        };
        if seen.as_ref() == Some(&modified) {
            pause = (pause * 5 / 4).min(Duration::from_secs(1));
            continue;
        }
        match in_file(shared, intents, end).await {
            Ok(Found::All) => return Confirmed::OnDisk,
            Ok(Found::Overwritten) => return Confirmed::Lost,
            Ok(Found::NotAll { is_writable: false }) => return Confirmed::ReadOnly,
            // Another file may be where it was.
            Ok(Found::NotAll { .. }) if !is_traced && trace(shared, end).await => is_traced = true,
            Ok(Found::NotAll { .. }) => {
                is_traced = true;
                seen = Some(modified);
            }
            Err(error) => {
                problem = unseen(&error);
            }
        }
    }
}

enum Found {
    All,
    NotAll {
        is_writable: bool,
    },
    /// The document itself does not show all of the edits any more.
    Overwritten,
}

/// Looks into the file for the edits.
async fn in_file(shared: &Shared, intents: &[Intent], end: Instant) -> Result<Found, RestError> {
    let entry = contents(shared, Want::Text, end).await?;
    let Some(mut file) = entry.content.and_then(|content| Notebook::parse(content).ok()) else {
        return Ok(Found::NotAll { is_writable: entry.is_writable });
    };
    let live = {
        let mut state = shared.state();
        shared.snapshot(&mut state).ok()
    };
    let shown: Vec<&Intent> = intents.iter().collect();
    if live.as_ref().is_some_and(|live| !shown.iter().all(|intent| intent.holds(live))) {
        return Ok(Found::Overwritten);
    }
    if holds(&mut file, live.as_ref(), &shown) {
        return Ok(Found::All);
    }
    Ok(Found::NotAll { is_writable: entry.is_writable })
}

/// Whether a file shows edits that are in the document.
fn holds(file: &mut Notebook, live: Option<&Notebook>, intents: &[&Intent]) -> bool {
    // A file of nbformat 4.4 or older has no ids: its cells are known by what they are and where.
    if file.version() < (4, 5)
        && let Some(live) = live
    {
        let is_same = |(one, other): (&Cell, &Cell)| {
            one.cell_type() == other.cell_type()
                && (one.source() == other.source() || intents.iter().all(|intent| intent.keeps_cells()))
        };
        let (cells, lives) = (file.cells(), live.cells());
        if cells.len() != lives.len() || !cells.iter().zip(lives).all(is_same) {
            return false;
        }
        file.carry_ids(live);
    }
    intents.iter().all(|intent| intent.holds(file))
}

/// Asks where the file is now, of which jupyter-server-documents does not tell the room. Whether that is elsewhere than
/// it was known to be.
async fn trace(shared: &Shared, end: Instant) -> bool {
    let Some(id) = shared.state().file_id.clone() else { return false };
    let Ok(server) = shared.link.server().await else { return false };
    let Ok(Ok(Some(path))) = timeout_at(end, server.file_path(&id)).await else { return false };
    let is_elsewhere = path != shared.path_now();
    if is_elsewhere {
        tracing::info!(from = shared.path, to = path, "the notebook was renamed");
        shared.state().moved = Some(path);
    }
    is_elsewhere
}

fn unseen(error: &RestError) -> String {
    if error.kind == Kind::NotFound {
        return "the file is not where it was: it was renamed or deleted on the server".to_owned();
    }
    format!("whether the server saved it could not be seen: {}", error.cause)
}

async fn modified(shared: &Shared, end: Instant) -> Result<Option<String>, RestError> {
    Ok(contents(shared, Want::Meta, end).await?.last_modified)
}

/// What is in the file, if the server tells it in time.
async fn contents(shared: &Shared, want: Want, end: Instant) -> Result<Entry, RestError> {
    let asked = async {
        let server = shared.link.server().await?;
        server.contents(&shared.path_now(), want).await
    };
    timeout_at(end, asked).await.unwrap_or_else(|_| {
        Err(RestError::new(Kind::TooSlow, "The server did not answer in time.", "Try again in a moment."))
    })
}

#[cfg(test)]
mod tests;
