//! `edit_cells`: edits of several cells at once, and renaming a name in all of them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::time::Duration;

use names::{Renamed, RenamedCell, rename};
use notebook::{Cell, CellRef, Edit, Notebook, one_line};
use place::{Applied, Error, ErrorKind, Expected};
use runs::OpenNotebook;
use serde_json::json;
use workspace::Session;

use super::edit_cell_source::{replaced, same_text};
use super::execute_cell::{after, check_written};
use super::run_cells::Series;
use calls::answer::{Answer, Outcome};
use calls::arguments::declare::{Argument, InputSchema, Schema, arguments};
use calls::arguments::given::{Given, refused};
use calls::arguments::names::{check_members, source_by_any_name};
use calls::arguments::parameters::{CellArguments, NamedCell, NotebookArgument, PreviewArgument};
use calls::context::Context;
use calls::permissions::{Group, Permission};
use calls::preview::Asked;
use calls::replies::cell_text::{cell_states, label, newly_undefined, ranges};
use calls::tool::{Availability, Discovery, Effect, Shows, Tool};
use calls::waiting::WaitingArguments;

const NOTHING_CHANGED: &str = "Nothing was changed.";

pub(crate) static TOOL: Tool = Tool {
    name: "edit_cells",
    title: "Edit several cells",
    description: "Edit several cells of a notebook at once, all or nothing; or rename a variable or function in all code cells. Answers one diff; one undo takes all back.",
    discovery: Discovery::FoundBy(
        "refactor, rename a name everywhere, change many notebook cells in one call",
    ),
    effect: Effect::Runs,
    groups: &[Group::Edit],
    permission: Permission::Write,
    availability: Availability::Always,
    schema: InputSchema::of::<Arguments>(),
    shows: Shows::More(|asked| Box::pin(describe(asked))),
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        /// cell_source replaces all of a cell, old_string (once in it, or replace_all) a part
        edits: CellEdits,
        /// A name in the code cells
        rename: Option<String>,
        rename_to: Option<String>,
        /// Run these cells, and those stale now
        run_stale: bool = false,
        timeout: Option<Duration> = 0,
        preview: PreviewArgument,
        notebook: NotebookArgument,
    }
}

/// One edit of one cell.
#[derive(Debug)]
struct CellEdit {
    cell: NamedCell,
    change: Change,
}

#[derive(Debug)]
enum Change {
    Source(String),
    Part { old: String, new: String, all: bool },
}

/// Several of them.
struct CellEdits(Vec<CellEdit>);

