//! `list_variables`: what is in a kernel's memory.

use std::collections::BTreeMap;
use std::time::Duration;

use place::{ask_memory, nothing_in_memory};
use serde::Deserialize;
use serde_json::json;
use workspace::Assignments;

use calls::prelude::*;

/// More variables than any kernel lists.
const ALL: usize = 100_000;
/// Time limit for the kernel's lookup.
const LIMIT: Duration = Duration::from_secs(1);
const KINDS: [&str; 5] = ["data", "function", "class", "module", "all"];
const SORTS: [&str; 3] = ["name", "size", "latest"];

pub(crate) static TOOL: Tool = tool! {
    name: "list_variables",
    title: "List variables",
    description: "List the variables defined in the kernel, with type, shape and short value; also while a cell runs, and without \
                  running code.",
    discovery: Discovery::FoundBy("what is in memory; inspect the namespace, workspace, state, data frames"),
    effect: Effect::AsksKernel,
    groups: &[Group::Kernels],
    check: check,
};

arguments! {
    struct Arguments {
        /// Part of the names, or a glob
        pattern: String = "",
        /// data, function, class, module or all
        kinds: String = "data",
        limit: usize = 50,
        /// name, size or latest
        sort: String = "name",
        notebook: NotebookArgument,
    }
}

#[derive(Deserialize)]
struct Listed {
    total: usize,
    rows: Vec<Row>,
    others: BTreeMap<String, Others>,
    /// What the next execution is counted as.
    #[serde(default)]
    count: u64,
}

#[derive(Deserialize)]
struct Row {
    name: String,
    r#type: String,
    size: Option<String>,
    bytes: Option<u64>,
    #[serde(default)]
    is_estimate: bool,
    value: Option<String>,
}

/// Variables of a kind that was not asked for.
#[derive(Deserialize)]
struct Others {
    count: usize,
    names: Vec<String>,
}

fn kinds_of(text: &str) -> Vec<String> {
    text.split(',').map(|kind| kind.trim().to_ascii_lowercase()).filter(|kind| !kind.is_empty()).collect()
}

/// Fails if there is no such kind or order.
fn check(arguments: &Arguments) -> Result<(), Error> {
    if let Some(unknown) = kinds_of(&arguments.kinds).iter().find(|kind| !KINDS.contains(&&***kind)) {
        return Err(refused(format!("There is no kind {unknown:?}. Kinds: {}.", KINDS.join(", "))));
    }
    if !SORTS.contains(&&*arguments.sort.trim().to_ascii_lowercase()) {
        return Err(refused(format!("sort is one of {}.", SORTS.join(", "))));
    }
    Ok(())
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { pattern, kinds, limit, sort, notebook } = arguments;
    let (kinds, sort) = (kinds_of(&kinds), sort.trim().to_ascii_lowercase());
    let limit = if limit == 0 { ALL } else { limit };
    let opened = context.notebook(&notebook).await?;
    let Some(kernel) = opened.kernel() else { return Ok(nothing_in_memory().cause.into()) };
    let question = json!({ "list": { "pattern": pattern, "kinds": kinds, "limit": limit, "sort": sort } });
    let answer = ask_memory(&*kernel, &question, LIMIT).await.map_err(about_a_list)?;
    let listed: Listed = answer.decode().map_err(|error| {
        refused(format!("The kernel's answer cannot be read: {error}.")).with_source(error)
    })?;
    // Without it, the variables are listed all the same.
    let notebook = opened.document().snapshot().await.ok();
    let workspace = context.session.workspace();
    let assigned = notebook.map(|notebook| workspace.assignments(&opened, &notebook, listed.count));
    let text = shown(listed, limit, kernel.id().as_str(), &assigned.unwrap_or_default());
    let text = whole_lines(&text, "", context.characters(), |_, left| {
        format!("… {left} more lines: list_variables(pattern=…) shows fewer variables.")
    });
    Ok(text.into())
}

/// What helps if one variable is refused does not help with a list.
fn about_a_list(error: Error) -> Error {
    match error.kind {
        ErrorKind::InvalidArgument => {
            Error { next: "Give a pattern that fewer variables match.".into(), ..error }
        }
        _ => error,
    }
}

fn shown(listed: Listed, limit: usize, kernel: &str, assigned: &Assignments) -> String {
    let Listed { total, rows, others, count: _ } = listed;
    let mut text = if rows.is_empty() {
        format!("No such variables in kernel {kernel}.")
    } else {
        let rows = rows.into_iter().map(|row| {
            let size = match (row.size.unwrap_or_default(), row.bytes) {
                (size, Some(bytes)) if size != bytes.to_string() => {
                    let about = if row.is_estimate { "~" } else { "" };
                    format!("{size} ({about}{})", render::size(usize::try_from(bytes).unwrap_or(usize::MAX)))
                        .trim_start()
                        .to_owned()
                }
                (size, _) => size,
            };
            let cell = assigned.get(&row.name).map(|index| format!("cell {index}"));
            [row.name, row.r#type, size, row.value.unwrap_or_default(), cell.unwrap_or_default()]
        });
        format!(
            "{total} in kernel {kernel}\n{}",
            table(["Name", "Type", "Size", "Value", "Assigned in"], rows)
        )
    };
    for (kind, Others { count, names }) in others {
        let more = if count > names.len() { ", …" } else { "" };
        text.push_str(&format!("\n{kind}: {}{more}", names.join(", ")));
    }
    if total > limit {
        text.push_str(&format!("\n{} more: list_variables(limit={total}) shows them.", total - limit));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refused_list_says_what_helps_with_a_list() {
        let of_kind =
            |kind| about_a_list(Error::new(kind, "It took more than 1 s.", "Name a variable.")).to_string();
        assert_eq!(
            of_kind(ErrorKind::InvalidArgument),
            "It took more than 1 s. Give a pattern that fewer variables match."
        );
        assert_eq!(of_kind(ErrorKind::Busy), "It took more than 1 s. Name a variable.");
    }

    #[test]
    fn rows_are_a_table_and_other_kinds_are_named() {
        let listed = json!({
            "total": 3,
            "rows": [
                { "name": "df", "type": "DataFrame", "kind": "data", "size": "1000×4", "value": "a: int64, …" },
                { "name": "x", "type": "ndarray", "kind": "data", "size": "3", "bytes": 2_500_000, "value": "of float64" },
            ],
            "others": { "module": { "count": 3, "names": ["np", "pd"] } },
        });
        let assigned = [("df".to_owned(), 3)].into();
        let text = shown(serde_json::from_value(listed).unwrap(), 2, "k1", &assigned);
        assert_eq!(
            text,
            "3 in kernel k1\nName\tType\tSize\tValue\tAssigned in\ndf\tDataFrame\t1000×4\ta: int64, …\tcell 3\n\
             x\tndarray\t3 (2.5 MB)\tof float64\t\nmodule: np, pd, …\n1 more: list_variables(limit=3) shows them."
        );
    }
}
