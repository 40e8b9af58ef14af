//! What a person does on the page. Everything calls what the tools and the commands call.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use calls::permissions::{Group, Permission, Policy};
use html::{Fragment, Library};
use notebook::{CellId, one_line};
use place::{Error, ErrorKind, NextStep, NotebookPath, RunId, RunState, progress};
use runs::OpenNotebook;
use serde::Deserialize;
use serde_json::{Value, json};
use verify::{VerifyOptions, Verifying};
use workspace::{OperationId, RunAction, Session, Since, UndoTarget, Undone};

use crate::cells::{Near, outputs_of, part_id};
use crate::charts::Charts;
use crate::hub::{Hub, Rights, Verification};
use crate::now::{prompt_digest, question_digest};
use crate::questions::{Answer, OpenQuestions};
use crate::words::button;

/// How long a cell may take that is verified, as with the tool.
const CELL_TIMEOUT: Duration = Duration::from_secs(600);
/// What made a change, in the record.
const COMMAND: &str = "cellbridge view";

/// One action. `notebook` is the path of the notebook that the page shows.
#[derive(Debug, Deserialize)]
#[serde(tag = "do", rename_all = "kebab-case")]
pub(crate) enum Action {
    /// The cells that the page shows are these.
    Look {
        page: u64,
        near: Vec<String>,
    },
    Interrupt {
        run: String,
    },
    Answer {
        run: String,
        line: String,
        /// The digest of the prompt that the person saw.
        #[serde(default)]
        shown: String,
    },
    /// Changes of an operation, in all cells or in one.
    Difference {
        notebook: String,
        operation: OperationId,
        cell: Option<String>,
    },
    /// What an undo would change.
    Preview(Undo),
    Undo(Undo),
    /// Runs the scripts of outputs with these digests, as the page shows them.
    Trust {
        notebook: String,
        shown: Vec<String>,
    },
    /// Takes that back.
    Distrust {
        notebook: String,
    },
    Accept(SeenQuestion),
    Decline(SeenQuestion),
    /// The part of the page where a part of the notebook's text is.
    Find {
        notebook: String,
        part: String,
    },
    /// What a verification does.
    AskVerify,
    /// Answered when it has ended.
    Verify {
        notebook: String,
    },
    /// The scripts of a library, by the id that a frame names.
    Library {
        notebook: String,
        library: String,
    },
}

/// A question, with the digest of what the person saw of it.
#[derive(Debug, Deserialize)]
pub(crate) struct SeenQuestion {
    question: u64,
    shown: String,
}

/// An undo of an operation, or of all since one.
#[derive(Debug, Deserialize)]
pub(crate) struct Undo {
    notebook: String,
    operation: OperationId,
    /// Only what it did to this cell.
    cell: Option<String>,
    /// Also all later ones.
    #[serde(default)]
    since: bool,
}

