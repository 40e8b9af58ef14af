//! `copy_file`: any file, from one place to another.

use notebook::one_line;
use workspace::{CopiedFile, Existing, FilePreview};

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::context::Context;
use super::shared::parameters::PreviewArgument;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

pub(super) const TOOL: Tool = Tool {
    name: "copy_file",
    title: "Copy a file",
    description: "Copy a file of any kind, such as data: upload it to a Jupyter server, download it, or copy it in one place.",
    discovery: Discovery::FoundBy("upload or download data, csv, model files"),
    effect: Effect::Changes,
    groups: &[Group::Files],
    permission: Permission::Write,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        /// Path, as list_files shows it
        from: String,
        /// Path; local: is the folder, jupyter: the server
        to: String,
        overwrite: bool = false,
        preview: PreviewArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { from, to, overwrite, preview } = arguments;
    if overwrite {
        let groups = &[Group::Files, Group::Delete];
        context.permit(groups, Permission::Write, "copy_file with overwrite").await?;
    }
    context.permit_copy(&to).await?;
    let existing = if overwrite { Existing::Replace } else { Existing::Keep };
    let planned = context.session.preview_file(&from, &to, existing).await?;
    context.permit_executed_later(&planned.path, planned.executed_later).await?;
    if preview.preview {
        let FilePreview { path, size, replaces, .. } = planned;
        let size = size.map(|size| format!(" of {size} bytes")).unwrap_or_default();
        let what = if replaces { "replace the file" } else { "create" };
        let (path, from) = (one_line(&path), one_line(&from));
        return Ok(format!("Would {what} {path}, as a copy of {from}{size} (nothing was changed).").into());
    }
    let CopiedFile { path, size, sha256 } = context.session.copy_file(&from, &to, existing).await?;
    let (path, from) = (one_line(&path), one_line(&from));
    Ok(format!("Copied {from} to {path}: {size} bytes, SHA-256 {sha256}.").into())
}
