//! Edits that the document shows, or is to show, and the file perhaps does not: made again where a new connection finds
//! that they were lost.

use notebook::Notebook;

use super::intent::Intent;

/// How many edits are kept; the oldest go first.
const MOST: usize = 1000;
/// How many are named of those that could not be kept.
const NAMED: usize = 20;

/// What is owed to agents that were told "not yet".
#[derive(Default)]
pub(super) struct Owed {
    /// In the order in which they were made, with the number of each.
    intents: Vec<(u64, Intent)>,
    /// Moves with each.
    next: u64,
    /// What could not be kept, of which nobody has been told.
    lost: Vec<String>,
}

impl Owed {
    pub(super) fn add(&mut self, intents: impl IntoIterator<Item = Intent>) {
        for mut intent in intents {
            self.intents.retain(|(_, before)| {
                let replaces = intent.replaces(before);
                if replaces {
                    intent.take_over(before);
                }
                !replaces
            });
            self.intents.push((self.next, intent));
            self.next += 1;
        }
        let excess = self.intents.len().saturating_sub(MOST);
        if excess > 0 {
            tracing::warn!(
                excess,
                "too many edits wait to be saved; the oldest are not made again if they get lost"
            );
            self.intents.drain(..excess);
        }
    }

    /// Stands between what is owed now and what will be.
    pub(super) fn mark(&self) -> u64 {
        self.next
    }

    pub(super) fn intents(&self) -> Vec<Intent> {
        self.intents.iter().map(|(_, intent)| intent.clone()).collect()
    }

    /// Edits got into the file, and with them all that was owed before the mark and is in the document.
    pub(super) fn saved(&mut self, made: &[Intent], mark: u64, now: &Notebook) {
        let (before, after) = std::mem::take(&mut self.intents).into_iter().partition(|(at, _)| *at < mark);
        self.intents = after;
        for (_, intent) in before {
            let is_replaced = made.iter().any(|made| made.replaces(&intent));
            // Cells that look as they did before the edit: somebody undid it, or the server lost it.
            if !is_replaced && intent.is_undone(now) {
                self.lose(intent.describe());
            }
        }
    }

    /// These, by their places in [`Owed::intents`], cannot be kept.
    pub(super) fn give_up(&mut self, places: &[usize]) {
        let intents = std::mem::take(&mut self.intents);
        for (place, intent) in intents.into_iter().enumerate() {
            if places.contains(&place) {
                self.lose(intent.1.describe());
            } else {
                self.intents.push(intent);
            }
        }
    }

    /// Nothing can be kept: another file is there now. Gives what nobody has been told of, for that file's answers.
    pub(super) fn abandon(&mut self) -> Vec<String> {
        self.give_up_all();
        std::mem::take(&mut self.lost)
    }

    /// What was lost elsewhere is told here.
    pub(super) fn inherit(&mut self, lost: Vec<String>) {
        for what in lost {
            self.lose(what);
        }
    }

    pub(super) fn give_up_all(&mut self) {
        let places: Vec<usize> = (0..self.intents.len()).collect();
        self.give_up(&places);
    }

    fn lose(&mut self, what: String) {
        if self.lost.len() < NAMED && !self.lost.contains(&what) {
            self.lost.push(what);
        }
    }

    /// What an agent should know of that was not kept.
    pub(super) fn lost(&self) -> Option<String> {
        if self.lost.is_empty() {
            return None;
        }
        Some(format!(
            "earlier edits that were not on disk yet are lost: {}. Others changed the same cells or put another file in \
             the notebook's place, or the server lost them; read_notebook shows the cells as they are.",
            self.lost.join(", ")
        ))
    }

    /// Like [`Owed::lost`], and tells it once.
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
        Intent::of(Edit::SetSource { id: "c0".to_owned(), source: source.to_owned() }, before)
    }

    #[test]
    fn edits_of_one_cell_become_one_that_may_be_made_on_each_state_before() {
        let mut owed = Owed::default();
        owed.add([set("b", &notebook(&["a"]))]);
        owed.add([set("c", &notebook(&["b"]))]);
        let intents = owed.intents();
        assert_eq!(intents.len(), 1);
        for (source, may) in [("a", true), ("b", true), ("theirs", false)] {
            assert_eq!(intents[0].again(&notebook(&[source])).is_some(), may, "{source}");
        }
        let outputs = |count| Edit::SetOutputs {
            id: "c0".to_owned(),
            outputs: [].into(),
            execution_count: Some(count),
        };
        let now = notebook(&["c"]);
        owed.add((1..50).map(|count| Intent::of(outputs(count), &now)));
        assert_eq!(owed.intents().len(), 2);
        owed.add([Intent::of(Edit::Delete { ids: vec!["c0".to_owned()] }, &now)]);
        assert_eq!(owed.intents().len(), 1);
        assert!(owed.intents()[0].again(&notebook(&["a"])).is_some());
    }

    #[test]
    fn what_is_in_the_file_is_owed_no_more_and_what_was_undone_is_told_once() {
        let mut owed = Owed::default();
        owed.add([set("b", &notebook(&["a"]))]);
        let mark = owed.mark();
        owed.add([set("b", &notebook(&["x"]))]);
        owed.saved(&[], mark, &notebook(&["b"]));
        assert_eq!(owed.intents().len(), 1, "that one came later");
        owed.saved(&[], owed.mark(), &notebook(&["a"]));
        assert!(owed.intents().is_empty());
        assert!(owed.lost().unwrap().contains("the new source of cell c0"));
        assert!(owed.take_lost().is_some() && owed.take_lost().is_none());
        // Replaced by what is in the file now, or changed by others since.
        let newer = set("c", &notebook(&["b"]));
        for (made, now) in [(vec![newer], "a"), (vec![], "theirs")] {
            owed.add([set("b", &notebook(&["a"]))]);
            owed.saved(&made, owed.mark(), &notebook(&[now]));
            assert!(owed.intents().is_empty() && owed.lost().is_none());
        }
    }

    #[test]
    fn the_number_of_edits_is_bounded() {
        let mut owed = Owed::default();
        let now = notebook(&[]);
        let insert =
            || Edit::Insert { index: 0, cell: notebook::NewCell::new(notebook::CellType::Code, "x") };
        owed.add((0..MOST + 5).map(|_| Intent::of(insert(), &now)));
        assert_eq!(owed.intents().len(), MOST);
    }
}
