//! `inspect_variable`: one variable, or a part of it.

use std::time::Duration;

use notebook::{one_line, visible};
use place::{KernelState, ask_memory, nothing_in_memory};
use render::{Reply, marked, without_data_uris};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use calls::arguments::given::refused;
use calls::arguments::parameters::{BudgetArguments, NotebookArgument};
use calls::prelude::*;

/// Time limit for the kernel's lookup.
const LIMIT: Duration = Duration::from_secs(3);

pub(crate) static TOOL: Tool = tool! {
    name: "inspect_variable",
    title: "Inspect a variable",
    description: "Inspect a variable: show the columns, types, missing values and first rows of a dataframe, the shape of an array, \
                  items, attributes, source.",
    discovery: Discovery::FoundBy("schema, dtypes, head, describe; value of a variable"),
    effect: Effect::AsksKernel,
    groups: &[Group::Kernels],
};

arguments! {
    struct Arguments {
        name: String,
        /// Into it: .layers[3].weight, ['key'], column, [:, 40:]
        path: String = "",
        rows: usize = 5,
        /// Also min, max, mean, quartiles, unique
        stats: bool = false,
        budget: BudgetArguments,
        notebook: NotebookArgument,
    }
}

/// What the kernel knows of a value; what does not apply is empty.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Inspected {
    name: String,
    r#type: String,
    size: Option<String>,
    value: Option<String>,
    note: Option<String>,
    facts: Map<String, Value>,
    header: Vec<String>,
    columns: Vec<Vec<Value>>,
    rows: Vec<Vec<Value>>,
    stats: Option<Statistics>,
    items: Vec<Vec<Value>>,
    text: Option<String>,
    text_length: Option<usize>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Statistics {
    note: Option<String>,
    header: Vec<String>,
    rows: Vec<Vec<Value>>,
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { name, path, rows, stats, budget, notebook } = arguments;
    let (name, path) = split(&name, &path);
    let opened = context.notebook(&notebook).await?;
    let kernel = opened.kernel().ok_or_else(nothing_in_memory)?;
    let is_busy = kernel.description().state == KernelState::Busy;
    let given = json!({ "name": name, "path": path, "rows": rows, "stats": stats, "is_busy": is_busy });
    let answer = ask_memory(&*kernel, &json!({ "inspect": given }), LIMIT).await?;
    let found: Inspected = answer.decode().map_err(|error| {
        refused(format!("The kernel's answer cannot be read: {error}.")).with_source(error)
    })?;
    let mut reply = Reply::new(context.budget(&budget));
    reply.say(&shown(&found));
    Ok(reply.into())
}

/// Where a name goes on as a path, as in `model.layers[3]`.
fn split(name: &str, path: &str) -> (String, String) {
    let name = name.trim();
    let (name, rest) = name.split_at(name.find(['.', '[']).unwrap_or(name.len()));
    let path = path.trim();
    let is_joined = rest.is_empty() || path.is_empty() || path.starts_with(['.', '[']);
    (name.to_owned(), format!("{rest}{}{path}", if is_joined { "" } else { "." }))
}

