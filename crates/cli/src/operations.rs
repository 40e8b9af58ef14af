//! `cellbridge history`, `diff` and `undo`: what agents changed in a notebook, for the person.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Local};
use local::{Folder, ProcessEnv};
use workspace::{
    Mode, NotebookPath, OpenNotebook, Operation, Session, Settings, Since, UndoTarget, Undone, Workspace,
    summary,
};

use crate::args::{DiffSince, History, Undo};
use crate::install::say;

/// The folder in which the operations of notebooks are recorded.
pub(crate) fn folder(process_env: &ProcessEnv) -> Option<PathBuf> {
    Some(process_env.own_state_dir()?.join("history"))
}

/// A session of the person in this folder. Changes are recorded if there is a folder for their history.
pub(crate) fn person(place: Arc<Folder>, history: Option<PathBuf>) -> Session {
    let workspace = Workspace::new(place, Settings::default());
    if let Some(history) = history {
        workspace.keep_history(history);
    }
    let session = Session::new(workspace);
    session.introduce("person".to_owned());
    session
}

pub(crate) async fn history(options: &History) -> anyhow::Result<()> {
    let (session, opened) = open(&options.path).await?;
    if let Some(id) = &options.id {
        let (operation, diff) = session.operation_diff(&opened, operation_id(id)?).await?;
        say(&line(&operation))?;
        return say(diff.trim_end());
    }
    let all = session.history(&opened, None).await?;
    if all.is_empty() {
        return say("Nothing is recorded for this notebook.");
    }
    for past in all.iter().rev() {
        let undone = if past.is_undone { " (undone)" } else { "" };
        let changed = if past.is_changed_since { " (changed since by somebody else)" } else { "" };
        say(&format!("{}{undone}{changed}", line(&past.operation)))?;
    }
    Ok(())
}

pub(crate) async fn diff(options: &DiffSince) -> anyhow::Result<()> {
    let (session, opened) = open(&options.path).await?;
    say(session.difference(&opened, options.since.as_deref().map(since).as_ref()).await?.trim_end())
}

pub(crate) async fn undo(options: &Undo) -> anyhow::Result<()> {
    let (session, opened) = open(&options.path).await?;
    let target = match (&options.id, &options.since) {
        (Some(id), _) => UndoTarget::Operation(operation_id(id)?),
        (None, Some(text)) => UndoTarget::Since(since(text)),
        (None, None) => UndoTarget::LastOfAll(1),
    };
    let undone =
        session.acting("cellbridge undo", session.undo(&opened, &target, None, options.preview)).await?;
    let Undone { operations, diff, without_outputs, applied, .. } = undone;
    say(if applied.is_some() { "Undone:" } else { "Would undo:" })?;
    for operation in &operations {
        say(&line(operation))?;
    }
    say(diff.trim_end())?;
    if !without_outputs.is_empty() {
        say(&format!("Outputs that do not come back: those of {}.", without_outputs.join(", ")))?;
    }
    if applied.is_some() {
        session.workspace().shutdown().await;
    }
    Ok(())
}

/// The notebook, as a session of the person sees it.
async fn open(path: &Path) -> anyhow::Result<(Session, Arc<OpenNotebook>)> {
    let file = dunce::canonicalize(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    let root = file.parent().context("the notebook is in no folder")?.to_path_buf();
    let name = file.file_name().and_then(|name| name.to_str()).context("the path is not UTF-8")?;
    let process_env = ProcessEnv::inherited(std::env::vars_os(), std::env::home_dir(), &[]);
    let folder = folder(&process_env).context("there is no folder for the history: HOME is not set")?;
    let session = person(Folder::new(root, process_env, None), Some(folder));
    let opened = session.use_notebook("notebook", &NotebookPath::from(name), Mode::Connect).await?;
    Ok((session, opened))
}

/// The number in `o12`.
fn operation_id(text: &str) -> anyhow::Result<u64> {
    let number = text.strip_prefix('o').unwrap_or(text).parse();
    number.with_context(|| format!("{text:?} is not the id of an operation, such as o12"))
}

/// An operation, or the name of a checkpoint.
fn since(text: &str) -> Since {
    match text.strip_prefix('o').and_then(|digits| digits.parse().ok()) {
        Some(id) => Since::Operation(id),
        None => Since::Checkpoint(text.to_owned()),
    }
}

fn line(operation: &Operation) -> String {
    let seconds = i64::try_from(operation.time / 1000).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default().with_timezone(&Local);
    let time = time.format("%Y-%m-%d %H:%M:%S");
    let by = [&operation.agent, &operation.tool].map(String::as_str).join(" ");
    format!("{} {time} {}: {}", operation.name(), by.trim(), summary(operation))
}
