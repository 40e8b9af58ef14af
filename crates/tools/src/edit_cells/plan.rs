//! What the edits and the renaming of one call make of a notebook: the new sources, what the cells must still be, and what would run.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use calls::replies::cell_text::{cell_states, label, ranges};
use notebook::{Cell, CellRef, Edit, Notebook};
use place::{Error, Expected};
use runs::OpenNotebook;
use workspace::Session;

use super::edits::{CellEdit, SourceEdit, in_edit, invalid};
use super::renaming::{check_language, rename_in};
use crate::edit_cell_source::replaced;

/// New sources, by the index of the cell.
pub(super) struct Plan {
    sources: BTreeMap<usize, String>,
    /// The cells whose new source is another, by index.
    is_changed: Vec<usize>,
    /// What to say about a renaming.
    pub(super) notes: Vec<String>,
}

impl Plan {
    pub(super) fn of(
        edits: &[CellEdit],
        renames: Option<(&str, &str)>,
        session: &Session,
        opened: &OpenNotebook,
        notebook: &Notebook,
    ) -> Result<Self, Error> {
        let mut sources = BTreeMap::new();
        for (number, CellEdit { cell, change }) in edits.iter().enumerate() {
            let target = |cell: &CellRef| session.target(opened.path(), notebook, cell);
            let index = cell.index(target).map_err(|error| in_edit(number, error))?;
            // Edits of parts add up, but a whole source would silently drop the edits before it.
            if matches!(change, SourceEdit::Source(_)) && sources.contains_key(&index) {
                let place = label(index, &notebook.cells()[index]);
                let cause =
                    format!("An earlier edit changes {place}, and cell_source would replace that edit.");
                return Err(in_edit(number, invalid(cause)));
            }
            // A later edit must find what an earlier one has written, not what the notebook has.
            let source =
                sources.entry(index).or_insert_with(|| notebook.cells()[index].source().into_owned());
            *source = match change {
                SourceEdit::Source(new) => new.clone(),
                SourceEdit::Part { old, new, all } => {
                    let place = label(index, &notebook.cells()[index]);
                    let edited = replaced(source, old, new, *all);
                    edited.map_err(|error| {
                        in_edit(number, Error { cause: format!("{place}: {}", error.cause), ..error })
                    })?
                }
            };
        }
        // After the edits, so that the names in their new code are renamed, too.
        let mut notes = Vec::new();
        if let Some((old, new)) = renames {
            check_language(opened, notebook)?;
            notes = rename_in(notebook, &mut sources, old, new)?;
        }
        // Edits may cancel each other out: such a cell is not written, and need not be as the agent has seen it.
        let is_changed =
            sources.iter().filter(|(index, new)| notebook.cells()[**index].source() != new.as_str());
        let is_changed = is_changed.map(|(index, _)| *index).collect();
        Ok(Self { sources, is_changed, notes })
    }

    /// The cells that change, with their new sources.
    pub(super) fn changed(&self) -> impl Iterator<Item = (usize, &String)> {
        self.sources
            .iter()
            .map(|(index, source)| (*index, source))
            .filter(|(index, _)| self.is_changed.contains(index))
    }

    pub(super) fn edits(&self, before: &Notebook) -> Vec<Edit> {
        let edit = |(index, source): (usize, &String)| Edit::SetSource {
            id: before.cells()[index].id().clone(),
            source: source.clone(),
        };
        self.changed().map(edit).collect()
    }

    /// The cells that change, and those that would run because of that.
    pub(super) fn touched(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
        runs: bool,
    ) -> Result<Vec<usize>, Error> {
        let changed = self.changed().map(|(index, _)| index);
        if !runs {
            return Ok(changed.collect());
        }
        let after = self.after(before)?;
        // Most changed cells are stale, too, but each must appear once.
        let touched: BTreeSet<_> = changed.chain(self.made_stale(session, opened, before, &after)).collect();
        Ok(touched.into_iter().collect())
    }

    fn after(&self, before: &Notebook) -> Result<Notebook, Error> {
        // On a copy: a preview and the question to the person need the result before anything is written.
        let mut after = before.clone();
        for edit in self.edits(before) {
            after
                .apply(&edit)
                .map_err(|error| invalid(format!("The edits cannot be made: {error}.")).with_source(error))?;
        }
        Ok(after)
    }

    /// A line with the cells that would run.
    pub(super) fn would_run(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
    ) -> Result<String, Error> {
        let cells = self.made_stale(session, opened, before, &self.after(before)?);
        Ok(if cells.is_empty() {
            "No code cell would become stale; nothing would run.".to_owned()
        } else {
            format!("Would run afterwards, with new outputs: cells {}.", ranges(&cells))
        })
    }

    /// The cells of `after` to run so that nothing is stale because of the edits. What was stale before stays so, unless one of
    /// these needs it.
    pub(super) fn made_stale(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
        after: &Notebook,
    ) -> Vec<usize> {
        let edited: HashSet<_> = self.changed().map(|(index, _)| before.cells()[index].id()).collect();
        let states = cell_states(session, opened, before);
        let were_stale = states.stale_cells();
        // By id, as others may have inserted cells. An edited cell runs even if it was stale before: its edit is new.
        let is_wanted = |cell: &Cell| edited.contains(&cell.id()) || !were_stale.contains(cell.id());
        let wanted =
            after.cells().iter().enumerate().filter(|(_, cell)| is_wanted(cell)).map(|(index, _)| index);
        // With `all`: otherwise, the runs of edited cells would leave those below stale.
        session.workspace().cells_to_run(opened, after, wanted, true).cells
    }

    /// What the cells must still be. Fails if the agent was shown other sources.
    pub(super) fn expected(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
    ) -> Result<Vec<Expected>, Error> {
        self.changed().map(|(index, _)| expected(session, opened, before, index, None)).collect()
    }
}

/// What a cell must still be: as the agent has seen it, or of the revision that it claims.
pub(crate) fn expected(
    session: &Session,
    opened: &OpenNotebook,
    before: &Notebook,
    index: usize,
    claimed: Option<String>,
) -> Result<Expected, Error> {
    let cell = &before.cells()[index];
    let mut seen = session.expected(opened.path(), cell.id(), claimed);
    // The edits are made from this revision, and must not be applied to another.
    seen.revision.get_or_insert_with(|| cell.revision().to_owned());
    if let Err(error) = seen.check(before) {
        // The error shows the cell as it is now, so that the next attempt is made with knowledge of it.
        session.saw(opened.path(), before, [index]);
        return Err(error);
    }
    Ok(seen)
}