impl Argument for CellEdits {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        let text = || json!({ "type": "string" });
        let edit = json!({ "type": "object", "properties": {
            "cell_index": { "type": "integer" },
            "cell_id": text(),
            "cell_source": text(),
            "old_string": text(),
            "new_string": text(),
            "replace_all": { "type": "boolean" },
        } });
        schema.add(name, json!({ "type": "array", "items": edit }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let edits = given.objects(name)?.into_iter().enumerate();
        let edits = edits.map(|(number, edit)| CellEdit::read(edit).map_err(|error| in_edit(number, error)));
        edits.collect::<Result<_, _>>().map(Self)
    }
}

impl CellEdit {
    fn read(mut edit: Given) -> Result<Self, Error> {
        source_by_any_name(&mut edit)?;
        edit.rename("index", "cell_index")?;
        edit.rename("id", "cell_id")?;
        let members = ["cell_index", "cell_id", "cell_source", "old_string", "new_string", "replace_all"];
        check_members("An edit", &edit, &members)?;
        let cell = edit.read::<CellArguments>()?.named()?;
        let change = match (edit.has("old_string"), edit.value("cell_source")) {
            (true, Some(source)) if source.as_str() != Some("") => {
                return Err(refused("Give cell_source, or old_string and new_string, not both."));
            }
            (true, _) => {
                let (old, new) = (edit.text("old_string")?, edit.text("new_string")?);
                if old == new {
                    return Err(same_text());
                }
                Change::Part { old, new, all: edit.flag("replace_all")?.unwrap_or_default() }
            }
            (false, _) => Change::Source(edit.text("cell_source")?),
        };
        Ok(Self { cell, change })
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    if arguments.run_stale {
        context.permit(&[Group::Run], Permission::Execute, "edit_cells with run_stale").await?;
    }
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let before = opened.document().snapshot().await?;
    let plan = Plan::of(&arguments, session, &opened, &before)?;
    let edits = plan.edits(&before);
    let touched = plan.touched(session, &opened, &before, arguments.run_stale)?;
    context.consent.check_shown(touched.iter().map(|index| &before.cells()[*index]))?;
    let expected = plan.expected(session, &opened, &before)?;
    if arguments.preview.preview {
        let mut previewed =
            with_notes(context.previewed(&opened, &before, &edits, &expected, false)?, &plan.notes);
        if arguments.run_stale {
            previewed.end_with(&plan.would_run(session, &opened, &before)?);
        }
        return Ok(previewed);
    }
    let diff = session.preview(&opened, &before, &edits, &expected)?;
    let Applied { notebook, saved } = session.edit(&opened, &before, edits, expected).await?;
    let cells: Vec<_> = plan.changed().map(|(index, _)| index.to_string()).collect();
    let path = one_line(opened.path());
    let done = match cells.len() {
        0 => format!("No changes: the cells in {path} already have these sources."),
        count => {
            format!("{count} cell(s) edited successfully! Cells {} in {path}; {saved}", cells.join(", "))
        }
    };
    let done = [done].into_iter().chain(plan.notes.iter().cloned()).collect::<Vec<_>>().join("\n");
    let diff =
        if diff.is_empty() { diff } else { format!("\n\n```diff\n{}\n```", diff.trim_end_matches('\n')) };
    let more = plan.changed().next().map(|(index, _)| before.cells()[index].id());
    let more = more.map(|id| format!("read_cell(cell_id=\"{}\")", one_line(id))).unwrap_or_default();
    if !arguments.run_stale {
        let mut reply = context.reply();
        reply.say_or(&format!("{done}{diff}"), more);
        if let Some(line) = newly_undefined(session, &opened, &before, &notebook) {
            reply.note_last(&line);
        }
        return Ok(reply.into());
    }
    let cells = plan.made_stale(session, &opened, &before, &notebook);
    let written: BTreeMap<_, _> = plan
        .changed()
        .filter_map(|(index, source)| Some((notebook.cell(before.cells()[index].id())?.0, source)))
        .collect();
    for index in &cells {
        match written.get(index) {
            Some(source) => check_written(&notebook, *index, source),
            None => context.consent.check_shown([&notebook.cells()[*index]]),
        }
        .map_err(|error| after(&done, error))?;
    }
    if cells.is_empty() {
        return Ok(format!("{done}\nNo code cell became stale; nothing was run.").into());
    }
    let series =
        Series::start(context, &opened, &notebook, cells, true).map_err(|error| after(&done, error))?;
    let waiting = WaitingArguments::with_timeout(arguments.timeout);
    // What the cells show is worth more of the reply than what the agent has just written.
    let has_room = diff.chars().count() <= context.budget(&waiting.budget).characters / 3;
    let diff = if has_room { diff } else { format!("\n[The diff is left out: {more} shows a new source.]") };
    series.wait(&format!("{done}{diff}"), &waiting, context).await
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Some((opened, notebook)) = asked.notebook().await? else { return Ok(()) };
    let (session, arguments) = (asked.session, asked.given.read::<Arguments>()?);
    let plan = Plan::of(&arguments, session, &opened, &notebook)?;
    let expected = plan.expected(session, &opened, &notebook)?;
    asked.question.line("It would change:");
    let diff = session.preview(&opened, &notebook, &plan.edits(&notebook), &expected)?;
    asked.question.source("changes", &diff);
    asked.show_cells(&notebook, plan.touched(session, &opened, &notebook, arguments.run_stale)?);
    Ok(())
}

/// New sources, by the index of the cell.
struct Plan {
    sources: BTreeMap<usize, String>,
    /// The cells whose new source is another, by index.
    is_changed: Vec<usize>,
    notes: Vec<String>,
}

impl Plan {
    fn of(
        arguments: &Arguments,
        session: &Session,
        opened: &OpenNotebook,
        notebook: &Notebook,
    ) -> Result<Self, Error> {
        let renames = match (&arguments.rename, &arguments.rename_to) {
            (Some(old), Some(new)) => Some((old, new)),
            (None, None) if arguments.edits.0.is_empty() => {
                return Err(refused("edit_cells needs edits, or rename and rename_to."));
            }
            (None, None) => None,
            (Some(_), None) => return Err(refused("rename needs rename_to.")),
            (None, Some(_)) => return Err(refused("rename_to needs rename.")),
        };
        let mut sources = BTreeMap::new();
        for (number, CellEdit { cell, change }) in arguments.edits.0.iter().enumerate() {
            let target = |cell: &CellRef| session.target(opened.path(), notebook, cell);
            let index = cell.index(target).map_err(|error| in_edit(number, error))?;
            if matches!(change, Change::Source(_)) && sources.contains_key(&index) {
                let place = label(index, &notebook.cells()[index]);
                let cause =
                    format!("An earlier edit changes {place}, and cell_source would replace that edit.");
                return Err(in_edit(number, invalid(cause)));
            }
            let source =
                sources.entry(index).or_insert_with(|| notebook.cells()[index].source().into_owned());
            *source = match change {
                Change::Source(new) => new.clone(),
                Change::Part { old, new, all } => {
                    let place = label(index, &notebook.cells()[index]);
                    let edited = replaced(source, old, new, *all);
                    edited.map_err(|error| {
                        in_edit(number, Error { cause: format!("{place}: {}", error.cause), ..error })
                    })?
                }
            };
        }
        let mut notes = Vec::new();
        if let Some((old, new)) = renames {
            check_language(opened, notebook)?;
            notes = rename_in(notebook, &mut sources, old, new)?;
        }
        let is_changed =
            sources.iter().filter(|(index, new)| notebook.cells()[**index].source() != new.as_str());
        let is_changed = is_changed.map(|(index, _)| *index).collect();
        Ok(Self { sources, is_changed, notes })
    }

