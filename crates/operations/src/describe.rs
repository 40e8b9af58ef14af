//! Operations in words: a line for each, and the difference that one has made.

use bytes::Bytes;
use notebook::{Json, NewCell, diff, one_line, ranges};

use crate::BlobId;
use crate::operation::{
    CellChange, CellState, Creation, MetadataChange, Operation, OperationId, OperationKind, RunAction,
};
use crate::record::former_cell;

/// The maximum number of cells that a line names.
const NAMED: usize = 3;

/// An operation in a few words: `edited #7 (id df-clean), deleted #9 (id 3f2a)`.
pub fn summary(operation: &Operation) -> String {
    let mut parts = Vec::new();
    match &operation.kind {
        OperationKind::Checkpoint { name, .. } => return format!("checkpoint \"{name}\""),
        OperationKind::Creation { created: Creation { copy_of: Some(path) } } => {
            return format!("copied from {path}");
        }
        OperationKind::Creation { .. } => return "created".to_owned(),
        OperationKind::OnRun { run, action } => {
            return match action {
                RunAction::Interrupted => format!("interrupted run {run}"),
                RunAction::AnsweredInput => format!("answered the input() of run {run}"),
                RunAction::Unknown => format!("acted on run {run}"),
            };
        }
        OperationKind::Undo(scope) => parts.push(format!("undid {}", ids(&scope.operations))),
        OperationKind::Change { .. } => {}
    }
    for change in operation.cells.iter().take(NAMED) {
        let index = index_of(change);
        parts.push(format!("{} #{index} (id {})", verbs(change).0, change.id));
    }
    if operation.cells.len() > NAMED {
        parts.push(format!("{} more cells", operation.cells.len() - NAMED));
    }
    if !operation.metadata.is_empty() {
        let names: Vec<_> = operation.metadata.iter().map(|change| change.name.as_str()).collect();
        parts.push(format!("changed the notebook's {}", names.join(", ")));
    }
    parts.join(", ")
}

fn ids(operations: &[OperationId]) -> String {
    let mut sorted = operations.to_vec();
    sorted.sort();
    ranges(&sorted, |one, next| one.next() == *next)
}

/// The verb of a sentence about a change, and that of a heading.
fn verbs(change: &CellChange) -> (&'static str, &'static str) {
    match (&change.before, &change.after) {
        (None, _) => ("inserted", "insert"),
        (_, None) => ("deleted", "delete"),
        _ if change.changes_content() => ("changed", "change"),
        _ if change.moved => ("moved", "move"),
        (before, after) => match (items(before.as_ref()), items(after.as_ref())) {
            // It printed nothing, and has only another number.
            (0, 0) if count(after.as_ref()).is_some() => ("ran", "run"),
            (0, 0) => ("took the number from", "take the number from"),
            (_, 0) if count(after.as_ref()).is_some() => ("ran, without outputs,", "run"),
            (_, 0) => ("cleared outputs of", "clear outputs of"),
            _ => ("new outputs of", "new outputs of"),
        },
    }
}

fn items(state: Option<&CellState>) -> usize {
    state.and_then(|state| state.outputs.as_ref()).map_or(0, |outputs| outputs.items)
}

fn count(state: Option<&CellState>) -> Option<u64> {
    state?.outputs.as_ref()?.execution_count
}

/// The changes of an operation, as a unified diff for each cell. The headings are labels in the base form: it may be done or not.
/// Outputs are counted, not shown.
pub fn diff_of(operation: &Operation, content: &dyn Fn(&BlobId) -> Option<Bytes>) -> String {
    differences(operation, content, false)
}

/// The same with adjacent cells that are inserted or deleted as one range, whose lines are counted.
pub fn brief_diff_of(operation: &Operation, content: &dyn Fn(&BlobId) -> Option<Bytes>) -> String {
    differences(operation, content, true)
}

