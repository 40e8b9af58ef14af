//! The history of a notebook as a time line, the newest first.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use html::Fragment;
use notebook::{Cell, CellId, Notebook, one_line, visible};
use workspace::{BlobId, Operation, OperationKind, PERSON, PastOperation, summary};

use crate::cells::Mark;
use crate::hub::Verification;
use crate::now;
use crate::parts::{Part, Section};
use crate::words::{ago, button, elapsed, millis};

/// How many operations a page shows.
const MAX_SHOWN: usize = 200;

/// The section of the history.
pub(crate) fn section(past: &[PastOperation]) -> Section<'static> {
    let parts = past.iter().rev().take(MAX_SHOWN).map(entry).collect();
    now::section("history", parts, "Nothing is recorded for this notebook.")
}

/// The section with the last verification of the notebook.
pub(crate) fn verified(verification: Option<Verification>, notebook: &Notebook) -> Section<'static> {
    let part = |verification| {
        let mut html = Fragment::default();
        html.raw("<div id=\"verdict\" class=\"v-verdict\"><p>");
        match verification {
            Verification::Running { run, since, progress } => {
                html.raw("Verifying: ").text(&progress).raw(", ");
                elapsed(since, &mut html);
                button("interrupt", "Interrupt", &[("data-run", run.as_str())], html.raw(" "));
                html.raw("</p>");
            }
            Verification::Ended { at, verdict } => {
                html.raw(if verdict.is_ok() { "Verified " } else { "Not verified: the attempt ended " });
                ago(millis(at), &mut html);
                if verdict.as_ref().is_ok_and(|(verified, _)| !runs_as(notebook, verified)) {
                    html.raw(", <em>before the last change of the notebook</em>");
                }
                html.raw("</p>");
                write_verdict(&verdict.map_or_else(|cause| cause, |(_, text)| text), &mut html);
            }
        }
        html.raw("</div>");
        Part::new("verdict".to_owned(), html)
    };
    Section { name: "verified", parts: verification.map(part).into_iter().collect() }
}

/// Whether the code cells of two notebooks have the same sources and outputs.
fn runs_as(notebook: &Notebook, other: &Notebook) -> bool {
    let [own, others] =
        [notebook, other].map(|it| it.cells().iter().filter(|cell| cell.is_code()).collect::<Vec<_>>());
    let is_alike = |own: &Cell, other: &Cell| {
        own.is_same(other) || (own.has_source_of(other) && own.outputs() == other.outputs())
    };
    own.len() == others.len() && own.iter().zip(others).all(|(own, other)| is_alike(own, other))
}

/// A verdict, whose differences stand between fences.
pub(crate) fn write_verdict(verdict: &str, html: &mut Fragment) {
    for (index, part) in verdict.split("```").enumerate() {
        match part.strip_prefix("diff\n").filter(|_| index % 2 == 1) {
            Some(diff) => drop(html.append(html::difference(diff))),
            None if part.trim().is_empty() => {}
            None => drop(html.raw("<pre tabindex=\"0\">").text(&visible(part.trim())).raw("</pre>")),
        }
    }
}

fn entry(past: &PastOperation) -> Part<'static> {
    let operation = &past.operation;
    let id = format!("history-{}", operation.id.number());
    Part::item(id, if past.is_undone { "v-op v-undone" } else { "v-op" }, |html| {
        ago(operation.time, html);
        html.raw(" <strong>").text(&author(operation)).raw("</strong> <span>");
        html.text(&one_line(&summary(operation))).raw("</span>");
        if past.is_undone {
            html.raw(" <em>undone</em>");
        }
        if past.is_changed_since {
            html.raw(" <em>changed since by somebody else</em>");
        }
        if operation.checkpoint().is_some() {
            of_operation("preview", "Undo back to here…", operation, true, html);
        } else if !operation.is_empty() {
            of_operation("difference", "Difference", operation, false, html);
            if operation.is_undo() {
                of_operation("preview", "Redo…", operation, false, html);
            } else if !past.is_undone {
                of_operation("preview", "Undo…", operation, false, html);
            }
        }
    })
}

/// A button for an operation, or for all since it.
fn of_operation(action: &str, label: &str, operation: &Operation, is_since: bool, html: &mut Fragment) {
    let (number, name) = (operation.id.number().to_string(), format!("{label} {}", operation.name()));
    let mut data = vec![("data-operation", &*number), ("aria-label", &name)];
    data.extend(is_since.then_some(("data-since-operation", "true")));
    button(action, label, &data, html.raw(" "));
}

/// Who has made a change, for the person.
fn author(operation: &Operation) -> String {
    match operation.agent.as_str() {
        PERSON => "you".to_owned(),
        "" => "an agent".to_owned(),
        agent => one_line(agent).into_owned(),
    }
}

/// The digests of the outputs that runs have written.
pub(crate) fn made(past: &[PastOperation]) -> Arc<HashSet<BlobId>> {
    let is_of_run = |kind: &OperationKind| matches!(kind, OperationKind::Change { runs } if !runs.is_empty());
    let of_runs = past.iter().map(|past| &past.operation).filter(|operation| is_of_run(&operation.kind));
    let written = of_runs.flat_map(|operation| &operation.cells).filter_map(|change| change.after.as_ref());
    Arc::new(written.filter_map(|state| Some(state.outputs.as_ref()?.digest.clone())).collect())
}

/// The last change of each cell by somebody else than the person that is still in effect.
pub(crate) fn marks(past: &[PastOperation]) -> HashMap<CellId, Mark> {
    let by_others = past.iter().filter(|past| past.operation.agent != PERSON);
    let marked = by_others.flat_map(|PastOperation { operation, live_cells, .. }| {
        let mark = Mark { operation: operation.id, by: author(operation), at: operation.time };
        live_cells.iter().map(move |cell| (cell.clone(), mark.clone()))
    });
    marked.collect()
}
