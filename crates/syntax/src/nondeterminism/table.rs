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
    /// It depends on how often code has run, or on addresses in memory.
    Counter,
    /// It starts processes or threads, whose outputs come in any order.
    Parallel,
}

/// Whose random numbers, as messages call it: a seed is for those of one library. The system's have no seed.
pub(super) type Library = &'static str;

/// The libraries whose random numbers can be seeded.
pub(super) const LIBRARIES: [Library; 4] = ["Python", "NumPy", "PyTorch", "TensorFlow"];
/// The path of an object of which nothing is known.
pub(super) const UNKNOWN: &str = "?()";

/// What a function does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Action {
    Nothing,
    Draws(Library),
    /// Of all libraries if it is empty.
    Seeds(Library),
    /// Gives the state, as it is now.
    Reads(Library),
    /// Makes a generator of random numbers, which takes its seed.
    Generator,
    Has(Cause),
    /// Reads the clock if it gets no more arguments than this: a time is not among them.
    ClockUpTo(usize),
}

static ACTIONS: LazyLock<HashMap<&str, Action>> = LazyLock::new(|| {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    let entries = lines.filter_map(|line| line.split_once(' '));
    entries
        .filter_map(|(word, paths)| Some((action(word)?, paths)))
        .flat_map(|(action, paths)| paths.split(' ').map(move |path| (path, action)))
        .collect()
});

fn action(word: &'static str) -> Option<Action> {
    let (kind, of) = word.split_once('.').unwrap_or((word, ""));
    Some(match kind {
        "nothing" => Action::Nothing,
        "draws" => Action::Draws(of),
        "seeds" => Action::Seeds(of),
        "reads" => Action::Reads(of),
        "generator" => Action::Generator,
        "clock" if !of.is_empty() => Action::ClockUpTo(of.parse().ok()?),
        "clock" => Action::Has(Cause::Clock),
        "file" => Action::Has(Cause::File),
        "network" => Action::Has(Cause::Network),
        "system" => Action::Has(Cause::System),
        "counter" => Action::Has(Cause::Counter),
        "parallel" => Action::Has(Cause::Parallel),
        _ => return None,
    })
}

/// What is known of a full name such as `numpy.random.rand`, or `pathlib.Path().open` for a method.
pub(super) fn lookup(path: &str) -> Option<Action> {
    let get = |path: &str| ACTIONS.get(path).copied();
    let Some((parent, name)) = path.rsplit_once('.') else { return get(path) };
    if let Some(action) = get(path).or_else(|| get(&format!("**.{name}"))) {
        return Some(action);
    }
    // What a function gives is a value; only objects of a class are followed.
    let is_value = |part: &str| part.ends_with("()") && !part.starts_with(char::is_uppercase);
    if path.split('.').any(is_value) || path.ends_with("()") {
        return None;
    }
    // read_csv, scan_parquet, fetch_openml, …
    let by_prefix = || match name.split_once('_')?.0 {
        "read" | "scan" => Some(Action::Has(Cause::File)),
        "fetch" => Some(Action::Has(Cause::Network)),
        _ => None,
    };
    let mut ancestors = path.match_indices('.').map(|(at, _)| format!("{}.**", &path[..at]));
    get(&format!("{parent}.*")).or_else(by_prefix).or_else(|| ancestors.find_map(|ancestor| get(&ancestor)))
}

/// The last names of functions that may give another result each time, and of modules with many such functions.
static VARYING: LazyLock<HashSet<&str>> = LazyLock::new(|| {
    let varies = |action: &Action| {
        matches!(action, Action::Draws(_) | Action::Has(_) | Action::ClockUpTo(_))
            && *action != Action::Has(Cause::Parallel)
    };
    let paths = ACTIONS.iter().filter(|(path, action)| varies(action) && !path.starts_with(['*', '%']));
    let last = |(path, _): (&&'static str, _)| match path.trim_end_matches(['.', '*']) {
        path if path.contains("random.") => Some("random"),
        path => path.rsplit('.').next(),
    };
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
