//! The view of one tool call in a host of MCP Apps: a document in the conversation, which gets the parts that it lacks as the page
//! does, by calls in place of a stream, and sends what the person does. It reaches nothing but its host.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use html::Fragment;
use notebook::{CellId, CellRef, MimeKind, Notebook, Output, one_line};
use place::{Error, ErrorKind, NotebookPath, RunId, RunState};
use runs::{OpenNotebook, Run};
use serde::Deserialize;
use serde_json::{Value, json};
use workspace::{RunAction, Session};

use crate::actions::{Action, check_prompt, past, record, sources};
use crate::cells::{Trust, Viewed, chosen, have_scripts, run_part};
use crate::charts::Charts;
use crate::hub::Rights;
use crate::kernels::{SeenRun, already_ended, seen_run};
use crate::parts::{Known, Part, Section, digest, updates};
use crate::stream::states;
use crate::timeline;
use crate::words::run_state;

/// What made a change, in the record.
const TOOL: &str = "view_act";
/// How many runs and cells a view shows.
const MAX_SHOWN: usize = 50;

/// The document of every view. It has all that it needs.
pub fn document() -> String {
    let style = [html::STYLE, include_str!("page/page.css"), include_str!("page/app.css")].concat();
    let script = [include_str!("page/parts.js"), include_str!("page/app.js")].concat();
    let shell = include_str!("page/app.html");
    shell.replacen("/* style */", &style, 1).replacen("/* script */", &script, 1)
}

/// What a view may see and do.
pub struct View<'a> {
    /// The agent's.
    pub session: &'a Session,
    pub charts: Option<&'a Charts>,
    pub rights: Rights,
}

/// What a view has and shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Shown {
    /// A name of the agent's or a path; by default its current notebook.
    notebook_name: Option<String>,
    /// Cells as agents name them.
    cells: Vec<String>,
    runs: Vec<String>,
    /// The code of a call that has not answered yet: its run is not known otherwise.
    source: Option<String>,
    /// All runs of the notebook that are not over.
    live: bool,
    history: bool,
    /// The digests of the outputs that the person trusts.
    trusted: HashSet<String>,
    known: Known,
}

