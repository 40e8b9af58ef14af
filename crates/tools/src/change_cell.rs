//! `change_cell`: changes what a cell is rather than its source; splits, merges and duplicates cells.

mod arrangement;
mod properties;

use notebook::{Cell, CellType, Edit, HiddenParts};
use place::Applied;
use render::{Reply, without_data_uris};
use runs::OpenNotebook;
use serde_json::{Map, Value};

use super::clear_cell_output::detach_late_outputs;
use super::edit_cells::plan::expected;
use arrangement::Arrangement;
use calls::prelude::*;
use properties::{NOTHING_HIDDEN, Properties};

pub(crate) static TOOL: Tool = tool! {
    name: "change_cell",
    title: "Change a cell",
    description: "Change a notebook cell's type (code, markdown), tags, metadata; hide source or output; split, duplicate, or merge it with the next.",
    discovery: Discovery::FoundBy("convert, split, merge, copy, tag, fold notebook cells"),
    effect: Effect::Changes,
    groups: &[Group::Edit],
    // A merge makes one cell of two.
    shows: Shows::More(|asked| {
        Box::pin(async {
            let merges = asked.given.flag("merge_with_next")? == Some(true);
            asked.show_named_cell(&TOOL.schema, usize::from(merges)).await
        })
    }),
};

arguments! {
    struct Arguments {
        cell: NamedCell,
        change: Change,
        /// Revision it must have
        if_revision: Option<String>,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

arguments! {
    struct Wanted {
        cell_type: Option<CellType>,
        /// Replace its tags; null in metadata removes them
        tags: Option<Vec<String>>,
        /// Merged; null removes a key
        metadata: Option<Map<String, Value>>,
        collapsed: Option<HiddenParts>,
        /// First line of the second cell, from 2
        split_at: Option<usize>,
        merge_with_next: bool = false,
        duplicate: bool = false,
    }
}

/// The action of the call, and the type that the cell must have already, which clients fill in beside an arrangement.
struct Change {
    action: Action,
    present: Option<CellType>,
}

impl Argument for Change {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        Wanted::describe(schema, name, description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let Wanted { cell_type, tags, metadata, collapsed, split_at, merge_with_next, duplicate } =
            Wanted::read(given, name)?;
        let arrangements = [
            split_at.filter(|line| *line > 0).map(|line| Arrangement::Split { line }),
            merge_with_next.then_some(Arrangement::Merge),
            duplicate.then_some(Arrangement::Duplicate),
        ];
        let is_arranged = arrangements.iter().any(Option::is_some);
        let (present, cell_type) = if is_arranged { (cell_type, None) } else { (None, cell_type) };
        let mut properties = Properties { cell_type, tags, metadata, collapsed: None };
        properties.check()?;
        let is_all = !properties.is_any() && !is_arranged;
        // Beside other changes "none" is what a client fills in; alone it shows what is hidden.
        properties.collapsed = collapsed.filter(|hidden| is_all || *hidden != NOTHING_HIDDEN);
        let set = properties.is_any().then_some(Action::Set(properties));
        let mut actions = set.into_iter().chain(arrangements.into_iter().flatten().map(Action::Arrange));
        match (actions.next(), actions.next()) {
            (Some(action), None) => Ok(Self { action, present }),
            (None, _) => Err(refused(
                "change_cell needs cell_type, tags, metadata, collapsed, split_at, merge_with_next or duplicate.",
            )),
            (Some(_), Some(_)) => Err(one_change()),
        }
    }
}

enum Action {
    Set(Properties),
    Arrange(Arrangement),
}

impl Action {
    /// Whether it may remove outputs: a cell of another type has none, and a merged cell loses them.
    fn removes_outputs(&self) -> bool {
        match self {
            Self::Set(properties) => properties.cell_type.is_some(),
            Self::Arrange(arrangement) => matches!(arrangement, Arrangement::Merge),
        }
    }
}

fn one_change() -> Error {
    refused("split_at, merge_with_next and duplicate allow no other change in the same call.")
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let Arguments { cell, change: Change { action, present }, if_revision, preview, notebook } = arguments;
    if action.removes_outputs() {
        context.permit(&[Group::Edit, Group::Delete], Permission::Write, "change_cell").await?;
    }
    let (session, opened) = (context.session, context.notebook(&notebook).await?);
    let path = opened.path();
    let _turn = opened.arrange().await;
    let before = opened.document().snapshot().await?;
    let index = cell.index(|cell| session.target(path, &before, cell))?;
    if present.is_some_and(|present| present != *before.cells()[index].cell_type()) {
        return Err(one_change());
    }
    let merges = matches!(action, Action::Arrange(Arrangement::Merge));
    let touched = index..(index + 1 + usize::from(merges)).min(before.cells().len());
    context.consent.check_shown(&before.cells()[touched.clone()])?;
    let claimed = |at| if_revision.clone().filter(|_| at == index);
    let expected = touched.map(|at| expected(session, &opened, &before, at, claimed(at)));
    let expected = expected.collect::<Result<Vec<_>, _>>()?;
    let edits = match &action {
        Action::Set(properties) => properties.edits(index, &before.cells()[index])?,
        Action::Arrange(arrangement) => arrangement.edits(&before, index)?,
    };
    if preview.preview {
        return context.previewed(&opened, &before, &edits, &expected, false);
    }
    for edit in &edits {
        if let Edit::SetType { id, .. } | Edit::SetOutputs { id, .. } = edit {
            detach_late_outputs(session, path, id);
        }
    }
    let applied = session.edit(&opened, &before, edits, expected).await?;
    let old = &before.cells()[index];
    let mut reply = match action {
        Action::Set(_) => describe_set(context, &opened, old, &applied),
        Action::Arrange(arrangement) => describe_arranged(context, &opened, old, &applied, &arrangement),
    };
    reply.note_last(&newly_undefined(session, &opened, &before, &applied.notebook));
    Ok(reply.into())
}

fn describe_set(context: &Context<'_>, opened: &OpenNotebook, old: &Cell, applied: &Applied) -> Reply {
    let path = one_line(opened.path());
    let mut reply = context.reply();
    let Some((index, cell)) = applied.notebook.cell(old.id()) else {
        reply.note(&format!("The cell was deleted from {path}."));
        return reply;
    };
    let (what, cell_type, revision) = (label(index, cell), cell.cell_type(), cell.revision());
    let done = if revision == old.revision() {
        format!("No changes: {what} in {path} already has these values, revision {revision}.")
    } else {
        format!(
            "Cell {index} changed successfully! {what} in {path}: {cell_type}, revision {revision}; {}",
            applied.saved
        )
    };
    reply.note(&done);
    let more = context.next_calls().read_cell(cell.id(), "");
    reply.say_or(&format!("[metadata] {}", without_data_uris(cell.metadata().as_str())), more);
    reply
}

fn describe_arranged(
    context: &Context<'_>,
    opened: &OpenNotebook,
    old: &Cell,
    applied: &Applied,
    arrangement: &Arrangement,
) -> Reply {
    let Applied { notebook, saved } = applied;
    let index = notebook.cell(old.id()).map_or(0, |(index, _)| index);
    let done = arrangement.done(notebook, index);
    let around = surroundings(context.session, opened, notebook, index..=index);
    let mut reply = context.reply();
    reply.note(&format!("{done} {}; {saved}\n", one_line(opened.path())));
    reply.say_or(
        &around,
        context.next_calls().read_notebook(&format!("start_index={}", index.saturating_sub(3))),
    );
    reply
}
