//! `list_notebooks`: the open notebooks, then others of the place.

use workspace::{FoundNotebooks, NotebookPath, SearchExtent};

use super::list_kernels::state;
use super::shared::answer::Outcome;
use super::shared::arguments::{NoArguments, Schema};
use super::shared::cell_text::table;
use super::shared::context::Context;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

/// How many notebooks that are not open are shown.
const MAX_FOUND: usize = 200;

pub(super) const TOOL: Tool = Tool {
    name: "list_notebooks",
    title: "List notebooks",
    description: "List Jupyter notebooks: opened ones first, then those found.",
    discovery: Discovery::FoundBy("which ipynb notebooks are there"),
    effect: Effect::Reads,
    groups: &[Group::Read],
    permission: Permission::Read,
    availability: Availability::Always,
    schema: Schema::of::<NoArguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

async fn call(_: NoArguments, context: &Context<'_>) -> Outcome {
    let mut rows = open_notebooks(context);
    let FoundNotebooks { mut paths, extent } = context.session.place().notebooks(MAX_FOUND).await?;
    for other in context.session.workspace().other_places() {
        paths.extend(other.notebooks(MAX_FOUND).await?.paths);
    }
    let names = context.session.names();
    let is_open = |path: &NotebookPath| names.iter().any(|(_, known)| known == path);
    for path in paths.into_iter().filter(|path| !is_open(path)) {
        rows.push(["-".to_owned(), path.to_string(), "-".to_owned(), "not opened".to_owned(), String::new()]);
    }
    if rows.is_empty() && extent != SearchExtent::InProgress {
        let hint =
            "No notebooks found. use_notebook(notebook_name=…, notebook_path=…, mode=\"create\") makes one.";
        return Ok(hint.to_owned().into());
    }
    let mut list = table(["Name", "Path", "Kernel_ID", "Kernel_Status", "Activate"], rows);
    list.push_str(match extent {
        SearchExtent::Complete => "",
        SearchExtent::Truncated => {
            "\n\nThere are more; list_files(pattern=\"**/*.ipynb\", max_depth=3, limit=0) finds them."
        }
        SearchExtent::InProgress => {
            "\n\nThe search for notebooks is still running; call list_notebooks again for more."
        }
    });
    Ok(list.into())
}

fn open_notebooks(context: &Context<'_>) -> Vec<[String; 5]> {
    let (current, opened) = (context.session.current(), context.session.workspace().open_notebooks());
    let row = |(name, path): (String, NotebookPath)| {
        let kernel = opened.iter().find(|it| *it.path() == path).and_then(|it| it.kernel());
        let (id, status) = match kernel {
            Some(kernel) => (kernel.id().to_string(), state(&kernel.description().state)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let mark = if current.as_ref() == Some(&name) { "✓" } else { "" };
        [name, path.to_string(), id, status, mark.to_owned()]
    };
    context.session.names().into_iter().map(row).collect()
}
