//! `read_notebook`: the cells of a notebook, or some of them, one line each or in full.

pub(crate) mod problems;
mod selection;

use std::cell::Cell;

use notebook::{Notebook, Output};
use render::Reply;
use runs::OpenNotebook;
use workspace::{CellStates, StaleState};

use super::read_cell::{add_cell, add_outputs};
use calls::prelude::*;
use calls::replies::causes::{Causes, Failure};
use problems::problems;
use selection::Selection;

/// Reserved for the line that says what is left out, in characters.
const RESERVED: usize = 200;
/// A cell takes at most this part of a reply, if there are others.
const LONG_CELLS: usize = 4;
/// How much room is kept for an output that is no text, in characters.
const MAX_CLAIM: usize = 2000;

pub(crate) static TOOL: Tool = tool! {
    name: "read_notebook",
    title: "Read a notebook",
    description: "Read a notebook: its cells as a table (brief), or their sources, and outputs if asked for (detailed); which are stale. Shorter and newer than the .ipynb file.",
    discovery: Discovery::AlwaysLoaded,
    effect: Effect::Reads,
    groups: &[Group::Read],
    check: |it: &Arguments| {
        if it.selection.is_of_problems() && (it.include_outputs || it.response_format == Format::Detailed) {
            return Err(refused(
                "only=\"problems\" lists problems, not cells: leave out include_outputs and response_format.",
            ));
        }
        Ok(())
    },
};

arguments! {
    struct Arguments {
        notebook: NotebookArgument,
        response_format: Format = Format::Brief,
        start_index: usize = 0,
        /// 0: all
        limit: usize = LIMIT,
        selection: Selection,
        /// Implies detailed
        include_outputs: bool = false,
        budget: BudgetArguments,
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Format {
    Brief,
    Detailed,
}

impl Choice for Format {
    const CHOICES: &'static [(&'static str, Self)] = &[("brief", Self::Brief), ("detailed", Self::Detailed)];
}

/// How many cells are listed unless the call has another limit.
const LIMIT: usize = 20;

