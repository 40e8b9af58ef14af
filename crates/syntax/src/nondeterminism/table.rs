//! What is known of functions by their full names.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

const TABLE: &str = include_str!("table.txt");

/// Why a cell may give another result.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cause {
    /// It draws random numbers, and no seed is in sight.
    Random,
    /// It reads a clock, or measures how long something takes.
    Clock,
    File,
    Network,
    /// It asks the machine, the environment or a person, or runs a command.
    System,
    /// It depends on how often code has run, on addresses in memory, or on the order of a set, which is another one in each process if its
    /// items are texts.
    Counter,
    /// It starts processes or threads, whose outputs come in any order.
    Parallel,
}

/// Whose random numbers: a seed is for those of one library.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Library {
    Python,
    NumPy,
    Torch,
    TensorFlow,
    /// They have no seed.
    System,
}

impl Library {
    pub(super) const SEEDED: [Self; 4] = [Self::Python, Self::NumPy, Self::Torch, Self::TensorFlow];
}

/// What a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Draws(Library),
    /// `None`: for all libraries.
    Seeds(Option<Library>),
    /// Gives the state, as it is now.
    Reads(Library),
    /// Sets it to one that `Reads` gave.
    Sets(Library),
    /// Makes a generator of random numbers, which takes its seed.
    Generator,
    Has(Cause),
    /// Reads the clock if it gets no time.
    ClockIfEmpty,
    /// Reads the clock if it gets a format and no time.
    ClockByFormat,
    /// Reads the clock if it gets the word `now` or `today`.
    ClockByWord,
}

static ACTIONS: LazyLock<HashMap<&str, Action>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.filter_map(|line| line.split_once(' '));
    entries
        .filter_map(|(word, paths)| Some((action(word)?, paths)))
        .flat_map(|(action, paths)| paths.split(' ').map(move |path| (path, action)))
        .collect()
});

fn action(word: &str) -> Option<Action> {
    let (kind, of) = word.split_once('.').unwrap_or((word, ""));
    let library = match of {
        "python" => Some(Library::Python),
        "numpy" => Some(Library::NumPy),
        "torch" => Some(Library::Torch),
        "tensorflow" => Some(Library::TensorFlow),
        "system" => Some(Library::System),
        _ => None,
    };
    Some(match (kind, of) {
        ("nothing", _) => Action::Nothing,
        ("draws", _) => Action::Draws(library?),
        ("seeds", _) => Action::Seeds(library),
        ("reads", _) => Action::Reads(library?),
        ("sets", _) => Action::Sets(library?),
        ("generator", _) => Action::Generator,
        ("clock", "empty") => Action::ClockIfEmpty,
        ("clock", "format") => Action::ClockByFormat,
        ("clock", "word") => Action::ClockByWord,
        ("clock", _) => Action::Has(Cause::Clock),
        ("file", _) => Action::Has(Cause::File),
        ("network", _) => Action::Has(Cause::Network),
        ("system", _) => Action::Has(Cause::System),
        ("counter", _) => Action::Has(Cause::Counter),
        ("parallel", _) => Action::Has(Cause::Parallel),
        _ => return None,
    })
}

/// What is known of a full name such as `numpy.random.rand`, or `pathlib.Path().open` for a method.
pub(super) fn lookup(path: &str) -> Option<Action> {
    // What a function gives is a value; only objects of a class are followed.
    let is_value = |part: &str| part.ends_with("()") && !part.starts_with(char::is_uppercase);
    if path.split('.').any(is_value) || path.ends_with("()") {
        return None;
    }
    if let Some(action) = ACTIONS.get(path) {
        return Some(*action);
    }
    let (parent, name) = path.rsplit_once('.')?;
    if let Some(action) = ACTIONS.get(&*format!("{parent}.*")) {
        return Some(*action);
    }
    // pandas, polars, dask: read_csv, scan_parquet, …
    let is_table = matches!(parent, "pandas" | "polars" | "dask.dataframe" | "cudf" | "modin.pandas");
    if is_table && (name.starts_with("read_") || name.starts_with("scan_")) {
        return Some(Action::Has(Cause::File));
    }
    if parent == "sklearn.datasets" && name.starts_with("fetch_") {
        return Some(Action::Has(Cause::Network));
    }
    let ancestors = path.match_indices('.').map(|(at, _)| &path[..at]);
    ancestors.into_iter().find_map(|ancestor| ACTIONS.get(&*format!("{ancestor}.**")).copied())
}

/// The last names of functions that may give another result each time, and of modules with many such functions.
static VARYING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let varies = |action: &Action| {
        matches!(action, Action::Draws(_) | Action::Has(_)) && *action != Action::Has(Cause::Parallel)
            || matches!(action, Action::ClockIfEmpty | Action::ClockByFormat | Action::ClockByWord)
    };
    let paths = ACTIONS.iter().filter(|(_, action)| varies(action)).map(|(path, _)| *path);
    let last = |path: &'static str| path.trim_end_matches(".**").trim_end_matches(".*").rsplit('.').next();
    paths.filter_map(last).collect()
});

/// Whether a call by these names, `["np", "random", "rand"]`, may give another result each time. What names stand for is not known here.
pub fn may_vary(names: &[&str]) -> bool {
    names.iter().any(|name| VARYING.contains(name) || name.starts_with("read_") || name.starts_with("fetch_"))
        || names.first().is_some_and(|name| matches!(*name, "rng" | "rs"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        for line in TABLE.lines().filter(|line| !line.starts_with('#')) {
            let (word, paths) = line.split_once(' ').unwrap();
            let action = action(word).unwrap_or_else(|| panic!("{line}"));
            let last = paths.split(' ').next_back().unwrap();
            assert_eq!(lookup(&last.replace('*', "x")), Some(action), "{line}");
        }
        for value in
            ["numpy.random.rand()", "numpy.random.rand().mean", "requests.get().json", "pandas.read_csv()"]
        {
            assert_eq!(lookup(value), None, "{value}");
        }
        assert_eq!(lookup("requests.Session().get"), Some(Action::Has(Cause::Network)));
        assert_eq!(lookup("numpy.zeros"), None);
    }
}
