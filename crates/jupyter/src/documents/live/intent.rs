//! An edit with what it was made on, so that it can be applied again if it was lost.

use notebook::{Cell, CellId, Edit, Notebook, is_closer};

/// How many earlier revisions of its cell a merged edit remembers. Any of them may be in the file.
const MAX_BASES: usize = 50;

/// An edit, and the cells as they were when it was made.
///
/// An example. A cell contains "a", with revision r1. An agent sets it to "b" (r2) and then to "c"; neither gets into the
/// file. The two intents become one: set the source to "c", made on r1 or r2. A new document, built from the file, then
/// shows one of these:
///
/// - "c": the intent holds, and nothing needs to be done.
/// - "a" or "b" (r1 or r2): the edit was lost, and nobody has touched the cell. It is applied again.
/// - "c + 1": neither revision, and closer to "c" than to "b": the intent holds, and somebody has typed beside it.
/// - "theirs": neither revision, and not close to "c". It is a conflict; theirs stays.
#[derive(Debug, Clone)]
pub(super) struct Intent {
    edit: Edit,
    /// The cells that it was made on, with their revisions. A cell may be there several times; any revision fits.
    bases: Vec<(CellId, String)>,
    /// The source that it replaces.
    old_source: Option<String>,
}

impl Intent {
    pub(super) fn of(edit: Edit, before: &Notebook) -> Self {
        let ids: &[CellId] = match &edit {
            Edit::SetSource { id, .. } | Edit::SetType { id, .. } | Edit::MergeMetadata { id, .. } => {
                std::slice::from_ref(id)
            }
            Edit::Delete { ids } => ids,
            _ => &[],
        };
        let revision = |id: &CellId| Some((id.clone(), before.cell(id)?.1.revision().to_owned()));
        let bases = ids.iter().filter_map(revision).collect();
        let old_source = match &edit {
            Edit::SetSource { id, .. } => before.cell(id).map(|(_, cell)| cell.source().into_owned()),
            _ => None,
        };
        Self { edit, bases, old_source }
    }

    /// Whether the notebook shows it, perhaps with what others have typed beside it.
    pub(super) fn holds(&self, notebook: &Notebook) -> bool {
        match (&self.edit, &self.old_source) {
            (Edit::SetSource { id, source }, Some(old)) => notebook.cell(id).is_some_and(|(_, cell)| {
                let now = cell.source();
                now == *source || !self.is_based_on(id, cell) && is_closer(&now, source, old)
            }),
            (edit, _) => edit.is_applied(notebook),
        }
    }

    /// Whether it leaves the order and number of the cells as they are.
    pub(super) fn keeps_cells(&self) -> bool {
        !matches!(self.edit, Edit::Insert { .. } | Edit::Delete { .. } | Edit::Move { .. })
    }

    /// The edit to apply again. `None` if somebody has changed what it was made on.
    pub(super) fn again(&self, notebook: &Notebook) -> Option<Edit> {
        let is_untouched = |(id, _): &(CellId, String)| {
            notebook.cell(id).is_some_and(|(_, cell)| self.is_based_on(id, cell))
        };
        if !self.bases.iter().all(is_untouched) {
            return None;
        }
        Some(match &self.edit {
            Edit::Move { id, .. } if notebook.cell(id).is_none() => return None,
            Edit::Move { id, index } => {
                Edit::Move { id: id.clone(), index: (*index).min(notebook.cells().len().saturating_sub(1)) }
            }
            Edit::SetOutputs { id, .. } if notebook.cell(id).is_none() => return None,
            edit => edit.clone(),
        })
    }

    fn is_based_on(&self, id: &CellId, cell: &Cell) -> bool {
        self.bases.iter().any(|(known, revision)| known == id && cell.revision() == revision)
    }

