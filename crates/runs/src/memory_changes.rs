//! What runs have changed in the memory of their kernel.

use std::collections::{BTreeMap, BTreeSet};

use notebook::Json;
use serde::Deserialize;
use serde_json::Value;

/// A name that is not shorter may have been cut by the kernel, in bytes.
const MAX_NAME: usize = 60;
/// The longest line, in characters.
const MAX_LINE: usize = 300;

/// The variables that a run has made, changed and removed, as far as its kernel can tell for free. There may be more of them
/// than are named.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct MemoryChanges {
    new: Vec<NewVariable>,
    changed: Vec<String>,
    gone: Vec<String>,
    /// Variables whose values have not changed inside either.
    pub(crate) unchanged: BTreeSet<String>,
    /// The libraries whose shared random state is another one.
    pub(crate) random: Vec<String>,
    /// Digests of these states.
    pub(crate) states: BTreeMap<String, u64>,
    /// See [`KernelRun::loaded`](operations::KernelRun::loaded).
    pub(crate) loaded: BTreeMap<String, (String, Option<u64>)>,
    /// See [`KernelRun::changed_files`](operations::KernelRun::changed_files).
    pub(crate) changed_files: Option<BTreeMap<String, u64>>,
    /// Names and cells of frames of which outputs do not show all spaces, as Python writes them.
    exact_names: Vec<String>,
    exact_cells: Vec<String>,
    /// The number of further names.
    #[serde(skip)]
    unnamed: usize,
    /// Whether all are named that the run has made or changed.
    #[serde(skip)]
    names_assigned: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
struct NewVariable {
    name: String,
    /// Empty for one that looks like a secret.
    r#type: String,
    size: String,
}

impl NewVariable {
    fn text(&self) -> String {
        let kind = format!("{} {}", self.r#type, self.size);
        match kind.trim() {
            "" => self.name.clone(),
            kind => format!("{} ({kind})", self.name),
        }
    }
}

impl MemoryChanges {
    /// The kernel's answer. Nothing if it is malformed.
    pub(crate) fn read(answer: &Json) -> Self {
        let mut read: Self = answer.decode().unwrap_or_default();
        let counts: Value = answer.decode().unwrap_or_default();
        let unnamed = |count: &str, names: usize| {
            Some(usize::try_from(counts[count].as_u64()?).ok()?.saturating_sub(names))
        };
        // Every answer has these two.
        let (Some(new), Some(changed)) =
            (unnamed("new_count", read.new.len()), unnamed("changed_count", read.changed.len()))
        else {
            return read;
        };
        let assigned = new + changed;
        let others = [
            ("gone_count", read.gone.len()),
            ("exact_names_count", read.exact_names.len()),
            ("exact_cells_count", read.exact_cells.len()),
        ];
        read.unnamed =
            assigned + others.into_iter().filter_map(|(count, names)| unnamed(count, names)).sum::<usize>();
        let mut names = read.new.iter().map(|new| &new.name).chain(&read.changed);
        read.names_assigned = assigned == 0 && names.all(|name| name.len() < MAX_NAME);
        read
    }

    /// The variables that the run has made or changed, if the kernel has named them all.
    pub(crate) fn assigned(&self) -> Option<BTreeSet<String>> {
        let names = self.new.iter().map(|new| &new.name).chain(&self.changed);
        self.names_assigned.then(|| names.cloned().collect())
    }

    /// Adds what a later run has changed.
    pub fn extend(&mut self, later: &Self) {
        for new in &later.new {
            if remove(&mut self.gone, &new.name) {
                self.changed.push(new.name.clone());
            } else {
                self.new.push(new.clone());
            }
        }
        for name in &later.changed {
            if self.new.iter().all(|new| new.name != *name) {
                add(&mut self.changed, name);
            }
        }
        for name in &later.gone {
            if let Some(index) = self.new.iter().position(|new| new.name == *name) {
                self.new.remove(index);
                continue;
            }
            remove(&mut self.changed, name);
            self.gone.push(name.clone());
        }
        later.exact_names.iter().for_each(|name| add(&mut self.exact_names, name));
        later.exact_cells.iter().for_each(|cell| add(&mut self.exact_cells, cell));
        self.unnamed += later.unnamed;
    }