/// Does it. The answer has text for the person in `said`, or HTML for a dialogue in `html`.
pub(crate) async fn act(hub: &Arc<Hub>, action: Action) -> Result<Value, Error> {
    hub.rights.check(&action)?;
    match action {
        Action::Look { page, near } => {
            hub.shows(page, Near::Parts(near));
            Ok(json!({}))
        }
        Action::Interrupt { run } => {
            let run = RunId::from(&*run);
            let session = hub.session();
            if hub.is_verification(&run) {
                let workspace = session.workspace();
                workspace.runner().interrupt_run(&*workspace.journal().run(&run)?).await?;
            } else {
                let notebook = notebook_of(hub, &run);
                hub.machine.interrupt(&run).await?;
                record(&session, notebook, &run, RunAction::Interrupted, COMMAND).await;
            }
            Ok(json!({ "said": format!("Run {run} is being interrupted.") }))
        }
        Action::Answer { run, line, shown } => {
            let run = RunId::from(&*run);
            let notebook = notebook_of(hub, &run);
            let kernels = hub.kernels().await;
            let mut runs = kernels.iter().flat_map(|kernel| &kernel.runs);
            check_prompt(&run, runs.find(|seen| seen.id == run).map(|seen| &seen.state), &shown)?;
            match hub.questions().input_of(run.as_str()) {
                Some(open) => _ = hub.questions().answer(open.number, Answer::Line(line)),
                None => hub.machine.answer_input(&run, line).await?,
            }
            record(&hub.session(), notebook, &run, RunAction::AnsweredInput, COMMAND).await;
            Ok(json!({ "said": "The line was sent." }))
        }
        Action::Difference { .. } | Action::Preview(_) | Action::Undo(_) => {
            let session = hub.session();
            let open = async |path: String| session.notebook(Some(&path)).await;
            past(&session, action, COMMAND, open).await
        }
        Action::Accept(seen) => Ok(reply(hub.questions(), &seen, Answer::Accepted)),
        Action::Decline(seen) => Ok(reply(hub.questions(), &seen, Answer::Declined)),
        Action::Trust { notebook, shown } => {
            let now = hub.session().notebook(Some(&notebook)).await?.document().snapshot().await?;
            let (still, changed) = outputs_of(&now, shown);
            if still.is_empty() {
                let cause = "The outputs changed after you saw them: none of their scripts run.";
                return Err(Error::new(ErrorKind::Conflict, cause, "Look at the new outputs."));
            }
            hub.note(&NotebookPath::from(notebook), |noted| noted.trusted.extend(still));
            let rest = if changed { " Other outputs changed after you saw them." } else { "" };
            Ok(json!({ "said": format!("Scripts of these outputs run, in frames without a network.{rest}") }))
        }
        Action::Distrust { notebook } => {
            hub.note(&NotebookPath::from(notebook), |noted| noted.trusted.clear());
            Ok(json!({ "said": "Only scripts of outputs run that runs of this machine made." }))
        }
        Action::Find { notebook, part } => find(&hub.session(), &notebook, &part).await,
        Action::AskVerify => Ok(json!({ "html": include_str!("page/verify.html") })),
        Action::Verify { notebook } => verify(hub, &notebook).await,
        Action::Library { notebook, library } => Ok(sources(&hub.charts, notebook, &library)),
    }
}

/// Shows or undoes past operations of a notebook, which `open` opens. `by` is what the person has used.
pub(crate) async fn past(
    session: &Session,
    action: Action,
    by: &str,
    open: impl AsyncFnOnce(String) -> Result<Arc<OpenNotebook>, Error>,
) -> Result<Value, Error> {
    match action {
        Action::Difference { notebook, operation, cell } => {
            difference(session, &*open(notebook).await?, operation, cell).await
        }
        Action::Preview(undo) => preview(session, &*open(undo.notebook.clone()).await?, &undo).await,
        Action::Undo(undo) => take_back(session, &*open(undo.notebook.clone()).await?, &undo, by).await,
        _ => Err(Error::new(ErrorKind::Unsupported, "A view cannot do that.", "Use the live page.")),
    }
}

/// The scripts of a library, if they were read for the notebook.
pub(crate) fn sources(charts: &Charts, notebook: String, library: &str) -> Value {
    let libraries = charts.known(&NotebookPath::from(notebook)).unwrap_or_default();
    let found = Library::ALL.into_iter().find(|known| known.element() == library);
    json!({ "sources": found.and_then(|library| libraries.get(library)) })
}

/// The person's answer to a question that asks for consent, if it is the one that they saw.
pub(crate) fn reply(questions: &OpenQuestions, seen: &SeenQuestion, answer: Answer) -> Value {
    let accepts = answer == Answer::Accepted;
    let is_seen = questions
        .all()
        .iter()
        .any(|open| open.number == seen.question && question_digest(&open.question) == seen.shown);
    let said = match (is_seen && questions.answer(seen.question, answer), accepts) {
        (true, true) => "Accepted.",
        (true, false) => "Declined: the call does nothing.",
        (false, _) => "The question is closed: it was answered elsewhere, or its call has ended.",
    };
    json!({ "said": said })
}

/// Fails if a run waits for another line than the person saw.
pub(crate) fn check_prompt(run: &RunId, state: Option<&RunState>, shown: &str) -> Result<(), Error> {
    match state {
        Some(RunState::WaitingForInput { prompt, is_password })
            if prompt_digest(run, prompt, *is_password) != shown =>
        {
            let cause = "Nothing was sent: the code has asked something else since.";
            Err(Error::new(ErrorKind::InvalidArgument, cause, "Read the new question."))
        }
        _ => Ok(()),
    }
}

