//! Whole choices, with small programs for interpreters.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notebook::Kernelspec;
use place::Error;
use tempfile::TempDir;

use super::*;
use crate::ProcessEnv;
use crate::test_program::program;
use crate::venv::tests::venv;

#[cfg(unix)]
mod counting;
mod making;
#[cfg(unix)]
mod traps;

/// A machine with nothing on it but a root folder, a home and an empty `PATH`.
struct Machine {
    folder: TempDir,
}

impl Machine {
    fn new() -> Self {
        let machine = Self { folder: tempfile::tempdir().unwrap() };
        fs::create_dir_all(machine.at("root/sub")).unwrap();
        fs::create_dir_all(machine.at("home")).unwrap();
        machine
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn install(&self, name: &str, argv: &str, language: &str) {
        let resources = self.at("jupyter/kernels").join(name);
        fs::create_dir_all(&resources).unwrap();
        let text = format!(
            r#"{{"argv": [{argv:?}, "{{connection_file}}"], "display_name": "The {name}", "language": {language:?}}}"#
        );
        fs::write(resources.join("kernel.json"), text).unwrap();
    }

    /// A Python on `PATH` with or without ipykernel.
    fn python(&self, has_kernel: u8) {
        program(&self.at("bin/python3"), &[&format!("out 3.12 {has_kernel}"), "out /opt/python"]);
    }

    fn chooser(&self) -> KernelspecChooser {
        let variables: [(&str, PathBuf); 4] = [
            ("PATH", self.at("bin")),
            ("JUPYTER_PATH", self.at("jupyter")),
            ("XDG_DATA_HOME", self.at("home/data")),
            ("LOCALAPPDATA", self.at("home/data")),
        ];
        let variables = variables.map(|(name, value)| (name.into(), value.into())).into();
        KernelspecChooser::new(
            self.at("root"),
            Arc::new(ProcessEnv { variables, home: Some(self.at("home")) }),
        )
    }

    async fn choose(
        &self,
        name: Option<&str>,
        preferred: Option<(&str, Option<&str>)>,
    ) -> Result<KernelChoice, Error> {
        let preferred = preferred.map(|(name, language)| Kernelspec {
            name: name.to_owned(),
            display_name: None,
            language: language.map(str::to_owned),
        });
        let query = KernelspecQuery {
            folder: &self.at("root/sub"),
            name,
            preferred: preferred.as_ref(),
            purpose: Purpose::Opening,
            progress: None,
        };
        self.chooser().choose(&query).await.map(|choice| choice.expect("it needs nothing of the folder"))
    }

    async fn program(&self, name: Option<&str>, preferred: Option<(&str, Option<&str>)>) -> PathBuf {
        self.choose(name, preferred).await.unwrap().program
    }
}

const PYTHON3: Option<(&str, Option<&str>)> = Some(("python3", Some("python")));

#[tokio::test]
async fn the_kernel_named_in_the_notebook_comes_first() {
    let machine = Machine::new();
    let r = program(&machine.at("bin/r"), &[]);
    machine.install("ir", "r", "R");
    venv(&machine.at("root/.venv"), true);
    assert_eq!(machine.program(None, Some(("IR", None))).await, r);
    assert_eq!(machine.program(Some("ir"), PYTHON3).await, r);
}

#[tokio::test]
async fn the_projects_python_comes_before_installed_ones_and_the_one_on_path() {
    let machine = Machine::new();
    machine.python(1);
    assert_eq!(machine.program(None, None).await, Path::new("/opt/python"));
    let other = program(&machine.at("bin/other"), &[]);
    machine.install("mine", "other", "python");
    assert_eq!(machine.program(None, PYTHON3).await, other);
    let generic = program(&machine.at("bin/generic"), &[]);
    machine.install("python3", "generic", "python");
    assert_eq!(machine.program(None, PYTHON3).await, generic);
    venv(&machine.at("root/.venv"), false);
    assert_eq!(machine.program(None, None).await, generic);
    let notices = machine.choose(None, None).await.unwrap().notices;
    assert!(notices.concat().contains("has no ipykernel, so the notebook runs in"), "{notices:?}");
    let project = venv(&machine.at("root/.venv"), true).interpreter;
    for query in [None, PYTHON3] {
        assert_eq!(machine.program(None, query).await, project);
    }
    assert_eq!(machine.program(Some("python3"), None).await, project);
}

#[tokio::test]
async fn a_missing_kernel_is_replaced_by_one_of_its_language() {
    let machine = Machine::new();
    let r = program(&machine.at("bin/r"), &[]);
    machine.install("r-4.3", "r", "R");
    let project = venv(&machine.at("root/.venv"), true).interpreter;
    assert_eq!(machine.program(None, Some(("ir", Some("R")))).await, r);
    let choice = machine.choose(None, Some(("ir", Some("R")))).await.unwrap();
    let notice = choice.notices.concat();
    assert!(notice.contains(r#""ir", which is not installed"#) && notice.contains("r-4.3"), "{notice}");
    for known in [None, Some(("r-4.3", Some("R"))), Some(("python3", None))] {
        assert_eq!(machine.choose(None, known).await.unwrap().notices, [""; 0], "{known:?}");
    }
    // A notebook that names no kernelspec, but was run in R.
    assert_eq!(machine.program(None, Some(("", Some("R")))).await, r);
    assert_eq!(machine.program(None, Some(("", Some("python")))).await, project);
    let error = machine.choose(None, Some(("", Some("julia")))).await.unwrap_err().to_string();
    assert!(error.contains("written in julia") && error.contains("r-4.3"), "{error}");
    for named in [("my-project", Some("python")), ("conda-env-x-py", None), (".venv", None)] {
        let choice = machine.choose(None, Some(named)).await.unwrap();
        assert!(choice.program == project && choice.notices[0].contains(named.0), "{choice:?}");
    }
}

#[tokio::test]
async fn a_missing_language_is_an_error_that_lists_what_is_installed() {
    let machine = Machine::new();
    venv(&machine.at("root/.venv"), true);
    program(&machine.at("bin/bash"), &[]);
    machine.install("bash", "bash", "bash");
    machine.install("gone", "/nowhere/python", "julia");
    for (name, preferred) in
        [(None, Some(("ir", Some("R")))), (None, Some(("ir", None))), (Some("gone"), None)]
    {
        let error = machine.choose(name, preferred).await.unwrap_err();
        let available = ["bash", GENERIC, MANAGED].map(str::to_owned).to_vec();
        assert_eq!(error.next, NextStep::ChooseKernelspec { available });
    }
}

#[tokio::test]
async fn an_unknown_name_names_the_nearest_kernelspec() {
    let machine = Machine::new();
    program(&machine.at("bin/r"), &[]);
    machine.install("ir-4", "r", "R");
    machine.install("julia-1.11", "r", "julia");
    for (asked, nearest) in [("Teh ir-4", "ir-4"), ("jluia-1.11", "julia-1.11"), ("ir_4", "ir-4")] {
        let error = machine.choose(Some(asked), None).await.unwrap_err();
        assert!(error.cause.ends_with(&format!("The nearest is {nearest:?}.")), "{asked}: {error}");
    }
    let error = machine.choose(Some("scala"), None).await.unwrap_err();
    assert!(!error.cause.contains("nearest"), "{error}");
}

#[tokio::test]
async fn a_kernel_can_be_named_as_it_is_shown() {
    let machine = Machine::new();
    program(&machine.at("bin/r"), &[]);
    machine.install("ir-4", "r", "R");
    machine.python(1);
    let named = async |shown: &str| machine.choose(Some(shown), None).await.map(|it| it.kernelspec.name);
    for (shown, name) in [("the IR-4", "ir-4"), ("Python 3 (ipykernel)", GENERIC)] {
        assert_eq!(named(shown).await.unwrap(), name);
    }
    // Another with the same title.
    let spec = machine.at("jupyter/kernels").join("ir-4/kernel.json");
    fs::create_dir_all(machine.at("jupyter/kernels/ir-5")).unwrap();
    fs::copy(spec, machine.at("jupyter/kernels/ir-5/kernel.json")).unwrap();
    let error = named("The ir-4").await.unwrap_err();
    assert!(error.cause.ends_with("Nearest: \"ir-4\", \"ir-5\"."), "{error}");
}

#[tokio::test]
async fn a_bare_python_counts_only_if_it_has_a_kernel() {
    let machine = Machine::new();
    let resources = machine.at("jupyter/kernels/python3");
    fs::create_dir_all(&resources).unwrap();
    fs::write(
        resources.join("kernel.json"),
        r#"{"argv": ["python", "-m", "ipykernel_launcher"], "language": "python"}"#,
    )
    .unwrap();
    machine.python(0);
    let names = |list: Vec<place::KernelspecInfo>| list.into_iter().map(|info| info.name).collect::<Vec<_>>();
    assert_eq!(names(machine.chooser().list(&machine.at("root")).await), [MANAGED]);
    machine.python(1);
    assert_eq!(names(machine.chooser().list(&machine.at("root")).await), [MANAGED, "python3"]);
}

/// Writes an executable shell script, folders included.
#[cfg(unix)]
fn script(path: &Path, body: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, format!("#!/bin/sh\n{body}\n")).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
}
