//! `checkpoint`: a name for this moment of a notebook, to come back to it.

use notebook::one_line;

use crate::answer::Outcome;
use crate::arguments::declare::{InputSchema, arguments};
use crate::arguments::given::refused;
use crate::arguments::parameters::NotebookArgument;
use crate::context::Context;
use crate::permissions::{Group, Permission};
use crate::tool::{Availability, Discovery, Effect, Shows, Tool};

pub(crate) static TOOL: Tool = Tool {
    name: "checkpoint",
    title: "Create a checkpoint",
    description: "Name the notebook's present state, for undo(since=name).",
    discovery: Discovery::FoundBy("snapshot before a risky change, save point"),
    effect: Effect::Adds,
    groups: &[Group::Edit],
    permission: Permission::Write,
    availability: Availability::Always,
    schema: InputSchema::of::<Arguments>(),
    shows: Shows::NamedCell,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        name: String,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let name = arguments.name.trim();
    if name.is_empty() {
        return Err(refused("A checkpoint needs a name."));
    }
    let opened = context.notebook(&arguments.notebook).await?;
    context.session.checkpoint(&opened, name).await?;
    Ok(format!("Checkpoint {name:?} of {}. undo(since={name:?}) returns to it.", one_line(opened.path()))
        .into())
}
