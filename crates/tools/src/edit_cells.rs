//! `edit_cells`: edits of several cells at once, and renaming a name in all of them.

use std::collections::BTreeMap;
use std::time::Duration;

use calls::prelude::*;
use notebook::Notebook;
use place::Applied;
use render::quoted;
use runs::OpenNotebook;
use workspace::Session;

use super::execute_cell::{after, check_written};
use super::run_cells::Series;

mod edits;
pub(crate) mod plan;
mod renaming;
#[cfg(test)]
mod tests;

use edits::CellEdits;
use plan::Plan;

pub(crate) static TOOL: Tool = tool! {
    name: "edit_cells",
    title: "Edit several cells",
    description: "Edit several cells of a notebook at once, all or nothing; or rename a variable or function in all code cells. Returns one diff.",
    discovery: Discovery::FoundBy(
        "refactor, rename a name everywhere, change many notebook cells in one call",
    ),
    effect: Effect::Runs,
    groups: &[Group::Edit],
    permission: Permission::Write,
    combinations: &[
        Combination::Needs(&["timeout"], &["run_stale"]),
        Combination::Needs(&["rename"], &["rename_to"]),
        Combination::Needs(&["rename_to"], &["rename"]),
        Combination::NeedsOne(&["edits", "rename"]),
    ],
    shows: Shows::More(|asked| Box::pin(describe(asked))),
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

impl Arguments {
    fn plan(&self, session: &Session, opened: &OpenNotebook, notebook: &Notebook) -> Result<Plan, Error> {
        let renames = self.rename.as_deref().zip(self.rename_to.as_deref());
        Plan::of(&self.edits.0, renames, session, opened, notebook)
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    if arguments.run_stale {
        context.permit(&[Group::Run], Permission::Execute, "edit_cells with run_stale").await?;
    }
    let (session, opened) = (context.session, context.notebook(&arguments.notebook).await?);
    let before = opened.document().snapshot().await?;
    let plan = arguments.plan(session, &opened, &before)?;
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
    let diff = diff.trim_end_matches('\n');
    let more = plan.changed().next().map(|(index, _)| before.cells()[index].id());
    let more = more.map(|id| context.next_calls().read_cell(id, "")).unwrap_or_default();
    if !arguments.run_stale {
        let mut reply = context.reply();
        reply.note(&done);
        reply.quote(diff, more);
        reply.note_last(&newly_undefined(session, &opened, &before, &notebook));
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
    let diff =
        if has_room { quoted(diff) } else { format!("[The diff is left out: {more} shows a new source.]") };
    series.wait(format!("{done}\n{diff}").trim_end(), &waiting, context).await
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let Some((opened, notebook)) = asked.notebook().await? else { return Ok(()) };
    let (session, arguments) = (asked.session, asked.given.read::<Arguments>()?);
    let plan = arguments.plan(session, &opened, &notebook)?;
    let expected = plan.expected(session, &opened, &notebook)?;
    asked.question.line("It would change:");
    let diff = session.preview(&opened, &notebook, &plan.edits(&notebook), &expected)?;
    asked.question.source("changes", &diff);
    asked.show_cells(&notebook, plan.touched(session, &opened, &notebook, arguments.run_stale)?);
    Ok(())
}

fn with_notes(mut answer: Answer, notes: &[String]) -> Answer {
    if !notes.is_empty() {
        answer.begin_with(&notes.join("\n"));
    }
    answer
}
