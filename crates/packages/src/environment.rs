//! The Python environment of a kernel, as the kernel describes it.

use std::collections::BTreeMap;

use serde::Deserialize;

/// What `memory/handler/packages.py` says of the environment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "facts as the kernel tells them")]
pub struct Environment {
    /// The interpreter's path, on the kernel's machine.
    pub python: String,
    /// Python's version, as in `3.12.4`.
    pub version: String,
    pub prefix: String,
    /// The system's package manager owns it (PEP 668).
    pub is_externally_managed: bool,
    pub is_writable: bool,
    pub has_pip: bool,
    pub has_ensurepip: bool,
    /// Paths of the programs that were found there.
    pub uv: Option<String>,
    /// The person's own `uv.toml`, or that of the system.
    pub uv_config: Option<String>,
    /// The kernel's variables that start with `UV_`.
    pub uv_variables: BTreeMap<String, String>,
    pub conda: Option<String>,
    pub pixi: Option<String>,
    /// The folder with `pyproject.toml` and `uv.lock` whose `.venv` it is.
    pub uv_project: Option<String>,
    /// The text of the `uv.toml` of that project, else its `pyproject.toml`.
    pub uv_settings: Option<String>,
    /// The text of the `pyproject.toml` of that project, then those of the folders above it.
    pub uv_projects: Vec<String>,
    /// Conda, mamba or micromamba made it.
    pub is_conda: bool,
    /// Those from which its packages came, the most frequent first.
    pub channels: Vec<String>,
    pub pixi_project: Option<String>,
    pub pixi_environment: Option<String>,
}
