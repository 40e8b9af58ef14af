//! Provides what the end-to-end tests need on a machine that has only Rust and Python.
//!
//! Everything goes below the target directory and is kept; a warm run only compares a few files.

mod apt;
mod browser;
mod node;
mod python;
mod stamp;

use std::path::PathBuf;

/// Provides the virtual environment alone.
pub(crate) use python::provide as environment;

use anyhow::Result;

use crate::project::Project;

/// What the end-to-end tests are told about.
pub(crate) struct Parts {
    /// The virtual environment's interpreter.
    pub(crate) python: PathBuf,
    /// The folder that holds `python`, `node`, `npm` and `npx`.
    pub(crate) programs: PathBuf,
    /// The installed Node packages.
    pub(crate) node_modules: PathBuf,
    /// The browser.
    pub(crate) chromium: PathBuf,
}

/// Provides all parts, doing only what is missing.
pub(crate) fn all(project: &Project) -> Result<Parts> {
    // The browser comes first: where it can't be installed, a person learns that before any download.
    let chromium = browser::provide()?;
    let environment = python::provide(project)?;
    let node_modules = node::provide(project, &environment)?;
    Ok(Parts { python: environment.python, programs: environment.programs, node_modules, chromium })
}
