//! `delete_cell`: deletes cells, all or none.

use std::collections::BTreeSet;

use notebook::{CellRef, Edit, Notebook};
use runs::OpenNotebook;
use workspace::Session;

use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "delete_cell",
    title: "Delete cells",
    description: "Delete (remove) notebook cells, all or none. Refused if one changed since you saw it.",
    discovery: Discovery::FoundBy("remove notebook cells"),
    effect: Effect::Changes,
    groups: &[Group::Edit, Group::Delete],
    combinations: &[Combination::NeedsOne(&["cell_indices", "cell_ids_to_delete"])],
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        cell_indices: Vec<usize>,
        cell_ids_to_delete: Vec<String>,
        /// Answer the deleted sources
        include_source: bool = true,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Some((opened, notebook)) = asked.notebook().await? else { return Ok(()) };
    let cells = targets(&asked.given.read()?, asked.session, &opened, &notebook)?;
    asked.show_cells(&notebook, cells);
    Ok(())
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let before = opened.document().snapshot().await?;
    let mut indices = targets(&arguments, session, &opened, &before)?;
    context.consent.check_shown(indices.iter().map(|index| &before.cells()[*index]))?;
    let ids: Vec<_> = indices.iter().map(|index| before.cells()[*index].id().clone()).collect();
    let expected: Vec<_> = ids.iter().map(|id| session.expected(opened.path(), id, None)).collect();
    let edits = vec![Edit::Delete { ids }];
    if arguments.preview.preview {
        return context.previewed(&opened, &before, &edits, &expected, false);
    }
    let applied = session.edit(&opened, &before, edits, expected).await?;
    let mut reply = context.reply();
    if let [_, _, ..] = &indices[..]
        && !arguments.include_source
    {
        let sorted: Vec<_> = indices.iter().copied().collect::<BTreeSet<_>>().into_iter().collect();
        reply.note(&format!("Cells {} deleted successfully ({} cells).", ranges(&sorted), sorted.len()));
        indices.clear();
    }
    for index in indices {
        let cell = &before.cells()[index];
        let (cell_type, id) = (cell.cell_type(), cell.id());
        reply.note(&format!("Cell {index} ({cell_type}) deleted successfully. id {}", one_line(id)));
        if arguments.include_source {
            reply.note("deleted cell source:");
            reply.source(&cell.source(), |_| "undo(preview=true)".to_owned());
            reply.note("---");
        }
    }
    let count = applied.notebook.cells().len();
    reply.note_last(&newly_undefined(session, &opened, &before, &applied.notebook));
    reply.note_last(&format!("{} has {count} cells now; {}.", one_line(opened.path()), applied.saved));
    Ok(reply.into())
}

/// The indices of the cells that are meant.
fn targets(
    arguments: &Arguments,
    session: &Session,
    opened: &OpenNotebook,
    notebook: &Notebook,
) -> Result<Vec<usize>, Error> {
    let all = |references: &mut dyn Iterator<Item = CellRef>| {
        let mut indices = Vec::new();
        for reference in references {
            let index = session.target(opened.path(), notebook, &reference)?;
            if indices.contains(&index) {
                return Err(refused(format!("Cell {index} is named twice.")));
            }
            indices.push(index);
        }
        Ok(indices)
    };
    let by_index = all(&mut arguments.cell_indices.iter().copied().map(CellRef::Index))?;
    let by_id = all(&mut arguments.cell_ids_to_delete.iter().map(|id| CellRef::parse(id)))?;
    match (by_index.is_empty(), by_id.is_empty()) {
        (_, true) => Ok(by_index),
        (true, false) => Ok(by_id),
        (false, false) => {
            let sorted = |indices: &[usize]| indices.iter().copied().collect::<BTreeSet<_>>();
            if sorted(&by_index) == sorted(&by_id) {
                return Ok(by_index);
            }
            Err(refused("The indices and the ids name different cells. Give only one of the two."))
        }
    }
}
