//! `checkpoint`: a name for this moment of a notebook, to come back to it.

use notebook::one_line;

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::context::Context;
use super::shared::given::refused;
use super::shared::parameters::NotebookArgument;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

pub(super) const TOOL: Tool = Tool {
    name: "checkpoint",
    title: "Create a checkpoint",
    description: "Name the notebook's present state, for undo(since=name).",
    discovery: Discovery::FoundBy("snapshot before a risky change, save point"),
    effect: Effect::Adds,
    groups: &[Group::Edit],
    permission: Permission::Write,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
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