    /// The cells that change, with their new sources.
    fn changed(&self) -> impl Iterator<Item = (usize, &String)> {
        self.sources
            .iter()
            .map(|(index, source)| (*index, source))
            .filter(|(index, _)| self.is_changed.contains(index))
    }

    fn edits(&self, before: &Notebook) -> Vec<Edit> {
        let edit = |(index, source): (usize, &String)| Edit::SetSource {
            id: before.cells()[index].id().clone(),
            source: source.clone(),
        };
        self.changed().map(edit).collect()
    }

    /// The cells that change, and those that would run because of that.
    fn touched(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
        runs: bool,
    ) -> Result<Vec<usize>, Error> {
        let changed = self.changed().map(|(index, _)| index);
        if !runs {
            return Ok(changed.collect());
        }
        let after = self.after(before)?;
        let touched: BTreeSet<_> = changed.chain(self.made_stale(session, opened, before, &after)).collect();
        Ok(touched.into_iter().collect())
    }

    fn after(&self, before: &Notebook) -> Result<Notebook, Error> {
        let mut after = before.clone();
        for edit in self.edits(before) {
            after.apply(&edit).map_err(|error| invalid(format!("The edits cannot be made: {error}.")))?;
        }
        Ok(after)
    }

    /// A line with the cells that would run.
    fn would_run(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
    ) -> Result<String, Error> {
        let cells = self.made_stale(session, opened, before, &self.after(before)?);
        Ok(if cells.is_empty() {
            "No code cell would become stale; nothing would run.".to_owned()
        } else {
            format!("Would run afterwards, with new outputs: cells {}.", ranges(&cells))
        })
    }

