//! Provides what the end-to-end tests need on a machine that has only Rust and Python.
//!
//! Everything goes below the target directory and is kept; a warm run only compares a few files.

mod apt;
mod browser;
mod node;
mod python;
mod stamp;
mod wheel;

use std::path::PathBuf;

use anyhow::Result;

use self::python::{Environment, Purpose};
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
    /// The Jupyter servers.
    pub(crate) servers: Servers,
    /// Our own package, which is a part of them.
    pub(crate) wheel: PathBuf,
}

/// The interpreters whose environments hold Jupyter servers, with our own package inside.
pub(crate) struct Servers {
    /// Without anything for working together.
    pub(crate) plain: PathBuf,
    /// With jupyter-collaboration, and `JupyterHub`.
    pub(crate) collaboration: PathBuf,
    /// With jupyter-server-documents.
    pub(crate) documents: PathBuf,
}

/// Provides all parts, doing only what is missing.
pub(crate) fn all(project: &Project) -> Result<Parts> {
    // The browser comes first: where it can't be installed, a person learns that before any download.
    let chromium = browser::provide()?;
    let environment = environment(project)?;
    let node_modules = node::provide(project, &environment)?;
    let plain = python::provide(project, Purpose::PlainServer)?;
    let collaboration = collaboration_server(project)?;
    let documents = python::provide(project, Purpose::DocumentsServer)?;
    let wheel = wheel::provide(project, &environment, [&plain, &collaboration, &documents])?;
    let servers =
        Servers { plain: plain.python, collaboration: collaboration.python, documents: documents.python };
    let Environment { python, programs, .. } = environment;
    Ok(Parts { python, programs, node_modules, chromium, servers, wheel })
}

/// Provides the virtual environment of the tests alone.
pub(crate) fn environment(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Tests)
}

/// Provides the environment of a Jupyter server with jupyter-collaboration alone.
pub(crate) fn collaboration_server(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::CollaborationServer)
}

/// Provides the environment of `jupyter-mcp-server` alone.
pub(crate) fn original(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Original)
}
