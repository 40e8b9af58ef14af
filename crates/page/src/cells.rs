//! The cells of a notebook, each a part of the page.

use std::collections::HashMap;
use std::hash::{Hash, Hasher as _};

use html::{Context, Fragment, Libraries};
use notebook::{Cell, CellId, Edit, MimeBundle, Notebook, Output, one_line};
use twox_hash::XxHash3_64;
use workspace::{OperationId, StaleJudgement, StaleState, widget_text};

use crate::machine::SeenRun;
use crate::now::controls;
use crate::parts::{Part, Section, digest};
use crate::words::{ago, elapsed, run_state};

/// How many cells a browser gets before it has said which are near.
const FIRST: usize = 20;

/// The last change of a cell that is still in effect.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Mark {
    pub(crate) operation: OperationId,
    /// Who has made it.
    pub(crate) by: String,
    /// Milliseconds since 1970.
    pub(crate) at: u64,
}

/// How much of a printed text is sent again and again while it grows, in bytes.
const MAX_TEXT: usize = 64 * 1024;

/// A notebook and what is known of its cells.
pub(crate) struct Viewed<'a> {
    pub(crate) notebook: &'a Notebook,
    /// For each cell.
    pub(crate) states: Vec<Option<StaleJudgement>>,
    pub(crate) marks: &'a HashMap<CellId, Mark>,
    /// The latest run of each cell.
    pub(crate) runs: HashMap<&'a CellId, &'a SeenRun>,
    /// Whether the person has said that scripts of outputs may run.
    pub(crate) is_trusted: bool,
    pub(crate) libraries: &'a Libraries,
    /// Whether of long printed texts only the end is shown, also when their runs are over.
    pub(crate) is_brief: bool,
}

/// Which cells a browser shows, or is about to.
#[derive(Debug, Clone, Default)]
pub(crate) enum Near {
    /// Those at the top.
    #[default]
    Top,
    Parts(Vec<String>),
}

impl Near {
    fn has(&self, index: usize, part: &str) -> bool {
        match self {
            Self::Top => index < FIRST,
            Self::Parts(parts) => parts.iter().any(|near| near == part),
        }
    }
}

/// The id of the element of a cell.
pub(crate) fn part_id(cell: &CellId) -> String {
    format!("part-{}", digest(&cell.to_string()))
}

/// What was found about the contents of cells, so that each is read once.
#[derive(Default)]
pub(crate) struct Digests(HashMap<CellId, (Cell, u64)>);

impl Digests {
    fn of(&mut self, cell: &Cell) -> u64 {
        if let Some((known, digest)) = self.0.get(cell.id())
            && known.is_same(cell)
        {
            return *digest;
        }
        let mut hasher = XxHash3_64::new();
        cell.revision().hash(&mut hasher);
        cell.execution_count().hash(&mut hasher);
        cell.attachments().map(|files| files.bytes().clone()).hash(&mut hasher);
        match cell.outputs_text() {
            Some(json) => json.bytes().hash(&mut hasher),
            None => cell.outputs().iter().for_each(|output| hash_output(output, &mut hasher)),
        }
        let digest = hasher.finish();
        self.0.insert(cell.id().clone(), (cell.clone(), digest));
        digest
    }

    /// Forgets the cells that are not in the notebook.
    fn retain(&mut self, notebook: &Notebook) {
        if self.0.len() > notebook.cells().len() {
            self.0.retain(|id, _| notebook.cell(id).is_some());
        }
    }
}

fn hash_output(output: &Output, hasher: &mut XxHash3_64) {
    let mut bundle = |bundle: &MimeBundle| {
        bundle.data.bytes().hash(hasher);
        bundle.metadata.bytes().hash(hasher);
    };
    match output {
        Output::Display(it) | Output::Result { bundle: it, .. } => bundle(it),
        Output::Stream { name, text } => {
            name.hash(hasher);
            text.pieces().for_each(|piece| piece.hash(hasher));
        }
        Output::Error { name, value, traceback } => (name, value, traceback).hash(hasher),
        Output::Other(json) => json.bytes().hash(hasher),
    }
}

