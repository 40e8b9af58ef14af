//! `checkpoint`: a name for this moment of a notebook, to come back to it.

use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "checkpoint",
    title: "Create a checkpoint",
    description: "Name the notebook's present state, for undo(since=name).",
    discovery: Discovery::FoundBy("snapshot before a risky change, save point"),
    effect: Effect::Adds,
    groups: &[Group::Edit],
    check: |arguments: &Arguments| match arguments.name.trim() {
        "" => Err(refused("A checkpoint needs a name.")),
        _ => Ok(()),
    },
};

arguments! {
    struct Arguments {
        name: String,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let name = arguments.name.trim();
    let opened = context.notebook(&arguments.notebook).await?;
    context.session.checkpoint(&opened, name).await?;
    Ok(format!("Checkpoint {name:?} of {}. undo(since={name:?}) returns to it.", one_line(opened.path()))
        .into())
}