impl Arguments {
    /// All but where it starts, as arguments of a call for the cells after it.
    fn as_arguments(&self) -> String {
        let format = match (self.include_outputs, self.response_format) {
            (true, _) => ", include_outputs=true",
            (false, Format::Detailed) => ", response_format=\"detailed\"",
            (false, Format::Brief) => "",
        };
        let limit = if self.limit == LIMIT { String::new() } else { format!(", limit={}", self.limit) };
        let notebook = self.notebook.as_arguments();
        format!("{}{format}{limit}{}{notebook}", self.selection.as_arguments(), self.budget.as_arguments())
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let selection = &arguments.selection;
    let (opened, notebook) = context.notebook_and_cells(&arguments.notebook).await?;
    let states = cell_states(context.session, &opened, &notebook);
    let selected = selection.cells(context.session, opened.path(), &notebook, &states)?;
    let count = notebook.cells().len();
    let budget = context.budget(&arguments.budget);
    let mut reply = Reply::new(budget).after(context.session.shown_outputs());
    let of_these =
        if selection.is_all() { String::new() } else { format!(", {} of them selected", selected.len()) };
    reply.note(&format!("Notebook {} has {count} cells{of_these}.\n", one_line(opened.path())));
    let failures = selected.iter().filter(|_| selection.is_of_errors());
    let failures: Vec<_> =
        failures.filter_map(|index| Failure::of_cell(*index, &notebook.cells()[*index])).collect();
    let causes = Causes::of(&failures);
    let selected: Vec<usize> = selected.into_iter().filter(|index| !causes.covers(*index)).collect();
    selected.iter().flat_map(|index| causes.lines(*index)).for_each(|line| reply.note_last(&line));
    // Where nothing has run here, each code cell has never run, or elsewhere.
    let shows_states = states.has_runs() || selection.is_of_stale();
    let all_states = &states;
    let states = Some(&states).filter(|_| shows_states);
    let from = selected.partition_point(|index| *index < arguments.start_index);
    let rest = &selected[from..];
    if selection.is_of_problems() {
        return show_problems(&arguments, context, (&opened, &notebook), all_states, rest).await;
    }
    let limit = if arguments.limit == 0 { rest.len() } else { arguments.limit.min(rest.len()) };
    if let Some(states) = states.filter(|_| selection.is_of_stale()) {
        reply.note_last(&doubtful(states, count));
    }
    let same = arguments.as_arguments();
    let reserved = RESERVED + same.len();
    let shown = if arguments.response_format == Format::Detailed || arguments.include_outputs {
        let with_outputs = arguments.include_outputs;
        let states = (all_states, shows_states);
        let room = budget.characters.saturating_sub(reserved);
        read_detailed(&mut reply, room, context, (&opened, &notebook), &rest[..limit], states, with_outputs)
    } else {
        let undefined: Vec<_> = rest[..limit].iter().flat_map(|index| all_states.undefined(*index)).collect();
        reply.note_last(&undefined_sentence(&undefined));
        read_brief(&mut reply, reserved, context, (&opened, &notebook), &rest[..limit], states)
    };
    if let Some(next) = rest.get(shown) {
        let left = rest.len() - shown;
        reply.note_last(&format!("{left} more cells: read_notebook(start_index={next}{same}) shows them."));
    }
    Ok(reply.into())
}

/// Shows what is known to fail in these cells, without running anything.
async fn show_problems(
    arguments: &Arguments,
    context: &Context<'_>,
    (opened, notebook): (&OpenNotebook, &Notebook),
    states: &CellStates,
    selected: &[usize],
) -> Outcome {
    let kernel = opened.kernel().map(|kernel| kernel.description().language);
    let language = kernel.or_else(|| notebook.language()).unwrap_or_else(|| "python".to_owned());
    if !language.eq_ignore_ascii_case("python") {
        return Err(refused(format!(
            "Problems are found in Python only, and this notebook is in {}.",
            one_line(&language)
        )));
    }
    let (mut lines, unchecked) = problems(context, opened, notebook, states, selected).await;
    let count = lines.len();
    lines.truncate(if arguments.limit == 0 { count } else { arguments.limit });
    let mut text = match count {
        0 => format!("Notebook {}: no problem is known before a run.", one_line(opened.path())),
        _ => format!(
            "Notebook {}: {count} problems known before a run.\n{}",
            one_line(opened.path()),
            lines.join("\n")
        ),
    };
    if lines.len() < count {
        let more = count - lines.len();
        text.push_str(&format!("\n{more} more: read_notebook(only=\"problems\", limit=0) shows them."));
    }
    text.extend(unchecked.iter().flat_map(|reason| ["\n", reason]));
    Ok(text.into())
}

/// Shows the sources of as many cells as fit; returns how many. A long cell does not take the room of those after it.
fn read_detailed(
    reply: &mut Reply,
    room: usize,
    context: &Context<'_>,
    (opened, notebook): (&OpenNotebook, &Notebook),
    indices: &[usize],
    (states, shows_states): (&CellStates, bool),
    with_outputs: bool,
) -> usize {
    let (mut claimed, calls) = (0, context.next_calls());
    for (shown, index) in indices.iter().copied().enumerate() {
        let cell = &notebook.cells()[index];
        let outputs = if with_outputs { cell.outputs().iter().map(claim).sum() } else { 0 };
        let size = banner(index, cell).len() + cell.source().chars().count() + outputs;
        claimed += size.min(room / LONG_CELLS);
        // One cell is always shown, shortened if need be.
        if shown > 0 && claimed > room {
            return shown;
        }
        add_cell(reply, &calls, index, cell);
        if let Some(line) = shows_states.then(|| state_line(states, index)).flatten() {
            reply.note(line.trim_end());
        }
        for line in undefined_lines(states, index) {
            reply.note(&line);
        }
        context.session.saw(opened.path(), notebook, [index]);
        if with_outputs {
            add_outputs(reply, &calls, notebook, cell);
        }
    }
    indices.len()
}

/// About how many characters an output takes.
fn claim(output: &Output) -> usize {
    match output {
        Output::Stream { text, .. } => text.as_str().len(),
        Output::Error { traceback, .. } => traceback.iter().map(String::len).sum(),
        Output::Display(bundle) | Output::Result { bundle, .. } => bundle.data.as_str().len().min(MAX_CLAIM),
        Output::Other(json) => json.as_str().len().min(MAX_CLAIM),
    }
}

/// Shows the first lines of as many cells as fit; returns how many.
fn read_brief(
    reply: &mut Reply,
    reserved: usize,
    context: &Context<'_>,
    (opened, notebook): (&OpenNotebook, &Notebook),
    indices: &[usize],
    states: Option<&CellStates>,
) -> usize {
    let changed = context.session.changed_by_others(opened.path(), notebook);
    let rows = match states {
        Some(states) => brief_with_states(context.session, opened, notebook, indices, states),
        None => brief(context.session, opened, notebook, indices.iter().copied()),
    };
    if !changed.is_empty() {
        reply.note_last(&format!("Cells changed after you read them: {}.", ranges(&changed)));
    }
    let shown = Cell::new(rows.lines().count());
    let table = whole_lines(&rows, "", reply.remaining().saturating_sub(reserved), |lines, _| {
        shown.set(lines);
        String::new()
    });
    reply.note(table.trim_end_matches('\n'));
    // The first line is the header.
    shown.get().saturating_sub(1)
}

/// The cells that are neither stale nor up to date, in lines; empty if there are none.
fn doubtful(states: &CellStates, count: usize) -> String {
    let line = |wanted: StaleState| {
        let is_so = |index: &usize| states.get(*index).is_some_and(|known| known.state == wanted);
        let cells: Vec<usize> = (0..count).filter(is_so).collect();
        (!cells.is_empty()).then(|| format!("{}: cells {}.", wanted.name(), ranges(&cells)))
    };
    let lines = [StaleState::MayHaveChanged, StaleState::NothingKnown].map(line);
    lines.into_iter().flatten().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::tests::given;

    #[test]
    fn a_call_for_further_cells_has_the_arguments_of_the_first() {
        let same = |values: &Value| given(values).read::<Arguments>().unwrap().as_arguments();
        assert_eq!(same(&json!({ "start_index": 3, "response_format": "brief" })), "");
        assert_eq!(
            same(&json!({ "only": "errors", "include_outputs": true, "max_characters": 1000 })),
            ", only=\"errors\", include_outputs=true, max_characters=1000"
        );
        assert_eq!(
            same(&json!({ "response_format": "detailed", "limit": 0, "notebook_name": "b" })),
            ", response_format=\"detailed\", limit=0, notebook_name=\"b\""
        );
    }
}