/// Whether any output may be a chart that a library draws. Outputs are not decoded, which takes long if they are large.
pub(crate) fn has_charts(notebook: &Notebook) -> bool {
    // JSON may escape the solidus before these.
    let charts = ["vnd.plotly", "vnd.vega", "vnd.bokeh"];
    let mut cells = notebook.cells().iter().filter(|cell| cell.is_code());
    cells.any(|cell| cell.shows(|text| charts.iter().any(|prefix| text.contains(prefix))))
}

/// The section with the cells. Those that are not near are empty parts.
pub(crate) fn section<'a>(viewed: &'a Viewed<'_>, near: &Near, digests: &mut Digests) -> Section<'a> {
    digests.retain(viewed.notebook);
    let parts = viewed.notebook.cells().iter().enumerate().map(|(index, cell)| {
        let id = part_id(cell.id());
        if !near.has(index, &id) {
            let digest = digest(&("far", index, cell.first_line()));
            let far = id.clone();
            return Part::later(id, digest, move || placeholder(&far, index, cell));
        }
        near_part(id, index, cell, viewed, digests)
    });
    Section { name: "cells", parts: parts.collect() }
}

/// A cell that a browser shows.
fn near_part<'a>(
    id: String,
    index: usize,
    cell: &'a Cell,
    viewed: &'a Viewed<'_>,
    digests: &mut Digests,
) -> Part<'a> {
    let run = viewed.runs.get(cell.id()).copied();
    let state = viewed.states.get(index).and_then(Option::as_ref);
    let mark = viewed.marks.get(cell.id());
    let digest = digest(&(
        (index, digests.of(cell), mark, viewed.is_trusted, viewed.libraries.is_empty()),
        state.map(|state| (state.state.name(), &state.evidence)),
        run.map(run_digest),
    ));
    let near = id.clone();
    Part::later(id, digest, move || part(&near, index, cell, viewed, (state, mark, run)))
}

/// The cells at these indices alone.
pub(crate) fn chosen<'a>(viewed: &'a Viewed<'_>, indices: &[usize]) -> Vec<Part<'a>> {
    let cells = viewed.notebook.cells();
    let known = indices.iter().filter_map(|index| Some((*index, cells.get(*index)?)));
    let mut digests = Digests::default();
    known.map(|(index, cell)| near_part(part_id(cell.id()), index, cell, viewed, &mut digests)).collect()
}

/// Differs whenever what is shown of a run does.
fn run_digest(run: &SeenRun) -> impl Hash {
    let of_state = (run_state(&run.state), prompt(run).map(str::to_owned), run.takes_input);
    (run.id.to_string(), of_state, run.version, run.execution_count)
}

