//! Which notebook runs, and which of its cells.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use files::{check_replaceable, replace_file};
use notebook::{CellId, Notebook};
use place::{Existing, Mode, NotebookPath};
use runs::{CellTags, OpenNotebook};
use workspace::Session;

use super::parameters;
use crate::args::RunNotebook;
use crate::command_session::Named;
use terminal::note;

/// A notebook that is ready to run.
pub(super) struct Prepared {
    /// The one that gets the outputs.
    pub(super) target: Arc<OpenNotebook>,
    /// What it holds now.
    pub(super) notebook: Notebook,
    /// The indices of the cells that are to run.
    pub(super) cells: Vec<usize>,
    /// The index of the cell that was inserted for the parameters.
    inserted: Option<usize>,
}

impl Prepared {
    /// How a person finds a cell in the notebook that was named, which has no cell for the parameters.
    pub(super) fn name(&self, index: usize) -> String {
        match self.inserted {
            Some(inserted) if inserted == index => "the parameter cell".to_owned(),
            Some(inserted) if inserted < index => format!("cell {}", index - 1),
            _ => format!("cell {index}"),
        }
    }

    /// A note that begins with a cell's index, such as `Cell 3 defines x.`, with the index in the notebook that was named.
    pub(super) fn renumbered(&self, note: &str) -> String {
        let rest = note.strip_prefix("Cell ");
        let end = rest.and_then(|rest| rest.find(|character: char| !character.is_ascii_digit()));
        let index =
            rest.zip(end).and_then(|(rest, end)| Some((rest[..end].parse::<usize>().ok()?, &rest[end..])));
        match (index, self.inserted) {
            (Some((index, rest)), Some(inserted)) if index > inserted => format!("Cell {}{rest}", index - 1),
            _ => note.to_owned(),
        }
    }
}

/// The notebook that the person has named, before anything is written.
pub(super) struct Chosen {
    pub(super) source: Arc<OpenNotebook>,
    pub(super) notebook: Notebook,
    /// The cells from the first to the last that are wanted.
    range: Range<usize>,
}

/// Opens the notebook at `path`. Fails if the options do not fit it.
pub(super) async fn choose(
    session: &Session,
    options: &RunNotebook,
    path: &NotebookPath,
) -> anyhow::Result<Chosen> {
    let source = session.use_notebook("source", path, Mode::Connect).await?;
    let notebook = source.document().snapshot().await?;
    if !options.parameters.is_empty() {
        parameters::edits(&notebook, &options.parameters)?;
    }
    let range = range(&notebook, options)?;
    for warning in parameters::warnings(&notebook, &options.parameters, &range) {
        let end = if warning.ends_with(['?', '.']) { "" } else { "." };
        note(&format!("cellbridge: warning: {warning}{end}"));
    }
    Ok(Chosen { source, notebook, range })
}

/// Fails if the outputs cannot go there.
pub(super) fn check_output(output: &Named, source: &Named) -> anyhow::Result<()> {
    let Named::File(file) = output else { return Ok(()) };
    let refused = |cause: &str| anyhow!("{} cannot be written: {cause}", file.display());
    if output == source {
        return Err(refused("it is the notebook itself; without -o, the outputs are written there"));
    }
    if file.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("ipynb")) {
        return Err(refused("its name does not end in .ipynb"));
    }
    check_replaceable(file).map_err(|error| refused(&error.to_string()))
}

/// Fails if the notebook cannot get its own outputs.
pub(super) fn check_writable(source: &Named) -> anyhow::Result<()> {
    let Named::File(file) = source else { return Ok(()) };
    check_replaceable(file).with_context(|| {
        format!("{} cannot be written; -o writes the outputs to another file", file.display())
    })
}

/// Copies the notebook to `target` if there is one, and sets the parameters in what will run.
pub(super) async fn prepare(
    session: &Session,
    options: &RunNotebook,
    chosen: Chosen,
    target: Option<(&Named, &NotebookPath)>,
) -> anyhow::Result<Prepared> {
    let Chosen { source, mut notebook, range } = chosen;
    let target = match target {
        None => source.clone(),
        Some((Named::File(file), path)) => {
            let named = Named::existing(&options.path)?;
            let made_from: Vec<&Path> = named.file().into_iter().collect();
            let written = replace_file(file, &notebook.to_bytes(), &made_from);
            written.with_context(|| format!("{} cannot be written", file.display()))?;
            let target = session.use_notebook("target", path, Mode::Connect).await?;
            session.copied(&target, source.path());
            target
        }
        Some((Named::OnServer(_), path)) => {
            // People may have it open: they see the new cells.
            let path = session.copy_notebook(&source, path, Existing::Replace).await?.path;
            session.use_notebook("target", &path, Mode::Connect).await?
        }
    };
    notebook = target.document().snapshot().await?;
    let mut wanted: Vec<CellId> = notebook.cells()[range].iter().map(|cell| cell.id().clone()).collect();
    let mut inserted = None;
    if !options.parameters.is_empty() {
        let edits = parameters::edits(&notebook, &options.parameters)?;
        let was_set = notebook.cells().iter().any(parameters::are_set_in);
        notebook = session.edit(&target, &notebook, edits, Vec::new()).await?.notebook;
        // They hold wherever the run begins.
        let set = notebook.cells().iter().filter(|cell| parameters::are_set_in(cell));
        wanted.extend(set.map(|cell| cell.id().clone()));
        inserted = notebook.cells().iter().position(parameters::are_set_in).filter(|_| !was_set);
    }
    let cells =
        notebook.cells().iter().enumerate().filter(|(_, cell)| {
            cell.is_code() && wanted.contains(cell.id()) && !CellTags::of(cell).is_skipped
        });
    let cells = cells.map(|(index, _)| index).collect();
    Ok(Prepared { target, notebook, cells, inserted })
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
        bail!("--until names a cell before the one of --from");
    }
    Ok(from.min(end)..end)
}
