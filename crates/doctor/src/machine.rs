//! What the checks know about this process.

use std::path::PathBuf;
use std::time::SystemTime;

use anyhow::Context as _;
use environments::ProcessEnv;

use crate::Options;

#[derive(Debug, Clone)]
pub(crate) struct Machine {
    /// All variables of this process.
    pub(crate) process_env: ProcessEnv,
    pub(crate) current_folder: Option<PathBuf>,
    /// Those that kernels get.
    pub(crate) kernel_env: ProcessEnv,
    /// Where agents would work, or why they cannot.
    pub(crate) root: Result<PathBuf, String>,
    pub(crate) now: SystemTime,
}

impl Machine {
    pub(crate) fn read(options: &Options) -> anyhow::Result<Self> {
        let ProcessEnv { variables, home } = options.process_env.clone();
        let home = home.filter(|home| !home.as_os_str().is_empty());
        let named = options.root.clone().or_else(|| options.current_folder.clone());
        let named = named.context("the current folder is gone; name one with --root")?;
        let root = match dunce::canonicalize(&named) {
            Ok(root) if root.is_dir() => Ok(root),
            Ok(root) => Err(format!("{} is not a folder", root.display())),
            Err(error) => Err(format!("{} cannot be opened: {error}", named.display())),
        };
        Ok(Self {
            kernel_env: ProcessEnv::inherited(variables.clone(), home.clone(), &options.kernel_env),
            process_env: ProcessEnv { variables, home },
            current_folder: options.current_folder.clone(),
            root,
            now: SystemTime::now(),
        })
    }
}
