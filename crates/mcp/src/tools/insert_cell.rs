//! `insert_cell`: a new cell.

use notebook::{CellId, CellRef, CellType, Edit, NewCell, Notebook};
use workspace::{Applied, Error, Expected, OpenNotebook, SaveStatus, ErrorKind};

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::cell_text::surroundings;
use super::shared::context::Context;
use super::shared::given::refused;
use super::shared::parameters::NotebookArgument;
use super::{Availability, Effect, Tool};
use crate::permissions::Permission;

pub(super) const TOOL: Tool = Tool {
    name: "insert_cell",
    description: "Insert a cell before cell_index (-1: at the end) or after after_cell_id.",
    effect: Effect::Adds,
    permission: Permission::Write,
    availability: Availability::Always,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        position: Position,
        cell_type: CellType,
        cell_source: String,
        notebook: NotebookArgument,
    }
}

arguments! {
    /// Where a new cell goes; without either at the end.
    pub(super) struct Position {
        cell_index: Option<i64>,
        after_cell_id: Option<String>,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { position, cell_type, cell_source, notebook } = arguments;
    let opened = context.notebook(&notebook).await?;
    let inserted = insert(position, context, &opened, cell_type.clone(), cell_source).await?;
    let around = surroundings(context.session, &opened, &inserted.notebook, inserted.index);
    Ok(format!(
        "Cell inserted successfully at index {} ({cell_type})! id {} in {}; {}\n\n{around}",
        inserted.index,
        inserted.id,
        opened.path(),
        inserted.saved
    )
    .into())
}

/// A cell that has just been inserted.
pub(super) struct Inserted {
    pub(super) id: CellId,
    pub(super) index: usize,
    pub(super) notebook: Notebook,
    pub(super) saved: SaveStatus,
}

/// Inserts a cell at `position`.
pub(super) async fn insert(
    position: Position,
    context: &Context<'_>,
    opened: &OpenNotebook,
    cell_type: CellType,
    source: String,
) -> Result<Inserted, Error> {
    let _turn = opened.arrange().await;
    let before = opened.document().snapshot().await?;
    let (index, expected) = position.resolve(context, opened, &before)?;
    let cell = NewCell::new(cell_type, source);
    let id = cell.id.clone();
    let edits = vec![Edit::Insert { index, cell }];
    let Applied { notebook, saved } = context.session.edit(opened, &before, edits, expected).await?;
    let index = notebook.cell(&id).map_or(index, |(index, _)| index);
    Ok(Inserted { id, index, notebook, saved })
}

impl Position {
    /// The index of the new cell, and what must still be there when it is inserted.
    fn resolve(
        self,
        context: &Context<'_>,
        opened: &OpenNotebook,
        before: &Notebook,
    ) -> Result<(usize, Vec<Expected>), Error> {
        let count = before.cells().len();
        match (self.cell_index, self.after_cell_id) {
            (Some(index), Some(_)) if index != -1 => {
                Err(refused("Give cell_index or after_cell_id, not both."))
            }
            (_, Some(after)) => {
                let index = context.session.find(opened.path(), before, &CellRef::parse(&after))?;
                let expected = Expected { id: before.cells()[index].id().clone(), revision: None };
                Ok((index + 1, vec![expected]))
            }
            (None | Some(-1), None) => Ok((count, Vec::new())),
            (Some(index), None) => match usize::try_from(index) {
                Ok(index) if index <= count => Ok((index, Vec::new())),
                _ => Err(Error::new(
                    ErrorKind::InvalidArgument,
                    format!("Index {index} is outside valid range [-1, {count}]."),
                    "read_notebook lists the cells.",
                )),
            },
        }
    }
}