fn differences(operation: &Operation, content: &dyn Fn(&BlobId) -> Option<Bytes>, is_brief: bool) -> String {
    let mut text = String::new();
    let is_counted = |it: &CellChange| {
        let is_whole = is_brief && (it.before.is_none() || it.after.is_none());
        !it.moved && (is_whole || !it.changes_content())
    };
    let is_alike = |one: &CellChange, next: &CellChange| {
        let follows = index_of(one) + 1 == index_of(next) && verbs(one) == verbs(next);
        follows && is_counted(one) && is_counted(next)
    };
    let lines = |state: Option<&CellState>| {
        let cell = state.and_then(|state| former_cell(&state.content, content));
        cell.map_or(0, |cell| cell.source.lines().count())
    };
    for group in operation.cells.chunk_by(is_alike) {
        let [change, .., last] = group else {
            text.extend(group.iter().map(|change| cell_difference(change, content)));
            continue;
        };
        let (first, last, label) = (index_of(change), index_of(last), verbs(change).1);
        text.push_str(&format!("{label} #{first}–#{last}\n"));
        let mut add = |what: &str, count: &dyn Fn(Option<&CellState>) -> usize, unit: &str| {
            let before: usize = group.iter().map(|change| count(change.before.as_ref())).sum();
            let after: usize = group.iter().map(|change| count(change.after.as_ref())).sum();
            if before + after > 0 {
                text.push_str(&format!("{what}: {before} → {after}{unit}\n"));
            }
        };
        if change.changes_content() {
            add("source", &lines, " lines");
        }
        add("outputs", &items, "");
    }
    for MetadataChange { name, before, after } in &operation.metadata {
        let [before, after] = [before, after].map(|side| one_line(side.as_deref().unwrap_or("none")));
        text.push_str(&format!("change the notebook's {}\n{before} → {after}\n", one_line(name)));
    }
    text
}

fn index_of(change: &CellChange) -> usize {
    change.state().map_or(0, |state| state.index)
}

fn cell_difference(change: &CellChange, content: &dyn Fn(&BlobId) -> Option<Bytes>) -> String {
    let cell = change.state().and_then(|state| former_cell(&state.content, content));
    let kind = cell.map_or_else(|| "cell".to_owned(), |cell| cell.cell_type.to_string());
    let index = index_of(change);
    let mut text =
        format!("{} #{index} ({}, id {})\n", verbs(change).1, one_line(&kind), one_line(&change.id));
    if let (true, Some(from), Some(to)) = (change.moved, &change.before, &change.after) {
        text.push_str(&format!("move from #{} to #{}\n", from.index, to.index));
    }
    if change.changes_content() {
        let side = |state: &Option<CellState>| match state {
            None => Some(None),
            Some(state) => former_cell(&state.content, content).map(Some),
        };
        match (side(&change.before), side(&change.after)) {
            (Some(before), Some(after)) => text.push_str(&difference(before, after)),
            _ => text.push_str("(its content is no longer stored)\n"),
        }
    }
    if let Some(line) = outputs_line(change) {
        text.push_str(&line);
    }
    text
}

fn difference(before: Option<NewCell>, after: Option<NewCell>) -> String {
    let mut text = String::new();
    if let (Some(before), Some(after)) = (&before, &after) {
        let metadata = |cell: &NewCell| cell.metadata.as_ref().map(Json::compact).unwrap_or_default();
        let kinds = [before, after].map(|cell| cell.cell_type.to_string());
        for (name, [before, after]) in [("type", kinds), ("metadata", [before, after].map(metadata))] {
            if before != after {
                text.push_str(&format!("{name}: {} → {}\n", one_line(&before), one_line(&after)));
            }
        }
    }
    let lines = |cell: Option<NewCell>| {
        let mut source = cell.map(|cell| cell.source).unwrap_or_default();
        if !source.is_empty() && !source.ends_with('\n') {
            source.push('\n');
        }
        source
    };
    text.push_str(&diff(&lines(before), &lines(after)));
    text
}