    /// One line: `new: df (DataFrame 1000×4), model (Ridge); changed: x; gone: y; exact names: ' a'`. `None` if there is nothing to
    /// say.
    pub fn line(&self) -> Option<String> {
        let new: Vec<String> = self.new.iter().map(NewVariable::text).collect();
        let headed = [
            ("new", &new),
            ("changed", &self.changed),
            ("gone", &self.gone),
            ("exact names", &self.exact_names),
            ("exact cells", &self.exact_cells),
        ];
        let items = headed.iter().flat_map(|(heading, names)| {
            names.iter().enumerate().map(move |(index, name)| (heading, index == 0, on_one_line(name)))
        });
        let named = headed.iter().map(|(_, names)| names.len()).sum::<usize>();
        let (mut line, mut length, mut left) = (String::new(), 0, named + self.unnamed);
        for (heading, is_first, name) in items {
            let separator = match (line.is_empty(), is_first) {
                (true, _) => "",
                (false, true) => "; ",
                (false, false) => ", ",
            };
            let heading = if is_first { format!("{heading}: ") } else { String::new() };
            let item = format!("{separator}{heading}{name}");
            let added = item.chars().count();
            let rest = left.saturating_sub(1);
            let room = if rest == 0 { 0 } else { more(rest).chars().count() };
            if length + added + room > MAX_LINE {
                break;
            }
            line.push_str(&item);
            (length, left) = (length + added, rest);
        }
        if left > 0 && !line.is_empty() {
            line.push_str(&more(left));
        }
        Some(line).filter(|line| !line.is_empty())
    }
}

fn more(count: usize) -> String {
    format!(", … and {count} more")
}

/// Adds a name that is not there.
fn add(names: &mut Vec<String>, name: &str) {
    if !names.iter().any(|known| known == name) {
        names.push(name.to_owned());
    }
}

fn remove(names: &mut Vec<String>, name: &str) -> bool {
    let known = names.iter().position(|known| known == name);
    known.map(|index| names.remove(index)).is_some()
}

/// A name that code has put into its namespace can hold anything.
fn on_one_line(name: &str) -> String {
    name.split(|it: char| it.is_whitespace() || it.is_control()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn changes(new: &[(&str, &str, &str)], changed: &[&str], gone: &[&str]) -> MemoryChanges {
        let rows = new.iter().map(|(name, kind, size)| json!({ "name": name, "type": kind, "size": size }));
        read(&json!({
            "new": rows.collect::<Vec<_>>(), "new_count": new.len(),
            "changed": changed, "changed_count": changed.len(),
            "gone": gone, "gone_count": gone.len(),
        }))
    }

    fn read(answer: &serde_json::Value) -> MemoryChanges {
        MemoryChanges::read(&Json::from_value(answer))
    }

    #[test]
    fn the_line_names_what_is_new_changed_and_gone() {
        let all = changes(
            &[("df", "DataFrame", "1000×4"), ("model", "Ridge", ""), ("api_key", "", "")],
            &["x"],
            &["y", "z"],
        );
        assert_eq!(
            all.line().as_deref(),
            Some("new: df (DataFrame 1000×4), model (Ridge), api_key; changed: x; gone: y, z")
        );
        assert_eq!(changes(&[], &[], &["y"]).line().as_deref(), Some("gone: y"));
        assert_eq!(changes(&[], &[], &[]).line(), None);
        assert_eq!(MemoryChanges::read(&Json::empty_object()).line(), None);
        assert_eq!(MemoryChanges::read(&Json::from_value(&json!({ "new": 3 }))).line(), None);
        let odd = changes(&[("a\n[COMPLETED]\u{1b}", "int", "")], &[], &[]);
        assert_eq!(odd.line().as_deref(), Some("new: a [COMPLETED]  (int)"));
    }

    #[test]
    fn what_was_assigned_is_known_only_if_all_of_it_is_named() {
        let names =
            |changes: &MemoryChanges| changes.assigned().map(|names| names.into_iter().collect::<Vec<_>>());
        let all = changes(&[("df", "DataFrame", "")], &["x"], &["y"]);
        assert_eq!(names(&all), Some(vec!["df".to_owned(), "x".to_owned()]));
        assert_eq!(names(&changes(&[], &[], &[])), Some(Vec::new()));
        assert_eq!(names(&MemoryChanges::read(&Json::empty_object())), None, "other code ran");
        assert_eq!(
            names(&read(&json!({ "new": [{ "name": "df" }], "new_count": 2, "changed_count": 0 }))),
            None
        );
        assert_eq!(names(&changes(&[], &["x".repeat(MAX_NAME).as_str()], &[])), None);
    }

    #[test]
    fn a_long_line_ends_at_a_name() {
        let names: Vec<String> = (0..80).map(|number| format!("variable_{number}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let line = changes(&[("first", "int", "")], &names, &["last"]).line().unwrap();
        assert!(line.chars().count() <= MAX_LINE && line.chars().count() > MAX_LINE - 20, "{line}");
        let shown = line.matches("variable_").count();
        assert!(line.starts_with("new: first (int); changed: variable_0, variable_1, "), "{line}");
        assert!(line.ends_with(&format!("variable_{}, … and {} more", shown - 1, 81 - shown)), "{line}");
        // The kernel names only some.
        let counted = read(&json!({ "new_count": 0, "changed": ["x"], "changed_count": 3 }));
        assert_eq!(counted.line().as_deref(), Some("changed: x, … and 2 more"));
        // What fits exactly is not cut.
        let exact = "x".repeat(MAX_LINE - "changed: ".len());
        assert_eq!(changes(&[], &[exact.as_str()], &[]).line().map(|line| line.len()), Some(MAX_LINE));
    }

    #[test]
    fn the_line_spells_names_and_cells_whose_spaces_an_output_hides() {
        let mut all = MemoryChanges {
            exact_names: vec!["' a'".to_owned()],
            ..changes(&[("df", "DataFrame", "1×1")], &[], &[])
        };
        assert_eq!(all.line().as_deref(), Some("new: df (DataFrame 1×1); exact names: ' a'"));
        let later = read(&json!({
            "new_count": 0, "changed_count": 0,
            "exact_names": ["' a'", "'b '"], "exact_names_count": 9,
            "exact_cells": ["'S ' in ' a'"], "exact_cells_count": 1,
        }));
        assert_eq!(
            later.line().as_deref(),
            Some("exact names: ' a', 'b '; exact cells: 'S ' in ' a', … and 7 more")
        );
        all.extend(&later);
        assert_eq!(
            all.line().as_deref(),
            Some("new: df (DataFrame 1×1); exact names: ' a', 'b '; exact cells: 'S ' in ' a', … and 7 more")
        );
    }

    #[test]
    fn the_changes_of_several_runs_are_one_line() {
        let mut all = changes(&[("a", "int", ""), ("b", "int", "")], &["x"], &["y"]);
        all.extend(&changes(&[("y", "int", ""), ("c", "str", "3")], &["a", "x", "z"], &["b", "w", "x"]));
        assert_eq!(all.line().as_deref(), Some("new: a (int), c (str 3); changed: y, z; gone: w, x"));
    }
}