impl View<'_> {
    /// What a view lacks of what it shows.
    pub async fn fragment(&self, arguments: Value) -> Result<Value, Error> {
        let shown: Shown = serde_json::from_value(arguments).map_err(|error| unreadable(&error))?;
        let journal = self.session.workspace().journal();
        let mut runs = self.named_runs(&shown).await;
        let viewer = self.person();
        let of_run = runs.iter().find_map(|run| Some(run.cell()?.path.to_string()));
        let names_notebook = shown.live || shown.history || !shown.cells.is_empty();
        let opened = match of_run.or_else(|| shown.notebook_name.clone()) {
            Some(name) => Some(self.opened(&viewer, Some(&name)).await?),
            None if names_notebook => Some(self.opened(&viewer, None).await?),
            None => {
                let current = self.opened(&viewer, None).await.ok();
                current.filter(|opened| runs.iter().any(|run| is_in_kernel_of(run, opened)))
            }
        };
        let notebook = match &opened {
            Some(opened) => opened.document().snapshot().await?,
            None => Notebook::new(),
        };
        let mut cells: Vec<_> =
            shown.cells.iter().take(MAX_SHOWN).filter_map(|cell| named(&notebook, cell)).collect();
        if let Some(opened) = &opened {
            if shown.live {
                runs.extend(journal.unfinished(opened.path()).into_iter().take(MAX_SHOWN));
            }
            runs.extend(
                cells
                    .iter()
                    .filter_map(|index| journal.latest_of(opened.path(), notebook.cells()[*index].id())),
            );
        }
        let mut seen = HashSet::new();
        runs.retain(|run| seen.insert(run.id().clone()));
        let is_active = runs.iter().any(|run| !run.is_closed());
        let seen: Vec<SeenRun> = runs.iter().map(|run| self.seen(run)).collect();
        let (of_cells, alone): (Vec<_>, Vec<_>) = seen.iter().partition(|run| self.is_latest(run, &notebook));
        let latest: HashMap<&CellId, &SeenRun> =
            of_cells.into_iter().filter_map(|run| Some((run.cell.as_ref()?, run))).collect();
        cells.extend(latest.keys().filter_map(|id| Some(notebook.cell(id)?.0)));
        cells.sort_unstable();
        cells.dedup();
        // The record is on a disk, and while code runs, views ask often.
        let has_scripts = have_scripts(&notebook);
        let past = match &opened {
            Some(opened) if !is_active || has_scripts => {
                viewer.history(opened, None).await.unwrap_or_default()
            }
            _ => Vec::new(),
        };
        let marks = timeline::marks(&past);
        let libraries = match (self.charts, &opened) {
            (Some(charts), Some(opened)) if has_scripts || alone.iter().any(|run| shows_chart(run)) => {
                charts.of(opened.path(), &notebook).await
            }
            _ => Arc::default(),
        };
        let viewed = Viewed {
            notebook: &notebook,
            states: opened.as_ref().map(|opened| states(&viewer, opened, &notebook)).unwrap_or_default(),
            marks: &marks,
            runs: latest,
            trust: Trust { made: timeline::made(&past), accepted: shown.trusted },
            libraries: &libraries,
            is_brief: true,
        };
        let further = cells.len().saturating_sub(MAX_SHOWN);
        cells.truncate(MAX_SHOWN);
        let mut parts = chosen(&viewed, &cells);
        parts.extend(not_shown(
            further.max(shown.cells.len().max(shown.runs.len()).saturating_sub(MAX_SHOWN)),
        ));
        let has_verdict = |seen: &&SeenRun| {
            let is_it = |run: &&Arc<Run>| *run.id() == seen.id && is_verification(run);
            seen.state.is_over() && runs.iter().any(|run| is_it(&run))
        };
        parts.extend(alone.into_iter().filter(|run| !has_verdict(run)).map(|run| run_part(run, &viewed)));
        parts.extend(runs.iter().filter_map(|run| remarks(run)));
        let mut sections = vec![
            Section { name: "head", parts: head(opened.as_deref(), &runs).into_iter().collect() },
            Section { name: "cells", parts },
        ];
        if shown.history {
            sections.push(timeline::section(&past));
        }
        let mut known = shown.known;
        let (updates, is_all) = updates(&mut known, &sections);
        let ids = cells.iter().map(|index| notebook.cells()[*index].id().to_string());
        Ok(json!({
            "updates": updates,
            "behind": !is_all,
            "active": is_active,
            "notebook": opened.map(|opened| opened.path().to_string()),
            "cells": ids.collect::<Vec<_>>(),
            "runs": runs.iter().map(|run| run.id().to_string()).collect::<Vec<_>>(),
        }))
    }

    /// Does what the person wants, with the arguments of the page's actions.
    pub async fn act(&self, arguments: Value) -> Result<Value, Error> {
        let action: Action = serde_json::from_value(arguments).map_err(|error| unreadable(&error))?;
        self.rights.check(&action)?;
        let (person, workspace) = (self.person(), self.session.workspace());
        match action {
            Action::Interrupt { run } => {
                let run = workspace.journal().run(&RunId::from(run))?;
                if run.state().is_over() {
                    return Err(already_ended(run.id()));
                }
                workspace.runner().interrupt_run(&run).await?;
                record(&person, self.notebook_of(&run), run.id(), RunAction::Interrupted, TOOL).await;
                Ok(json!({ "said": format!("Run {} is being interrupted.", run.id()) }))
            }
            Action::Answer { run, line, shown } => {
                let run = workspace.journal().run(&RunId::from(run))?;
                check_prompt(run.id(), Some(&run.state()), &shown)?;
                if !run.answer_input(line) {
                    let cause = format!("Run {} is not waiting for input.", run.id());
                    return Err(Error::new(ErrorKind::InvalidArgument, cause, "Look at its cell."));
                }
                record(&person, self.notebook_of(&run), run.id(), RunAction::AnsweredInput, TOOL).await;
                Ok(json!({ "said": "The line was sent." }))
            }
            Action::Library { notebook, library } => match self.charts {
                Some(charts) => Ok(sources(charts, notebook, &library)),
                None => Ok(json!({})),
            },
            _ => {
                let open = async |name: String| self.opened(&person, Some(&name)).await;
                past(&person, action, TOOL, open).await
            }
        }
    }

    /// The runs that a view names, and that of a call which has not answered yet.
    async fn named_runs(&self, shown: &Shown) -> Vec<Arc<Run>> {
        let journal = self.session.workspace().journal();
        let mut runs = Vec::new();
        for id in shown.runs.iter().take(MAX_SHOWN).map(|id| RunId::from(id.trim())) {
            if self.rights.runs && journal.run(&id).is_err() {
                // It may be of an earlier server.
                self.session.find_run(&id).await;
            }
            runs.extend(journal.run(&id));
        }
        if let Some(source) = &shown.source {
            let path = shown.notebook_name.as_deref().map(|name| self.path_of(name));
            let is_there = |run: &Run| {
                path.as_ref().is_none_or(|path| run.cell().is_none_or(|cell| cell.path.as_str() == path))
            };
            let is_it = |run: &Arc<Run>| !run.is_closed() && run.source() == source && is_there(run);
            runs.extend(journal.runs().into_iter().find(is_it));
        }
        runs
    }

    /// A session of the person, for one call.
    fn person(&self) -> Session {
        let session = Session::new(self.session.workspace().clone());
        session.introduce_person();
        session
    }

    /// A notebook by a name of the agent's or its path. It is opened for this call alone: no view keeps open what the agent has closed.
    async fn opened(&self, viewer: &Session, name: Option<&str>) -> Result<Arc<OpenNotebook>, Error> {
        let name = name.map(str::to_owned).or_else(|| self.session.current());
        let Some(name) = name else { return self.session.notebook(None).await };
        let path = self.path_of(&name);
        match self.session.workspace().open_notebook(&path) {
            Some(opened) => Ok(opened),
            None => viewer.notebook(Some(&path)).await,
        }
    }

    /// The path of a notebook by a name of the agent's, which may be its path.
    fn path_of(&self, name: &str) -> String {
        let mut names = self.session.names().into_iter();
        names.find(|(of, _)| of == name).map_or_else(|| name.to_owned(), |(_, path)| path.to_string())
    }

    /// The notebook of a run, by its cell or by its kernel.
    fn notebook_of(&self, run: &Run) -> Option<NotebookPath> {
        let of_cell = run.cell().map(|cell| cell.path.clone());
        let open = self.session.workspace().open_notebooks().into_iter();
        of_cell.or_else(|| {
            let mut of_kernel = open.filter(|opened| is_in_kernel_of(run, opened));
            of_kernel.next().map(|opened| opened.path().clone())
        })
    }

    fn seen(&self, run: &Run) -> SeenRun {
        let (seen, may) = (seen_run(run), self.rights.runs);
        SeenRun {
            outputs: Some(run.cell_outputs()),
            // Until they are stored.
            is_recent: !run.is_closed(),
            takes_input: may,
            is_interruptible: may && seen.is_interruptible,
            ..seen
        }
    }

    /// Whether a run is the newest of a cell of the notebook.
    fn is_latest(&self, run: &SeenRun, notebook: &Notebook) -> bool {
        let (Some(path), Some(cell)) = (&run.notebook, &run.cell) else { return false };
        let latest = self.session.workspace().journal().latest_of(path, cell);
        notebook.cell(cell).is_some() && latest.is_some_and(|latest| *latest.id() == run.id)
    }
}

