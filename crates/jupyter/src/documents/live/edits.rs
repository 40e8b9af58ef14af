//! Edits: applied to the newest document, confirmed to be in the file, and applied again if a connection or a server lost
//! them.

use notebook::{Edit, Notebook};
use place::{Applied, Error, ErrorKind, Expected, NextStep, SaveStatus};

use super::confirmation::{Confirmation, confirm};
use super::shared::{Shared, State};
use ydoc::{Intent, are_outputs};

/// How often a lost edit is applied again.
const MAX_RETRIES: u32 = 3;

/// Applies all of `edits` or none, and waits until they are in the file or it is clear that this takes longer.
pub(super) async fn apply(
    shared: &Shared,
    edits: Vec<Edit>,
    expected: Vec<Expected>,
) -> Result<Applied, Error> {
    if let Err(error) = shared.synced().await {
        return apply_when_connected(shared, edits, &expected, error);
    }
    let (intents, mut notebook) = apply_now(shared, &edits, &expected)?;
    let mut retries = 0;
    let saved = loop {
        let mark = shared.state().pending.mark();
        match confirm(shared, &intents).await {
            Confirmation::OnDisk => {
                forget_saved(shared, &intents, mark);
                break match shared.state().renamed() {
                    None => SaveStatus::OnDisk,
                    Some(path) => SaveStatus::OnDiskAt(path.into()),
                };
            }
            Confirmation::ReadOnly => {
                break SaveStatus::NotYet("the file is read-only on the server".to_owned());
            }
            // The connection may be broken without our knowing; then the next document lacks the edits.
            Confirmation::NotYet(why) => {
                let mut state = shared.state();
                state.add_pending(intents);
                state.location.set_verified(false);
                break SaveStatus::NotYet(why);
            }
            Confirmation::Lost if retries == MAX_RETRIES => {
                shared.state().add_pending(intents);
                let why = "the server loses edits before it saves them; see its log";
                break SaveStatus::NotYet(why.to_owned());
            }
            Confirmation::Lost => {
                retries += 1;
                if let Err(error) = shared.synced().await {
                    shared.state().add_pending(intents);
                    let why = format!(
                        "{} The change is sent again after the next connection, unless somebody else changes the same \
                         cells first.",
                        error.cause
                    );
                    return Ok(Applied { notebook, saved: SaveStatus::NotYet(why) });
                }
                notebook = apply_again(shared, &intents)?;
            }
        }
    };
    let mut state = shared.state();
    let notebook = shared.snapshot(&mut state).unwrap_or(notebook);
    Ok(Applied {
        notebook,
        saved: with_lost_edits(saved, state.pending.take_lost().as_deref().map(describe_lost)),
    })
}

/// Applies edits without waiting until they are in the file. Without a connection it does nothing and returns `false`.
pub(super) fn show(shared: &Shared, edits: &[Edit]) -> Result<bool, Error> {
    let mut state = shared.state();
    if !shared.is_synced() {
        return Ok(false);
    }
    shared.snapshot(&mut state)?;
    state.replica.apply(edits).map_err(|error| Error::edit_refused(&shared.path, error))?;
    Ok(true)
}

/// Removes the empty cell that `YNotebook.set` (`jupyter_ydoc`) adds when a room loads a notebook without cells. Only for
/// a notebook that was just created so: then a single untouched cell is the server's, and nobody else's.
///
/// Nothing has to be saved: the file has no cells.
pub(super) fn remove_default_cell(shared: &Shared) -> Result<(), Error> {
    let mut state = shared.state();
    let notebook = shared.snapshot(&mut state)?;
    let [cell] = notebook.cells() else { return Ok(()) };
    let is_untouched = cell.is_code()
        && cell.source().is_empty()
        && cell.output_count() == 0
        && cell.execution_count().is_none();
    if !is_untouched {
        return Ok(());
    }
    let delete = Edit::Delete { ids: vec![cell.id().clone()] };
    state.replica.apply(&[delete]).map_err(|error| Error::edit_refused(&shared.path, error))
}

fn apply_now(
    shared: &Shared,
    edits: &[Edit],
    expected: &[Expected],
) -> Result<(Vec<Intent>, Notebook), Error> {
    let mut state = shared.state();
    let mut planned = shared.snapshot(&mut state)?;
    for expected in expected {
        expected.check(&planned)?;
    }
    let mut intents = Vec::with_capacity(edits.len());
    for edit in edits {
        // Later edits of the same cell are made on what this one leaves.
        intents.push(Intent::of(edit.clone(), &planned));
        planned.apply(edit).map_err(|error| Error::edit_refused(&shared.path, error))?;
    }
    state.replica.apply(edits).map_err(|error| Error::edit_refused(&shared.path, error))?;
    let after = shared.snapshot(&mut state)?;
    // An edit that a later one of them undid cannot be found anywhere.
    intents.retain(|intent| intent.holds(&after));
    Ok((intents, after))
}