    /// Whether this edit leaves nothing of an earlier one.
    pub(super) fn replaces(&self, before: &Self) -> bool {
        match (&self.edit, &before.edit) {
            (Edit::SetSource { id, .. }, Edit::SetSource { id: other, .. })
            | (Edit::SetType { id, .. }, Edit::SetType { id: other, .. })
            | (Edit::SetOutputs { id, .. }, Edit::SetOutputs { id: other, .. })
            | (Edit::Move { id, .. }, Edit::Move { id: other, .. }) => id == other,
            (Edit::SetMetadata { name, .. }, Edit::SetMetadata { name: other, .. }) => name == other,
            // A member that is an object is merged with the earlier one.
            (Edit::MergeMetadata { id, patch }, Edit::MergeMetadata { id: other, patch: earlier }) => {
                id == other
                    && earlier
                        .members()
                        .all(|(name, _)| patch.member(&name).is_some_and(|member| !member.is_object()))
            }
            (Edit::Delete { ids }, edit) => match edit {
                Edit::SetSource { id, .. }
                | Edit::SetType { id, .. }
                | Edit::MergeMetadata { id, .. }
                | Edit::SetOutputs { id, .. }
                | Edit::Move { id, .. } => ids.contains(id),
                Edit::Insert { cell, .. } => ids.contains(&cell.id),
                _ => false,
            },
            _ => false,
        }
    }

    /// Makes this edit fit also where an earlier edit fits, which it replaces.
    pub(super) fn add_bases(&mut self, before: &Self) {
        let skipped = before.bases.len().saturating_sub(MAX_BASES);
        self.bases.extend(before.bases.iter().skip(skipped).cloned());
    }

    /// Whether the notebook looks as if the edit had never been made. Positions, outputs and the notebook's metadata change
    /// too often to say so.
    pub(super) fn is_undone(&self, notebook: &Notebook) -> bool {
        let can_say = match self.edit {
            Edit::Insert { .. }
            | Edit::SetSource { .. }
            | Edit::SetType { .. }
            | Edit::MergeMetadata { .. }
            | Edit::Delete { .. } => true,
            Edit::Move { .. } | Edit::SetOutputs { .. } | Edit::SetMetadata { .. } => false,
        };
        can_say && !self.holds(notebook) && self.again(notebook).is_some()
    }

    /// A few words for agents, such as `the new source of cell c0`.
    pub(super) fn describe(&self) -> String {
        match &self.edit {
            Edit::Insert { cell, .. } => format!("the new cell {}", cell.id),
            Edit::SetSource { id, .. } => format!("the new source of cell {id}"),
            Edit::SetType { id, .. } => format!("the new type of cell {id}"),
            Edit::MergeMetadata { id, .. } => format!("the new metadata of cell {id}"),
            Edit::Move { id, .. } => format!("the move of cell {id}"),
            Edit::Delete { ids } => format!("the deletion of {}", ids.join(", ")),
            Edit::SetOutputs { id, .. } => format!("the outputs of cell {id}"),
            Edit::SetMetadata { .. } => "the notebook's metadata".to_owned(),
        }
    }
}