    /// The cells of `after` to run so that nothing is stale because of the edits. What was stale before stays so, unless one of
    /// these needs it.
    fn made_stale(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
        after: &Notebook,
    ) -> Vec<usize> {
        let edited: HashSet<_> = self.changed().map(|(index, _)| before.cells()[index].id()).collect();
        let states = cell_states(session, opened, before);
        let were_stale = states.stale_cells();
        let is_wanted = |cell: &Cell| edited.contains(&cell.id()) || !were_stale.contains(cell.id());
        let wanted =
            after.cells().iter().enumerate().filter(|(_, cell)| is_wanted(cell)).map(|(index, _)| index);
        session.workspace().cells_to_run(opened, after, wanted, true)
    }

    /// What the cells must still be. Fails if the agent was shown other sources.
    fn expected(
        &self,
        session: &Session,
        opened: &OpenNotebook,
        before: &Notebook,
    ) -> Result<Vec<Expected>, Error> {
        let expected = |index: usize| {
            let cell = &before.cells()[index];
            let mut seen = session.expected(opened.path(), cell.id(), None);
            // The new sources are made from these revisions, and must not replace others.
            seen.revision.get_or_insert_with(|| cell.revision().to_owned());
            if let Err(error) = seen.check(before) {
                session.saw(opened.path(), before, [index]);
                return Err(error);
            }
            Ok(seen)
        };
        self.changed().map(|(index, _)| expected(index)).collect()
    }
}

/// Renames a name in the code cells; returns what to say about it.
fn rename_in(
    notebook: &Notebook,
    sources: &mut BTreeMap<usize, String>,
    old: &str,
    new: &str,
) -> Result<Vec<String>, Error> {
    let code = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
    let code: Vec<(usize, String)> = code
        .map(|(index, cell)| {
            (index, sources.get(&index).cloned().unwrap_or_else(|| cell.source().into_owned()))
        })
        .collect();
    let cells: Vec<(usize, &str)> = code.iter().map(|(index, source)| (*index, source.as_str())).collect();
    let Renamed { cells } = rename(&cells, old.trim(), new.trim())
        .map_err(|error| invalid(format!("{old} cannot be renamed: {error}.")))?;
    if let Some((cell, why)) = cells.iter().find_map(|cell| Some((cell, cell.unread.as_ref()?))) {
        return Err(invalid(format!("Cell {} has {old} and cannot be read ({why}).", cell.index)));
    }
    let count: usize = cells.iter().map(|cell| cell.count).sum();
    let mut notes = vec![format!("{old} was renamed to {new} in {count} place(s).")];
    notes.extend(remaining(&cells, old));
    sources.extend(cells.into_iter().filter(|cell| cell.count > 0).map(|cell| (cell.index, cell.source)));
    Ok(notes)
}

/// Where the word stays.
fn remaining(cells: &[RenamedCell], old: &str) -> Vec<String> {
    let places = |lines: &dyn Fn(&RenamedCell) -> Option<String>| {
        cells.iter().filter_map(lines).collect::<Vec<_>>().join("; ")
    };
    let locals = places(&|cell| (cell.locals > 0).then(|| format!("cell {}", cell.index)));
    let mentions = places(&|cell| {
        let lines: Vec<_> = cell.mentions.iter().map(ToString::to_string).collect();
        (!lines.is_empty()).then(|| format!("cell {}, line {}", cell.index, lines.join(", ")))
    });
    let notes = [
        (locals, format!("{old} stays in functions that have a local variable of that name")),
        (mentions, format!("{old} stays in strings and comments")),
    ];
    notes
        .into_iter()
        .filter(|(places, _)| !places.is_empty())
        .map(|(places, what)| format!("{what}: {places}."))
        .collect()
}

/// Fails unless the notebook's code is Python.
fn check_language(opened: &OpenNotebook, notebook: &Notebook) -> Result<(), Error> {
    let language =
        opened.kernel().map(|kernel| kernel.description().language).or_else(|| notebook.language());
    match language {
        Some(language) if !language.is_empty() && language != "python" => {
            Err(refused(format!("rename reads Python, and {} is a notebook of {language}.", opened.path())))
        }
        _ => Ok(()),
    }
}

fn with_notes(mut answer: Answer, notes: &[String]) -> Answer {
    if !notes.is_empty() {
        answer.begin_with(&notes.join("\n"));
    }
    answer
}

fn invalid(cause: String) -> Error {
    Error::new(ErrorKind::InvalidArgument, cause, NOTHING_CHANGED)
}

/// The error of one edit among several, which are counted from 0.
fn in_edit(number: usize, error: Error) -> Error {
    Error { cause: format!("edits[{number}]: {}", error.cause), ..error }
}

#[cfg(test)]
mod tests {
    use notebook::{CellType, NewCell};
    use serde_json::Value;

