//! Which notebook runs, and which of its cells.

use std::ops::Range;
use std::sync::Arc;

use anyhow::{Context as _, bail};
use notebook::{CellId, Notebook};
use workspace::{Existing, Mode, NotebookPath, OpenNotebook, Session};

use super::parameters;
use crate::args::RunNotebook;
use crate::person::Named;

/// A notebook that is ready to run.
pub(super) struct Prepared {
    /// The notebook that the person has named.
    pub(super) source: Arc<OpenNotebook>,
    /// The one that gets the outputs.
    pub(super) target: Arc<OpenNotebook>,
    /// What it holds now.
    pub(super) notebook: Notebook,
    /// The indices of the cells that are to run.
    pub(super) cells: Vec<usize>,
}

/// Opens `source`, copies it to `target` if there is one, and sets the parameters in what will run.
pub(super) async fn prepare(
    session: &Session,
    options: &RunNotebook,
    source: &NotebookPath,
    target: Option<(&Named, &NotebookPath)>,
) -> anyhow::Result<Prepared> {
    let source = session.use_notebook("source", source, Mode::Connect).await?;
    let mut notebook = source.document().snapshot().await?;
    let range = range(&notebook, options)?;
    let target = match target {
        None => source.clone(),
        Some((named, path)) => {
            let path = match named {
                Named::File(file) => {
                    let written = std::fs::write(file, notebook.to_bytes());
                    written.with_context(|| format!("{} cannot be written", file.display()))?;
                    path.clone()
                }
                // People may have it open: they see the new cells.
                Named::OnServer(_) => session.copy_notebook(&source, path, Existing::Replace).await?.path,
            };
            let target = session.use_notebook("target", &path, Mode::Connect).await?;
            notebook = target.document().snapshot().await?;
            target
        }
    };
    let mut wanted: Vec<CellId> = notebook.cells()[range].iter().map(|cell| cell.id().clone()).collect();
    if !options.parameters.is_empty() {
        let edits = parameters::edits(&notebook, &options.parameters)?;
        notebook = session.edit(&target, &notebook, edits, Vec::new()).await?.notebook;
        // They hold wherever the run begins.
        let set = notebook.cells().iter().filter(|cell| parameters::are_set_in(cell));
        wanted.extend(set.map(|cell| cell.id().clone()));
    }
    let is_skipped = |tag: &String| tag == "skip-execution";
    let cells = notebook.cells().iter().enumerate().filter(|(_, cell)| {
        cell.is_code() && wanted.contains(cell.id()) && !cell.tags().iter().any(is_skipped)
    });
    let cells = cells.map(|(index, _)| index).collect();
    Ok(Prepared { source, target, notebook, cells })
}

/// The indices of the cells from the first to the last that the person wants.
fn range(notebook: &Notebook, options: &RunNotebook) -> anyhow::Result<Range<usize>> {
    let count = notebook.cells().len();
    let index = |cell: &Option<String>, default: usize| -> anyhow::Result<usize> {
        let Some(text) = cell else { return Ok(default) };
        // An id may consist of digits, too.
        let by_index = text.parse::<usize>().ok().filter(|index| *index < count);
        let by_id = || notebook.cell(&CellId::from(text.clone())).map(|(index, _)| index);
        by_index.or_else(by_id).with_context(|| format!("the notebook has no cell {text}"))
    };
    let from = index(&options.from, 0)?;
    let end = index(&options.until, count.saturating_sub(1))?.saturating_add(1).min(count);
    if from >= end && options.from.is_some() {
        bail!("--until names a cell before that of --from");
    }
    Ok(from.min(end)..end)
}
