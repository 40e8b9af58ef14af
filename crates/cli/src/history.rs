//! `cellbridge history`, `diff` and `undo`: what agents changed in a notebook, for the person.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context as _;
use chrono::{DateTime, Local, NaiveDate, NaiveTime};
use notebook::{CellId, one_line};
use runs::OpenNotebook;
use workspace::{Operation, OperationId, Session, Since, UndoTarget, Undone, summary};

use crate::args::{DiffSince, History, Places, Undo};
use crate::command_session::{self, Named};
use crate::pager::show;
use crate::process::{history_folder, process_env};
use terminal::say;

pub(crate) async fn history(options: &History) -> anyhow::Result<()> {
    let (session, opened) = open(&options.path, &options.places).await?;
    if let Some(id) = &options.id {
        let (operation, diff) = session.operation_diff(&opened, operation_id(id)?, None).await?;
        return show(&format!("{}\n{}", line(&operation), diff.trim_end()), &options.path);
    }
    let all = session.history(&opened, None).await?;
    if all.is_empty() {
        return say("Nothing is recorded for this notebook.");
    }
    let lines = all.iter().rev().map(|past| {
        let undone = if past.is_undone { " (undone)" } else { "" };
        let changed = if past.is_changed_since { " (changed since by somebody else)" } else { "" };
        format!("{}{undone}{changed}", line(&past.operation))
    });
    show(&lines.collect::<Vec<_>>().join("\n"), &options.path)
}

pub(crate) async fn diff(options: &DiffSince) -> anyhow::Result<()> {
    let (session, opened) = open(&options.path, &options.places).await?;
    let since = options.since.as_deref().map(since);
    show(session.difference(&opened, since.as_ref()).await?.trim_end(), &options.path)
}

pub(crate) async fn undo(options: &Undo) -> anyhow::Result<()> {
    let (session, opened) = open(&options.path, &options.places).await?;
    let target = match (&options.id, &options.since) {
        (Some(id), _) => UndoTarget::Operation(operation_id(id)?),
        (None, Some(text)) => UndoTarget::Since(since(text)),
        (None, None) => UndoTarget::LastOfAll(options.last),
    };
    let only: Vec<CellId> = options.only.iter().map(|id| CellId::from(id.as_str())).collect();
    let only = (!only.is_empty()).then_some(&only[..]);
    let undone =
        session.acting("cellbridge undo", session.undo(&opened, &target, only, options.preview)).await?;
    let Undone { operations, diff, without_outputs, applied, .. } = undone;
    let mut lines = vec![if applied.is_some() { "Undone:" } else { "Would undo:" }.to_owned()];
    lines.extend(operations.iter().map(line));
    lines.push(diff.trim_end().to_owned());
    if !without_outputs.is_empty() {
        lines.push(format!("Outputs not restored: {}.", without_outputs.join(", ")));
    }
    if applied.is_some() {
        session.workspace().shutdown().await;
    }
    show(&lines.join("\n"), &options.path)
}

/// The notebook, as a session of the person sees it.
async fn open(path: &Path, places: &Places) -> anyhow::Result<(Session, Arc<OpenNotebook>)> {
    let folder =
        history_folder(&process_env()).context("there is no folder for the history: HOME is not set")?;
    command_session::opened(&Named::existing(path)?, places, Some(folder)).await
}

/// The number in `o12`.
fn operation_id(text: &str) -> anyhow::Result<OperationId> {
    let number = text.strip_prefix('o').unwrap_or(text).parse();
    number
        .map(OperationId::new)
        .with_context(|| format!("{text:?} is not the id of an operation, such as o12"))
}

/// An operation, a time on the person's clock, or the name of a checkpoint.
fn since(text: &str) -> Since {
    let number = text.strip_prefix('o').and_then(|digits| digits.parse().ok());
    let time = || u64::try_from(time(text, Local::now().date_naive())?.timestamp_millis()).ok();
    match (number, number.is_none().then(time).flatten()) {
        (Some(id), _) => Since::Operation(OperationId::new(id)),
        (None, Some(time)) => Since::Time(time),
        (None, None) => Since::Checkpoint(text.to_owned()),
    }
}

/// A date, a time of today, or both.
fn time(text: &str, today: NaiveDate) -> Option<DateTime<Local>> {
    let text = text.trim().replacen('T', " ", 1);
    let clock =
        |text: &str| ["%H:%M:%S", "%H:%M"].iter().find_map(|form| NaiveTime::parse_from_str(text, form).ok());
    let date = |text: &str| NaiveDate::parse_from_str(text, "%Y-%m-%d").ok();
    let moment = match text.split_once(' ') {
        Some((day, time)) => date(day)?.and_time(clock(time.trim())?),
        None => date(&text)
            .map(|day| day.and_time(NaiveTime::MIN))
            .or_else(|| Some(today.and_time(clock(&text)?)))?,
    };
    moment.and_local_timezone(Local).earliest()
}

fn line(operation: &Operation) -> String {
    let seconds = i64::try_from(operation.time / 1000).unwrap_or(i64::MAX);
    let time = DateTime::from_timestamp(seconds, 0).unwrap_or_default().with_timezone(&Local);
    let time = time.format("%Y-%m-%d %H:%M:%S");
    let by = [&operation.agent, &operation.tool].map(String::as_str).join(" ");
    one_line(&format!("{} {time} {}: {}", operation.name(), by.trim(), summary(operation))).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_a_time_of_today_or_both() {
        let today = NaiveDate::from_ymd_opt(2026, 11, 24).unwrap_or_default();
        for (text, expected) in [
            ("2026-11-20", Some("2026-11-20 00:00:00")),
            ("2026-11-20 14:05", Some("2026-11-20 14:05:00")),
            ("2026-11-20T14:05:09", Some("2026-11-20 14:05:09")),
            ("14:05", Some("2026-11-24 14:05:00")),
            ("tidy", None),
            ("2026-11-20 tidy", None),
        ] {
            let found = time(text, today).map(|time| time.format("%Y-%m-%d %H:%M:%S").to_string());
            assert_eq!(found.as_deref(), expected, "{text}");
        }
    }
}