    use super::*;
    use crate::tests::given;

    fn edits(values: &Value) -> Result<Vec<CellEdit>, String> {
        given(&json!({ "edits": values }))
            .read::<Arguments>()
            .map(|it| it.edits.0)
            .map_err(|error| error.cause)
    }

    #[test]
    fn an_edit_replaces_a_source_or_a_part_of_it() {
        let read = edits(&json!([
            { "cell_index": 1, "cell_source": "" },
            { "id": "ab", "old_string": "x", "new_string": "", "cell_source": "" },
        ]))
        .unwrap();
        assert!(matches!(&read[0].change, Change::Source(source) if source.is_empty()));
        assert!(
            matches!(&read[1].change, Change::Part { old, new, all: false } if old == "x" && new.is_empty())
        );
        assert_eq!(read[1].cell.index(|cell| Ok(usize::from(*cell == CellRef::Id("ab".into())))).unwrap(), 1);
    }

    #[test]
    fn what_is_wrong_with_an_edit_names_it() {
        for (wrong, expected) in [
            (json!({ "cell_source": "x" }), "cell_index or cell_id is needed"),
            (json!({ "cell_index": 0 }), "needs cell_source"),
            (json!({ "cell_index": 0, "old_string": "x" }), "new_string"),
            (json!({ "cell_index": 0, "old_string": "x", "new_string": "x" }), "the same"),
            (
                json!({ "cell_index": 0, "old_string": "x", "new_string": "y", "cell_source": "z" }),
                "not both",
            ),
            (json!({ "cell_index": 0, "new_source": "x" }), "no argument \"new_source\""),
            (
                json!({ "cell_index": 0, "find": "x", "replacement": "y" }),
                "no argument \"find\"; did you mean \"old_string\"? An edit has no argument \"replacement\"; did you \
                 mean \"new_string\"?",
            ),
        ] {
            let cause = edits(&json!([{ "cell_index": 0, "cell_source": "x" }, wrong])).unwrap_err();
            assert!(cause.starts_with("edits[1]: ") && cause.contains(expected), "{wrong}: {cause}");
        }
    }

    #[test]
    fn a_name_is_renamed_after_the_edits() {
        let mut notebook = Notebook::new();
        for (index, source) in ["a = 1", "b = a # a", "print(b)"].into_iter().enumerate() {
            notebook.apply(&Edit::Insert { index, cell: NewCell::new(CellType::Code, source) }).unwrap();
        }
        let mut sources = BTreeMap::from([(2, "print(a, b)".to_owned())]);
        let notes = rename_in(&notebook, &mut sources, "a", "total").unwrap();
        assert_eq!(
            sources.into_iter().collect::<Vec<_>>(),
            [(0, "total = 1".to_owned()), (1, "b = total # a".into()), (2, "print(total, b)".into())]
        );
        assert_eq!(
            notes,
            ["a was renamed to total in 3 place(s).", "a stays in strings and comments: cell 1, line 1."]
        );
        let refused = rename_in(&notebook, &mut BTreeMap::new(), "a", "b").unwrap_err().to_string();
        assert!(refused.contains("already a name in") && refused.ends_with(NOTHING_CHANGED), "{refused}");
    }
}
