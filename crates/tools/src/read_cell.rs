//! `read_cell`: one cell with its outputs, or one output in full.

use notebook::{Cell, CellId, Notebook};
use render::{Budget, Reply, merged, with_widget_texts, without_data_uris};
use workspace::widget_text;

use calls::context::NextCalls;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "read_cell",
    title: "Read a cell",
    description: "Read or show a notebook cell: source, metadata, outputs with text and plots, why it failed.",
    discovery: Discovery::FoundBy("show the output, plot or error of a cell; why did a cell fail"),
    effect: Effect::Reads,
    groups: &[Group::Read],
    has_view: true,
};

arguments! {
    struct Arguments {
        cell: NamedCell,
        include_outputs: bool = true,
        /// Page through this output
        output: Option<usize>,
        /// Character to start at, of output or source
        offset: usize = 0,
        budget: BudgetArguments,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (reference, offset) = (arguments.cell, arguments.offset);
    let (budget, calls) = (context.budget(&arguments.budget), context.next_calls());
    let (opened, notebook) = context.notebook_and_cells(&arguments.notebook).await?;
    let index = reference.index(|cell| context.session.find(opened.path(), &notebook, cell))?;
    let cell = &notebook.cells()[index];
    if let Some(output) = arguments.output {
        let whole = context.session.workspace().journal().whole_outputs(opened.path(), cell);
        let outputs = whole.as_deref().map_or_else(|| cell.outputs(), Into::into);
        let more = |offset| more(&calls, cell.id(), output, offset);
        return paged(&merged(&outputs), output, offset, budget, &more);
    }
    context.session.saw(opened.path(), &notebook, [index]);
    if offset > 0 {
        let more = |offset| more_source(&calls, cell.id(), offset);
        return Ok(render::paged_source(&cell.source(), offset, budget.characters, &more).into());
    }
    // Outputs that an earlier reply had are shown, too: this is the call that shows them.
    let mut reply = Reply::new(budget);
    add_cell(&mut reply, &calls, index, cell);
    let metadata = cell.metadata();
    if metadata.as_str() != "{}" {
        let text = format!("[metadata] {}", without_data_uris(metadata.as_str()));
        let room = 2 * (budget.characters + text.chars().count());
        reply.say_or(&text, calls.read_cell(cell.id(), &format!(", max_characters={room}")));
    }
    let states = cell_states(context.session, &opened, &notebook);
    if let Some(line) = state_line(&states, index) {
        reply.note(line.trim_end());
    }
    for line in undefined_lines(&states, index) {
        reply.note(&line);
    }
    if arguments.include_outputs {
        add_outputs(&mut reply, &calls, &notebook, cell);
    }
    Ok(reply.into())
}

/// Adds the banner and the source of a cell.
pub(super) fn add_cell(reply: &mut Reply, calls: &NextCalls, index: usize, cell: &Cell) {
    reply.note(&banner(index, cell));
    let (calls, id) = (calls.clone(), cell.id().clone());
    reply.source(&cell.source(), move |offset| more_source(&calls, &id, offset));
}

/// Adds the outputs of a cell of `notebook`, and the images that are attached to it.
pub(super) fn add_outputs(reply: &mut Reply, calls: &NextCalls, notebook: &Notebook, cell: &Cell) {
    let widgets = notebook.metadata().member("widgets");
    let text_of = |model: &str| widget_text(widgets.as_ref()?, model);
    let outputs = cell.outputs();
    let (calls, id) = (calls.clone(), cell.id().clone());
    let (shown, images) = (with_widget_texts(&outputs, &text_of), calls.read_cell(&id, ", max_images=8"));
    reply.outputs_of(&format!("cell {}", one_line(&id)), &shown, move |output, offset| {
        more(&calls, &id, output, offset)
    });
    reply.attachments(cell, move || images.clone());
}

/// The call that shows the source of a cell from a character on.
fn more_source(calls: &NextCalls, id: &CellId, offset: usize) -> String {
    calls.read_cell(id, &format!(", offset={offset}"))
}

/// The call that shows an output of a cell from a character on.
fn more(calls: &NextCalls, id: &CellId, output: usize, offset: usize) -> String {
    calls.read_cell(id, &format!(", output={output}, offset={offset}"))
}

/// A page of one output's text, the first with its images; `more` words the call for the next.
pub(super) fn paged(
    outputs: &[notebook::Output],
    output: usize,
    offset: usize,
    budget: Budget,
    more: &dyn Fn(usize) -> String,
) -> Outcome {
    let Some(wanted) = outputs.get(output) else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("There is no output {output}."),
            format!("There are {} outputs, counted from 0.", outputs.len()),
        ));
    };
    let mut reply = Reply::new(budget);
    reply.page(wanted, offset, more);
    Ok(reply.into())
}
