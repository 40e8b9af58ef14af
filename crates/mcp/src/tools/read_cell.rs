//! `read_cell`: one cell with its outputs, or one output in full.

use render::{Reply, full_text, merged, page};
use notebook::CellId;
use workspace::{Error, ErrorKind};

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::cell_text::{banner, cell_states, state_line};
use super::shared::context::Context;
use super::shared::parameters::{BudgetArguments, CellArguments, NotebookArgument};
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

pub(super) const TOOL: Tool = Tool {
    name: "read_cell",
    title: "Read a cell",
    description: "Read or show a notebook cell: source, metadata, outputs with text and plots, why it failed.",
    discovery: Discovery::FoundBy("show the output, plot or error of a cell; why did a cell fail"),
    effect: Effect::Reads,
    groups: &[Group::Read],
    permission: Permission::Read,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        cell: CellArguments,
        include_outputs: bool = true,
        /// Page through this output
        output: Option<usize>,
        /// Character to begin at
        offset: usize = 0,
        budget: BudgetArguments,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (reference, offset) = (arguments.cell.reference()?, arguments.offset);
    let budget = context.budget(&arguments.budget);
    let opened = context.notebook(&arguments.notebook).await?;
    let notebook = opened.document().snapshot().await?;
    let index = context.session.find(opened.path(), &notebook, &reference)?;
    let cell = &notebook.cells()[index];
    if let Some(output) = arguments.output {
        let outputs = cell.outputs();
        let more = |offset| more(cell.id(), output, offset);
        return paged(&merged(&outputs), output, offset, budget.characters, &more);
    }
    context.session.saw(opened.path(), &notebook, [index]);
    let mut reply = Reply::new(budget);
    reply.say(&format!("{}\n{}\n", banner(index, cell), cell.source()));
    let metadata = cell.metadata();
    if metadata.as_str() != "{}" {
        reply.say(&format!("[metadata] {}\n", metadata.as_str()));
    }
    if let Some(line) = state_line(&cell_states(context.session, &opened, &notebook), index) {
        reply.say(&line);
    }
    if arguments.include_outputs {
        let id = cell.id().clone();
        reply.outputs(&cell.outputs(), move |output, offset| more(&id, output, offset));
    }
    Ok(reply.into())
}

/// The call that shows an output of a cell from a character on.
pub(super) fn more(id: &CellId, output: usize, offset: usize) -> String {
    format!("read_cell(cell_id=\"{id}\", output={output}, offset={offset})")
}

/// A page of one output's text; `more` words the call for the next.
pub(super) fn paged(
    outputs: &[notebook::Output],
    output: usize,
    offset: usize,
    limit: usize,
    more: &dyn Fn(usize) -> String,
) -> Outcome {
    let Some(wanted) = outputs.get(output) else {
        return Err(Error::new(
            ErrorKind::NotFound,
            format!("There is no output {output}."),
            format!("There are {} outputs, counted from 0.", outputs.len()),
        ));
    };
    let text = full_text(wanted);
    let (shown, next) = page(&text, offset, limit);
    let rest = match next {
        Some(next) => format!("\n[{} characters in all; {} shows more]", text.chars().count(), more(next)),
        None => "\n[end of this output]".to_owned(),
    };
    Ok(format!("{shown}{rest}").into())
}