fn outputs_line(change: &CellChange) -> Option<String> {
    if !change.changes_outputs() {
        return None;
    }
    let (before, after) = (items(change.before.as_ref()), items(change.after.as_ref()));
    (before > 0 || after > 0).then(|| format!("outputs: {before} → {after}\n"))
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, Edit, Kernelspec, NewCell, Output};

    use super::*;
    use crate::testing::Story;

    #[test]
    fn many_operations_are_named_by_the_first_and_the_last() {
        let ids = |numbers: &[u64]| ids(&numbers.iter().copied().map(OperationId::new).collect::<Vec<_>>());
        assert_eq!(ids(&[7]), "o7");
        assert_eq!(ids(&[9, 4, 3]), "o3–o4, o9");
        assert_eq!(ids(&[12, 11, 10, 7, 5, 4, 3]), "o3–o5, o7, o10–o12");
    }

    #[test]
    fn an_operation_is_shown_by_its_cells() {
        let mut story = Story::new(&["one", "two", "three", "four"]);
        let edit = story.make(&[Edit::SetSource { id: "c1".into(), source: "two\nmore".to_owned() }]);
        assert_eq!(summary(&edit), "changed #1 (id c1)");
        let shown = diff_of(&edit, &|id| story.blobs.get(id));
        assert_eq!(shown, "change #1 (code, id c1)\n@@ -1 +1,2 @@\n two\n+more\n");
        let kind = story.make(&[Edit::SetType { id: "c0".into(), cell_type: CellType::Markdown }]);
        let shown = diff_of(&kind, &|id| story.blobs.get(id));
        assert_eq!(shown, "change #0 (markdown, id c0)\ntype: code → markdown\n");
        let spec = Kernelspec { name: "r".to_owned(), display_name: None, language: None };
        let metadata = story.make(&[Edit::set_kernelspec(&spec)]);
        assert_eq!(summary(&metadata), "changed the notebook's kernelspec");
        let expected = "change the notebook's kernelspec\nnone → {\"display_name\":\"r\",\"name\":\"r\"}\n";
        assert_eq!(diff_of(&metadata, &|_| None), expected);
        let moved = story.make(&[Edit::Move { id: "c0".into(), index: 2 }]);
        assert_eq!(diff_of(&moved, &|_| None), "move #2 (cell, id c0)\nmove from #0 to #2\n");
        let all = ["c0", "c1", "c2", "c3"].map(Into::into).to_vec();
        let deleted = story.make(&[Edit::Delete { ids: all }]);
        assert_eq!(
            summary(&deleted),
            "deleted #0 (id c1), deleted #1 (id c2), deleted #2 (id c0), 1 more cells"
        );
        let set = |outputs: &[&str], execution_count| Edit::SetOutputs {
            id: "n".into(),
            outputs: outputs
                .iter()
                .map(|text| Output::Stream { name: "stdout".into(), text: (*text).into() })
                .collect(),
            execution_count,
        };
        let mut new = NewCell::new(CellType::Code, "x = 1");
        new.id = "n".into();
        story.make(&[Edit::Insert { index: 0, cell: new }]);
        for (edit, expected) in [
            (set(&[], Some(1)), "ran #0 (id n)"),
            (set(&[], Some(2)), "ran #0 (id n)"),
            (set(&["a"], Some(3)), "new outputs of #0 (id n)"),
            (set(&[], Some(4)), "ran, without outputs, #0 (id n)"),
            (set(&["a"], Some(5)), "new outputs of #0 (id n)"),
            (set(&[], None), "cleared outputs of #0 (id n)"),
        ] {
            assert_eq!(summary(&story.make(&[edit])), expected);
        }
        let clear = |id: &str| Edit::SetOutputs { id: id.into(), outputs: [].into(), execution_count: None };
        let mut story = Story::new(&["one", "two", "three", "four"]);
        let print = |id: &str| Edit::SetOutputs {
            id: id.into(),
            outputs: [Output::Stream { name: "stdout".into(), text: "x".into() }].into(),
            execution_count: Some(1),
        };
        story.make(&["c0", "c1", "c3"].map(print));
        let cleared = story.make(&["c0", "c1", "c3"].map(clear));
        let shown = diff_of(&cleared, &|id| story.blobs.get(id));
        assert_eq!(
            shown,
            "clear outputs of #0–#1\noutputs: 2 → 0\nclear outputs of #3 (code, id c3)\noutputs: 1 → 0\n"
        );
        let all = ["c0", "c1", "c2", "c3"].map(Into::into).to_vec();
        let deleted = story.make(&[Edit::Delete { ids: all }]);
        let shown = brief_diff_of(&deleted, &|id| story.blobs.get(id));
        assert_eq!(shown, "delete #0–#3\nsource: 4 → 0 lines\n");
        assert!(diff_of(&deleted, &|id| story.blobs.get(id)).contains("-three"), "the history has all of it");
        let kind = OperationKind::Checkpoint { name: "x".to_owned(), is_automatic: false };
        let checkpoint = Operation { kind, ..Operation::default() };
        assert_eq!(summary(&checkpoint), "checkpoint \"x\"");
    }
}
