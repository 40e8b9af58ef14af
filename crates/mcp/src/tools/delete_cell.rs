//! `delete_cell`: takes cells out, all or none.

use notebook::{CellRef, Edit};
use render::Reply;
use workspace::Applied;

use super::arguments::{Arguments, refused};
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

pub(super) fn tool() -> Tool {
    Tool {
        name: "delete_cell",
        description: "Delete cells, all or none. Refused if one changed since you read it.",
        schema: Schema::new()
            .list("cell_indices", "integer", "")
            .list("cell_ids_to_delete", "string", "")
            .flag("include_source", true, "Answer the deleted sources")
            .notebook()
            .build(),
        effect: Effect::Destroys,
    }
}

pub(super) async fn call(mut arguments: Arguments, context: &Context<'_>) -> Outcome {
    let session = context.session;
    arguments.rename("cell_index", "cell_indices");
    arguments.rename("cell_ids", "cell_ids_to_delete");
    arguments.rename("cell_id", "cell_ids_to_delete");
    let mut references = Vec::new();
    for value in arguments.list("cell_indices") {
        let number = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
        let index = number.and_then(|number| usize::try_from(number).ok());
        let index = index
            .ok_or_else(|| refused(format!("cell_indices must hold indices from 0 on, not {value}.")))?;
        references.push(CellRef::Index(index));
    }
    for value in arguments.list("cell_ids_to_delete") {
        let id = value
            .as_str()
            .ok_or_else(|| refused(format!("cell_ids_to_delete must hold strings, not {value}.")))?;
        references.push(CellRef::parse(id));
    }
    if references.is_empty() {
        return Err(refused("delete_cell needs cell_indices or cell_ids_to_delete.".to_owned()));
    }
    let with_source = arguments.flag("include_source", true)?;
    let opened = context.notebook(&arguments).await?;
    let before = opened.document().snapshot().await?;
    let mut indices = Vec::new();
    for reference in &references {
        let index = session.target(opened.path(), &before, reference)?;
        if indices.contains(&index) {
            return Err(refused(format!("Cell {index} is named twice.")));
        }
        indices.push(index);
    }
    let ids: Vec<String> = indices.iter().map(|index| before.cells()[*index].id().to_owned()).collect();
    let expected = ids.iter().map(|id| session.expected(opened.path(), id, None)).collect();
    let applied = context.session.edit(&opened, vec![Edit::Delete { ids }], expected).await;
    if applied.is_err() {
        let is_stale = |index: &&usize| {
            let cell = &before.cells()[**index];
            session
                .expected(opened.path(), cell.id(), None)
                .revision
                .is_some_and(|known| known != cell.revision())
        };
        // The refusal shows the first one that changed.
        let shown: Vec<usize> = indices.iter().filter(is_stale).take(1).copied().collect();
        session.saw(opened.path(), &before, shown);
    }
    let Applied { notebook: after, saved } = applied?;
    let mut downwards = indices.clone();
    downwards.sort_unstable_by(|one, other| other.cmp(one));
    for index in downwards {
        session.removed(opened.path(), index);
    }
    let mut text = String::new();
    for index in indices {
        let cell = &before.cells()[index];
        text.push_str(&format!(
            "Cell {index} ({}) deleted successfully. id {}\n",
            cell.cell_type(),
            cell.id()
        ));
        if with_source {
            text.push_str(&format!("deleted cell source:\n{}\n---\n", cell.source()));
        }
    }
    let mut reply = Reply::new(session.workspace().settings().budget);
    text.push_str(&format!("{} has {} cells now; {saved}.", opened.path(), after.cells().len()));
    reply.say(&text);
    Ok(reply.into())
}
