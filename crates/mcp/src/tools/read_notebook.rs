//! `read_notebook`: the cells of a notebook, or some of them, one line each or in full.

mod selection;

use notebook::Notebook;
use render::Reply;
use workspace::{CellStates, OpenNotebook, StaleState};

use super::read_cell::more;
use super::shared::answer::Outcome;
use super::shared::arguments::{Choice, Schema, arguments};
use super::shared::cell_text::{banner, brief, brief_with_states, cell_states, state_line};
use super::shared::context::Context;
use super::shared::parameters::{BudgetArguments, NotebookArgument};
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};
use selection::Selection;

/// Reserved for the line that says what is left out, in characters.
const RESERVED: usize = 200;

pub(super) const TOOL: Tool = Tool {
    name: "read_notebook",
    title: "Read a notebook",
    description: "Read a notebook: its cells as a table (brief), or their sources, and outputs if asked for (detailed); which are stale. Shorter and newer than the .ipynb file.",
    discovery: Discovery::AlwaysLoaded,
    effect: Effect::Reads,
    groups: &[Group::Read],
    permission: Permission::Read,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        notebook: NotebookArgument,
        response_format: Format = Format::Brief,
        start_index: usize = 0,
        /// 0: all
        limit: usize = 20,
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

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let selection = &arguments.selection;
    let opened = context.notebook(&arguments.notebook).await?;
    let notebook = opened.document().snapshot().await?;
    let states = cell_states(context.session, &opened, &notebook);
    let selected = selection.cells(context.session, opened.path(), &notebook, &states)?;
    let count = notebook.cells().len();
    let mut reply = Reply::new(context.budget(&arguments.budget));
    let of_these =
        if selection.is_all() { String::new() } else { format!(", {} of them selected", selected.len()) };
    reply.say(&format!("Notebook {} has {count} cells{of_these}.\n", opened.path()));
    // Where nothing has run here, each code cell has never run, or elsewhere.
    let shows_states = states.has_runs() || selection.is_of_stale();
    let states = Some(&states).filter(|_| shows_states);
    let from = selected.partition_point(|index| *index < arguments.start_index);
    let rest = &selected[from..];
    let limit = if arguments.limit == 0 { rest.len() } else { arguments.limit.min(rest.len()) };
    let shown = if arguments.response_format == Format::Detailed || arguments.include_outputs {
        read_detailed(&mut reply, context, (&opened, &notebook), &rest[..limit], states, arguments.include_outputs)
    } else {
        read_brief(&mut reply, context, (&opened, &notebook), &rest[..limit], states)
    };
    if let Some(states) = states.filter(|_| selection.is_of_stale()) {
        reply.say(&doubtful(states, count));
    }
    if let Some(next) = rest.get(shown) {
        let left = rest.len() - shown;
        let same = selection.as_arguments();
        reply.say(&format!("\n{left} more cells: read_notebook(start_index={next}{same}) shows them.\n"));
    }
    Ok(reply.into())
}

/// Shows the sources of as many cells as fit; returns how many.
fn read_detailed(
    reply: &mut Reply,
    context: &Context<'_>,
    (opened, notebook): (&OpenNotebook, &Notebook),
    indices: &[usize],
    states: Option<&CellStates>,
    with_outputs: bool,
) -> usize {
    for (shown, index) in indices.iter().copied().enumerate() {
        let cell = &notebook.cells()[index];
        let state = states.and_then(|states| state_line(states, index)).unwrap_or_default();
        let text = format!("{}\n{}\n{state}", banner(index, cell), cell.source());
        // One cell is always shown, truncated if need be.
        if shown > 0 && text.chars().count() + RESERVED > reply.left() {
            return shown;
        }
        reply.say(&text);
        context.session.saw(opened.path(), notebook, [index]);
        if with_outputs {
            let id = cell.id().clone();
            reply.outputs(&cell.outputs(), move |output, offset| more(&id, output, offset));
        }
    }
    indices.len()
}

/// Shows the first lines of as many cells as fit; returns how many.
fn read_brief(
    reply: &mut Reply,
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
    let (mut shown, mut fitting, mut length) = (String::new(), 0, RESERVED);
    // The first row is the header.
    for (row, line) in rows.split('\n').enumerate() {
        length += line.chars().count() + 1;
        if length > reply.left() {
            break;
        }
        shown.push_str(line);
        shown.push('\n');
        fitting = row;
    }
    reply.say(&shown);
    if !changed.is_empty() {
        let changed: Vec<String> = changed.iter().map(usize::to_string).collect();
        reply.say(&format!("\nChanged since you read them: cells {}.\n", changed.join(", ")));
    }
    fitting
}

/// The cells that are neither stale nor up to date, in a line; empty if there are none.
fn doubtful(states: &CellStates, count: usize) -> String {
    let with = |wanted: StaleState| -> Vec<String> {
        let is_so = |index: &usize| states.get(*index).is_some_and(|known| known.state == wanted);
        (0..count).filter(is_so).map(|index| index.to_string()).collect()
    };
    let line = |cells: Vec<String>, state: StaleState| {
        if cells.is_empty() { String::new() } else { format!("\n{}: cells {}.\n", state.name(), cells.join(", ")) }
    };
    [StaleState::MayHaveChanged, StaleState::NothingKnown].map(|state| line(with(state), state)).concat()
}
