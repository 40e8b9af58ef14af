//! What the checks know about this process.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Context as _;
use environments::{ProcessEnv, Variables};

use crate::args;

#[derive(Debug, Clone)]
pub(super) struct Machine {
    /// All variables of this process.
    pub(super) process_env: ProcessEnv,
    /// Those that kernels get.
    pub(super) kernel_env: ProcessEnv,
    /// Where agents would work, or why they cannot.
    pub(super) root: Result<PathBuf, String>,
    pub(super) now: SystemTime,
}

impl Machine {
    pub(super) fn read(options: &args::Doctor) -> anyhow::Result<Self> {
        let variables: Variables = std::env::vars_os().collect();
        let home = std::env::home_dir().filter(|home| !home.as_os_str().is_empty());
        let named = match &options.root {
            Some(root) => root.clone(),
            None => std::env::current_dir().context("the current folder is gone; name one with --root")?,
        };
        let root = match dunce::canonicalize(&named) {
            Ok(root) if root.is_dir() => Ok(root),
            Ok(root) => Err(format!("{} is not a folder", root.display())),
            Err(error) => Err(format!("{} cannot be opened: {error}", named.display())),
        };
        Ok(Self {
            kernel_env: ProcessEnv::inherited(variables.clone(), home.clone(), &options.kernel_env),
            process_env: ProcessEnv { variables, home },
            root,
            now: SystemTime::now(),
        })
    }
}
