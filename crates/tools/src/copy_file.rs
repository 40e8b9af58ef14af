//! `copy_file`: any file, from one place to another.

use futures_util::StreamExt as _;
use place::Existing;
use sha2::{Digest as _, Sha256};
use workspace::{CopiedFile, FilePreview, Session};

use calls::prelude::*;
use calls::question::Speaker;

/// How much of a file a person is shown, in bytes.
const MAX_SHOWN: usize = 16_000;

pub(crate) static TOOL: Tool = tool! {
    name: "copy_file",
    title: "Copy a file",
    description: "Copy a file, such as data: upload it to a Jupyter server, download it, or copy it in one place.",
    discovery: Discovery::FoundBy("upload or download data, csv, model files"),
    effect: Effect::Changes,
    groups: &[Group::Files],
    shows: Shows::More(|asked| Box::pin(describe(asked))),
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
    let goes_on =
        |ids: &str| format!("These runs are not finished, so the copy may lack what they write: {ids}.");
    let unfinished = context.after_earlier_runs(|_| true, goes_on).await;
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
    if context.consent.has_accepted_effect() {
        let now = Copying::of(context.session, &from, &planned).await?;
        context.consent.check_effect(&now.pinned)?;
    }
    let CopiedFile { path, size, sha256 } = context.session.copy_file(&from, &to, existing).await?;
    let (path, from) = (one_line(&path), one_line(&from));
    Ok(format!("Copied {from} to {path}: {size} bytes, SHA-256 {sha256}.{unfinished}").into())
}

/// Tells the person what the call would write, and where.
async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Arguments { from, to, overwrite, .. } = asked.given.read()?;
    let (session, question) = (asked.session, &mut asked.question);
    let existing = if overwrite { Existing::Replace } else { Existing::Keep };
    let planned = session.preview_file(&from, &to, existing).await?;
    let verb = if planned.replaces { "replace" } else { "create" };
    question.line(&format!("It would {verb} {}.", planned.path));
    if let Some(why) = planned.executed_later {
        question.line(&format!("That file may run code later: {why}."));
    }
    let Copying { pinned, size, start } = Copying::of(session, &from, &planned).await?;
    match String::from_utf8(start) {
        Ok(text) if !text.contains('\0') => {
            question.says(Speaker::File);
            question.source(&from, &text);
            let rest = size.saturating_sub(text.len() as u64);
            if rest > 0 {
                question.line(&format!("{rest} more bytes of the file are not shown."));
            }
        }
        _ => question.line(&format!("The file has {size} bytes and is not text.")),
    }
    asked.shown.effect = Some(pinned);
    Ok(())
}

/// What is copied to where.
struct Copying {
    /// The target and the SHA-256 of the content.
    pinned: String,
    /// In bytes.
    size: u64,
    /// The content's start: whole characters if it is text.
    start: Vec<u8>,
}

impl Copying {
    async fn of(session: &Session, from: &str, planned: &FilePreview) -> Result<Self, Error> {
        let source = session.locate(&from.into()).await?;
        let mut pieces = source.place.reach_files()?.read(&source.path).await?.pieces;
        let (mut hash, mut size, mut start) = (Sha256::new(), 0, Vec::new());
        while let Some(piece) = pieces.next().await {
            let piece = piece?;
            hash.update(&piece);
            size += piece.len() as u64;
            start.extend(piece.iter().take(MAX_SHOWN - start.len()));
        }
        // A character that is cut is none.
        if let Err(error) = std::str::from_utf8(&start)
            && error.error_len().is_none()
        {
            start.truncate(error.valid_up_to());
        }
        let pinned = format!("{} {:x?}", planned.path, hash.finalize());
        Ok(Self { pinned, size, start })
    }
}