/// Whether a run without a cell belongs to a notebook.
fn is_in_kernel_of(run: &Run, opened: &OpenNotebook) -> bool {
    run.kernel().zip(opened.kernel()).is_some_and(|(one, other)| one.id() == other.id())
}

/// Whether a run has shown a chart that a library draws.
fn shows_chart(run: &SeenRun) -> bool {
    let mut outputs = run.outputs.iter().flat_map(|outputs| outputs.iter());
    outputs.any(|output| match output {
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            let kinds = bundle.data.members().map(|(mime, _)| MimeKind::of(&mime));
            kinds.into_iter().any(|kind| matches!(kind, MimeKind::Plotly | MimeKind::Vega | MimeKind::Bokeh))
        }
        _ => false,
    })
}

fn named(notebook: &Notebook, cell: &str) -> Option<usize> {
    notebook.resolve(&CellRef::parse(cell)).ok()
}

fn unreadable(error: &serde_json::Error) -> Error {
    let next = "Views send arguments that fit this server: open the conversation again.";
    Error::new(ErrorKind::InvalidArgument, error.to_string(), next)
}

/// A line about cells that are left out.
fn not_shown(count: usize) -> Option<Part<'static>> {
    let mut html = Fragment::default();
    html.raw("<p id=\"not-shown\" class=\"v-none\">")
        .text(&format!("{count} more cells are not shown here."))
        .raw("</p>");
    (count > 0).then(|| Part::new("not-shown".to_owned(), html))
}

