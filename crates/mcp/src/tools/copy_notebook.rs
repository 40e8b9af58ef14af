//! `copy_notebook`: a notebook with its outputs, from one place to another.

use notebook::one_line;
use render::without_data_uris;
use workspace::{CopiedNotebook, CopyPreview, Existing, NotebookPath, OpenNotebook};

use super::shared::answer::{Answer, Outcome};
use super::shared::arguments::{Schema, arguments};
use super::shared::context::Context;
use super::shared::parameters::PreviewArgument;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

pub(super) const TOOL: Tool = Tool {
    name: "copy_notebook",
    title: "Copy a notebook",
    description: "Copy a notebook with its outputs to another path or place: folder, Jupyter server, Google Colab.",
    discovery: Discovery::FoundBy("duplicate, upload, download, move a notebook to Colab or to a server"),
    effect: Effect::Changes,
    groups: &[Group::Files, Group::Edit],
    permission: Permission::Write,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        /// Name or path; default: the current one
        from: Option<String>,
        /// Path; local:, jupyter: or colab: names the place
        to: String,
        /// Replace the cells of a notebook there
        overwrite: bool = false,
        preview: PreviewArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    if arguments.overwrite {
        let groups = &[Group::Files, Group::Edit, Group::Delete];
        context.permit(groups, Permission::Write, "copy_notebook with overwrite").await?;
    }
    context.permit_copy(&arguments.to).await?;
    let opened = context.session.notebook(arguments.from.as_deref()).await?;
    context.consent.check_notebook(opened.path())?;
    let existing = if arguments.overwrite { Existing::Replace } else { Existing::Keep };
    let to = NotebookPath::from(arguments.to);
    let planned = context.session.preview_copy(&opened, &to, existing).await?;
    context.permit_executed_later(&planned.path, planned.executed_later).await?;
    if arguments.preview.preview {
        return Ok(previewed(context, &opened, planned));
    }
    let copied = context.session.copy_notebook(&opened, &to, existing).await?;
    let CopiedNotebook { path, cells, saved, is_reduced } = copied;
    let reduced =
        if is_reduced { " Outputs and metadata of cells were left out: they cannot be set there." } else { "" };
    let path = one_line(&path);
    Ok(format!("Copied {} to {path}: {cells} cells, {saved}.{reduced}", one_line(opened.path())).into())
}

fn previewed(context: &Context<'_>, opened: &OpenNotebook, planned: CopyPreview) -> Answer {
    let CopyPreview { path, cells, replaces, .. } = planned;
    let from = opened.path();
    let (from, path) = (one_line(from), one_line(&path));
    let mut reply = context.reply();
    match replaces {
        None => {
            reply.note(&format!("Would create {path}, a copy of {from} with {cells} cells (nothing was changed)."));
        }
        Some(diff) => {
            reply.note(&format!(
                "Would replace the cells of {path} by the {cells} of {from} (nothing was changed; new cells may have other ids):"
            ));
            reply.say(&without_data_uris(&diff));
        }
    }
    reply.into()
}