/// Position on the page of a part of a notebook's text: the part of its cell, and the element there.
async fn find(session: &Session, notebook: &str, part: &str) -> Result<Value, Error> {
    let notebook = session.notebook(Some(notebook)).await?.document().snapshot().await?;
    let Some((index, id)) = html::find(&notebook, part) else {
        let cause = format!("The notebook has no part {part:?}.");
        return Err(Error::new(ErrorKind::NotFound, cause, "Search for its heading."));
    };
    Ok(json!({ "part": part_id(notebook.cells()[index].id()), "element": id }))
}

impl Rights {
    /// The rights of a page whose token agents have, too: what the operator of its server offers without asking, and its user may do.
    pub fn offered(policy: &Policy, may: impl Fn(Permission) -> bool) -> Self {
        let offers = |group, permission| {
            policy.asked.is_empty() && may(permission) && policy.offers("", &[group], permission)
        };
        let edits = offers(Group::Edit, Permission::Write);
        Self { edits, runs: offers(Group::Run, Permission::Execute), sees_elsewhere: false }
    }

    /// Fails if the page may not do it.
    pub(crate) fn check(self, action: &Action) -> Result<(), Error> {
        let is_allowed = match action {
            Action::Interrupt { .. } | Action::Answer { .. } | Action::Verify { .. } => self.runs,
            Action::Undo(_) => self.edits,
            // They show something, say what the person saw of it, or run scripts of outputs in the person's own browser.
            Action::Look { .. }
            | Action::Difference { .. }
            | Action::Preview(_)
            | Action::Trust { .. }
            | Action::Distrust { .. }
            | Action::Accept(_)
            | Action::Decline(_)
            | Action::Find { .. }
            | Action::AskVerify
            | Action::Library { .. } => true,
        };
        if is_allowed {
            return Ok(());
        }
        let cause = "The operator of this server does not offer that.";
        Err(Error::new(ErrorKind::Forbidden, cause, "Ask the operator of this server."))
    }
}

/// Verifies a notebook, whether the page waits for that or not.
async fn verify(hub: &Arc<Hub>, notebook: &str) -> Result<Value, Error> {
    let session = hub.session();
    let opened = session.notebook(Some(notebook)).await?;
    let path = opened.path().clone();
    if let Some(Verification::Running { .. }) = hub.noted(&path).verification {
        let cause = "The notebook is being verified.";
        return Err(Error::new(ErrorKind::InvalidArgument, cause, "Wait for the verdict, or interrupt it."));
    }
    let notebook = opened.document().snapshot().await?;
    let options = VerifyOptions {
        cells: None,
        cell_timeout: CELL_TIMEOUT,
        apply: false,
        in_copy: false,
        notebook: Some(notebook.clone()),
    };
    let (sender, said) = tokio::sync::oneshot::channel();
    let hub = hub.clone();
    place::spawn(async move {
        let verifying = async {
            let Verifying { run, answer } = session.verify(opened, options)?;
            let (run, since, progress) = (run.id().clone(), SystemTime::now(), "starting".to_owned());
            let running = Verification::Running { run, since, progress };
            hub.note(&path, |noted| noted.verification = Some(running));
            let cause = "The verification was interrupted.";
            answer.await.map_err(|_| Error::new(ErrorKind::Unavailable, cause, NextStep::TryAgain))?
        };
        let verifying = session.acting(COMMAND, verifying);
        let report = |line| {
            hub.note(&path, |noted| {
                if let Some(Verification::Running { progress, .. }) = &mut noted.verification {
                    *progress = line;
                }
            });
        };
        let ended = progress::follow(verifying, report).await;
        let (sentence, verdict) = match ended {
            Ok(verification) => (verification.sentence(), Ok((notebook, verification.text()))),
            Err(error) => (error.cause.clone(), Err(error.to_string())),
        };
        let ended = Verification::Ended { at: SystemTime::now(), verdict };
        hub.note(&path, |noted| noted.verification = Some(ended));
        let _ = sender.send(sentence);
    });
    Ok(json!({ "said": said.await.unwrap_or_default() }))
}

/// The notebook of a run, which may be forgotten when it has ended.
fn notebook_of(hub: &Hub, run: &RunId) -> Option<NotebookPath> {
    let seen = hub.seen().borrow().clone();
    let mut runs = seen.kernels.iter().flat_map(|kernel| &kernel.runs);
    runs.find(|seen| seen.id == *run)?.notebook.clone()
}

