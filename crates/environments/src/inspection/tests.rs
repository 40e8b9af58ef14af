//! Machines with planted faults, and what is found there.

use std::fs;

use tempfile::TempDir;

use super::super::venv::Defect;
use super::super::venv::tests::{PROGRAMS, venv};
use super::*;
use crate::test_program::program;

/// A machine with nothing on it but an empty root folder, a home and an empty `PATH`.
struct Machine {
    folder: TempDir,
    variables: Vec<(String, PathBuf)>,
}

impl Machine {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("root")).unwrap();
        let variables = [("PATH", "bin"), ("JUPYTER_PATH", "jupyter"), ("XDG_DATA_HOME", "home/data")];
        let variables = variables.map(|(name, path)| (name.to_owned(), at(path))).to_vec();
        Self { folder, variables }
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn set(mut self, name: &str, path: &str) -> Self {
        let path = self.at(path);
        self.variables.push((name.to_owned(), path));
        self
    }

    fn inspect(&self) -> KernelInspection {
        let variables = self.variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
        let process_env = ProcessEnv { variables, home: Some(self.at("home")) };
        KernelInspection::new(self.at("root"), process_env, Duration::from_secs(60))
    }

    fn install(&self, name: &str, argv: &[&str]) {
        let resources = self.at("jupyter/kernels").join(name);
        fs::create_dir_all(&resources).unwrap();
        let text = format!(r#"{{"argv": {argv:?}, "display_name": "K", "language": "python"}}"#);
        fs::write(resources.join("kernel.json"), text).unwrap();
    }
}

#[tokio::test]
async fn a_kernelspec_that_cannot_start_says_why() {
    let machine = Machine::new();
    let bare = venv(&machine.at("bare"), false);
    let ready = venv(&machine.at("ready"), true);
    let python = program(&machine.at("bin/python3"), &["out 3.12 0", "out /opt/python"]);
    machine.install("gone", &["/nowhere/kernel", "{connection_file}"]);
    machine.install("ready", &[ready.interpreter.to_str().unwrap(), "-m", "ipykernel_launcher"]);
    machine.install("bare", &[bare.interpreter.to_str().unwrap(), "-m", "ipykernel_launcher"]);
    machine.install("path", &["python3", "-m", "ipykernel_launcher"]);
    machine.install("other", &[bare.interpreter.to_str().unwrap(), "-m", "other_kernel"]);
    fs::create_dir_all(machine.at("jupyter/kernels/broken")).unwrap();
    fs::write(machine.at("jupyter/kernels/broken/kernel.json"), "{").unwrap();
    let (found, unreadable) = machine.inspect().kernelspecs().await;
    let expected = [
        ("bare", Err(BrokenKernelspec::NoKernel(bare.interpreter.clone()))),
        ("gone", Err(BrokenKernelspec::NoProgram("/nowhere/kernel".into()))),
        ("other", Ok(bare.interpreter)),
        ("path", Err(BrokenKernelspec::NoKernel(python))),
        ("ready", Ok(ready.interpreter)),
    ];
    // Those that the system itself has are found, too.
    let is_of_test = |name: &str| expected.iter().any(|(expected, _)| *expected == name);
    let found = found.into_iter().map(|spec| (spec.name, spec.program));
    let found: Vec<_> = found.filter(|(name, _)| is_of_test(name)).collect();
    assert_eq!(found, expected.map(|(name, program)| (name.to_owned(), program)));
    assert!(matches!(&*unreadable, [cause] if cause.contains("broken")), "{unreadable:?}");
}

#[tokio::test]
async fn environments_of_the_folder_and_of_variables_are_told_apart() {
    let machine = Machine::new().set("VIRTUAL_ENV", "active").set("CONDA_PREFIX", "nothing");
    let interpreter = venv(&machine.at("root/.venv"), false).interpreter;
    let broken = venv(&machine.at("root/venv"), true);
    fs::remove_file(broken.interpreter).unwrap();
    let active = venv(&machine.at("active"), true);
    let inspection = machine.inspect();
    let states: Vec<_> = inspection.environments().into_iter().map(|found| found.state).collect();
    let bare = EnvironmentState::NoKernel { interpreter, has_pip: false };
    assert_eq!(states, [bare, EnvironmentState::Defective(Defect::NoPython)]);
    let activated = inspection.activated();
    let states: Vec<_> = activated.iter().map(|found| (found.variable, found.state.clone())).collect();
    let ready = EnvironmentState::Ready(active.interpreter.clone());
    assert_eq!(states, [("VIRTUAL_ENV", Some(ready)), ("CONDA_PREFIX", None)]);
    let next = NextKernel::Existing { name: "python3".into(), program: active.interpreter };
    assert_eq!(inspection.next().await, next);
}

#[tokio::test]
async fn an_environment_is_recognised_by_path() {
    let machine = Machine::new().set("PATH", &format!("active/{PROGRAMS}"));
    assert_eq!(machine.inspect().on_path(), None);
    let active = venv(&machine.at("active"), true);
    let found = machine.inspect().on_path();
    let state = EnvironmentState::Ready(active.interpreter);
    assert_eq!(found, Some(FoundEnvironment { prefix: machine.at("active"), state }));
}

/// On Windows, the Pythons in the registry of the machine are found, too.
#[cfg(unix)]
#[tokio::test]
async fn without_any_kernel_one_is_made_if_something_can_make_it() {
    let machine = Machine::new();
    assert_eq!(machine.inspect().next().await, NextKernel::None);
    program(&machine.at("bin/python3"), &["out 3.8 0", "out /opt/python"]);
    assert_eq!(machine.inspect().next().await, NextKernel::None, "it is too old");
    program(&machine.at("bin/python3.12"), &["out 3.12 0", "out /opt/python"]);
    assert_eq!(machine.inspect().next().await, NextKernel::Made { with: "/opt/python".into() });
    assert_eq!(machine.inspect().managed(), ManagedState::NotMade(machine.at("home/data/cellbridge/python")));
    assert!(!machine.at("home").exists(), "looking must not change anything");
    fs::create_dir_all(machine.at("home/data/cellbridge/python")).unwrap();
    assert!(matches!(machine.inspect().managed(), ManagedState::Unfinished(_)));
    let made = venv(&machine.at("home/data/cellbridge/python"), true);
    fs::write(made.prefix.join("cellbridge-complete"), "").unwrap();
    let next = NextKernel::Existing { name: "cellbridge-python".into(), program: made.interpreter };
    assert_eq!(machine.inspect().next().await, next);
}

#[tokio::test]
async fn a_python_that_hangs_is_given_up() {
    let machine = Machine::new();
    let python = program(&machine.at("bin/python3"), &["wait"]);
    machine.install("python3", &["python3", "-m", "ipykernel_launcher"]);
    let variables = [("PATH", "bin"), ("JUPYTER_PATH", "jupyter")];
    let variables = variables.map(|(name, path)| (name.into(), machine.at(path).into())).into();
    let process_env = ProcessEnv { variables, home: None };
    let inspection = KernelInspection::new(machine.at("root"), process_env, Duration::from_millis(50));
    // Far less than the server waits for a Python.
    let found = tokio::time::timeout(Duration::from_secs(15), inspection.kernelspecs()).await;
    let (found, _) = found.expect("the Python was not given up");
    let found = found.into_iter().find(|spec| spec.name == "python3").expect("it is listed");
    assert_eq!(found.program, Err(BrokenKernelspec::NoKernel(python)));
}