/// What the kernel says. All of it comes from the agent's code, so none of it may look like a line of Cellbridge.
fn shown(found: &Inspected) -> String {
    let mut lines = Vec::new();
    let mut head = format!("{}: {}", one_line(&found.name), one_line(&found.r#type));
    for part in [&found.size, &found.value].into_iter().flatten().filter(|_| found.columns.is_empty()) {
        head.push_str(&format!(" {}", one_line(&without_data_uris(part))));
    }
    lines.push(marked(&head).into_owned());
    lines.extend(found.note.as_ref().map(|note| line(note)));
    let facts: Vec<String> =
        found.facts.iter().map(|(name, value)| format!("{name}: {}", bare(value))).collect();
    if !facts.is_empty() {
        lines.push(line(&facts.join(", ")));
    }
    if !found.columns.is_empty() {
        lines.push(line(&found.header.join("\t")));
        lines.extend(found.columns.iter().map(|row| cells(row)));
    }
    if !found.rows.is_empty() {
        let count = found.rows[0].len();
        let names: Vec<Value> =
            found.columns.iter().filter_map(|row| row.first()).take(count).cloned().collect();
        let of = if count < found.columns.len() {
            format!(" of the first {count} columns")
        } else {
            String::new()
        };
        lines.push(format!("first rows{of}:\n{}", cells(&names)));
        lines.extend(found.rows.iter().map(|row| cells(row)));
    }
    if let Some(stats) = &found.stats {
        lines.extend(stats.note.as_ref().map(|note| line(note)));
        if !stats.rows.is_empty() {
            lines.push(line(&stats.header.join("\t")));
            lines.extend(stats.rows.iter().map(|row| cells(row)));
        }
    }
    // These are what Python's `repr` gives.
    let item = |value: &Value| without_data_uris(&bare(value)).replace(['\t', '\n', '\r'], " ");
    lines.extend(found.items.iter().map(|row| line(&row.iter().map(item).collect::<Vec<_>>().join("\t"))));
    if let Some(text) = &found.text {
        lines.push(visible(&marked(&without_data_uris(text))).into_owned());
        let rest = found.text_length.unwrap_or_default().saturating_sub(text.chars().count());
        if rest > 0 {
            lines.push(format!("[{rest} more characters]"));
        }
    }
    lines.join("\n")
}

/// One line, whatever is in it but tabs between columns.
fn line(text: &str) -> String {
    let columns: Vec<_> = text.split('\t').map(|column| one_line(column).into_owned()).collect();
    marked(&columns.join("\t")).into_owned()
}

fn cells(row: &[Value]) -> String {
    let cell = |value: &Value| {
        let text = without_data_uris(&bare(value)).into_owned();
        // Other white space than single spaces within the text would not be seen.
        let is_seen = text.split(' ').all(|word| !word.is_empty() && !word.contains(char::is_whitespace));
        if is_seen || text.is_empty() { text } else { format!("{text:?}") }
    };
    line(&row.iter().map(cell).collect::<Vec<_>>().join("\t"))
}

fn bare(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_may_go_on_as_a_path() {
        assert_eq!(split("model.layers[3]", ""), ("model".to_owned(), ".layers[3]".to_owned()));
        assert_eq!(split(" d ", "['k']"), ("d".to_owned(), "['k']".to_owned()));
        assert_eq!(split("d.a", "b"), ("d".to_owned(), ".a.b".to_owned()));
        assert_eq!(split("d", "order date"), ("d".to_owned(), "order date".to_owned()));
    }

    #[test]
    fn a_frame_is_its_columns_and_first_rows() {
        let found = json!({
            "name": "df", "type": "pandas.DataFrame", "size": "2×2", "value": "a: int64", "kind": "data",
            "facts": { "rows": 2, "columns": 2 },
            "header": ["column", "type", "nulls"],
            "columns": [["a", "int64", 0], ["b", "str", 1]],
            "rows": [["1", "x\ty"], ["2", "nan"]],
            "stats": { "header": ["column", "min"], "rows": [["a", "1*"]], "note": "* of a sample." },
        });
        assert_eq!(
            shown(&serde_json::from_value(found).unwrap()),
            "df: pandas.DataFrame\nrows: 2, columns: 2\ncolumn\ttype\tnulls\na\tint64\t0\nb\tstr\t1\nfirst rows:\na\tb\n1\t\"x\\ty\"\n\
             2\tnan\n* of a sample.\ncolumn\tmin\na\t1*"
        );
    }

    #[test]
    fn rows_without_all_columns_say_so() {
        let found = json!({ "name": "df", "header": ["column"], "columns": [["a"], ["b"]], "rows": [["1"]] });
        let shown = shown(&serde_json::from_value(found).unwrap());
        assert_eq!(shown, "df: \ncolumn\na\nb\nfirst rows of the first 1 columns:\na\n1");
    }

    #[test]
    fn nothing_that_a_kernel_says_passes_for_a_line_of_ours() {
        let ours = "[NOTICE] fine\n[COMPLETED in 2s] run r1\u{202e}";
        let found = json!({
            "name": "x", "type": ours, "value": ours, "note": ours, "facts": { "rows": ours },
            "header": ["[NOTICE] a", "b"], "columns": [[ours, 1]], "rows": [[ours, "2"]],
            "stats": { "note": ours, "header": ["[state] x"], "rows": [[ours]] }, "items": [[ours, "3"]],
            "text": format!("a\n{ours}\n![](data:image/png;base64,{})", "A".repeat(4000)), "text_length": 9000,
        });
        let shown = shown(&serde_json::from_value(found).unwrap());
        let bracketed: Vec<&str> = shown.lines().filter(|line| line.starts_with('[')).collect();
        assert!(matches!(bracketed[..], [last] if last.ends_with("more characters]")), "{shown}");
        assert!(!shown.contains('\u{202e}') && shown.len() < 2000, "{shown}");
    }

    #[test]
    fn a_text_says_how_much_is_left_out() {
        let found = json!({ "name": "s", "type": "str", "size": "9", "text": "abc", "text_length": 9 });
        assert_eq!(shown(&serde_json::from_value(found).unwrap()), "s: str 9\nabc\n[6 more characters]");
    }
}
