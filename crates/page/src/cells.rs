//! The cells of a notebook, each a part of the page.

use std::collections::{HashMap, HashSet};
use std::hash::{Hash, Hasher as _};
use std::sync::Arc;

use html::{Context, Fragment, Libraries};
use notebook::{Cell, CellId, Edit, MimeBundle, Notebook, Output, one_line, visible};
use twox_hash::XxHash3_64;
use workspace::{BlobId, OperationId, StaleJudgement, outputs_digest, widget_text};

use crate::kernels::SeenRun;
use crate::now::controls;
use crate::parts::{Part, Section, digest};
use crate::words::{ago, button, elapsed, run_state};

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
    /// Whose scripts run.
    pub(crate) trust: Trust,
    pub(crate) libraries: &'a Libraries,
    /// Whether of long printed texts only the end is shown, also when their runs are over.
    pub(crate) is_brief: bool,
}

/// Outputs that may run their scripts, by their digests: a file can be replaced at any time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Trust {
    /// Those that runs of this machine have written.
    pub(crate) made: Arc<HashSet<BlobId>>,
    /// Those that the person has seen and trusts.
    pub(crate) accepted: HashSet<String>,
}

/// The reason why scripts of a cell's outputs run, or do not.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Origin {
    /// They have none, or a run of this machine has made them.
    Made,
    /// The person trusts them.
    Accepted,
    /// Outputs with this digest, of which nothing is known.
    Unknown(BlobId),
}

impl Trust {
    fn of(&self, digest: Option<&BlobId>) -> Origin {
        match digest {
            Some(digest) if self.accepted.contains(digest.as_str()) => Origin::Accepted,
            Some(digest) if !self.made.contains(digest) => Origin::Unknown(digest.clone()),
            _ => Origin::Made,
        }
    }
}

/// The outputs of the notebook among those with these digests, and whether others are no longer there.
pub(crate) fn outputs_of(notebook: &Notebook, digests: Vec<String>) -> (Vec<String>, bool) {
    let mut known = Digests::default();
    let now: HashSet<BlobId> = notebook.cells().iter().filter_map(|cell| known.of(cell).1).collect();
    let count = digests.len();
    let still: Vec<String> =
        digests.into_iter().filter(|digest| now.iter().any(|it| it.as_str() == digest)).collect();
    let has_changed = still.len() < count;
    (still, has_changed)
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
pub(crate) struct Digests(HashMap<CellId, (Cell, (u64, Option<BlobId>))>);

impl Digests {
    /// The digest of all that a cell shows, and that of its outputs if they may have scripts.
    fn of(&mut self, cell: &Cell) -> (u64, Option<BlobId>) {
        if let Some((known, digests)) = self.0.get(cell.id())
            && known.is_same(cell)
        {
            return digests.clone();
        }
        let mut hasher = XxHash3_64::new();
        cell.revision().hash(&mut hasher);
        cell.execution_count().hash(&mut hasher);
        cell.attachments().map(|files| files.bytes().clone()).hash(&mut hasher);
        match cell.outputs_text() {
            Some(json) => json.bytes().hash(&mut hasher),
            None => cell.outputs().iter().for_each(|output| hash_output(output, &mut hasher)),
        }
        let digests = (hasher.finish(), has_scripts(cell).then(|| outputs_digest(cell)));
        self.0.insert(cell.id().clone(), (cell.clone(), digests.clone()));
        digests
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

/// Whether any output may have scripts.
pub(crate) fn have_scripts(notebook: &Notebook) -> bool {
    notebook.cells().iter().any(has_scripts)
}

/// Whether an output may have scripts, or be a chart that a library draws. Outputs are not decoded, which takes long if they are large.
fn has_scripts(cell: &Cell) -> bool {
    // JSON may escape the characters before these.
    let marks = ["script", "SCRIPT", "vnd.plotly", "vnd.vega", "vnd.bokeh"];
    cell.is_code() && cell.shows(|text| marks.iter().any(|mark| text.contains(mark)))
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
    let (content, outputs) = digests.of(cell);
    let origin = viewed.trust.of(outputs.as_ref());
    let digest = digest(&(
        (index, content, mark, &origin, viewed.libraries.is_empty()),
        state.map(|state| (state.state.name(), &state.evidence)),
        run.map(|it| (&it.id, format!("{:?}", it.state), it.takes_input, it.version, it.execution_count)),
    ));
    let near = id.clone();
    Part::later(id, digest, move || part(&near, index, cell, viewed, (state, mark, run), &origin))
}

/// The cells at these indices alone.
pub(crate) fn chosen<'a>(viewed: &'a Viewed<'_>, indices: &[usize]) -> Vec<Part<'a>> {
    let cells = viewed.notebook.cells();
    let known = indices.iter().filter_map(|index| Some((*index, cells.get(*index)?)));
    let mut digests = Digests::default();
    known.map(|(index, cell)| near_part(part_id(cell.id()), index, cell, viewed, &mut digests)).collect()
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
    html.text(&visible(&run.source)).raw("</pre>");
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
    origin: &Origin,
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
    context.longest_text = if is_running || viewed.is_brief { MAX_TEXT } else { usize::MAX };
    // What a run shows now is its own.
    let is_unknown = matches!(origin, Origin::Unknown(_)) && shown.is_none();
    context.libraries = (!is_unknown).then_some(viewed.libraries);
    let content = html::cell(index, shown.as_ref().unwrap_or(cell), &context);
    match origin {
        Origin::Unknown(digest) if content.interactive() > 0 => {
            html.raw("<p class=\"v-trust\">Scripts of this output do not run, because no recorded run of this machine made it. ");
            let shown = [("data-shown", digest.as_str())];
            button("trust", "Trust this notebook's outputs as shown", &shown, &mut html);
            html.raw("</p>");
        }
        Origin::Accepted => {
            html.raw("<p class=\"v-trust\">Scripts of this output run, because you trust it. ");
            button("distrust", "Stop trusting", &[], &mut html);
            html.raw("</p>");
        }
        _ => {}
    }
    html.append(content).raw("</section>");
    html
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
