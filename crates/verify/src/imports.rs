//! The modules that a notebook imports and its environment lacks.

use std::time::Duration;

use packages::package_of;
use place::Executor;
use serde_json::{Value, json};
use syntax::{plain_cell, with_stack};

/// How long it may take to find out which modules are missing.
const QUESTION_LIMIT: Duration = Duration::from_secs(10);

/// A module that cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingModule {
    pub module: String,
    /// The package that has it, as the package index names it.
    pub package: Option<String>,
}

/// The modules that these cells import, also in their functions, where nothing catches that one is missing, and the kernel lacks.
pub(crate) async fn missing<'s>(
    executor: &dyn Executor,
    sources: impl Iterator<Item = &'s str>,
) -> Vec<MissingModule> {
    // Without its text, no cell is taken to install a module: what it installs is there by now.
    let cell = |source: &str| json!([0, "", plain_cell(source).unwrap_or_default().python, 0, true]);
    let cells: Vec<Value> = with_stack(|| sources.map(cell).collect());
    let question = json!({ "lacking": { "cells": cells, "path": "", "packages": {} } });
    let answer = executor.ask_memory(&question, QUESTION_LIMIT).await;
    let absent = answer.ok().and_then(|answer| answer.member("absent")?.decode::<Vec<String>>().ok());
    let missing = absent.unwrap_or_default().into_iter();
    missing.map(|module| MissingModule { package: package_of(&module), module }).collect()
}
