//! Edits: made on the newest state, confirmed to be in the file, and made again where a connection or a server lost them.

use notebook::{Edit, Notebook};
use workspace::{Applied, Error, ErrorKind, Expected, SaveStatus};

use super::confirm::{Confirmed, confirm};
use super::intent::{Intent, are_outputs};
use super::shared::{Phase, Shared, State};
use crate::failure;

/// How often a lost edit is made again.
const AGAIN: u32 = 3;

impl Shared {
    /// Makes all of `edits` or none, and waits until they are in the file or it is clear that this takes longer.
    pub(super) async fn change(&self, edits: Vec<Edit>, expected: Vec<Expected>) -> Result<Applied, Error> {
        if let Err(error) = self.synced().await {
            return self.owe(edits, &expected, error);
        }
        let (intents, mut notebook) = self.make(edits, &expected)?;
        let mut again = 0;
        loop {
            let mark = self.state().owed.mark();
            let saved = match confirm(self, &intents).await {
                Confirmed::OnDisk => {
                    self.saved(&intents, mark);
                    match self.renamed() {
                        Some(path) => SaveStatus::OnDiskAt(path),
                        None => SaveStatus::OnDisk,
                    }
                }
                Confirmed::ReadOnly => SaveStatus::NotYet("the file is read-only on the server".to_owned()),
                // The connection may be broken and not tell; the document of the next one does not have it then.
                Confirmed::NotYet(why) => {
                    let mut state = self.state();
                    state.owed.add(intents);
                    state.is_doubted = true;
                    SaveStatus::NotYet(why)
                }
                Confirmed::Lost if again == AGAIN => {
                    self.state().owed.add(intents);
                    SaveStatus::NotYet(
                        "the server loses what is edited before it saves it; see its log".to_owned(),
                    )
                }
                Confirmed::Lost => {
                    again += 1;
                    if let Err(error) = self.synced().await {
                        self.state().owed.add(intents);
                        let why = format!(
                            "{} The change is sent again once the connection is back, if nobody has changed the same \
                             cells by then.",
                            error.cause
                        );
                        return Ok(Applied { notebook, saved: SaveStatus::NotYet(why) });
                    }
                    notebook = self.mend(&intents)?;
                    continue;
                }
            };
            let mut state = self.state();
            let notebook = self.snapshot(&mut state).unwrap_or(notebook);
            return Ok(Applied { notebook, saved: told(saved, state.owed.take_lost()) });
        }
    }

    /// Makes edits that nobody waits for to be stored.
    pub(super) fn show(&self, edits: &[Edit]) -> Result<(), Error> {
        let mut state = self.state();
        if !self.is_synced() {
            // What is shown now is shown again, and stored, at the end.
            return Ok(());
        }
        let state = &mut *state;
        self.snapshot(state)?;
        let update = state.live.apply(edits).map_err(|error| failure::refused(&self.path, &error))?;
        state.tell(&update);
        Ok(())
    }

    /// Removes the empty cell that `YNotebook.set` (`jupyter_ydoc`) adds when a room loads a notebook without cells. Only for
    /// a notebook that was just created so: then a single untouched cell is the server's, and nobody else's.
    ///
    /// Nothing has to be saved: the file has no cells.
    pub(super) fn remove_default_cell(&self) -> Result<(), Error> {
        let mut state = self.state();
        let state = &mut *state;
        let notebook = self.snapshot(state)?;
        let [cell] = notebook.cells() else { return Ok(()) };
        let is_untouched = cell.is_code()
            && cell.source().is_empty()
            && cell.output_count() == 0
            && cell.execution_count().is_none();
        if !is_untouched {
            return Ok(());
        }
        let delete = Edit::Delete { ids: vec![cell.id().to_owned()] };
        let update = state.live.apply(&[delete]).map_err(|error| failure::refused(&self.path, &error))?;
        state.tell(&update);
        Ok(())
    }

    fn make(&self, edits: Vec<Edit>, expected: &[Expected]) -> Result<(Vec<Intent>, Notebook), Error> {
        let mut state = self.state();
        let state = &mut *state;
        let before = self.snapshot(state)?;
        for expected in expected {
            expected.check(&before)?;
        }
        let update = state.live.apply(&edits).map_err(|error| failure::refused(&self.path, &error))?;
        state.tell(&update);
        let after = self.snapshot(state)?;
        // What a later one of them undid is not to be found anywhere.
        let intents =
            edits.into_iter().map(|edit| Intent::of(edit, &before)).filter(|intent| intent.holds(&after));
        Ok((intents.collect(), after))
    }

