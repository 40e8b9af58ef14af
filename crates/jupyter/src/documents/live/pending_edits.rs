//! Edits that are not known to be in the file. They are applied again if a new connection shows that they were lost.

use notebook::Notebook;

use super::intent::Intent;

/// How many edits are kept; the oldest are dropped first.
const MAX_EDITS: usize = 1000;
/// How many lost edits are named.
const MAX_NAMED: usize = 20;

/// The edits for which an answer said "not yet on disk", or that will be applied when the connection is back.
#[derive(Default)]
pub(super) struct PendingEdits {
    /// In the order in which they were made, each with its number.
    intents: Vec<(u64, Intent)>,
    /// The number of the next one.
    next: u64,
    /// Descriptions of lost edits that were not reported yet.
    lost: Vec<String>,
}

impl PendingEdits {
    pub(super) fn add(&mut self, intents: impl IntoIterator<Item = Intent>) {
        for mut intent in intents {
            self.intents.retain(|(_, before)| {
                let replaces = intent.replaces(before);
                if replaces {
                    intent.add_bases(before);
                }
                !replaces
            });
            self.intents.push((self.next, intent));
            self.next += 1;
        }
        let excess = self.intents.len().saturating_sub(MAX_EDITS);
        if excess > 0 {
            tracing::warn!(
                excess,
                "too many edits wait to be saved; the oldest will not be applied again if they are lost"
            );
            self.intents.drain(..excess);
        }
    }

    /// Separates the edits that are pending now from later ones.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    pub(super) fn is_empty(&self) -> bool {
        self.intents.is_empty()
    }

    pub(super) fn intents(&self) -> Vec<Intent> {
        self.intents.iter().map(|(_, intent)| intent.clone()).collect()
    }

    /// Notes that the edits before the mark got into the file with `applied`, as far as the document still shows them.
    pub(super) fn saved(&mut self, applied: &[Intent], mark: u64, now: &Notebook) {
        let (before, after) = std::mem::take(&mut self.intents).into_iter().partition(|(at, _)| *at < mark);
        self.intents = after;
        for (_, intent) in before {
            let is_replaced = applied.iter().any(|applied| applied.replaces(&intent));
            // The cells look as they did before the edit: somebody undid it, or the server lost it.
            if !is_replaced && intent.is_undone(now) {
                self.lose(intent.describe());
            }
        }
    }

    /// Gives up the edits at these indices of [`PendingEdits::intents`]; they are lost.
    pub(super) fn give_up(&mut self, indices: &[usize]) {
        let intents = std::mem::take(&mut self.intents);
        for (index, (number, intent)) in intents.into_iter().enumerate() {
            if indices.contains(&index) {
                self.lose(intent.describe());
            } else {
                self.intents.push((number, intent));
            }
        }
    }

    /// Gives up all edits. Returns the lost ones that were not reported yet.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        self.give_up_all();
        std::mem::take(&mut self.lost)
    }

    /// Adds edits that were lost with another document, to be reported here.
    pub(super) fn add_lost(&mut self, lost: Vec<String>) {
        for what in lost {
            self.lose(what);
        }
    }

    pub(super) fn give_up_all(&mut self) {
        let indices: Vec<usize> = (0..self.intents.len()).collect();
        self.give_up(&indices);
    }

    fn lose(&mut self, what: String) {
        if self.lost.len() < MAX_NAMED && !self.lost.contains(&what) {
            self.lost.push(what);
        }
    }

    /// A sentence about lost edits that were not reported yet.
    pub(super) fn lost(&self) -> Option<String> {
        if self.lost.is_empty() {
            return None;
        }
        Some(format!(
            "earlier edits that were not yet on disk are lost: {}. Others changed the same cells or replaced the \
             file, or the server lost the edits; read the notebook to see the present cells.",
            self.lost.join(", ")
        ))
    }

    /// Like [`PendingEdits::lost`]; it is then reported.
    pub(super) fn take_lost(&mut self) -> Option<String> {
        let lost = self.lost();
        self.lost.clear();
        lost
    }
}

#[cfg(test)]
mod tests {
    use notebook::Edit;

    use super::*;
    use crate::testing::notebook;

    fn set(source: &str, before: &Notebook) -> Intent {
        Intent::of(Edit::SetSource { id: "c0".into(), source: source.to_owned() }, before)
    }

    #[test]
    fn edits_of_one_cell_are_merged_and_fit_each_earlier_revision() {
        let mut pending = PendingEdits::default();
        pending.add([set("b", &notebook(&["a"]))]);
        pending.add([set("c", &notebook(&["b"]))]);
        let intents = pending.intents();
        assert_eq!(intents.len(), 1);
        for (source, may) in [("a", true), ("b", true), ("theirs", false)] {
            assert_eq!(intents[0].again(&notebook(&[source])).is_some(), may, "{source}");
        }
        let outputs =
            |count| Edit::SetOutputs { id: "c0".into(), outputs: [].into(), execution_count: Some(count) };
        let now = notebook(&["c"]);
        pending.add((1..50).map(|count| Intent::of(outputs(count), &now)));
        assert_eq!(pending.intents().len(), 2);
        pending.add([Intent::of(Edit::Delete { ids: vec!["c0".into()] }, &now)]);
        assert_eq!(pending.intents().len(), 1);
        assert!(pending.intents()[0].again(&notebook(&["a"])).is_some());
    }

    #[test]
    fn saved_edits_are_forgotten_and_undone_ones_reported_once() {
        let mut pending = PendingEdits::default();
        pending.add([set("b", &notebook(&["a"]))]);
        let mark = pending.mark();
        pending.add([set("b", &notebook(&["x"]))]);
        pending.saved(&[], mark, &notebook(&["b"]));
        assert_eq!(pending.intents().len(), 1, "that one came later");
        pending.saved(&[], pending.mark(), &notebook(&["a"]));
        assert!(pending.is_empty());
        assert!(pending.lost().unwrap().contains("the new source of cell c0"));
        assert!(pending.take_lost().is_some());
        assert!(pending.take_lost().is_none());
        // Replaced by what is in the file now, or changed by others since.
        let newer = set("c", &notebook(&["b"]));
        for (applied, now) in [(vec![newer], "a"), (vec![], "theirs")] {
            pending.add([set("b", &notebook(&["a"]))]);
            pending.saved(&applied, pending.mark(), &notebook(&[now]));
            assert!(pending.is_empty());
            assert!(pending.lost().is_none());
        }
    }

    #[test]
    fn the_number_of_pending_edits_is_bounded() {
        let mut pending = PendingEdits::default();
        let now = notebook(&[]);
        let insert =
            || Edit::Insert { index: 0, cell: notebook::NewCell::new(notebook::CellType::Code, "x") };
        pending.add((0..MAX_EDITS + 5).map(|_| Intent::of(insert(), &now)));
        assert_eq!(pending.intents().len(), MAX_EDITS);
    }
}
