//! The names of arguments: what models write instead of a name, and what no tool has.
//!
//! An argument that is not read may have been the important one: `delete_cell(path="b.ipynb")` must not delete in the current
//! notebook, and `preveiw: true` must not act. So what cannot be understood is refused.

use place::Error;

use super::given::{Given, refused};
use crate::tools::Tool;

/// What models write for the notebook.
const NOTEBOOK: [&str; 8] =
    ["notebook_name", "notebook_path", "path", "notebook", "file", "file_path", "filename", "notebook_file"];

/// Other names, each with its tool and the name of today: singular or plural, and names of other tools.
const OTHER_NAMES: [(&str, &str, &str); 8] = [
    ("delete_cell", "cell_index", "cell_indices"),
    ("delete_cell", "cell_ids", "cell_ids_to_delete"),
    ("delete_cell", "cell_id", "cell_ids_to_delete"),
    ("search_notebook", "pattern", "query"),
    ("execute_code", "command", "code"),
    ("execute_code", "source", "code"),
    ("execute_code", "cell_source", "code"),
    ("execute_code", "content", "code"),
];

/// What models write for `cell_source`.
const SOURCE: [&str; 4] = ["source", "code", "content", "text"];

/// Names that are unlike those that may be meant, the likeliest first.
const MEANT: [(&str, &[&str]); 8] = [
    ("index", &["cell_index", "cell_indices"]),
    ("cell_number", &["cell_index", "cell_indices"]),
    ("number", &["cell_index", "cell_indices"]),
    ("cell", &["cell_index", "cell_indices"]),
    ("id", &["cell_id", "cell_ids_to_delete", "run_id"]),
    ("dry_run", &["preview"]),
    ("dryRun", &["preview"]),
    ("text", &["code"]),
];

/// What clients add to every call, or to calls without arguments. It says nothing about what the call does.
const ADDED_BY_CLIENTS: [&str; 17] = [
    "description",
    "dummy",
    "explanation",
    "intent",
    "random_string",
    "rationale",
    "reason",
    "reasoning",
    "requires_approval",
    "security_risk",
    "summary",
    "task_progress",
    "thinking",
    "thought",
    "toolAction",
    "toolSummary",
    "waitForPreviousTools",
];

/// How alike two names must be for one to be suggested for the other, from 0 to 1.
const MIN_SIMILARITY: f64 = 0.5;

/// Translates other names of arguments, and fails if one remains that `tool` does not have.
pub(crate) fn settle(tool: &Tool, given: &mut Given) -> Result<(), Error> {
    for (_, written, meant) in OTHER_NAMES.iter().filter(|(name, ..)| *name == tool.name) {
        given.rename(written, meant)?;
    }
    let parameters = tool.parameters();
    let is_known = |name: &str| parameters.iter().any(|parameter| parameter == name);
    if is_known("cell_source") {
        source_by_any_name(given)?;
    }
    if let Some(meant) = notebook_parameter(tool) {
        for written in NOTEBOOK.into_iter().filter(|written| !is_known(written)) {
            name_notebook(tool, given, written, meant)?;
        }
    }
    let previews = given.flag("preview")? == Some(true);
    // A run is the same in every notebook.
    let needs_no_notebook = is_known("run_id") && notebook_parameter(tool).is_none();
    let is_ignored = |name: &str| {
        name.starts_with('_')
            || ADDED_BY_CLIENTS.contains(&name)
            || (name == "preview" && (tool.only_reads() || !previews))
            || (needs_no_notebook && NOTEBOOK.contains(&name))
    };
    given.retain(|name, is_given| is_known(name) || (is_given && !is_ignored(name)));
    match given.names().find(|name| !is_known(name)) {
        None => Ok(()),
        // A preview that is asked for and not given would be a change that was not wanted.
        Some("preview") => Err(refused(format!("{} has no preview.", tool.name))),
        Some(name) => Err(unknown(&format!("{} has", tool.name), name, parameters)),
    }
}

