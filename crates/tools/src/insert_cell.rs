//! `insert_cell`: new cells, run at once if asked for.

use std::sync::Arc;

use notebook::{CellId, CellRef, CellType, Edit, NewCell, Notebook};
use place::{Applied, Expected, SaveStatus};
use render::Reply;
use runs::OpenNotebook;
use serde_json::json;

use super::execute_cell::{self, after, check_written};
use super::run_cells::Series;
use calls::arguments::choice::Choice as _;
use calls::arguments::names::{check_members, source_by_any_name};
use calls::prelude::*;

/// More ids are not named: they must not push out what the cells did.
const MAX_IDS: usize = 20;

pub(crate) static TOOL: Tool = tool! {
    name: "insert_cell",
    title: "Add cells",
    description: "Add a cell to a notebook, markdown or code, or several: before cell_index (-1: at the end) or after after_cell_id.",
    discovery: Discovery::FoundBy("add or write notebook cells, text, headings"),
    effect: Effect::Runs,
    groups: &[Group::Edit],
    permission: Permission::Write,
    combinations: &[Combination::Needs(&["timeout"], &["run"])],
    check: |arguments: &Arguments| {
        let is_code = match &arguments.cells {
            NewCells::One(cell_type, _) => *cell_type == CellType::Code,
            NewCells::List(cells) => cells.iter().any(|(cell_type, _)| *cell_type == CellType::Code),
        };
        if is_code || !arguments.run.run {
            return Ok(());
        }
        Err(refused("Only code cells run, and none of the new cells is a code cell."))
    },
};

