//! `copy_notebook`: a notebook with its outputs, from one place to another.

use place::{Existing, NotebookPath};
use runs::{OpenNotebook, Run};
use sha2::{Digest as _, Sha256};
use workspace::{CopiedNotebook, CopyPreview};

use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "copy_notebook",
    title: "Copy a notebook",
    description: "Copy a notebook with its outputs to another path or place: folder, Jupyter server, Google Colab.",
    discovery: Discovery::FoundBy("duplicate, upload, download, move a notebook to Colab or to a server"),
    effect: Effect::Changes,
    groups: &[Group::Files, Group::Edit],
    shows: Shows::More(|asked| Box::pin(describe(asked))),
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
    let is_its = |run: &Run| run.cell().is_some_and(|cell| cell.path == *opened.path());
    let goes_on =
        |ids: &str| format!("These runs are not finished, so the copy may lack their outputs: {ids}.");
    let unfinished = context.after_earlier_runs(is_its, goes_on).await;
    let existing = if arguments.overwrite { Existing::Replace } else { Existing::Keep };
    let to = NotebookPath::from(arguments.to);
    let planned = context.session.preview_copy(&opened, &to, existing).await?;
    if context.consent.has_accepted_effect() {
        context.consent.check_effect(&pinned(&opened, &planned).await?)?;
    }
    context.permit_executed_later(&planned.path, planned.executed_later).await?;
    if arguments.preview.preview {
        return Ok(previewed(context, &opened, planned));
    }
    let copied = context.session.copy_notebook(&opened, &to, existing).await?;
    let CopiedNotebook { path, cells, saved, is_reduced } = copied;
    let reduced =
        if is_reduced { " Cell outputs and metadata were omitted: they cannot be set there." } else { "" };
    let path = one_line(&path);
    Ok(format!("Copied {} to {path}: {cells} cells, {saved}.{reduced}{unfinished}", one_line(opened.path()))
        .into())
}

/// Tells the person what the call would write, and where.
async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Arguments { from, to, overwrite, .. } = asked.given.read()?;
    let opened = asked.works_on(from.as_deref()).await?;
    let (session, question) = (asked.session, &mut asked.question);
    let existing = if overwrite { Existing::Replace } else { Existing::Keep };
    let planned = session.preview_copy(&opened, &to.into(), existing).await?;
    if let Some(why) = planned.executed_later {
        question.line(&format!("That file may run code later: {why}."));
    }
    let (path, cells) = (&planned.path, planned.cells);
    match &planned.replaces {
        None => question.line(&format!("It would create {path} with {cells} cells.")),
        Some(diff) => {
            question.line(&format!("It would replace the cells of {path} with {cells}:"));
            question.source("changes", diff);
        }
    }
    asked.shown.effect = Some(pinned(&opened, &planned).await?);
    Ok(())
}

/// The target, what it loses, and the SHA-256 of what is copied. New cells get other ids each time.
async fn pinned(opened: &OpenNotebook, planned: &CopyPreview) -> Result<String, Error> {
    let bytes = opened.document().snapshot().await?.to_bytes();
    let lost = planned.replaces.iter().flat_map(|diff| diff.lines()).filter(|line| line.starts_with('-'));
    Ok(format!("{} {:?} {:x?}", planned.path, lost.collect::<Vec<_>>(), Sha256::digest(&bytes)))
}

fn previewed(context: &Context<'_>, opened: &OpenNotebook, planned: CopyPreview) -> Answer {
    let CopyPreview { path, cells, replaces, .. } = planned;
    let from = opened.path();
    let (from, path) = (one_line(from), one_line(&path));
    let mut reply = context.reply();
    match replaces {
        None => {
            reply.note(&format!(
                "Would create {path}, a copy of {from} with {cells} cells (nothing was changed)."
            ));
        }
        Some(diff) => {
            reply.note(&format!(
                "Would replace the cells of {path} with the {cells} cells of {from} (nothing was changed; new cells may have other ids):"
            ));
            reply.quote(&diff, String::new());
        }
    }
    reply.into()
}
