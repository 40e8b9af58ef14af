//! The names that are used and not defined, of notebooks that change a little at a time.
//!
//! [`names::undefined`] decides. Of a large notebook it needs the names of all cells, which take a hundred times the room of their
//! sources and a while to read. So of each cell only the numbers of the names are kept that it may define or need; where they show
//! that a name may be undefined, it is asked about these cells and those that define what they need.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use names::{Name, Names, Undefined, Unknown, is_predefined};
use notebook::{Cell, CellId, Notebook};

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

    /// The names of a source that is no longer than `left`.
    pub(crate) fn within(&mut self, source: &str, left: usize) -> Arc<Names> {
        if source.len() > left {
            return Arc::new(Names::unknown(Unknown::TooLong));
        }
        let key = hash(source);
        if let Some(known) = self.cache.get(&key) {
            return known.clone();
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

/// The names of the cells of the notebook that was looked at last.
#[derive(Default)]
pub(crate) struct CellNames {
    language: String,
    notebook: Option<Notebook>,
    cells: Vec<Brief>,
    symbols: Symbols,
    /// How many names there were when all cells were read.
    first_symbols: usize,
    undefined: Arc<[Undefined]>,
}

/// The numbers of names.
#[derive(Default)]
struct Symbols(HashMap<Box<str>, u32>);

impl Symbols {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(number) = self.0.get(name) {
            return *number;
        }
        let number = u32::try_from(self.0.len()).unwrap_or(u32::MAX);
        self.0.insert(name.into(), number);
        number
    }
}

/// What a cell may define and need.
#[derive(Default, Clone)]
struct Brief {
    /// The names that it may define, and then those that it may need, each once.
    names: Box<[u32]>,
    defined: u32,
    /// The length of its source.
    length: u32,
    /// It may bind any name.
    binds_anything: bool,
    /// It may bind the words of what could not be read.
    has_possible: bool,
    /// It was not read, because too much came before.
    is_unread: bool,
}

impl Brief {
    fn of(source: &str, names: &Names, symbols: &mut Symbols) -> Self {
        let functions = || names.functions.values();
        let defines = functions().flat_map(|function| &function.defines);
        let defined: BTreeSet<&Name> =
            names.effects.defines.iter().chain(&names.effects.deletes).chain(defines).collect();
        let needs = names.effects.needs.iter().chain(functions().flat_map(|function| &function.needs));
        let needed: BTreeSet<&Name> = needs.filter(|name| !is_predefined(name)).collect();
        Self {
            names: defined.iter().chain(&needed).map(|name| symbols.number(name)).collect(),
            defined: u32::try_from(defined.len()).unwrap_or(u32::MAX),
            length: u32::try_from(source.len()).unwrap_or(u32::MAX),
            binds_anything: names.binds_anything,
            has_possible: !names.possible.is_empty(),
            is_unread: false,
        }
    }

    fn unread(source: &str) -> Self {
        let length = u32::try_from(source.len()).unwrap_or(u32::MAX);
        Self { length, is_unread: true, ..Self::default() }
    }

    fn defined(&self) -> &[u32] {
        &self.names[..self.defined as usize]
    }

    fn needed(&self) -> &[u32] {
        &self.names[self.defined as usize..]
    }
}

impl CellNames {
    /// What the code cells use undefined, as [`names::undefined`] finds it. `names` reads sources of this language.
    pub(crate) fn undefined(
        &mut self,
        notebook: &Notebook,
        language: &str,
        names: &mut ReadNames,
    ) -> Arc<[Undefined]> {
        let is_other = self.language != language;
        if !is_other && self.notebook.as_ref().is_some_and(|known| known.has_cells_of(notebook)) {
            return self.undefined.clone();
        }
        // Names that no cell has any longer are forgotten with all others.
        let is_full = self.symbols.0.len() > 4096 + 2 * self.first_symbols;
        let has_unread = self.cells.iter().any(|cell| cell.is_unread);
        if has_unread && is_too_long(notebook) {
            (self.notebook, self.undefined) = (Some(notebook.clone()), Arc::default());
            return self.undefined.clone();
        }
        if is_other || is_full || has_unread {
            *self = Self { language: language.to_owned(), ..Self::default() };
        }
        let is_first = self.notebook.is_none();
        self.update(notebook, names);
        if is_first {
            self.first_symbols = self.symbols.0.len();
        }
        self.undefined = self.find(notebook, names).into();
        self.undefined.clone()
    }

    /// Reads the cells that are not as they were.
    fn update(&mut self, notebook: &Notebook, names: &mut ReadNames) {
        let before = self.notebook.take();
        let old = before.as_ref().map(Notebook::cells).unwrap_or_default();
        let new = notebook.cells();
        let is_same = |(old, new): &(&Cell, &Cell)| old.is_same(new);
        let head = old.iter().zip(new).take_while(is_same).count();
        let tail = old[head..].iter().rev().zip(new[head..].iter().rev()).take_while(is_same).count();
        let changed = head..old.len() - tail;
        let known: HashMap<&CellId, usize> = changed.clone().map(|index| (old[index].id(), index)).collect();
        let mut left = MAX_SOURCE;
        let mut brief = |cell: &Cell| {
            let known = known.get(cell.id()).filter(|index| old[**index].has_source_of(cell));
            if let Some(index) = known {
                return self.cells[*index].clone();
            }
            if !cell.is_code() {
                return Brief::default();
            }
            let source = cell.source();
            if source.len() > left {
                return Brief::unread(&source);
            }
            left -= source.len();
            Brief::of(&source, &names.within(&source, source.len()), &mut self.symbols)
        };
        let read: Vec<Brief> = new[head..new.len() - tail].iter().map(&mut brief).collect();
        drop(self.cells.splice(changed, read));
        self.notebook = Some(notebook.clone());
    }

    fn find(&self, notebook: &Notebook, names: &mut ReadNames) -> Vec<Undefined> {
        let length: usize = self.cells.iter().map(|cell| cell.length as usize).sum();
        if length > MAX_SOURCE || self.cells.iter().any(|cell| cell.binds_anything) {
            return Vec::new();
        }
        // For each name, the first cell that defines it.
        let mut first = vec![usize::MAX; self.symbols.0.len()];
        for (index, cell) in self.cells.iter().enumerate() {
            for name in cell.defined() {
                let known = &mut first[*name as usize];
                *known = index.min(*known);
            }
        }
        let may_miss =
            |(index, cell): &(usize, &Brief)| cell.needed().iter().any(|name| first[*name as usize] > *index);
        let asked: Vec<usize> =
            self.cells.iter().enumerate().filter(may_miss).map(|(index, _)| index).collect();
        if asked.is_empty() {
            return Vec::new();
        }
        let needed = asked.iter().flat_map(|index| self.cells[*index].needed());
        let definers = needed.map(|name| first[*name as usize]).filter(|index| *index != usize::MAX);
        let possible = self.cells.iter().enumerate().filter(|(_, cell)| cell.has_possible);
        let wanted: BTreeSet<usize> =
            asked.iter().copied().chain(definers).chain(possible.map(|(index, _)| index)).collect();
        let read = wanted.into_iter().map(|index| {
            let source = notebook.cells()[index].source();
            (index, names.within(&source, source.len()))
        });
        let read: Vec<(usize, Arc<Names>)> = read.collect();
        let read: Vec<(usize, &Names)> = read.iter().map(|(index, names)| (*index, &**names)).collect();
        // Of the others, what they need is not among these.
        let mut found = names::undefined(&read);
        found.retain(|it| asked.binary_search(&it.index).is_ok());
        found
    }
}

fn is_too_long(notebook: &Notebook) -> bool {
    let code = notebook.cells().iter().filter(|cell| cell.is_code());
    code.map(|cell| cell.source().len()).sum::<usize>() > MAX_SOURCE
}