/// A run as a part of its own: its code, and what that has shown.
pub(crate) fn run_part(run: &SeenRun, viewed: &Viewed<'_>) -> Part<'static> {
    let id = format!("run-{}", digest(&run.id.as_str()));
    let mut html = Fragment::default();
    let is_running = !run.state.is_over();
    html.raw(if is_running { "<section class=\"v-cell v-busy\"" } else { "<section class=\"v-cell\"" });
    html.attribute("id", &id).raw(">");
    if is_running {
        html.raw("<div class=\"v-bar\">");
        running(run, &mut html);
        html.raw("</div>");
    }
    html.raw("<article class=\"cb-cell cb-code-cell\"><pre class=\"cb-source\" tabindex=\"0\">");
    html.text(&run.source).raw("</pre>");
    let text_of = |_: &str| None;
    let mut context = Context::new(viewed.notebook, &text_of);
    context.libraries = Some(viewed.libraries);
    context.longest_text = MAX_TEXT;
    let outputs = run.outputs.iter().flat_map(|outputs| outputs.iter());
    html.raw("<div class=\"cb-outputs\">");
    for output in outputs {
        html.append(html::output(output, &context));
    }
    html.raw("</div></article></section>");
    Part::new(id, html)
}

/// What a run does and since when, and what a person can do about it.
fn running(run: &SeenRun, html: &mut Fragment) {
    html.raw("<span class=\"v-state\">").text(run_state(&run.state)).raw("</span> ");
    if let Some(since) = run.since {
        elapsed(since, html);
    }
    controls(run, html);
}

fn prompt(run: &SeenRun) -> Option<&str> {
    match &run.state {
        place::RunState::WaitingForInput { prompt, .. } => Some(prompt),
        _ => None,
    }
}

fn placeholder(id: &str, index: usize, cell: &Cell) -> Fragment {
    let mut html = Fragment::default();
    html.raw("<section class=\"v-cell v-far\"")
        .attribute("id", id)
        .attribute("aria-label", &format!("Cell {index}"));
    html.raw("><p>").text(&one_line(&cell.first_line())).raw("</p></section>");
    html
}

fn part(
    id: &str,
    index: usize,
    cell: &Cell,
    viewed: &Viewed<'_>,
    (state, mark, run): (Option<&StaleJudgement>, Option<&Mark>, Option<&SeenRun>),
) -> Fragment {
    let mut html = Fragment::default();
    let is_running = run.is_some_and(|run| !run.state.is_over());
    html.raw(match (is_running, mark) {
        (true, _) => "<section class=\"v-cell v-busy\"",
        (false, Some(_)) => "<section class=\"v-cell v-changed\"",
        (false, None) => "<section class=\"v-cell\"",
    });
    html.attribute("id", id).attribute("aria-label", &format!("Cell {index}")).raw(" tabindex=\"-1\">");
    bar(cell, (state, mark, run.filter(|_| is_running)), &mut html);
    let shown = run.and_then(|run| with_outputs(cell, run, viewed.notebook));
    let widgets = viewed.notebook.metadata().member("widgets");
    let text_of = |model: &str| widget_text(widgets.as_ref()?, model);
    let mut context = Context::new(viewed.notebook, &text_of);
    // Outputs that a kernel of this machine made, or those of somebody whom the person trusts.
    let is_ours = shown.is_some() || state.is_some_and(|state| is_made_here(state.state));
    context.longest_text = if is_running || viewed.is_brief { MAX_TEXT } else { usize::MAX };
    context.libraries = (viewed.is_trusted || is_ours).then_some(viewed.libraries);
    let content = html::cell(index, shown.as_ref().unwrap_or(cell), &context);
    if content.interactive() > 0 {
        html.raw(
            "<p class=\"v-trust\">Scripts of this output do not run, because it may be from elsewhere. ",
        );
        html.raw("<button type=\"button\" data-do=\"trust\">Trust this notebook</button></p>");
    }
    html.append(content).raw("</section>");
    html
}

/// Whether a run that is known here has made the outputs.
fn is_made_here(state: StaleState) -> bool {
    !matches!(state, StaleState::OutputsFromElsewhere | StaleState::NeverRun)
}

/// The line above a cell.
fn bar(
    cell: &Cell,
    (state, mark, run): (Option<&StaleJudgement>, Option<&Mark>, Option<&SeenRun>),
    html: &mut Fragment,
) {
    let stale = state.filter(|state| state.state.is_stale());
    if stale.is_none() && mark.is_none() && run.is_none() {
        return;
    }
    html.raw("<div class=\"v-bar\">");
    // First, so that it stays the same element, which a person may have opened, when the run is over.
    if let Some(stale) = stale {
        html.raw("<details class=\"v-stale\"><summary>Stale: ").text(stale.state.name()).raw("</summary><p>");
        html.text(&stale.evidence).raw("</p></details>");
    }
    if let Some(run) = run {
        running(run, html);
    }
    if let Some(mark) = mark {
        html.raw("<button type=\"button\" class=\"v-mark\" data-do=\"difference\" data-operation=\"")
            .number(mark.operation.number());
        html.raw("\"").attribute("data-cell", &cell.id().to_string()).raw(">changed by ");
        html.text(&one_line(&mark.by)).raw(", ");
        ago(mark.at, html);
        html.raw("</button>");
    }
    html.raw("</div>");
}

/// The cell with what its run has shown so far.
fn with_outputs(cell: &Cell, run: &SeenRun, notebook: &Notebook) -> Option<Cell> {
    let outputs = run.outputs.clone().filter(|_| !run.state.is_over() || run.is_recent)?;
    let (_, minor) = notebook.version();
    let mut alone = Notebook::from_cells(notebook.metadata(), minor, vec![cell.clone()]);
    let id = alone.cells().first()?.id().clone();
    alone.apply(&Edit::SetOutputs { id, outputs, execution_count: run.execution_count }).ok()?;
    alone.cells().first().cloned()
}
