//! `cellbridge verify`: whether notebooks rerun from a fresh kernel with the same outputs.

mod junit;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use place::{Mode, progress};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use verify::{CellVerdict, Conclusion, MissingModule, Verdict, Verification, VerifyOptions};

use crate::args::Verify;
use crate::person::{self, Named};
use crate::terminal::{self, Progress, note, say, say_json};
use crate::{operations, view};

/// A notebook, and what came of it: a verification, or why it could not run.
type Verified = (PathBuf, Result<Verification, String>);

/// The exit status: the worst of all notebooks.
pub(crate) async fn run(options: &Verify) -> ExitCode {
    match verify_all(options).await {
        Ok(status) => ExitCode::from(status),
        Err(error) => {
            note(&format!("cellbridge: {error:#}"));
            ExitCode::from(3)
        }
    }
}

async fn verify_all(options: &Verify) -> anyhow::Result<u8> {
    let mut all = Vec::new();
    let interruption = person::interruption();
    if let Some(first) = options.paths.first().filter(|_| options.open) {
        view::show(first).await;
    }
    for path in &options.paths {
        let ended = if interruption.is_cancelled() {
            Err(interrupted())
        } else {
            verify(path, options, &interruption).await
        };
        let verified: Verified = (path.clone(), ended.map_err(|error| format!("{error:#}")));
        if !options.json {
            say(&shown(&verified))?;
        }
        all.push(verified);
    }
    if options.json {
        let list: Vec<Value> = all.iter().map(to_json).collect();
        say_json(&list)?;
    }
    if let Some(file) = &options.junit {
        std::fs::write(file, junit::report(&all))
            .with_context(|| format!("{} cannot be written", file.display()))?;
    }
    Ok(all.iter().map(status).max().unwrap_or_default())
}

fn interrupted() -> anyhow::Error {
    anyhow::anyhow!("it was interrupted")
}

/// Verifies one notebook, until it is interrupted. Its kernel has ended in any case.
async fn verify(
    path: &Path,
    options: &Verify,
    interruption: &CancellationToken,
) -> anyhow::Result<Verification> {
    let named = Named::existing(path)?;
    let history = operations::folder(&person::process_env()).filter(|_| !options.recording.no_history);
    let (session, paths) = person::session(&[&named], &options.places, history)?;
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
        let verifying = session.verify(opened, verify)?;
        tokio::select! {
            answer = verifying.answer => answer.context("the verification ended without an answer")?.map_err(anyhow::Error::from),
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
        Ok(verification) => format!("{path}: {}", verification.text()),
        Err(cause) => format!("{path}: could not run: {cause}"),
    }
}

fn status((_, verified): &Verified) -> u8 {
    match verified.as_ref().map(Verification::conclusion) {
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
        Ok(verification) => json!({
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