/// Whether edits only record what a kernel sent, with which nobody can disagree.
pub(super) fn are_outputs(edits: &[Edit]) -> bool {
    let is_output = |edit: &Edit| matches!(edit, Edit::SetOutputs { .. } | Edit::SetMetadata { .. });
    edits.iter().all(is_output)
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Json, NewCell};

    use super::*;
    use crate::testing::{notebook, sources};

    fn set(id: &str, source: &str) -> Edit {
        Edit::SetSource { id: id.into(), source: source.to_owned() }
    }

    /// The sources of a notebook after `theirs`, and after `edit` is applied again.
    fn again(edit: Edit, theirs: &[Edit]) -> Option<Vec<String>> {
        let before = notebook(&["a", "b", "c"]);
        let intent = Intent::of(edit, &before);
        let mut now = before;
        for edit in theirs {
            now.apply(edit).unwrap();
        }
        assert!(!intent.holds(&now));
        now.apply(&intent.again(&now)?).unwrap();
        Some(sources(&now))
    }

    #[test]
    fn an_edit_is_applied_again_if_others_have_not_changed_its_cell() {
        let theirs = [set("c0", "theirs")];
        assert_eq!(again(set("c1", "mine"), &theirs).unwrap(), ["theirs", "mine", "c"]);
        assert_eq!(again(Edit::Delete { ids: vec!["c2".into()] }, &theirs).unwrap(), ["theirs", "b"]);
        let to_the_end = Edit::Move { id: "c1".into(), index: 2 };
        assert_eq!(again(to_the_end, &theirs).unwrap(), ["theirs", "c", "b"]);
    }

    #[test]
    fn an_edit_does_not_overwrite_changes_by_others() {
        let gone = Edit::Delete { ids: vec!["c1".into()] };
        for theirs in [set("c1", "theirs"), gone] {
            assert_eq!(again(set("c1", "mine"), std::slice::from_ref(&theirs)), None);
        }
        let theirs = [set("c1", "theirs")];
        assert_eq!(again(Edit::Delete { ids: vec!["c0".into(), "c1".into()] }, &theirs), None);
    }

    #[test]
    fn text_typed_beside_an_edit_does_not_undo_it() {
        let before = notebook(&["one\ntwo\nthree"]);
        let intent = Intent::of(set("c0", "one\n2\nthree"), &before);
        let shows = |source: &str| {
            let mut now = before.clone();
            now.apply(&set("c0", source)).unwrap();
            intent.holds(&now)
        };
        assert!(shows("one\n2\nthree"));
        assert!(shows("one\n2\nthree and more"));
        assert!(!shows("one\ntwo\nthree and more"));
    }

    #[test]
    fn a_new_cell_is_inserted_at_the_end_of_a_shorter_notebook() {
        let insert = Edit::Insert { index: 3, cell: NewCell::new(CellType::Code, "new") };
        let theirs = [Edit::Delete { ids: vec!["c0".into(), "c1".into()] }];
        assert_eq!(again(insert, &theirs).unwrap(), ["c", "new"]);
    }

    #[test]
    fn types_and_metadata_are_set_again_unless_the_cell_has_changed() {
        let before = notebook(&["a", "b"]);
        let set_type = Edit::SetType { id: "c0".into(), cell_type: CellType::Markdown };
        let patch = Json::from_value(&serde_json::json!({ "tags": ["x"] }));
        let merge = Edit::MergeMetadata { id: "c0".into(), patch };
        for edit in [set_type, merge] {
            let intent = Intent::of(edit.clone(), &before);
            assert!(intent.is_undone(&before), "{edit:?}");
            let mut after = before.clone();
            after.apply(&intent.again(&before).unwrap()).unwrap();
            assert!(intent.holds(&after), "{edit:?}");
            let mut theirs = before.clone();
            theirs.apply(&set("c0", "theirs")).unwrap();
            assert!(intent.again(&theirs).is_none(), "{edit:?}");
        }
    }

    #[test]
    fn metadata_replaces_what_it_sets_whole() {
        let before = notebook(&["a"]);
        let merge = |patch| {
            let edit = Edit::MergeMetadata { id: "c0".into(), patch: Json::from_value(&patch) };
            Intent::of(edit, &before)
        };
        let earlier = merge(serde_json::json!({ "tags": ["x"], "a": 1 }));
        assert!(merge(serde_json::json!({ "tags": null, "a": 2, "b": 3 })).replaces(&earlier));
        assert!(!merge(serde_json::json!({ "tags": ["y"] })).replaces(&earlier));
        assert!(!merge(serde_json::json!({ "tags": ["y"], "a": { "b": 1 } })).replaces(&earlier));
    }

    #[test]
    fn outputs_of_a_deleted_cell_are_dropped() {
        let outputs = Edit::SetOutputs { id: "c0".into(), outputs: [].into(), execution_count: Some(1) };
        assert!(are_outputs(std::slice::from_ref(&outputs)));
        assert!(!are_outputs(&[outputs.clone(), set("c0", "x")]));
        assert_eq!(again(outputs.clone(), &[set("c0", "theirs")]).unwrap(), ["theirs", "b", "c"]);
        assert_eq!(again(outputs, &[Edit::Delete { ids: vec!["c0".into()] }]), None);
    }
}
