//! `cellbridge verify`: whether notebooks rerun from a fresh kernel with the same outputs.

mod junit;
mod report;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, bail};
use files::replace_file;
use notebook::Notebook;
use place::{Mode, progress};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use verify::{CellVerdict, Conclusion, MissingModule, Verdict, Verification, VerifyOptions};

use crate::args::Verify;
use crate::command_session::{self, Named, report_file};
use crate::endpoint::interruption;
use crate::process::{problem, process_env};
use crate::view;
use terminal::{Progress, note, say, say_json};

/// A notebook, and what came of it: a verification, or why it could not run.
type Verified = (PathBuf, Result<Ran, String>);

/// A verification, and the notebook after it.
struct Ran {
    verification: Verification,
    notebook: Notebook,
}

/// The exit status: the worst of all notebooks.
pub(crate) async fn run(options: &Verify) -> anyhow::Result<ExitCode> {
    let named: Vec<Named> = options.paths.iter().filter_map(|path| Named::existing(path).ok()).collect();
    let report = |file: &Option<PathBuf>, ending: &str| {
        file.as_deref().map(|file| report_file(file, &named, ending)).transpose()
    };
    let (html, junit) = (report(&options.html, ".html")?, report(&options.junit, ".xml")?);
    if let Some(html) = html.as_ref().filter(|_| html == junit) {
        bail!("--html and --junit name the same file, {}; name two files", html.display());
    }
    let mut all = Vec::new();
    let interruption = interruption();
    if let Some(first) = options.paths.first().filter(|_| options.open) {
        view::show(first).await;
    }
    for path in &options.paths {
        let ended = if interruption.is_cancelled() {
            Err(interrupted())
        } else {
            verify(path, options, &interruption).await
        };
        let verified: Verified = (path.clone(), ended.map_err(|error| problem(&error)));
        for line in verified.1.iter().flat_map(|ran| &ran.verification.introduction) {
            note(&format!("cellbridge: {}: {line}", terminal::path(path)));
        }
        if !options.json {
            say(&shown(&verified))?;
        }
        all.push(verified);
    }
    if options.json {
        let list: Vec<Value> = all.iter().map(to_json).collect();
        say_json(&list)?;
    }
    let made_from: Vec<&Path> = named.iter().filter_map(Named::file).collect();
    let write = |file: &PathBuf, report: String| {
        replace_file(file, report.as_bytes(), &made_from)
            .with_context(|| format!("{} cannot be written", file.display()))
    };
    junit.iter().try_for_each(|file| write(file, junit::report(&all)))?;
    html.iter().try_for_each(|file| write(file, report::page(&all)))?;
    Ok(ExitCode::from(all.iter().map(status).max().unwrap_or_default()))
}

fn interrupted() -> anyhow::Error {
    anyhow::anyhow!("it was interrupted")
}

/// Verifies one notebook, until it is interrupted. Its kernel has ended in any case.
async fn verify(path: &Path, options: &Verify, interruption: &CancellationToken) -> anyhow::Result<Ran> {
    let named = Named::existing(path)?;
    let history = options.recording.folder(&process_env());
    let (session, paths) = command_session::session(&[&named], &options.places, history)?;
    let bar = Progress::of_one(&path.display().to_string(), "{spinner} {prefix}: {msg} ({elapsed})");
    let verified = async {
        let opened = tokio::select! {
            opened = session.use_notebook("notebook", &paths[0], Mode::Connect) => opened?,
            () = interruption.cancelled() => return Err(interrupted()),
        };
        let verify = VerifyOptions {
            cells: None,
            cell_timeout: options.timeout,
            apply: options.apply,
            in_copy: options.copy,
            notebook: None,
        };
        let verifying = session.verify(opened.clone(), verify)?;
        tokio::select! {
            answer = verifying.answer => {
                let verification = answer.context("the verification ended without an answer")??;
                Ok(Ran { verification, notebook: opened.document().snapshot().await? })
            }
            () = interruption.cancelled() => {
                session.workspace().runner().interrupt_run(&verifying.run).await?;
                Err(interrupted())
            }
        }
    };
    let verified = session.acting("cellbridge verify", verified);
    let verified = progress::follow(verified, |line| bar.set_message(&line)).await;
    bar.end();
    session.workspace().shutdown().await;
    verified
}

fn shown((path, verified): &Verified) -> String {
    let path = terminal::path(path);
    match verified {
        Ok(ran) => format!("{path}: {}", ran.verification.text()),
        Err(cause) => format!("{path}: could not run: {cause}"),
    }
}

