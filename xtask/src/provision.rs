//! Provides what the end-to-end tests need on a machine that has only Rust and Python.
//!
//! Everything goes below the target directory and is kept; a warm run only compares a few files.

mod apt;
mod browser;
mod node;
mod package;
mod python;
pub(crate) mod stamp;

use std::path::{Path, PathBuf};

use anyhow::Result;

pub(crate) use self::apt::is_root;
pub(crate) use self::python::Environment;
use self::python::Purpose;
use crate::project::Project;

/// What the end-to-end tests need besides our own builds.
pub(crate) struct Environments {
    /// The tests' virtual environment, which has `python`, `node`, `npm` and `npx`.
    pub(crate) tests: Environment,
    /// The installed Node packages.
    pub(crate) node_modules: PathBuf,
    pub(crate) chromium: PathBuf,
    /// A Jupyter server without extensions for live documents.
    pub(crate) plain: Environment,
    /// A server with jupyter-collaboration, and `JupyterHub`.
    pub(crate) collaboration: Environment,
    /// A server with jupyter-server-documents.
    pub(crate) documents: Environment,
    /// uv alone.
    pub(crate) uv: Environment,
}

/// Provides all environments, doing only what is missing.
pub(crate) fn environments(project: &Project) -> Result<Environments> {
    // The browser comes first: where it can't be installed, a person learns that before any download.
    let chromium = browser::provide()?;
    let tests = environment(project)?;
    Ok(Environments {
        node_modules: node_modules(project, &tests)?,
        chromium,
        plain: python::provide(project, Purpose::PlainServer)?,
        collaboration: collaboration_server(project)?,
        documents: python::provide(project, Purpose::DocumentsServer)?,
        uv: uv(project)?,
        tests,
    })
}

/// Provides the browser alone.
pub(crate) fn chromium() -> Result<PathBuf> {
    browser::provide()
}

/// Puts our own Python package, with what was built beside `program`, into the servers' environments.
pub(crate) fn package(project: &Project, environments: &Environments, program: &Path) -> Result<()> {
    let Environments { plain, collaboration, documents, .. } = environments;
    package::place(project, program, &[plain, collaboration, documents])
}

/// Provides the virtual environment of the tests alone.
pub(crate) fn environment(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Tests)
}

/// Provides the Node packages of the tests; `environment` brings Node. Returns the `node_modules` folder.
pub(crate) fn node_modules(project: &Project, environment: &Environment) -> Result<PathBuf> {
    node::provide(project, environment, "e2e", "e2e/node")
}

/// Provides the clients whose models are shown our replies; `environment` brings Node. Returns the `node_modules` folder.
pub(crate) fn model_clients(project: &Project, environment: &Environment) -> Result<PathBuf> {
    node::provide(project, environment, "e2e/models", "clients")
}

/// Provides the environment of uv alone.
pub(crate) fn uv(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Uv)
}

/// Provides the environment of a Jupyter server with jupyter-collaboration alone.
pub(crate) fn collaboration_server(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::CollaborationServer)
}

/// Provides the environment of `jupyter-mcp-server` alone.
pub(crate) fn original(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Original)
}

/// Provides the environment that makes the site alone.
pub(crate) fn site(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Site)
}

/// Provides the tools that make packages and judge them.
pub(crate) fn packaging(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Packaging)
}

/// Provides the environment with a Python kernel alone, in which packages are tried.
pub(crate) fn packaging_kernel(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::PackagingKernel)
}

/// Provides the environment of the notebooks whose judgement is measured.
pub(crate) fn judgement(project: &Project) -> Result<Environment> {
    python::provide(project, Purpose::Judgement)
}