/// Applies those edits again that the document no longer shows. Fails if somebody has changed the same cells.
fn apply_again(shared: &Shared, intents: &[Intent]) -> Result<Notebook, Error> {
    let mut state = shared.state();
    let conflicts = apply_missing(shared, &mut state, intents)?;
    if conflicts.is_empty() {
        return shared.snapshot(&mut state);
    }
    let conflicts: Vec<String> = conflicts.into_iter().map(|index| intents[index].describe()).collect();
    Err(Error::new(
        ErrorKind::Conflict,
        format!(
            "The server lost an edit of {:?}, or replaced it with the file's content, and others have changed the \
             same cells since. Lost: {}.",
            shared.path,
            conflicts.join(", ")
        ),
        NextStep::ReadNotebook,
    ))
}

/// Applies those edits again that the document does not show. Returns the indices of those that conflict with what others
/// have done since.
///
/// An example. The file holds the cells a = "1" and b = "2". An agent sets b to "3": the room shows it, and the server is
/// killed before it saves. Somebody sets a to "one" in the file, and the server starts again with a document built from
/// it: a = "one", b = "2". The edit does not hold there, since b is not "3". But b still has the source and so the
/// revision that the edit was made on: it is applied again, and the document is a = "one", b = "3".
///
/// Had somebody set b to "two" instead, b would have another revision: theirs stays, and the edit is reported as lost.
fn apply_missing(shared: &Shared, state: &mut State, intents: &[Intent]) -> Result<Vec<usize>, Error> {
    let mut conflicts = Vec::new();
    for (index, intent) in intents.iter().enumerate() {
        let now = shared.snapshot(state)?;
        if intent.holds(&now) {
            continue;
        }
        let is_applied = intent.again(&now).is_some_and(|edit| state.replica.apply(&[edit]).is_ok());
        if !is_applied {
            conflicts.push(index);
        }
    }
    Ok(conflicts)
}

/// Keeps outputs until the connection is back. Other edits are refused: others may edit the cells in the meantime.
fn apply_when_connected(
    shared: &Shared,
    edits: Vec<Edit>,
    expected: &[Expected],
    error: Error,
) -> Result<Applied, Error> {
    if !shared.is_reconnecting() || !expected.is_empty() || !are_outputs(&edits) {
        return Err(Error { cause: format!("{} Nothing was changed.", error.cause), ..error });
    }
    let mut state = shared.state();
    let known = state.replica.last_known();
    let mut notebook = known.map_err(|error| shared.discard(&mut state, &error))?;
    for edit in &edits {
        notebook.apply(edit).map_err(|error| Error::edit_refused(&shared.path, error))?;
    }
    state.add_pending(edits.into_iter().map(|edit| Intent::of(edit, &notebook)));
    let why = format!("{} The outputs are sent after the next connection.", error.cause);
    Ok(Applied { notebook, saved: SaveStatus::NotYet(why) })
}

/// Applies the pending edits to a document that has just arrived. Returns whether there are any to be saved.
pub(super) fn reconcile(shared: &Shared, state: &mut State) -> bool {
    let pending = state.pending.intents();
    match apply_missing(shared, state, &pending) {
        Ok(conflicts) if conflicts.is_empty() => {}
        Ok(conflicts) => {
            state.pending.give_up(&conflicts);
            tracing::warn!(path = shared.path, lost = state.pending.lost(), "edits were lost");
        }
        // The next connection brings another document, and another attempt.
        Err(error) => tracing::warn!(path = shared.path, %error, "edits could not be applied again yet"),
    }
    !state.pending.is_empty()
}

/// Waits until the pending edits are in the file. Bounded; they stay pending until then.
pub(super) async fn confirm_pending(shared: &Shared) {
    let (mark, intents) = {
        let state = shared.state();
        (state.pending.mark(), state.pending.intents())
    };
    if let Confirmation::OnDisk = confirm(shared, &intents).await {
        forget_saved(shared, &[], mark);
    }
}

fn forget_saved(shared: &Shared, applied: &[Intent], mark: u64) {
    let mut state = shared.state();
    if shared.is_synced()
        && let Ok(now) = shared.snapshot(&mut state)
    {
        state.pending.saved(applied, mark, &now);
    }
}

/// A sentence about lost edits, as [`ydoc::PendingEdits`] lists them.
pub(super) fn describe_lost(lost: &str) -> String {
    format!(
        "earlier edits that were not yet on disk are lost: {lost}. Others changed the same cells or replaced the file, or the \
         server lost the edits; read the notebook to see the current cells."
    )
}

/// Adds to an answer what became of earlier edits.
fn with_lost_edits(saved: SaveStatus, lost: Option<String>) -> SaveStatus {
    match (saved, lost) {
        (saved @ SaveStatus::SavedBy(_), _) | (saved, None) => saved,
        (SaveStatus::OnDisk | SaveStatus::OnDiskAt(_), Some(lost)) => {
            SaveStatus::NotYet(format!("this change is saved, but {lost}"))
        }
        (SaveStatus::NotYet(why), Some(lost)) => SaveStatus::NotYet(format!("{why}. And {lost}")),
    }
}