fn status((_, verified): &Verified) -> u8 {
    match verified.as_ref().map(|ran| ran.verification.conclusion()) {
        Ok(Conclusion::Identical | Conclusion::Close) => 0,
        Ok(Conclusion::Differs) => 1,
        Ok(Conclusion::Fails) => 2,
        Err(_) => 3,
    }
}

fn to_json((path, verified): &Verified) -> Value {
    let path = path.display().to_string();
    match verified {
        Err(cause) => json!({ "path": path, "reruns": Value::Null, "error": cause }),
        Ok(Ran { verification, .. }) => json!({
            "path": path,
            "reruns": match verification.conclusion() {
                Conclusion::Identical | Conclusion::Close => "yes",
                Conclusion::Differs => "with_differences",
                Conclusion::Fails => "no",
            },
            "sentence": verification.sentence(),
            "seconds": verification.elapsed.as_secs_f64(),
            "runtime": verification.runtime,
            "skipped": verification.skipped,
            "missing": verification.missing.iter().map(missing_to_json).collect::<Vec<_>>(),
            "not_applied": verification.not_applied.iter().map(ToString::to_string).collect::<Vec<_>>(),
            "cells": verification.cells.iter().map(cell_to_json).collect::<Vec<_>>(),
        }),
    }
}

fn missing_to_json(MissingModule { module, package }: &MissingModule) -> Value {
    json!({ "module": module, "package": package })
}

fn cell_to_json(CellVerdict { index, id, verdict }: &CellVerdict) -> Value {
    let mut cell = json!({ "index": index, "id": id.to_string(), "verdict": name(verdict) });
    let more = match verdict {
        Verdict::Close { pictures } => json!({ "pictures": pictures }),
        Verdict::Unexplained { diff } => json!({ "diff": diff }),
        Verdict::Stale { diff, .. } => json!({ "diff": diff, "causes": verdict.causes() }),
        Verdict::NotDeterministic { diff, .. } => {
            json!({ "diff": diff, "unseeded": verdict.is_unseeded(), "causes": verdict.causes() })
        }
        Verdict::Failed { cause, shown } | Verdict::FailsAgain { cause, shown } => {
            json!({ "cause": cause, "shown": shown })
        }
        _ => json!({}),
    };
    if let (Some(cell), Value::Object(more)) = (cell.as_object_mut(), more) {
        cell.extend(more);
    }
    cell
}

fn name(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Identical => "identical",
        Verdict::Close { .. } => "close",
        Verdict::NotCompared => "not_compared",
        Verdict::NoneSaved => "none_saved",
        Verdict::Stale { .. } => "stale",
        Verdict::NotDeterministic { .. } => "not_deterministic",
        Verdict::FailsAgain { .. } => "fails_again",
        Verdict::Unexplained { .. } => "unexplained",
        Verdict::Follows => "follows",
        Verdict::Failed { .. } => "failed",
        Verdict::NotRun => "not_run",
    }
}

#[cfg(test)]
mod testing {
    use std::time::Duration;

    use super::*;

    /// A verification of four code cells, and its notebook with these and one of Markdown.
    pub(super) fn ran() -> Ran {
        let cell = |index, id: &str, verdict| CellVerdict { index, id: id.to_owned().into(), verdict };
        let verification = Verification {
            cells: vec![
                cell(0, "a", Verdict::Identical),
                cell(2, "b", Verdict::Stale { diff: "-<1>\n+\u{1b}2".to_owned(), causes: Vec::new() }),
                cell(3, "c", Verdict::Failed { cause: "E: \"x\"".to_owned(), shown: "t & b".to_owned() }),
                cell(4, "d", Verdict::NotRun),
            ],
            skipped: 0,
            errors: 0,
            not_applied: Vec::new(),
            missing: Vec::new(),
            runtime: String::new(),
            introduction: Vec::new(),
            elapsed: Duration::from_millis(1500),
        };
        let cells = ["a", "m", "b", "c", "d"].map(|id| match id {
            "m" => json!({ "cell_type": "markdown", "id": id, "metadata": {}, "source": "# Title" }),
            _ => json!({
                "cell_type": "code", "id": id, "metadata": {}, "source": id, "execution_count": null, "outputs": []
            }),
        });
        let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        Ran { verification, notebook: Notebook::parse(notebook.to_string().into()).unwrap() }
    }
}
