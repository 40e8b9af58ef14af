//! Problems known before a notebook runs: syntax, names, modules, attributes of modules and files.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use names::Names;
use notebook::Notebook;
use place::{KernelState, ask_memory};
use runs::{CellTags, OpenNotebook};
use serde::Deserialize;
use serde_json::{Value, json};
use syntax::{PlainCell, SyntaxError, imported_modules, plain_cell, with_stack};
use workspace::CellStates;

use calls::prelude::*;
use calls::replies::cell_text::undefined;

/// Time limit for the kernel's lookup.
const LIMIT: Duration = Duration::from_secs(3);
const MAX_CAUSE: usize = 200;
const UNCHECKED: &str =
    "Modules, attributes and files were not checked: the kernel's environment cannot be read.";

/// Problems that `memory/handler/problems.py` of the crate `kernel` finds.
#[derive(Default, Deserialize)]
struct Answer {
    /// Each cause with its cells.
    problems: Vec<(Vec<usize>, String)>,
    /// The modules that are not installed.
    absent: Vec<String>,
}

/// The problems of these cells, a line each, and the checks that were not possible.
pub(super) async fn problems(
    context: &Context<'_>,
    opened: &OpenNotebook,
    notebook: &Notebook,
    states: &CellStates,
    selected: &[usize],
) -> (Vec<String>, Vec<String>) {
    let (question, errors) = question(notebook, opened.path());
    let answer = match (ask_running(context, opened, &question).await, opened.kernel()) {
        (None, Some(kernel)) => kernel.lacking(question).await.and_then(|answer| answer.decode().ok()),
        (answer, _) => answer,
    };
    let mut unchecked: Vec<String> = answer.is_none().then(|| UNCHECKED.to_owned()).into_iter().collect();
    let mut all = answer.unwrap_or_default().problems;
    all.extend(errors.into_iter().map(|(index, SyntaxError { line, cause })| {
        (vec![index], format!("syntax error in line {line}: {cause}"))
    }));
    all.extend(
        selected.iter().flat_map(|index| undefined(states, *index).map(|clause| (vec![*index], clause))),
    );
    let mut cells_of: BTreeMap<String, BTreeSet<usize>> = BTreeMap::new();
    for (cells, cause) in all {
        let cells = cells.into_iter().filter(|index| selected.contains(index) && !may_fail(notebook, *index));
        cells_of.entry(shortened(&one_line(&cause), MAX_CAUSE)).or_default().extend(cells);
    }
    let mut causes: Vec<(Vec<usize>, String)> =
        cells_of.into_iter().map(|(cause, cells)| (cells.into_iter().collect(), cause)).collect();
    causes.retain(|(cells, _)| !cells.is_empty());
    causes.sort();
    let line = |(cells, cause): (Vec<usize>, String)| {
        let also = if cells.len() > 1 { format!(" (also {})", ranges(&cells[1..])) } else { String::new() };
        format!("cell {}: {cause}{also}", cells[0])
    };
    let binding: Vec<usize> = with_stack(|| {
        code_cells(notebook)
            .filter(|(_, source)| Names::of_cell(source).binds_anything)
            .map(|(index, _)| index)
            .collect()
    });
    if !binding.is_empty() {
        let cells = ranges(&binding);
        unchecked.push(format!("Undefined names were not checked: cells {cells} may define any name."));
    }
    (causes.into_iter().map(line).collect(), unchecked)
}

/// A sentence about the modules that cells import and the running kernel's Python lacks; `None` if there are none, or no kernel runs.
pub(crate) async fn absent_modules(
    context: &Context<'_>,
    opened: &OpenNotebook,
    notebook: &Notebook,
) -> Option<String> {
    let absent = ask_running(context, opened, &question(notebook, opened.path()).0).await?.absent;
    let names = absent.join(", ");
    (!absent.is_empty()).then(|| {
        format!("Not installed: {}; read_notebook(only=\"problems\") shows the cells.", one_line(&names))
    })
}

fn may_fail(notebook: &Notebook, index: usize) -> bool {
    let tags = CellTags::of(&notebook.cells()[index]);
    tags.may_fail || tags.is_skipped
}

fn code_cells(notebook: &Notebook) -> impl Iterator<Item = (usize, Cow<'_, str>)> {
    let cells = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
    cells.map(|(index, cell)| (index, cell.source()))
}

/// The question about a notebook, and its cells that are no Python.
fn question(notebook: &Notebook, path: &str) -> (Value, Vec<(usize, SyntaxError)>) {
    let (mut errors, mut packages, mut cells) = (Vec::new(), BTreeMap::new(), Vec::new());
    with_stack(|| {
        for (index, source) in code_cells(notebook) {
            let plain = plain_cell(&source).unwrap_or_else(|error| {
                errors.push((index, error));
                PlainCell { python: Some(String::new()), above: 0 }
            });
            for module in imported_modules(&source) {
                let root = module.split('.').next().unwrap_or_default().to_owned();
                packages.insert(root.clone(), packages::package_of(&root));
            }
            cells.push(json!([index, source, plain.python, plain.above, !may_fail(notebook, index)]));
        }
    });
    (json!({ "cells": cells, "path": path, "packages": packages }), errors)
}

/// Asks the kernel if it runs.
async fn ask_running(context: &Context<'_>, opened: &OpenNotebook, wanted: &Value) -> Option<Answer> {
    let kernel = opened.kernel()?;
    let is_running = matches!(kernel.description().state, KernelState::Idle | KernelState::Busy);
    if !is_running || !context.consent.may(&[Group::Kernels], Permission::Execute) {
        return None;
    }
    ask_memory(&*kernel, &json!({ "lacking": wanted }), LIMIT).await.ok()?.decode().ok()
}