/// What a run that is over tells beside its outputs: why it could not run, or the verdict of a verification, which is all it has.
fn remarks(run: &Run) -> Option<Part<'static>> {
    let view = run.view();
    let text = match &view.state {
        RunState::Failed(error) => error.to_string(),
        state if state.is_over() && is_verification(run) => {
            let details = view.outputs.iter().filter_map(|output| match output {
                Output::Stream { text, .. } => Some(text.as_str().into_owned()),
                _ => None,
            });
            view.notes.iter().cloned().chain(details).collect::<Vec<_>>().join("\n\n")
        }
        _ => return None,
    };
    let id = format!("remarks-{}", digest(&run.id().as_str()));
    let mut html = Fragment::default();
    html.raw("<div class=\"v-verdict\"").attribute("id", &id).raw(">");
    timeline::write_verdict(&text, &mut html);
    html.raw("</div>");
    Some(Part::new(id, html))
}

/// Whether a run verifies a notebook, in kernels of its own.
fn is_verification(run: &Run) -> bool {
    run.cell().is_none() && run.kernel().is_none() && run.source().starts_with("verify ")
}

/// The line above: the notebook, its kernel, and what the last run does or how it ended.
fn head(opened: Option<&OpenNotebook>, runs: &[Arc<Run>]) -> Option<Part<'static>> {
    let run = runs.iter().find(|run| !run.state().is_over()).or(runs.last());
    if opened.is_none() && run.is_none() {
        return None;
    }
    let mut html = Fragment::default();
    html.raw("<p id=\"head-line\" class=\"v-bar\">");
    if let Some(opened) = opened {
        html.raw("<strong>").text(&one_line(opened.path())).raw("</strong> ");
        if let Some(kernel) = opened.kernel() {
            html.raw("<span class=\"v-none\">")
                .text(&one_line(&kernel.description().display_name))
                .raw("</span> ");
        }
    }
    if let Some(run) = run {
        let (state, took) = (run.state(), run.elapsed());
        html.raw("<span class=\"v-state\">").text(run_state(&state)).raw("</span> ");
        if state.is_over() {
            html.raw("<span class=\"v-none\">").text(&format!("{:.1} s", took.as_secs_f64())).raw("</span>");
        }
    }
    html.raw("</p>");
    Some(Part::new("head-line".to_owned(), html))
}
