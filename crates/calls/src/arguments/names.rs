//! The names of arguments: what models write instead of a name, and what no tool has.
//!
//! An argument that is not read may have been the important one: `delete_cell(path="b.ipynb")` must not delete in the current
//! notebook, and `preveiw: true` must not act. So what cannot be understood is refused.

use place::{ADDED_BY_CLIENTS, Error};

use crate::arguments::declare::InputSchema;
use crate::arguments::given::{Given, refused};

/// What models write for the notebook.
pub const NOTEBOOK: [&str; 8] =
    ["notebook_name", "notebook_path", "path", "notebook", "file", "file_path", "filename", "notebook_file"];

/// Other names, each with its tool and the name of today: singular or plural, and names of other tools.
const OTHER_NAMES: &str = include_str!("names/other.txt");

/// What models write for `cell_source`.
pub const SOURCE: [&str; 4] = ["source", "code", "content", "text"];

/// Names that are unlike those that may be meant, the likeliest first.
const MEANT: &str = include_str!("names/meant.txt");

/// How alike two names must be for one to be suggested for the other, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.5;

/// Translates other names of arguments, and fails if one remains that `tool` does not have.
pub fn settle(tool: &str, schema: &InputSchema, only_reads: bool, given: &mut Given) -> Result<(), Error> {
    let of_tool = |line: &'static str| line.strip_prefix(tool)?.strip_prefix(' ')?.split_once(' ');
    for (written, meant) in OTHER_NAMES.lines().filter_map(of_tool) {
        given.rename(written, meant)?;
    }
    let is_known = |name: &str| schema.takes(name);
    if is_known("cell_source") {
        source_by_any_name(given)?;
    }
    if let Some(meant) = notebook_parameter(schema) {
        for written in NOTEBOOK.into_iter().filter(|written| !is_known(written)) {
            name_notebook(tool, given, written, meant)?;
        }
    }
    let previews = given.flag("preview")? == Some(true);
    // A run is the same in every notebook.
    let needs_no_notebook = is_known("run_id") && notebook_parameter(schema).is_none();
    let is_ignored = |name: &str| {
        is_added(name, |bare| is_known(bare) || NOTEBOOK.contains(&bare))
            || ADDED_BY_CLIENTS.contains(&name)
            || (name == "preview" && (only_reads || !previews))
            || (needs_no_notebook && NOTEBOOK.contains(&name))
    };
    given.retain(|name, is_given| is_known(name) || (is_given && !is_ignored(name)));
    let others: Vec<&str> = given.names().filter(|name| !is_known(name)).collect();
    // A preview that is asked for and not given would be a change that was not wanted.
    if others.contains(&"preview") {
        return Err(refused(format!("{tool} has no preview.")));
    }
    refuse_unknown(&format!("{tool} has"), &others, schema.parameters())
}

/// Whether a client has added it, as `_meta`: its name begins with `_`, and what follows names nothing here.
fn is_added(name: &str, is_meant: impl Fn(&str) -> bool) -> bool {
    name.strip_prefix('_').is_some_and(|bare| !is_meant(bare))
}

/// Takes what models write for `cell_source`.
pub fn source_by_any_name(given: &mut Given) -> Result<(), Error> {
    SOURCE.into_iter().try_for_each(|written| given.rename(written, "cell_source"))
}

/// Fails if the object `what` has members that are none of these.
pub fn check_members(what: &str, given: &Given, members: &[&str]) -> Result<(), Error> {
    let is_unknown = |name: &&str| {
        given.has(name) && !members.contains(name) && !is_added(name, |bare| members.contains(&bare))
    };
    let others: Vec<&str> = given.names().filter(is_unknown).collect();
    refuse_unknown(&format!("{what} has"), &others, members)
}

/// The parameter that names the notebook that a tool works on.
fn notebook_parameter(schema: &InputSchema) -> Option<&'static str> {
    ["notebook_path", "notebook_name"].into_iter().find(|name| schema.takes(name)).or_else(|| {
        // It has a second notebook, and so another name for the first.
        (schema.takes("from") && schema.takes("to")).then_some("from")
    })
}

/// Takes the argument `written` for `meant`. Fails if both are given and name two notebooks.
fn name_notebook(tool: &str, given: &mut Given, written: &str, meant: &str) -> Result<(), Error> {
    let name = |name: &str| given.optional_text(name).ok().flatten();
    if let (Some(one), Some(other)) = (name(written), name(meant))
        && stem(&one) != stem(&other)
    {
        return Err(refused(format!(
            "{tool} works on one notebook, and {written} and {meant} name two ({one:?}, {other:?})."
        )));
    }
    // They may be written in two ways, and one of them is enough.
    if given.has(meant) {
        given.remove(written);
    }
    given.rename(written, meant)
}

/// The last part of a path, without the extension of notebooks.
fn stem(path: &str) -> &str {
    let name = path.trim().rsplit(['/', '\\', ':']).next().unwrap_or_default();
    name.strip_suffix(".ipynb").unwrap_or(name)
}

/// Refuses all unknown names at once, so that the next call is right.
fn refuse_unknown(who_has: &str, others: &[&str], known: &[impl AsRef<str>]) -> Result<(), Error> {
    if others.is_empty() {
        return Ok(());
    }
    let mut lines: Vec<String> = others
        .iter()
        .map(|name| match nearest(name, known) {
            Some(nearest) => format!("{who_has} no argument {name:?}; did you mean {nearest:?}?"),
            None => format!("{who_has} no argument {name:?}."),
        })
        .collect();
    if others.iter().any(|name| nearest(name, known).is_none()) {
        let known: Vec<_> = known.iter().map(AsRef::as_ref).collect();
        lines.push(match known[..] {
            [] => "It takes none.".to_owned(),
            _ => format!("It takes: {}.", known.join(", ")),
        });
    }
    Err(refused(lines.join(" ")))
}

/// The known name that was probably meant.
fn nearest<'k>(name: &str, known: &'k [impl AsRef<str>]) -> Option<&'k str> {
    let similarity = |other: &str| {
        let is_part = name.len() > 2 && (other.contains(name) || name.contains(other));
        if is_part { 1.0 } else { strsim::normalized_damerau_levenshtein(name, other) }
    };
    let is_known = |meant: &&str| known.iter().any(|other| other.as_ref() == *meant);
    let meant = MEANT.lines().filter_map(|line| line.split_once(' ')).filter(|(written, _)| *written == name);
    let meant = meant.flat_map(|(_, meant)| meant.split(' ')).find(is_known);
    let nearest = known
        .iter()
        .map(|other| (similarity(other.as_ref()), other.as_ref()))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    meant.or(nearest.map(|(_, name)| name))
}
