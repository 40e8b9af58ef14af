//! Names that a notebook uses and does not define, or defines only below.
//!
//! A false alarm costs more than a name that is missed: where any name may come from elsewhere, nothing is said.

use std::collections::{BTreeMap, BTreeSet};

use syntax::Name;

use crate::names::Names;
use crate::shared::is_predefined;

/// What kernels for Spark define.
const OF_KERNELS: [&str; 8] =
    ["spark", "sc", "sqlContext", "dbutils", "displayHTML", "widgets", "mssparkutils", "notebookutils"];
/// What `IPython` takes for a magic where nothing has the name, because it stands alone.
const AUTOMAGIC: [&str; 12] =
    ["cd", "cls", "clear", "hist", "history", "ll", "ls", "lsmagic", "man", "pwd", "who", "whos"];

/// A name without which code fails, and that no cell above defines.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Undefined {
    /// Where the cell stands in the notebook.
    pub index: usize,
    pub name: Name,
    /// The function or class of the cell that uses the name when it is called.
    pub function: Option<Name>,
    /// The first cell below that defines it; `None` if no cell does.
    pub defined_in: Option<usize>,
}

/// What the code cells of a notebook use undefined, if it runs from top to bottom. They are given in order, with their
/// indices in the notebook.
pub fn undefined(cells: &[(usize, &Names)]) -> Vec<Undefined> {
    if cells.iter().any(|(_, names)| names.binds_anything) {
        return Vec::new();
    }
    let possible: BTreeSet<&Name> = cells.iter().flat_map(|(_, names)| &names.possible).collect();
    // For each name, the first cell that defines it.
    let mut first: BTreeMap<&Name, usize> = BTreeMap::new();
    for (index, names) in cells {
        for name in names.defined() {
            first.entry(name).or_insert(*index);
        }
    }
    let is_missing = |name: &Name| !is_expected(name) && !possible.contains(name);
    let mut found = Vec::new();
    for (index, names) in cells {
        for name in names.effects.needs.iter().filter(|name| is_missing(name)) {
            let defined_in = first.get(name).copied();
            if defined_in.is_none_or(|definer| definer > *index) {
                found.push(Undefined { index: *index, name: name.clone(), function: None, defined_in });
            }
        }
        for (function, effects) in &names.functions {
            let is_new = |name: &&Name| !names.effects.needs.contains(*name) && !first.contains_key(*name);
            for name in effects.needs.iter().filter(|name| is_missing(name)).filter(is_new) {
                let function = Some(function.clone());
                found.push(Undefined { index: *index, name: name.clone(), function, defined_in: None });
            }
        }
    }
    found
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

fn is_expected(name: &str) -> bool {
    is_predefined(name)
        || (name.starts_with("__") && name.ends_with("__"))
        || OF_KERNELS.contains(&name)
        || AUTOMAGIC.contains(&name)
}
