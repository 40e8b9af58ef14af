//! What a tool gets besides its arguments.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use notebook::{CellId, Edit, Notebook, one_line};
use place::{Error, Expected, Progress, Report};
use render::{Budget, Reply};
use runs::{OpenNotebook, Run};
use serde_json::value::RawValue;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace::Session;

use crate::answer::{Answer, Outcome};
use crate::arguments::given::Given;
use crate::arguments::parameters::{BudgetArguments, NotebookArgument};
use crate::arguments::{combinations, names, older_names};
use crate::call_order::Turn;
use crate::consent::{Consent, Preview};
use crate::permissions::{Group, Permission};
use crate::preview::preview;
use crate::question::Person;
use crate::replies::cell_text::{first_line, label};
use crate::tool::Tool;

/// One call of a tool.
pub struct Context<'a> {
    pub session: &'a Session,
    /// Its place among the calls of the session.
    pub turn: &'a Turn,
    /// Where progress goes; it is dropped while this is full.
    pub reports: mpsc::Sender<Report>,
    pub wants_progress: bool,
    /// How many steps were reported.
    pub steps: AtomicU32,
    /// Cancelled when the agent cancels the call, not when it only disconnects.
    pub cancelled: CancellationToken,
    /// Whether the session is this call alone: the next call has another.
    pub is_stateless: bool,
    /// Whether the call goes on as a task if it takes long, so that nobody waits for it.
    pub may_be_task: bool,
    /// The person behind the agent, where the agent can ask.
    pub person: Option<&'a dyn Person>,
    pub called: Called<'a>,
    /// What the call may do.
    pub consent: Consent<'a>,
    /// The notebook that the call is about, once that is known.
    pub opened: OnceLock<Arc<OpenNotebook>>,
}

/// What the agent called.
pub struct Called<'a> {
    pub tool: &'static Tool,
    /// The name that the agent used.
    pub name: &'a str,
    /// The arguments, by their names of today.
    pub given: Given,
}

impl<'a> Called<'a> {
    /// Reads the params of a `tools/call`.
    pub fn read(tool: &'static Tool, name: &'a str, params: &RawValue) -> Result<Self, Error> {
        let mut given = Given::from_params(tool.name, params)?;
        older_names::adapt(name, &mut given)?;
        names::settle(tool.name, &tool.schema, tool.only_reads(), &mut given)?;
        given.unpack(tool.schema.parameters());
        combinations::check(tool.name, tool.combinations, &tool.schema, &given)?;
        Ok(Self { tool, name, given })
    }
}

/// The calls that a reply names to show the rest of what it shows.
#[derive(Clone)]
pub struct NextCalls {
    /// The notebook, as one more argument.
    notebook: String,
}

impl NextCalls {
    /// The argument that names the notebook, after a comma, if the call has named it.
    pub(crate) fn notebook(&self) -> &str {
        &self.notebook
    }

    /// Shows a cell, with other arguments: `, offset=20`.
    pub fn read_cell(&self, id: &CellId, others: &str) -> String {
        format!("read_cell(cell_id=\"{}\"{others}{})", one_line(id), self.notebook)
    }

    pub fn read_notebook(&self, arguments: &str) -> String {
        format!("read_notebook({arguments}{})", self.notebook)
    }
}

/// The cells of the notebook that edits change or delete.
fn edited<'e>(notebook: &Notebook, edits: &'e [Edit]) -> Vec<&'e CellId> {
    let ids = edits.iter().flat_map(Edit::cells);
    let ids: BTreeSet<_> = ids.filter(|id| notebook.cell(id).is_some()).collect();
    ids.into_iter().collect()
}