/// Takes what models write for `cell_source`.
pub(crate) fn source_by_any_name(given: &mut Given) -> Result<(), Error> {
    SOURCE.into_iter().try_for_each(|written| given.rename(written, "cell_source"))
}

/// Fails if the object `what` has members that are none of these.
pub(crate) fn check_members(what: &str, given: &Given, members: &[&str]) -> Result<(), Error> {
    let is_unknown = |name: &&str| given.has(name) && !members.contains(name) && !name.starts_with('_');
    given.names().find(is_unknown).map_or(Ok(()), |name| Err(unknown(&format!("{what} has"), name, members)))
}

/// The parameter that names the notebook that a tool works on.
fn notebook_parameter(tool: &Tool) -> Option<&'static str> {
    ["notebook_path", "notebook_name"].into_iter().find(|name| tool.takes(name)).or_else(|| {
        // It has a second notebook, and so another name for the first.
        (tool.takes("from") && tool.takes("to")).then_some("from")
    })
}

/// Takes the argument `written` for `meant`. Fails if both are given and name two notebooks.
fn name_notebook(tool: &Tool, given: &mut Given, written: &str, meant: &str) -> Result<(), Error> {
    let name = |name: &str| given.optional_text(name).ok().flatten();
    if let (Some(one), Some(other)) = (name(written), name(meant))
        && stem(&one) != stem(&other)
    {
        return Err(refused(format!(
            "{} works on one notebook, and {written} and {meant} name two ({one:?}, {other:?}).",
            tool.name
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

fn unknown(who_has: &str, name: &str, known: &[impl AsRef<str>]) -> Error {
    let similarity = |other: &str| {
        let is_part = name.len() > 2 && (other.contains(name) || name.contains(other));
        if is_part { 1.0 } else { strsim::normalized_damerau_levenshtein(name, other) }
    };
    let is_known = |meant: &&&str| known.iter().any(|other| other.as_ref() == **meant);
    let meant = MEANT
        .iter()
        .filter(|(written, _)| *written == name)
        .find_map(|(_, meant)| meant.iter().find(is_known));
    let nearest = known
        .iter()
        .map(|other| (similarity(other.as_ref()), other.as_ref()))
        .filter(|(similarity, _)| *similarity >= MIN_SIMILARITY)
        .max_by(|(one, _), (other, _)| one.total_cmp(other));
    let nearest = meant.map(|meant| (1.0, *meant)).or(nearest);
    let names = || known.iter().map(AsRef::as_ref).collect::<Vec<_>>().join(", ");
    refused(match nearest {
        Some((_, nearest)) => format!("{who_has} no argument {name:?}; did you mean {nearest:?}?"),
        None if known.is_empty() => format!("{who_has} no argument {name:?}: it takes none."),
        None => format!("{who_has} no argument {name:?}. It takes: {}.", names()),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::given::tests::given;
    use super::*;
    use crate::tools::find;

    /// The arguments of a call as its tool reads them, or why they are refused.
    fn settled(tool: &str, values: &Value) -> Result<Value, String> {
        let mut given = given(values);
        settle(find(tool).unwrap(), &mut given).map_err(|error| error.cause)?;
        Ok(given.values().clone().into())
    }

    #[test]
    fn a_notebook_is_named_in_many_ways() {
        for written in NOTEBOOK {
            let named = settled("delete_cell", &json!({ written: "b.ipynb" })).unwrap();
            assert_eq!(named, json!({ "notebook_name": "b.ipynb" }), "{written}");
            let opened = settled("use_notebook", &json!({ written: "b.ipynb" })).unwrap();
            let parameter = if written == "notebook_name" { written } else { "notebook_path" };
            assert_eq!(opened, json!({ parameter: "b.ipynb" }), "{written}");
        }
        let copied =
            settled("copy_notebook", &json!({ "notebook_path": "a.ipynb", "to": "b.ipynb" })).unwrap();
        assert_eq!(copied, json!({ "from": "a.ipynb", "to": "b.ipynb" }));
        // It has a path of another kind.
        let inspected = json!({ "name": "x", "path": ".shape" });
        assert_eq!(settled("inspect_variable", &inspected).unwrap(), inspected);
    }

    #[test]
    fn a_source_has_many_names() {
        for written in SOURCE {
            let named = settled("overwrite_cell_source", &json!({ "cell_index": 0, written: "x" })).unwrap();
            assert_eq!(named, json!({ "cell_index": 0, "cell_source": "x" }), "{written}");
        }
        assert_eq!(settled("execute_code", &json!({ "source": "x" })).unwrap(), json!({ "code": "x" }));
        let two = json!({ "source": "x", "cell_source": "y" });
        assert!(settled("insert_cell", &two).unwrap_err().contains("here they differ"));
    }

    #[test]
    fn a_cell_named_in_the_singular_and_the_plural_must_be_one() {
        for (values, is_accepted) in [
            (json!({ "cell_indices": [0], "cell_index": 0 }), true),
            (json!({ "cell_indices": [0], "cell_index": 1 }), false),
            (json!({ "cell_ids": ["c0"], "cell_id": "c1" }), false),
            (json!({ "cell_ids_to_delete": "c0", "cell_id": "c0" }), true),
        ] {
            assert_eq!(settled("delete_cell", &values).is_ok(), is_accepted, "{values}");
        }
    }

    #[test]
    fn one_notebook_is_named_twice_and_two_are_refused() {
        let both = json!({ "notebook_name": "b", "notebook_path": "data/b.ipynb" });
        assert_eq!(settled("read_notebook", &both).unwrap(), json!({ "notebook_name": "b" }));
        let two = json!({ "notebook_name": "a", "path": "b.ipynb" });
        let cause = settled("delete_cell", &two).unwrap_err();
        assert!(cause.contains("name two"), "{cause}");
    }

    #[test]
    fn what_a_tool_does_not_have_is_refused_with_the_nearest() {
        for (tool, name, expected) in [
            ("delete_cell", "preveiw", "delete_cell has no argument \"preveiw\"; did you mean \"preview\"?"),
            ("delete_cell", "indices", "did you mean \"cell_indices\"?"),
            ("edit_cell_source", "id", "did you mean \"cell_id\"?"),
            ("read_cell", "cell_number", "did you mean \"cell_index\"?"),
            ("delete_cell", "index", "did you mean \"cell_indices\"?"),
            ("delete_cell", "dry_run", "did you mean \"preview\"?"),
            ("execute_cell", "preview_only", "did you mean \"preview\"?"),
            ("execute_code", "qqq", "It takes: code, timeout"),
            ("list_kernels", "qqq", "it takes none"),
            ("execute_code", "preview", "execute_code has no preview."),
        ] {
            let cause = settled(tool, &json!({ name: true })).unwrap_err();
            assert!(cause.contains(expected), "{tool} {name}: {cause}");
        }
    }

    #[test]
    fn what_clients_add_is_ignored() {
        for name in ADDED_BY_CLIENTS.into_iter().chain(["_meta", "__x"]) {
            assert_eq!(settled("list_kernels", &json!({ name: "because" })).unwrap(), json!({}), "{name}");
        }
        assert_eq!(settled("read_cell", &json!({ "preview": true })).unwrap(), json!({}));
        assert_eq!(settled("get_run", &json!({ "notebook_name": "a" })).unwrap(), json!({}));
        // Here it is the tool's own.
        let asked = json!({ "packages": ["six"], "reason": "to test" });
        assert_eq!(settled("add_packages", &asked).unwrap(), asked);
    }

    #[test]
    fn what_is_empty_is_not_given() {
        for empty in [json!(null), json!(""), json!([]), json!({}), json!("null")] {
            assert_eq!(settled("list_kernels", &json!({ "filter": empty })).unwrap(), json!({}), "{empty}");
        }
    }
}