    /// Makes again what is not there any more. Fails if somebody has changed what it was made on.
    fn mend(&self, intents: &[Intent]) -> Result<Notebook, Error> {
        let mut state = self.state();
        let lost = self.redo(&mut state, intents)?;
        if lost.is_empty() {
            return self.snapshot(&mut state);
        }
        let lost: Vec<String> = lost.into_iter().map(|place| intents[place].describe()).collect();
        Err(Error::new(
            ErrorKind::Conflict,
            format!(
                "The server lost an edit of {:?}, or replaced it by what is on disk, and others have changed the same \
                 cells since. Not kept: {}.",
                self.path,
                lost.join(", ")
            ),
            "Call read_notebook to see the cells as they are now, then edit again.",
        ))
    }

    /// Makes those of the edits again that the document does not show. Gives the places of those that others stand in the
    /// way of.
    fn redo(&self, state: &mut State, intents: &[Intent]) -> Result<Vec<usize>, Error> {
        let mut lost = Vec::new();
        for (place, intent) in intents.iter().enumerate() {
            let now = self.snapshot(state)?;
            if intent.holds(&now) {
                continue;
            }
            match intent.again(&now).and_then(|edit| state.live.apply(&[edit]).ok()) {
                Some(update) => state.tell(&update),
                None => lost.push(place),
            }
        }
        Ok(lost)
    }

    /// Keeps outputs for when the connection is back. Anything else is refused: others may edit meanwhile.
    fn owe(&self, edits: Vec<Edit>, expected: &[Expected], error: Error) -> Result<Applied, Error> {
        let was_synced =
            matches!(&*self.phase.borrow(), Phase::Away(away) if away.was_synced && !away.is_dismissed);
        if !was_synced || !expected.is_empty() || !are_outputs(&edits) {
            return Err(Error { cause: format!("{} Nothing was changed.", error.cause), ..error });
        }
        let mut state = self.state();
        let state = &mut *state;
        // A document that is on its way is empty.
        let mut notebook = match state.last.clone().filter(|_| !state.is_whole) {
            Some(last) => last,
            None => self.snapshot(state)?,
        };
        for edit in &edits {
            notebook.apply(edit).map_err(|error| failure::refused(&self.path, &error))?;
        }
        state.owed.add(edits.into_iter().map(|edit| Intent::of(edit, &notebook)));
        let why = format!("{} The outputs are sent once the connection is back.", error.cause);
        Ok(Applied { notebook, saved: SaveStatus::NotYet(why) })
    }

    /// Makes what was promised, on the document that has just come. Whether something is to be saved.
    pub(super) fn settle(&self, state: &mut State) -> bool {
        let owed = state.owed.intents();
        match self.redo(state, &owed) {
            Ok(lost) if lost.is_empty() => {}
            Ok(lost) => {
                state.owed.give_up(&lost);
                tracing::warn!(path = self.path, lost = state.owed.lost(), "edits were not kept");
            }
            // The document is opened anew, and they are made then.
            Err(error) => tracing::warn!(path = self.path, %error, "edits could not be made again yet"),
        }
        !state.owed.intents().is_empty()
    }

    /// Has what was made again saved; it is owed until then. Bounded.
    pub(super) async fn confirm_settled(&self) {
        let (mark, intents) = {
            let state = self.state();
            (state.owed.mark(), state.owed.intents())
        };
        if let Confirmed::OnDisk = confirm(self, &intents).await {
            self.saved(&[], mark);
        }
    }

    fn saved(&self, made: &[Intent], mark: u64) {
        let mut state = self.state();
        if self.is_synced()
            && let Ok(now) = self.snapshot(&mut state)
        {
            state.owed.saved(made, mark, &now);
        }
    }
}

/// Whether a change is stored, and what became of earlier ones.
fn told(saved: SaveStatus, lost: Option<String>) -> SaveStatus {
    match (saved, lost) {
        (saved, None) => saved,
        (SaveStatus::OnDisk | SaveStatus::OnDiskAt(_), Some(lost)) => {
            SaveStatus::NotYet(format!("this change is saved, but {lost}"))
        }
        (SaveStatus::NotYet(why), Some(lost)) => SaveStatus::NotYet(format!("{why}. And {lost}")),
    }
}
