//! `undo`: takes operations back, all or none.

use chrono::Utc;
use notebook::{CellId, CellRef, Notebook};
use runs::Run;
use workspace::{UndoTarget, Undone};

use super::history::{line, operation_id, parse_since};
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "undo",
    title: "Undo changes",
    description: "Undo your last changes to a notebook, one by id, or all since a checkpoint. Refused where others changed a cell.",
    discovery: Discovery::FoundBy("revert, roll back, restore deleted cells or outputs"),
    effect: Effect::Changes,
    groups: &[Group::Edit, Group::Delete],
    has_view: true,
    combinations: &[Combination::Excludes("id", &["last", "since"]), Combination::Excludes("since", &["last"])],
    check: |arguments: &Arguments| target(arguments).map(drop),
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        last: usize = 1,
        /// Such as o12, also an undo
        id: Option<String>,
        /// Checkpoint, id, or time (UTC)
        since: Option<String>,
        /// Only these cells, by id
        only: Vec<String>,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let preview = &arguments.preview;
    let is_its = |run: &Run| run.cell().is_some_and(|cell| cell.path == *opened.path());
    let goes_on = |ids: &str| format!("These runs are not finished, so their outputs stay: {ids}.");
    let unfinished = context.after_earlier_runs(is_its, goes_on).await;
    let now = opened.document().snapshot().await?;
    let (target, only) = targets(&arguments, &now)?;
    if !preview.preview && context.consent.has_accepted_effect() {
        context.consent.check_effect(&session.undo(&opened, &target, only.as_deref(), true).await?.diff)?;
    }
    let undone = session.undo(&opened, &target, only.as_deref(), preview.preview).await?;
    let mut reply = context.reply();
    let heading = if preview.preview { "Would undo" } else { "Undone" };
    reply.note(&format!("{heading}, in {}:", one_line(opened.path())));
    let Undone { operations, brief, without_outputs, applied, .. } = undone;
    let lines: Vec<String> = operations.iter().map(line).collect();
    reply.say_or(&lines.join("\n"), "history()".to_owned());
    let more = operations
        .first()
        .map(|operation| format!("history(id=\"{}\")", operation.name()))
        .unwrap_or_default();
    reply.quote(&brief, more);
    if !without_outputs.is_empty() {
        let which =
            if preview.preview { "Outputs that would not be restored" } else { "Outputs not restored" };
        reply.note_last(&format!("{which}: {}.", one_line(&without_outputs.join(", "))));
    }
    if let Some(applied) = applied {
        session.listed(opened.path(), &applied.notebook, 0..applied.notebook.cells().len());
        reply.note_last(&format!("[{}]", applied.saved));
        reply.note_last("Variables in the kernel did not change.");
    }
    if !unfinished.is_empty() {
        reply.note_last(unfinished.trim_start());
    }
    Ok(reply.into())
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Some((opened, now)) = asked.notebook().await? else { return Ok(()) };
    let (target, only) = targets(&asked.given.read()?, &now)?;
    let Undone { diff, without_outputs, .. } =
        asked.session.undo(&opened, &target, only.as_deref(), true).await?;
    asked.question.line("It would undo:");
    asked.question.source("changes", &diff);
    if !without_outputs.is_empty() {
        let cells = one_line(&without_outputs.join(", ")).into_owned();
        asked.question.line(&format!("It would not restore the outputs of: {cells}."));
    }
    asked.shown.effect = Some(diff);
    Ok(())
}

/// The operations that are meant, and the cells to which the undo is limited.
fn targets(arguments: &Arguments, now: &Notebook) -> Result<(UndoTarget, Option<Vec<CellId>>), Error> {
    let target = target(arguments)?;
    let cell = |text: &String| match now.resolve(&CellRef::parse(text)) {
        Ok(index) => now.cells()[index].id().clone(),
        // An operation that will be undone deleted it.
        Err(_) => CellId::from(text.trim()),
    };
    let only: Vec<CellId> = arguments.only.iter().map(cell).collect();
    Ok((target, (!only.is_empty()).then_some(only)))
}

/// The operations that are meant.
fn target(arguments: &Arguments) -> Result<UndoTarget, Error> {
    let given = |text: &Option<String>| text.clone().filter(|text| !text.trim().is_empty());
    match (given(&arguments.id), given(&arguments.since)) {
        (Some(id), _) => Ok(UndoTarget::Operation(operation_id(&id)?)),
        (None, Some(since)) => Ok(UndoTarget::Since(parse_since(&since, Utc::now()))),
        (None, None) if arguments.last == 0 => Err(refused("last is 0, so nothing was undone.")),
        (None, None) => Ok(UndoTarget::Last(arguments.last)),
    }
}