/// Records it in the history of the run's notebook, if the run has one. `by` is what the person has used.
pub(crate) async fn record(
    session: &Session,
    notebook: Option<NotebookPath>,
    run: &RunId,
    action: RunAction,
    by: &str,
) {
    let Some(path) = notebook else { return };
    let recording = async {
        if let Ok(opened) = session.notebook(Some(&path)).await {
            session.acted(&opened, run, action);
        }
    };
    session.acting(by, recording).await;
}

/// Shows what an operation changed, at all or in a cell.
async fn difference(
    session: &Session,
    opened: &OpenNotebook,
    operation: OperationId,
    cell: Option<String>,
) -> Result<Value, Error> {
    let only = cell.as_deref().map(CellId::from);
    let (operation, diff) = session.operation_diff(opened, operation, only).await?;
    let mut html = Fragment::default();
    heading(&format!("{} {}", operation.name(), one_line(&workspace::summary(&operation))), &mut html);
    html.append(html::difference(&diff));
    html.raw("<p class=\"v-actions\">");
    if !operation.is_empty() {
        let (label, action) = match &cell {
            Some(_) => ("Take back", "undo"),
            None => ("Undo…", "preview"),
        };
        let number = operation.id.number().to_string();
        let cell = cell.iter().map(|cell| ("data-cell", cell.as_str()));
        let data: Vec<_> = [("data-operation", &*number)].into_iter().chain(cell).collect();
        button(action, label, &data, &mut html);
        html.raw(" ");
    }
    button("close", "Close", &[], &mut html);
    html.raw("</p>");
    Ok(json!({ "html": html.as_str() }))
}

impl Undo {
    async fn run(&self, session: &Session, opened: &OpenNotebook, is_preview: bool) -> Result<Undone, Error> {
        let target = if self.since {
            UndoTarget::Since(Since::Operation(self.operation))
        } else {
            UndoTarget::Operation(self.operation)
        };
        let only = self.cell.as_deref().map(|cell| [CellId::from(cell)]);
        session.undo(opened, &target, only.as_ref().map(|only| &only[..]), is_preview).await
    }
}

/// Shows what an undo would change.
async fn preview(session: &Session, opened: &OpenNotebook, undo: &Undo) -> Result<Value, Error> {
    let undone = undo.run(session, opened, true).await?;
    let mut html = Fragment::default();
    let names: Vec<_> = undone.operations.iter().map(workspace::Operation::name).collect();
    heading(&format!("Undo {}", names.join(", ")), &mut html);
    html.append(html::difference(&undone.diff));
    if !undone.without_outputs.is_empty() {
        let cells: Vec<_> = undone.without_outputs.iter().map(ToString::to_string).collect();
        html.raw("<p>Outputs that are not restored: ").text(&one_line(&cells.join(", "))).raw("</p>");
    }
    let number = undo.operation.number().to_string();
    let cell = undo.cell.iter().map(|cell| ("data-cell", cell.as_str()));
    let since = undo.since.then_some(("data-since-operation", "true"));
    let data: Vec<_> = [("data-operation", &*number)].into_iter().chain(cell).chain(since).collect();
    button("undo", "Undo", &data, html.raw("<p class=\"v-actions\">"));
    button("close", "Cancel", &[], html.raw(" "));
    html.raw("</p>");
    Ok(json!({ "html": html.as_str() }))
}

/// Undoes. `by` is what the person has used.
async fn take_back(session: &Session, opened: &OpenNotebook, undo: &Undo, by: &str) -> Result<Value, Error> {
    let undone = session.acting(by, undo.run(session, opened, false)).await?;
    let names: Vec<_> = undone.operations.iter().map(workspace::Operation::name).collect();
    let Some(applied) = undone.applied else {
        return Err(Error::new(ErrorKind::Internal, "Nothing was undone.", NextStep::ReportBug));
    };
    Ok(json!({ "said": format!("Undone: {} ({}).", names.join(", "), applied.saved) }))
}

fn heading(text: &str, html: &mut Fragment) {
    html.raw("<h2 id=\"dialog-title\">").text(text).raw("</h2>");
}
