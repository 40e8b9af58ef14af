//! `list_notebooks`: the open notebooks, then others of the places.

use place::{FoundNotebooks, NotebookPath, SearchExtent};

use super::list_kernels::state;
use calls::places;
use calls::prelude::*;

/// How many notebooks that are not open are shown.
const MAX_FOUND: usize = 200;

pub(crate) static TOOL: Tool = tool! {
    name: "list_notebooks",
    title: "List notebooks",
    description: "List Jupyter notebooks: opened ones first, then those found.",
    discovery: Discovery::FoundBy("which ipynb notebooks are there"),
    effect: Effect::Reads,
    groups: &[Group::Read],
    arguments: NoArguments,
};

async fn call(_: NoArguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    let mut rows = open_notebooks(context);
    let found = places::ask(session, |place| place.notebooks(MAX_FOUND)).await;
    let found = found.or_failure(|found| found.paths.is_empty())?;
    let names = session.names();
    let is_open = |path: &NotebookPath| names.iter().any(|(_, known)| known == path);
    let mut extent = SearchExtent::Complete;
    for (place, FoundNotebooks { paths, extent: covered }) in found.given {
        extent = worse(extent, covered);
        for path in paths.iter().filter(|path| !is_open(path)) {
            let path = session.shown(&place, path).to_string();
            rows.push(["-".to_owned(), path, "-".to_owned(), "not opened".to_owned(), String::new()]);
        }
    }
    if rows.is_empty() && extent != SearchExtent::InProgress {
        let hint = "No notebooks found. use_notebook(notebook_name=…, notebook_path=…, mode=\"create\") creates one.";
        return Ok(format!("{hint}{}", found.warnings).into());
    }
    let list = table(["Name", "Path", "Kernel_ID", "Kernel_Status", "Activate"], rows);
    let extent = match extent {
        SearchExtent::Complete => "",
        SearchExtent::Truncated => {
            "\n\nThere are more; list_files(pattern=\"**/*.ipynb\", max_depth=3, limit=0) finds them."
        }
        SearchExtent::InProgress => {
            "\n\nThe search for notebooks is still running; call list_notebooks again for more."
        }
    };
    let notes = format!("{extent}{}", found.warnings);
    let text = whole_lines(&list, &notes, context.characters(), |_, left| {
        format!("… {left} more: list_files(path=\"FOLDER\", pattern=\"*.ipynb\") shows those of a folder.")
    });
    Ok(text.into())
}

/// The extent of two searches together.
fn worse(one: SearchExtent, other: SearchExtent) -> SearchExtent {
    match (one, other) {
        (SearchExtent::InProgress, _) | (_, SearchExtent::InProgress) => SearchExtent::InProgress,
        (SearchExtent::Complete, SearchExtent::Complete) => SearchExtent::Complete,
        _ => SearchExtent::Truncated,
    }
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