arguments! {
    struct Arguments {
        position: Position,
        /// Instead of one cell; all or none, run until the first error
        cells: NewCells,
        run: RunArguments,
        preview: PreviewArgument,
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

/// Types and sources of new cells, in order.
type Contents = Vec<(CellType, String)>;

/// The new cells: one by `cell_type` and `cell_source`, or any number by `cells`.
enum NewCells {
    One(CellType, String),
    List(Contents),
}

impl Argument for NewCells {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        let members = || json!({ "cell_type": CellType::schema(), "cell_source": { "type": "string" } });
        schema.add("cell_type", members()["cell_type"].take(), "");
        schema.add("cell_source", members()["cell_source"].take(), "");
        let cell =
            json!({ "type": "object", "properties": members(), "required": ["cell_type", "cell_source"] });
        schema.add(name, json!({ "type": "array", "items": cell }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        if !given.has(name) {
            return Ok(Self::One(CellType::read(given, "cell_type")?, given.text("cell_source")?));
        }
        // A type alone is what a client fills in.
        if given.has("cell_source") {
            return Err(refused("Give cells, or cell_type and cell_source, not both."));
        }
        let cell = |mut cell: Given| {
            // As nbformat names the source, and other servers the type.
            cell.rename("type", "cell_type")?;
            source_by_any_name(&mut cell)?;
            check_members("A cell of cells", &cell, &["cell_type", "cell_source"])?;
            Ok((CellType::read(&cell, "cell_type")?, cell.text("cell_source")?))
        };
        let cells: Contents = given.objects(name)?.into_iter().map(cell).collect::<Result<_, Error>>()?;
        Ok(Self::List(cells))
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { position, cells, run, preview, notebook } = arguments;
    run.permit(context).await?;
    let (contents, is_list) = match cells {
        NewCells::One(cell_type, source) => (vec![(cell_type, source)], false),
        NewCells::List(cells) => (cells, true),
    };
    let first_type = contents[0].0.clone();
    let opened = context.notebook(&notebook).await?;
    if preview.preview {
        return previewed(&position, context, &opened, &contents, run.run).await;
    }
    let inserted = insert(position, context, &opened, contents).await?;
    let (path, saved) = (one_line(opened.path()), &inserted.saved);
    let (first, last) = (inserted.indices[0], inserted.indices[inserted.indices.len() - 1]);
    let done = if is_list {
        let ids = &inserted.ids;
        format!(
            "{} cell(s) inserted successfully at index {first} to {last}! ids {} in {path}; {saved}",
            ids.len(),
            named_ids(ids, || {
                context.next_calls().read_notebook(&format!("start_index={first}, limit={}", ids.len()))
            })
        )
    } else {
        let id = &inserted.ids[0];
        format!("Cell inserted successfully at index {first} ({first_type})! id {id} in {path}; {saved}")
    };
    if run.run {
        inserted.check_unchanged().map_err(|error| after(&done, error))?;
    }
    match run.run {
        true if is_list => run_all(context, &opened, &inserted, &done, &run.waiting).await,
        true => execute_cell::run(context, &opened, &inserted.notebook, first, &done, &run.waiting).await,
        false => {
            let around = surroundings(context.session, &opened, &inserted.notebook, first..=last);
            let mut reply = Reply::new(context.budget(&run.waiting.budget));
            reply.note(&format!("{done}\n"));
            reply.say_or(&around, context.next_calls().read_notebook(&format!("start_index={first}")));
            reply.note_last(&newly_undefined(context.session, &opened, &inserted.before, &inserted.notebook));
            Ok(reply.into())
        }
    }
}

/// The ids of new cells, or how to see them if they are many.
fn named_ids(ids: &[CellId], listed: impl Fn() -> String) -> String {
    match ids {
        [first, .., last] if ids.len() > MAX_IDS => format!("{first} … {last} ({} lists all)", listed()),
        _ => ids.join(", "),
    }
}

/// Runs the code cells among those that were inserted, until the first error.
async fn run_all(
    context: &Context<'_>,
    opened: &Arc<OpenNotebook>,
    inserted: &Inserted,
    done: &str,
    waiting: &WaitingArguments,
) -> Outcome {
    let notebook = &inserted.notebook;
    let is_code = |index: &usize| notebook.cells().get(*index).is_some_and(notebook::Cell::is_code);
    let cells = inserted.indices.iter().copied().filter(is_code).collect();
    let series = Series::start(context, opened, notebook, cells, true).map_err(|error| after(done, error))?;
    series.wait(done, waiting, context).await
}

/// Answers what new cells would change, and whether they would run.
pub(super) async fn previewed(
    position: &Position,
    context: &Context<'_>,
    opened: &OpenNotebook,
    contents: &Contents,
    runs: bool,
) -> Outcome {
    let before = opened.document().snapshot().await?;
    let Insertion { edits, expected, .. } = plan(position, context, opened, &before, contents)?;
    context.previewed(opened, &before, &edits, &expected, runs)
}

/// Cells that have just been inserted, one at least.
pub(super) struct Inserted {
    ids: Vec<CellId>,
    contents: Contents,
    before: Notebook,
    pub(super) indices: Vec<usize>,
    pub(super) notebook: Notebook,
    saved: SaveStatus,
}

impl Inserted {
    /// Fails if somebody else has already changed or moved one of the code cells.
    pub(super) fn check_unchanged(&self) -> Result<(), Error> {
        let mut code =
            self.indices.iter().zip(&self.contents).filter(|(_, (kind, _))| *kind == CellType::Code);
        code.try_for_each(|(index, (_, source))| check_written(&self.notebook, *index, source))
    }
}

/// How new cells are inserted.
struct Insertion {
    first: usize,
    ids: Vec<CellId>,
    edits: Vec<Edit>,
    expected: Vec<Expected>,
}

fn plan(
    position: &Position,
    context: &Context<'_>,
    opened: &OpenNotebook,
    before: &Notebook,
    contents: &Contents,
) -> Result<Insertion, Error> {
    let (first, expected) = position.resolve(context, opened, before)?;
    let cells: Vec<NewCell> =
        contents.iter().cloned().map(|(cell_type, source)| NewCell::new(cell_type, source)).collect();
    let ids = cells.iter().map(|cell| cell.id.clone()).collect();
    let edits = (first..).zip(cells).map(|(index, cell)| Edit::Insert { index, cell }).collect();
    Ok(Insertion { first, ids, edits, expected })
}

/// Inserts cells at `position`, all or none.
pub(super) async fn insert(
    position: Position,
    context: &Context<'_>,
    opened: &OpenNotebook,
    contents: Contents,
) -> Result<Inserted, Error> {
    let _turn = opened.arrange().await;
    let before = opened.document().snapshot().await?;
    let Insertion { first, ids, edits, expected } = plan(&position, context, opened, &before, &contents)?;
    let Applied { notebook, saved } = context.session.edit(opened, &before, edits, expected).await?;
    let index = |(planned, id)| notebook.cell(id).map_or(planned, |(index, _)| index);
    let indices = (first..).zip(&ids).map(index).collect();
    Ok(Inserted { ids, contents, before, indices, notebook, saved })
}

impl Position {
    /// The index of the new cell, and what must still be there when it is inserted.
    fn resolve(
        &self,
        context: &Context<'_>,
        opened: &OpenNotebook,
        before: &Notebook,
    ) -> Result<(usize, Vec<Expected>), Error> {
        let count = before.cells().len();
        match (self.cell_index, &self.after_cell_id) {
            (given, Some(after)) => {
                let index = context.session.find(opened.path(), before, &CellRef::parse(after))?;
                if let Some(given) =
                    given.filter(|given| *given != -1 && usize::try_from(*given) != Ok(index + 1))
                {
                    return Err(refused(format!(
                        "cell_index is {given}, and after_cell_id {after:?} means index {}: these are different \
                         positions.",
                        index + 1
                    )));
                }
                let expected = Expected::exists(&before.cells()[index]);
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

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::tests::given;

    fn contents(values: &Value) -> Result<Contents, String> {
        match given(values).read::<Arguments>().map_err(|error| error.cause)?.cells {
            NewCells::One(cell_type, source) => Ok(vec![(cell_type, source)]),
            NewCells::List(cells) => Ok(cells),
        }
    }

    #[test]
    fn many_ids_are_not_all_named() {
        let ids: Vec<CellId> = (0..150).map(|id| CellId::from(format!("id{id}"))).collect();
        let listed = || "read_notebook()".to_owned();
        assert_eq!(named_ids(&ids[..2], listed), "id0, id1");
        assert_eq!(named_ids(&ids, listed), "id0 … id149 (read_notebook() lists all)");
    }

    #[test]
    fn one_cell_or_a_list_is_given() {
        let one = contents(&json!({ "cell_type": "raw", "cell_source": "" })).unwrap();
        assert_eq!(one, [(CellType::Raw, String::new())]);
        let both = [(CellType::Markdown, "# T".to_owned()), (CellType::Code, "a\nb".to_owned())];
        let list = json!([
            { "cell_type": "markdown", "cell_source": "# T" },
            { "type": "code", "source": ["a\n", "b"] },
        ]);
        assert_eq!(contents(&json!({ "cells": list })).unwrap(), both);
        assert_eq!(contents(&json!({ "cells": list.to_string(), "cell_type": "" })).unwrap(), both);
        let filled = json!({ "cell_type": "raw", "cell_source": "x", "cells": "[]" });
        assert_eq!(contents(&filled).unwrap(), [(CellType::Raw, "x".to_owned())]);
        let filled = json!({ "cells": list, "cell_source": "", "cell_type": "code" });
        assert_eq!(contents(&filled).unwrap(), both);
    }

    #[test]
    fn anything_else_is_refused() {
        let cell = || json!({ "cell_type": "code", "cell_source": "x" });
        for (values, expected) in [
            (json!({ "cell_type": "code" }), "cell_source"),
            (json!({ "cell_source": "x" }), "cell_type"),
            (json!({ "cells": [cell()], "cell_source": "y" }), "not both"),
            (json!({ "cells": [] }), "cell_type"),
            (
                json!({ "cells": [{ "cell_type": "code", "cell_source": "x", "tag": "y" }] }),
                "no argument \"tag\"",
            ),
            (json!({ "cells": ["x"] }), "objects"),
            (json!({ "cells": [cell(), { "cell_type": "code" }] }), "cell_source"),
            (json!({ "cells": [cell(), { "cell_type": "heading", "cell_source": "x" }] }), "one of code"),
        ] {
            let cause = contents(&values).unwrap_err();
            assert!(cause.contains(expected), "{values}: {cause}");
        }
    }
}
