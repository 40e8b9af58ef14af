//! Edits that are not known to be in the file. They are applied again if a new connection shows that they were lost.

use notebook::Notebook;

use crate::Intent;

/// How many edits are stored; the oldest are dropped first.
const MAX_EDITS: usize = 1000;
/// How many lost edits are named.
const MAX_NAMED: usize = 20;

/// The edits for which an answer said "not yet on disk", or that will be applied when the connection is back.
#[derive(Default)]
pub struct PendingEdits {
    /// In the order in which they were made, each with its number.
    intents: Vec<(u64, Intent)>,
    /// The number of the next one.
    next: u64,
    /// Descriptions of lost edits that were not reported yet.
    lost: Vec<String>,
}

impl PendingEdits {
    /// Returns how many of the oldest were dropped: they will not be applied again if they are lost.
    pub fn add(&mut self, intents: impl IntoIterator<Item = Intent>) -> usize {
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
        self.intents.drain(..excess);
        excess
    }

    /// Separates the edits that are pending now from later ones.
    pub fn mark(&self) -> u64 {
        self.next
    }

    pub fn is_empty(&self) -> bool {
        self.intents.is_empty()
    }

    pub fn intents(&self) -> Vec<Intent> {
        self.intents.iter().map(|(_, intent)| intent.clone()).collect()
    }

    /// The edits before the mark got into the file with `applied`, as far as the document still shows them.
    pub fn saved(&mut self, applied: &[Intent], mark: u64, now: &Notebook) {
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
    pub fn give_up(&mut self, indices: &[usize]) {
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
    pub fn abandon(&mut self) -> Vec<String> {
        self.give_up_all();
        std::mem::take(&mut self.lost)
    }

    /// Adds edits that were lost with another document, to be reported here.
    pub fn add_lost(&mut self, lost: Vec<String>) {
        for what in lost {
            self.lose(what);
        }
    }

    pub fn give_up_all(&mut self) {
        let indices: Vec<usize> = (0..self.intents.len()).collect();
        self.give_up(&indices);
    }

    fn lose(&mut self, what: String) {
        if self.lost.len() < MAX_NAMED && !self.lost.contains(&what) {
            self.lost.push(what);
        }
    }

    /// The lost edits that were not reported yet, as a list in words.
    pub fn lost(&self) -> Option<String> {
        (!self.lost.is_empty()).then(|| self.lost.join(", "))
    }

    /// Like [`PendingEdits::lost`]; it is then reported.
    pub fn take_lost(&mut self) -> Option<String> {
        let lost = self.lost();
        self.lost.clear();
        lost
    }
}

#[cfg(test)]
mod tests;
