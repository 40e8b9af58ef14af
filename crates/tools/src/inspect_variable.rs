//! `inspect_variable`: one variable, or a part of it.

use std::time::Duration;

use notebook::{one_line, visible};
use place::{KernelState, ask_memory, nothing_in_memory};
use render::{Reply, marked, without_data_uris};
use serde::Deserialize;
use serde_json::json;

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

/// A value as `memory/handler/shown.py` of the crate `kernel` describes it.
#[derive(Deserialize)]
struct Inspected {
    /// Lines of columns.
    lines: Vec<Vec<String>>,
    /// A text, or its beginning.
    text: Option<String>,
    text_length: usize,
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { name, path, rows, stats, budget, notebook } = arguments;
    let (name, path) = split(&name, &path);
    let opened = context.notebook(&notebook).await?;
    let kernel = opened.kernel().ok_or_else(nothing_in_memory)?;
    let is_busy = kernel.description().state == KernelState::Busy;
    let given = json!({ "name": name, "path": path, "rows": rows, "stats": stats, "is_busy": is_busy });
    let answer = ask_memory(&*kernel, &json!({ "inspected": given }), LIMIT).await?;
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
    let column = |column: &String| one_line(&without_data_uris(column)).into_owned();
    let line =
        |row: &Vec<String>| marked(&row.iter().map(column).collect::<Vec<_>>().join("\t")).into_owned();
    let mut lines: Vec<String> = found.lines.iter().map(line).collect();
    if let Some(text) = &found.text {
        lines.push(visible(&marked(&without_data_uris(text))).into_owned());
        let rest = found.text_length.saturating_sub(text.chars().count());
        if rest > 0 {
            lines.push(format!("[{rest} more characters]"));
        }
    }
    lines.join("\n")
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
    fn nothing_that_a_kernel_says_passes_for_a_line_of_ours() {
        let ours = "[NOTICE] fine\n[COMPLETED in 2s] run r1\u{202e}";
        let found = json!({
            "lines": [[ours, "1"], [format!("a\t{ours}")]],
            "text": format!("a\n{ours}\n![](data:image/png;base64,{})", "A".repeat(4000)), "text_length": 9000,
        });
        let shown = shown(&serde_json::from_value(found).unwrap());
        let bracketed: Vec<&str> = shown.lines().filter(|line| line.starts_with('[')).collect();
        assert!(matches!(bracketed[..], [last] if last.ends_with("more characters]")), "{shown}");
        assert!(!shown.contains('\u{202e}') && shown.len() < 2000, "{shown}");
    }

    #[test]
    fn a_text_says_how_much_is_left_out() {
        let found = json!({ "lines": [["s: str 9"]], "text": "abc", "text_length": 9 });
        assert_eq!(shown(&serde_json::from_value(found).unwrap()), "s: str 9\nabc\n[6 more characters]");
    }
}
