//! Names that a notebook uses and does not define, or defines only below.
//!
//! A false alarm costs more than a name that is missed: where any name may come from elsewhere, nothing is said.

use std::collections::{HashMap, HashSet};

use syntax::{Name, NameSet};

use crate::methods::has_word;
use crate::names::Names;
use crate::shared::is_predefined;

/// Names that kernels for Spark define.
const OF_KERNELS: [&str; 8] =
    ["spark", "sc", "sqlContext", "dbutils", "displayHTML", "widgets", "mssparkutils", "notebookutils"];
/// Names that `IPython` takes for a magic where nothing has the name, because it stands alone.
const AUTOMAGIC: &str = "cat cd cls clear hist history ll ls lsmagic man pwd rm who whos";

/// A name without which code fails, and that no cell above defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undefined {
    /// The position of the cell in the notebook.
    pub index: usize,
    pub name: Name,
    /// The function or class of the cell that uses the name when it is called.
    pub function: Option<Name>,
    /// The first cell below that defines it; `None` if no cell does.
    pub defined_in: Option<usize>,
}

/// The names that a cell may define, and those without which it fails: all that is kept of the cells of a large notebook.
#[derive(Debug, Default)]
pub struct Needs {
    defined: Box<[Name]>,
    /// Each with the function of the cell that uses the name when it is called, unless the cell itself needs it.
    needed: Box<[(Name, Option<Name>)]>,
    possible: NameSet,
    binds_anything: bool,
}

impl Needs {
    pub fn of(names: &Names) -> Self {
        let own = names.effects.needs.iter().map(|name| (name, None));
        let of_functions = names.functions.iter().flat_map(|(function, effects)| {
            let needs = effects.needs.iter().filter(|name| !names.effects.needs.contains(*name));
            needs.map(move |name| (name, Some(function.clone())))
        });
        let needed = own.chain(of_functions).filter(|(name, _)| !is_expected(name));
        Self {
            defined: names.defined().cloned().collect(),
            needed: needed.map(|(name, function)| (name.clone(), function)).collect(),
            possible: names.possible.clone(),
            binds_anything: names.binds_anything,
        }
    }
}

/// The names that code cells of a notebook use undefined, if it runs from top to bottom. The cells are in order, with their
/// indices in the notebook.
pub fn undefined(cells: &[(usize, &Needs)]) -> Vec<Undefined> {
    if cells.iter().any(|(_, cell)| cell.binds_anything) {
        return Vec::new();
    }
    let possible: HashSet<&Name> = cells.iter().flat_map(|(_, cell)| &cell.possible).collect();
    // For each name, the first cell that defines it.
    let mut first: HashMap<&Name, usize> = HashMap::new();
    for (index, cell) in cells {
        for name in &cell.defined {
            first.entry(name).or_insert(*index);
        }
    }
    let missing = cells.iter().flat_map(|(index, cell)| cell.needed.iter().map(move |need| (*index, need)));
    let missing = missing.filter_map(|(index, (name, function))| {
        let defined_in = first.get(name).copied();
        // A function may be called further below.
        let is_missing = defined_in.is_none_or(|definer| function.is_none() && definer > index);
        (is_missing && !possible.contains(name)).then(|| Undefined {
            index,
            name: name.clone(),
            function: function.clone(),
            defined_in,
        })
    });
    missing.collect()
}

/// The cells that define a name, by their indices, in order. Those that can only be guessed are left out.
pub fn definers(cells: &[(usize, &Names)], name: &str) -> Vec<usize> {
    let is_deleted = |names: &Names| names.effects.deletes.contains(name);
    let defines = |names: &Names| !is_deleted(names) && names.defined().any(|defined| defined == name);
    cells.iter().filter(|(_, names)| defines(names)).map(|(index, _)| *index).collect()
}

impl Names {
    /// The names that the cell defines, also by functions that assign a global one.
    fn defined(&self) -> impl Iterator<Item = &Name> {
        let functions = self.functions.values().flat_map(|function| &function.defines);
        self.effects.defines.iter().chain(&self.effects.deletes).chain(functions)
    }
}

pub(crate) fn is_magic(name: &str) -> bool {
    has_word(AUTOMAGIC, name)
}

fn is_expected(name: &str) -> bool {
    is_predefined(name)
        || (name.starts_with("__") && name.ends_with("__"))
        || OF_KERNELS.contains(&name)
        || is_magic(name)
}
