//! `list_notebooks`: those that are open, then those that lie in the place.

use workspace::{FoundNotebooks, SearchExtent};

use super::arguments::Arguments;
use super::cells::table;
use super::context::{Context, Outcome};
use super::list_kernels::state;
use super::schema::Schema;
use super::{Effect, Tool};

/// The notebooks found in the place that are shown.
const MOST_FOUND: usize = 200;

pub(super) fn tool() -> Tool {
    Tool {
        name: "list_notebooks",
        description: "List notebooks: opened ones first, then those found.",
        schema: Schema::new().build(),
        effect: Effect::Reads,
    }
}

pub(super) async fn call(_: Arguments, context: &Context<'_>) -> Outcome {
    let (session, workspace) = (context.session, context.session.workspace());
    let (names, current, opened) = (session.names(), session.current(), workspace.open_notebooks());
    let mut rows = Vec::new();
    for (name, path) in &names {
        let kernel = opened.iter().find(|it| it.path() == path).and_then(|it| it.kernel());
        let (id, status) = match kernel {
            Some(kernel) => (kernel.id().to_string(), state(&kernel.description().state)),
            None => ("-".to_owned(), "-".to_owned()),
        };
        let is_current = if current.as_ref() == Some(name) { "✓" } else { "" };
        rows.push([name.clone(), path.clone(), id, status, is_current.to_owned()]);
    }
    let FoundNotebooks { paths, extent } = session.place().notebooks(MOST_FOUND).await?;
    for path in paths.into_iter().filter(|path| !names.iter().any(|(_, known)| known == path)) {
        rows.push(["-".to_owned(), path, "-".to_owned(), "not opened".to_owned(), String::new()]);
    }
    if rows.is_empty() && extent != SearchExtent::InProgress {
        let hint =
            "No notebooks found. use_notebook(notebook_name=…, notebook_path=…, mode=\"create\") makes one.";
        return Ok(hint.to_owned().into());
    }
    let mut list = table(["Name", "Path", "Kernel_ID", "Kernel_Status", "Activate"], rows);
    match extent {
        SearchExtent::Complete => {}
        SearchExtent::Truncated => list.push_str(
            "\n\nThere are more; list_files(pattern=\"**/*.ipynb\", max_depth=3, limit=0) finds them.",
        ),
        SearchExtent::InProgress => {
            list.push_str(
                "\n\nThe search for notebooks is still running; call list_notebooks again for more.",
            );
        }
    }
    Ok(list.into())
}
