//! A kernel that can be started: an installed kernelspec, or a Python with ipykernel.

use std::path::{Path, PathBuf};

use place::KernelspecInfo;
use serde::{Deserialize, Serialize};

use crate::kernelspec::{InstalledKernelspec, InterruptMode};
use crate::venv::Environment;

/// The name in nearly every Python notebook, whatever machine it is from.
pub(crate) const GENERIC: &str = "python3";
pub(crate) const GENERIC_DISPLAYED: &str = "Python 3 (ipykernel)";

/// A kernel that can be started.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct KernelChoice {
    pub kernelspec: InstalledKernelspec,
    pub program: PathBuf,
    /// The Python environment to activate, if any.
    pub environment: Option<Environment>,
    /// The reason for not using the kernel that the notebook or its folder seems to want.
    #[serde(skip)]
    pub notices: Vec<String>,
}

impl KernelChoice {
    /// The notebook names a kernelspec that is not installed.
    pub(crate) fn in_place_of(mut self, name: &str) -> Self {
        self.notices.push(format!(
            "The notebook names the kernelspec {name:?}, which is not installed here: its code runs in {} ({}) \
             instead. Its packages may be missing there or have other versions.",
            self.kernelspec.name,
            self.program.display()
        ));
        self
    }

    pub fn info(&self) -> KernelspecInfo {
        KernelspecInfo {
            name: self.kernelspec.name.clone(),
            display_name: self.kernelspec.display_name.clone(),
            language: self.kernelspec.language.clone(),
            environment: self.program.display().to_string(),
        }
    }
}

pub(crate) fn in_environment(environment: &Environment) -> KernelChoice {
    KernelChoice { environment: Some(environment.clone()), ..python_at(&environment.interpreter) }
}

/// The kernelspec that ipykernel installs, for one interpreter.
pub(crate) fn python_at(interpreter: &Path) -> KernelChoice {
    let argv = ["python", "-m", "ipykernel_launcher", "-f", "{connection_file}"].map(str::to_owned);
    let spec = InstalledKernelspec {
        name: GENERIC.to_owned(),
        resources: PathBuf::new(),
        argv: argv.to_vec(),
        display_name: GENERIC_DISPLAYED.to_owned(),
        language: "python".to_owned(),
        env: std::collections::BTreeMap::new(),
        interrupt_mode: InterruptMode::Signal,
    };
    KernelChoice {
        kernelspec: spec,
        program: interpreter.to_path_buf(),
        environment: None,
        notices: Vec::new(),
    }
}
