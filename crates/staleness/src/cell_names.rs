//! The names that are used and not defined, of notebooks that change a little at a time.
//!
//! [`names::undefined`] decides. Of a large notebook it needs the names of all cells, which take a hundred times the room of their
//! sources and a while to read. So of each cell only the names are kept that it may define or need.

use std::collections::HashMap;
use std::sync::Arc;

use names::{Names, Needs, Undefined, Unknown};
use notebook::Notebook;

use crate::hash;

/// The names of more source than this are not looked for, in bytes.
pub(crate) const MAX_SOURCE: usize = 4 * 1024 * 1024;

/// The names of so much source are kept, in bytes, and none of a notebook with more cells.
const MAX_CACHED: usize = 128 * 1024;
const MAX_CELLS: usize = 2000;

/// The names of the sources that were read last, all in one language.
#[derive(Default)]
pub(crate) struct ReadNames {
    language: String,
    cache: HashMap<u64, Arc<Names>>,
    bytes: usize,
    is_large: bool,
}

impl ReadNames {
    /// From now on sources of this notebook are read, in this language.
    pub(crate) fn start(&mut self, notebook: &Notebook, language: &str) {
        let is_large = notebook.cells().len() > MAX_CELLS;
        if self.language != language || self.is_large != is_large {
            *self = Self { language: language.to_owned(), is_large, ..Self::default() };
        }
    }

    /// The names of a source that is no longer than `max`.
    pub(crate) fn within(&mut self, source: &str, max: usize) -> Arc<Names> {
        if source.len() > max {
            return Arc::new(Names::unknown(Unknown::TooLong));
        }
        let key = hash(source);
        if let Some(names) = self.cache.get(&key) {
            return names.clone();
        }
        let names = Arc::new(Names::in_language(source, &self.language));
        if self.is_large {
            return names;
        }
        if self.bytes + source.len() > MAX_CACHED {
            (self.cache, self.bytes) = (HashMap::new(), 0);
        }
        self.bytes += source.len();
        self.cache.insert(key, names.clone());
        names
    }
}

/// The names that the cells of the notebook which was looked at last define and need, by their sources.
#[derive(Default)]
pub(crate) struct CellNames {
    language: String,
    cells: HashMap<u64, Arc<Needs>>,
}

impl CellNames {
    /// The names that code cells use undefined, as [`names::undefined`] finds it. `names` reads sources of this language.
    pub(crate) fn undefined(
        &mut self,
        notebook: &Notebook,
        language: &str,
        names: &mut ReadNames,
    ) -> Arc<[Undefined]> {
        let before = std::mem::take(&mut self.cells);
        let before = if self.language == language { before } else { HashMap::new() };
        language.clone_into(&mut self.language);
        let mut rest = MAX_SOURCE;
        let mut cells = Vec::new();
        for (index, cell) in notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code()) {
            let source = cell.source();
            rest = match rest.checked_sub(source.len()) {
                Some(rest) => rest,
                None => return Arc::default(),
            };
            let key = hash(&source);
            let read = || Arc::new(Needs::of(&names.within(&source, source.len())));
            let needs =
                self.cells.entry(key).or_insert_with(|| before.get(&key).cloned().unwrap_or_else(read));
            cells.push((index, needs.clone()));
        }
        let cells: Vec<_> = cells.iter().map(|(index, needs)| (*index, &**needs)).collect();
        names::undefined(&cells).into()
    }
}
