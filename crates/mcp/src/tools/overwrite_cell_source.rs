//! `overwrite_cell_source`: a cell's whole source anew.

use notebook::{Edit, diff};
use render::Reply;
use workspace::{Applied, Error, OpenNotebook};

use super::arguments::Arguments;
use super::cells::label;
use super::context::{Answer, Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "overwrite_cell_source",
        description: "Replace a cell's source; answers a diff. Refused if the cell changed since you read it.",
        schema: Schema::new()
            .cell()
            .text("cell_source", "")
            .text("if_revision", "Revision it must have")
            .notebook()
            .require(&["cell_source"])
            .build(),
        effect: Effect::Edits,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let source = arguments.text("cell_source")?;
    let opened = context.notebook(&arguments).await?;
    let claimed = arguments.optional_text("if_revision")?;
    replace(&arguments, context, &opened, claimed, "overwritten", |_| Ok(source)).await
}

/// Puts what `change` makes of the cell's source in its place.
pub(super) async fn replace(
    arguments: &Arguments,
    context: &Context<'_>,
    opened: &OpenNotebook,
    claimed: Option<String>,
    verb: &str,
    change: impl FnOnce(&str) -> Result<String, Error>,
) -> Outcome {
    let session = context.session;
    let reference = arguments.cell("cell_index", "cell_id")?;
    let before = opened.document().snapshot().await?;
    let index = session.target(opened.path(), &before, &reference)?;
    let cell = &before.cells()[index];
    let mut expected = session.expected(opened.path(), cell.id(), claimed);
    if expected.revision.as_deref().is_some_and(|revision| revision != cell.revision()) {
        // Refused below, with the new source, which the agent knows from then on.
        session.saw(opened.path(), &before, [index]);
    } else {
        // What was computed from this state must not land on another.
        expected.revision = Some(cell.revision().to_owned());
    }
    let old = cell.source().into_owned();
    let is_stale = expected.revision.as_deref() != Some(cell.revision());
    let new = if is_stale { old.clone() } else { change(&old)? };
    let edit = Edit::SetSource { id: cell.id().to_owned(), source: new.clone() };
    let Applied { notebook: after, saved } = context.session.edit(opened, vec![edit], vec![expected]).await?;
    let Some((index, cell)) = after.cell(cell.id()) else {
        return Ok(Answer::from(format!("The cell is gone from {}.", opened.path())));
    };
    session.saw(opened.path(), &after, [index]);
    let diff = diff(&old, &new);
    let what = label(index, cell);
    let path = opened.path();
    let revision = cell.revision();
    if diff.is_empty() {
        return Ok(
            format!("No changes: {what} in {path} has this source already, revision {revision}.").into()
        );
    }
    let mut reply = Reply::new(session.workspace().settings().budget);
    reply.say(&format!(
        "Cell {index} {verb} successfully! {what} in {path}, revision {revision}; {saved}\n\n```diff\n{}\n```",
        diff.trim_end_matches('\n')
    ));
    Ok(reply.into())
}