impl Context<'_> {
    /// Fails if the call may not do `what`, which belongs to all of these groups: the tool, or something that it can do.
    /// Asks the person first if they must be asked. Nothing may have been done before.
    pub async fn permit(&self, groups: &[Group], permission: Permission, what: &str) -> Result<(), Error> {
        self.consent.permit(groups, permission, what, self.preview()).await
    }

    /// Fails unless the person accepts a copy to a server that the operator has not named, if they are asked about anything.
    pub async fn permit_copy(&self, to: &str) -> Result<(), Error> {
        // A path that means nothing is refused later.
        let Ok(target) = self.session.locate(&to.into()).await else { return Ok(()) };
        if self.session.workspace().places().first().iter().any(|place| Arc::ptr_eq(place, &target.place)) {
            return Ok(());
        }
        let what = format!("{} to {}", self.called.tool.name, target.place.description());
        self.permit_elsewhere(&what).await
    }

    /// Fails unless the call may run code too, if a file at `path` is executed by a later start.
    pub async fn permit_executed_later(&self, path: &str, why: Option<&str>) -> Result<(), Error> {
        let Some(why) = why else { return Ok(()) };
        let what = format!("{} to {} ({why})", self.called.tool.name, one_line(path));
        self.permit(&[Group::Files, Group::Run], Permission::Execute, &what).await
    }

    /// Fails unless the person accepts `what`, which leads to a server that the operator has not named, if they are asked about
    /// anything.
    pub async fn permit_elsewhere(&self, what: &str) -> Result<(), Error> {
        self.consent.permit_elsewhere(what, self.preview()).await
    }

    /// What the person is shown of the call.
    pub async fn preview(&self) -> Result<Preview, Error> {
        preview(self.called.tool, self.called.given.clone(), self.session).await
    }

    /// The reply ends with what is stale in this notebook, if the call changes anything.
    pub fn is_about(&self, opened: &Arc<OpenNotebook>) {
        let _ = self.opened.set(opened.clone());
    }

    /// The notebook that the arguments name.
    pub async fn notebook(&self, argument: &NotebookArgument) -> Result<Arc<OpenNotebook>, Error> {
        let opened = self.session.notebook(argument.notebook_name.as_deref()).await?;
        self.consent.check_notebook(opened.path())?;
        if self.consent.may(&[Group::Run], Permission::Execute) {
            self.session.take_running_kernel(&opened).await;
        }
        self.is_about(&opened);
        Ok(opened)
    }

    /// The same with its cells as they are now. To open it, it is read, and then not a second time.
    pub async fn notebook_and_cells(
        &self,
        argument: &NotebookArgument,
    ) -> Result<(Arc<OpenNotebook>, Notebook), Error> {
        let began = Instant::now();
        let opened = self.notebook(argument).await?;
        let notebook = opened.document().snapshot_since(began).await?;
        // The connection over which it was known may have ended, and others may run its cells.
        self.session.workspace().look_at_kernel(&opened).await;
        Ok((opened, notebook))
    }

    /// Waits a short while for runs that this session sent before, in the same turn of the model, for which `concerns` holds.
    /// Returns a clause about those that go on, with a space before it.
    pub async fn after_earlier_runs(
        &self,
        concerns: impl Fn(&Run) -> bool,
        what: impl Fn(&str) -> String,
    ) -> String {
        let runs = self.turn.after_earlier_runs(concerns).await;
        let ids: Vec<_> = runs.iter().map(|run| run.id().to_string()).collect();
        if ids.is_empty() { String::new() } else { format!(" {}", what(&ids.join(", "))) }
    }

    /// The budget of the arguments, or else of the server's settings.
    pub fn budget(&self, arguments: &BudgetArguments) -> Budget {
        let settings = self.session.workspace().settings().budget;
        let images = arguments.max_images.unwrap_or(settings.images);
        match arguments.max_characters.filter(|characters| *characters > 0) {
            Some(characters) => Budget::new(characters.max(Budget::MIN_CHARACTERS), images).asked_for(),
            None => Budget { images, ..settings },
        }
    }

    /// A reply that is no output of code, in the budget of the call.
    pub fn reply(&self) -> Reply {
        Reply::new(self.own_budget())
    }

    /// The characters of such a reply.
    pub fn characters(&self) -> usize {
        self.own_budget().characters.max(Budget::MIN_CHARACTERS)
    }

    fn own_budget(&self) -> Budget {
        let max_characters = self.called.given.count("max_characters").ok().flatten();
        self.budget(&BudgetArguments { max_characters, max_images: None })
    }

    /// The argument with which this call shows such a text as a whole, or else the call that shows these cells.
    pub fn more_of(&self, text: &str, cells: &[&CellId]) -> String {
        if self.called.tool.schema.takes("max_characters") {
            // What stands around it has room, too.
            return format!("max_characters={}", (text.chars().count() / 1000 + 2) * 1000);
        }
        match cells {
            [] => String::new(),
            [cell] => self.next_calls().read_cell(cell, ""),
            _ => self.next_calls().read_notebook("include_outputs=true"),
        }
    }

    /// Further calls on the notebook that this call has named.
    pub fn next_calls(&self) -> NextCalls {
        let notebook_name = self.called.given.optional_text("notebook_name").ok().flatten();
        NextCalls { notebook: NotebookArgument { notebook_name }.as_arguments() }
    }

    /// Answers what edits would change, and whether their cells would run afterwards, and touches nothing. Fails as the edits
    /// would.
    pub fn previewed(
        &self,
        opened: &OpenNotebook,
        before: &Notebook,
        edits: &[Edit],
        expected: &[Expected],
        runs: bool,
    ) -> Outcome {
        let diff = self.session.preview(opened, before, edits, expected)?;
        let inserts = edits.iter().any(|edit| matches!(edit, Edit::Insert { .. }));
        let ids = if inserts { "; new cells will have other ids" } else { "" };
        let mut reply = self.reply();
        let path = one_line(opened.path());
        if diff.is_empty() {
            reply.note(&format!("Would change nothing in {path}."));
        } else {
            reply.note(&format!("Would change, in {path} (nothing was changed{ids}):"));
            reply.quote(&diff, self.more_of(&diff, &edited(before, edits)));
        }
        if runs {
            reply.note_last("Would run afterwards, with new outputs.");
        }
        Ok(reply.into())
    }

    /// Answers which cells would run, after `heading`, and touches nothing.
    pub fn previewed_run(
        &self,
        heading: &str,
        opened: &OpenNotebook,
        notebook: &Notebook,
        cells: &[usize],
    ) -> Answer {
        let mut reply = self.reply();
        if !heading.is_empty() {
            reply.note(heading);
        }
        let kernel = if opened.kernel().is_none() { ", after a kernel has started" } else { "" };
        reply.note(&format!("Would run, in {}{kernel} (nothing was run):", one_line(opened.path())));
        let mut text = String::new();
        for index in cells {
            let cell = &notebook.cells()[*index];
            let outputs = match cell.output_count() {
                0 => "no outputs yet".to_owned(),
                1 => "replaces 1 output".to_owned(),
                count => format!("replaces {count} outputs"),
            };
            text.push_str(&format!("{}, {outputs}: {}\n", label(*index, cell), first_line(cell)));
        }
        reply.say_or(&text, self.next_calls().read_notebook("limit=0"));
        reply.into()
    }

    /// Reports progress to the agent: one more step, whatever it is.
    pub fn report_progress(&self, message: String) {
        if self.wants_progress {
            let step = self.steps.fetch_add(1, Ordering::Relaxed) + 1;
            let progress = Progress { progress: f64::from(step), total: None, message: Some(message) };
            let _ = self.reports.try_send(Report::Progress(progress));
        }
    }
}
