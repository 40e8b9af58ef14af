//! Changes of somebody else after an operation.

use std::collections::HashSet;

use notebook::Notebook;

use crate::live::since_creation;
use crate::record::{are_equivalent, json};
use crate::{Operation, OperationId};

/// The operations that left something else than is there, although no later operation changed it.
pub fn changed_since(operations: &[Operation], now: &Notebook) -> HashSet<OperationId> {
    let (mut cells, mut names, mut changed) = (HashSet::new(), HashSet::new(), HashSet::new());
    for operation in since_creation(operations).iter().rev() {
        for change in operation.cells.iter().filter(|change| change.changes_content()) {
            if !cells.insert(&change.id) {
                continue;
            }
            let present = now.cell(&change.id).map(|(_, cell)| cell.revision());
            if present != change.after.as_ref().map(|state| state.revision.as_str()) {
                changed.insert(operation.id);
            }
        }
        for change in operation.metadata.iter().filter(|change| names.insert(&change.name)) {
            let present = now.metadata().member(&change.name);
            if !are_equivalent(present.as_ref(), json(change.after.as_ref()).as_ref()) {
                changed.insert(operation.id);
            }
        }
    }
    changed
}

#[cfg(test)]
mod tests {
    use notebook::Edit;

    use super::*;
    use crate::testing::Story;

    #[test]
    fn only_the_last_operation_of_a_cell_is_changed_since() {
        let set = |id: &str, source: &str| Edit::SetSource { id: id.into(), source: source.to_owned() };
        let mut story = Story::new(&["a", "b"]);
        story.make(&[set("c0", "1")]);
        story.make(&[set("c0", "2")]);
        story.make(&[set("c1", "3")]);
        assert!(changed_since(&story.operations, &story.now).is_empty());
        story.change(&[set("c0", "theirs")]);
        assert_eq!(changed_since(&story.operations, &story.now), HashSet::from([OperationId::new(2)]));
        story.change(&[Edit::Delete { ids: vec!["c1".into()] }]);
        assert_eq!(changed_since(&story.operations, &story.now), HashSet::from([2, 3].map(OperationId::new)));
    }
}
