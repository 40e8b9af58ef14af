//! `insert_cell`: a new cell.

use notebook::{CellRef, CellType, Edit, NewCell, Notebook};
use workspace::{Applied, Error, ErrorKind, OpenNotebook, SaveStatus};

use super::arguments::{Arguments, refused};
use super::cells::surroundings;
use super::context::{Context, Outcome};
use super::schema::Schema;
use super::{Effect, Tool};

const KINDS: [(&str, CellType); 3] =
    [("code", CellType::Code), ("markdown", CellType::Markdown), ("raw", CellType::Raw)];

pub(super) fn tool() -> Tool {
    Tool {
        name: "insert_cell",
        description: "Insert a cell before cell_index (-1: at the end) or after after_cell_id.",
        schema: Schema::new()
            .integer("cell_index", "")
            .text("after_cell_id", "")
            .choice("cell_type", &["code", "markdown", "raw"], None)
            .text("cell_source", "")
            .notebook()
            .require(&["cell_type", "cell_source"])
            .build(),
        effect: Effect::Adds,
    }
}

pub(super) async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    arguments.text("cell_type")?;
    let kind = arguments.choice("cell_type", &KINDS, CellType::Code)?;
    let source = arguments.text("cell_source")?;
    let opened = context.notebook(&arguments).await?;
    let inserted = insert(&arguments, context, &opened, kind.clone(), source).await?;
    let around = surroundings(context.session, &opened, &inserted.notebook, inserted.index);
    Ok(format!(
        "Cell inserted successfully at index {} ({kind})! id {} in {}; {}\n\n{around}",
        inserted.index,
        inserted.id,
        opened.path(),
        inserted.saved
    )
    .into())
}

/// A cell that has just been put in.
pub(super) struct Inserted {
    pub(super) id: String,
    pub(super) index: usize,
    pub(super) notebook: Notebook,
    pub(super) saved: SaveStatus,
}

/// Inserts a cell where `cell_index` or `after_cell_id` say; without either at the end.
pub(super) async fn insert(
    arguments: &Arguments,
    context: &Context<'_>,
    opened: &OpenNotebook,
    kind: CellType,
    source: String,
) -> Result<Inserted, Error> {
    let _turn = opened.arrange().await;
    let before = opened.document().snapshot().await?;
    let count = before.cells().len();
    let after = arguments.optional_text("after_cell_id")?;
    let mut expected = Vec::new();
    let index = match (arguments.integer("cell_index")?, after) {
        (Some(index), Some(_)) if index != -1 => {
            return Err(refused("Give cell_index or after_cell_id, not both.".to_owned()));
        }
        (_, Some(after)) => {
            let reference = CellRef::parse(&after);
            let index = context.session.find(opened.path(), &before, &reference)?;
            expected.push(workspace::Expected { id: before.cells()[index].id().to_owned(), revision: None });
            index + 1
        }
        (None | Some(-1), None) => count,
        (Some(index), None) => {
            usize::try_from(index).ok().filter(|index| *index <= count).ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    format!("Index {index} is outside valid range [-1, {count}]."),
                    "read_notebook lists the cells.",
                )
            })?
        }
    };
    let cell = NewCell::new(kind, source);
    let id = cell.id.clone();
    let edit = Edit::Insert { index, cell };
    let Applied { notebook, saved } = context.session.edit(opened, vec![edit], expected).await?;
    let index = notebook.cell(&id).map_or(index, |(index, _)| index);
    context.session.inserted(opened.path(), index);
    context.session.saw(opened.path(), &notebook, [index]);
    context.session.works_on(opened.path(), Some(&id));
    Ok(Inserted { id, index, notebook, saved })
}
