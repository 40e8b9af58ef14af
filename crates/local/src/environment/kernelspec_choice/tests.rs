//! Whole choices, with shell scripts for interpreters and for uv.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use notebook::Kernelspec;
use tempfile::TempDir;
use tokio::sync::mpsc;
use workspace::Error;

use super::*;
use crate::ProcessEnv;
use crate::environment::venv::tests::venv;
use crate::tests::script;

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
        script(&self.at("bin/python3"), &format!("echo '3.12 {has_kernel}'; echo /opt/python"));
    }

    fn chooser(&self) -> KernelspecChooser {
        let variables: [(&str, PathBuf); 3] = [
            ("PATH", self.at("bin")),
            ("JUPYTER_PATH", self.at("jupyter")),
            ("XDG_DATA_HOME", self.at("home/data")),
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
            progress: None,
        };
        self.chooser().choose(&query).await
    }

    async fn program(&self, name: Option<&str>, preferred: Option<(&str, Option<&str>)>) -> PathBuf {
        self.choose(name, preferred).await.unwrap().program
    }
}

const PYTHON3: Option<(&str, Option<&str>)> = Some(("python3", Some("python")));

#[tokio::test]
async fn the_kernel_named_in_the_notebook_comes_first() {
    let machine = Machine::new();
    script(&machine.at("bin/r"), "");
    machine.install("ir", "r", "R");
    venv(&machine.at("root/.venv"), true);
    assert_eq!(machine.program(None, Some(("IR", None))).await, machine.at("bin/r"));
    assert_eq!(machine.program(Some("ir"), PYTHON3).await, machine.at("bin/r"));
}

#[tokio::test]
async fn the_projects_python_comes_before_installed_ones_and_the_one_on_path() {
    let machine = Machine::new();
    machine.python(1);
    assert_eq!(machine.program(None, None).await, Path::new("/opt/python"));
    script(&machine.at("bin/other"), "");
    machine.install("mine", "other", "python");
    assert_eq!(machine.program(None, PYTHON3).await, machine.at("bin/other"));
    script(&machine.at("bin/generic"), "");
    machine.install("python3", "generic", "python");
    assert_eq!(machine.program(None, PYTHON3).await, machine.at("bin/generic"));
    venv(&machine.at("root/.venv"), false);
    assert_eq!(machine.program(None, None).await, machine.at("bin/generic"));
    venv(&machine.at("root/.venv"), true);
    for query in [None, PYTHON3] {
        assert_eq!(machine.program(None, query).await, machine.at("root/.venv/bin/python"));
    }
    assert_eq!(machine.program(Some("python3"), None).await, machine.at("root/.venv/bin/python"));
}

#[tokio::test]
async fn a_missing_kernel_is_replaced_by_one_of_its_language() {
    let machine = Machine::new();
    script(&machine.at("bin/r"), "");
    machine.install("r-4.3", "r", "R");
    venv(&machine.at("root/.venv"), true);
    assert_eq!(machine.program(None, Some(("ir", Some("R")))).await, machine.at("bin/r"));
    let project = machine.at("root/.venv/bin/python");
    for named in [("my-project", Some("python")), ("conda-env-x-py", None), (".venv", None)] {
        assert_eq!(machine.program(None, Some(named)).await, project, "{named:?}");
    }
}

#[tokio::test]
async fn a_missing_language_is_an_error_that_lists_what_is_installed() {
    let machine = Machine::new();
    venv(&machine.at("root/.venv"), true);
    script(&machine.at("bin/bash"), "");
    machine.install("bash", "bash", "bash");
    machine.install("gone", "/nowhere/python", "julia");
    for (name, preferred) in
        [(None, Some(("ir", Some("R")))), (None, Some(("ir", None))), (Some("gone"), None)]
    {
        let error = machine.choose(name, preferred).await.unwrap_err();
        let available = vec!["bash".to_owned(), MANAGED.to_owned()];
        assert_eq!(error.next, NextStep::ChooseKernelspec { available });
    }
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
    let names =
        |list: Vec<workspace::KernelspecInfo>| list.into_iter().map(|info| info.name).collect::<Vec<_>>();
    assert_eq!(names(machine.chooser().list(&machine.at("root")).await), [MANAGED]);
    machine.python(1);
    assert_eq!(names(machine.chooser().list(&machine.at("root")).await), [MANAGED, "python3"]);
}

/// A uv that makes an environment, notes each call, and fails at installing while there is a file `broken`.
fn uv(machine: &Machine) {
    let folder = machine.folder.path().display();
    script(
        &machine.at("bin/uv"),
        &format!(
            r#"PATH=/usr/bin:/bin; echo "$1" >> {folder}/calls
            case $1 in
            venv) mkdir -p "$2/bin"; : > "$2/pyvenv.cfg"; : > "$2/bin/python";;
            pip) echo 'Downloading ipykernel-7.4.0'
                packages=$(dirname "$4")/../lib/python3.12/site-packages/ipykernel
                mkdir -p "$packages"; : > "$packages/__init__.py"
                [ -e {folder}/broken ] && {{ echo no network >&2; exit 2; }}
                exit 0;;
            esac"#
        ),
    );
}

fn calls(machine: &Machine) -> String {
    fs::read_to_string(machine.at("calls")).unwrap().replace('\n', " ")
}

#[tokio::test]
async fn concurrent_callers_share_one_new_environment() {
    let machine = Machine::new();
    uv(&machine);
    // Two choosers stand for two programs.
    let (one, other) = (machine.chooser(), machine.chooser());
    let (progress, mut lines) = mpsc::channel(20);
    let folder = machine.at("root");
    let query = KernelspecQuery { folder: &folder, name: None, preferred: None, progress: Some(&progress) };
    let (a, b, c) = tokio::join!(one.choose(&query), one.choose(&query), other.choose(&query));
    for choice in [a, b, c] {
        assert_eq!(choice.unwrap().program, machine.at("home/data/cellbridge/python/bin/python"));
    }
    assert_eq!(calls(&machine), "venv pip ");
    lines.close();
    let mut received = Vec::new();
    while let Some(line) = lines.recv().await {
        received.push(line);
    }
    assert!(received.contains(&"Downloading ipykernel-7.4.0".to_owned()), "{received:?}");
    // Later choices use it, with or without its name.
    assert_eq!(machine.program(Some(MANAGED), None).await, machine.program(None, None).await);
    assert_eq!(calls(&machine), "venv pip ");
}

#[tokio::test]
async fn an_unfinished_environment_is_made_again() {
    let machine = Machine::new();
    uv(&machine);
    fs::write(machine.at("broken"), "").unwrap();
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("no network") && error.to_string().contains("network"), "{error}");
    fs::remove_file(machine.at("broken")).unwrap();
    fs::write(machine.at("home/data/cellbridge/python/left"), "").unwrap();
    machine.choose(Some(MANAGED), None).await.unwrap();
    assert!(!machine.at("home/data/cellbridge/python/left").exists());
    assert_eq!(calls(&machine), "venv pip venv pip ");
}

#[tokio::test]
async fn making_an_environment_goes_on_without_its_caller() {
    let machine = Machine::new();
    uv(&machine);
    let chooser = machine.chooser();
    let folder = machine.at("root");
    let query = KernelspecQuery { folder: &folder, name: Some(MANAGED), preferred: None, progress: None };
    tokio::select! {
        biased;
        _ = chooser.choose(&query) => unreachable!("it takes a process or two"),
        () = tokio::task::yield_now() => {}
    }
    chooser.choose(&query).await.unwrap();
    assert_eq!(calls(&machine), "venv pip ");
}

#[tokio::test]
async fn without_python_the_error_says_what_to_install() {
    let machine = Machine::new();
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("no Python") && error.to_string().contains("Install Python"), "{error}");
    script(
        &machine.at("bin/python3"),
        "[ \"$1\" = -c ] && { echo '3.11 0'; echo \"$0\"; exit; }; echo ensurepip is not available; exit 1",
    );
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("ensurepip") && error.to_string().contains("python3-venv"), "{error}");
}

/// A Python on `PATH` that counts its starts. It has ipykernel while its folder `packages` does, and names the files
/// that decide this as the real one does.
fn counting_python(machine: &Machine) -> KernelspecChooser {
    let folder = machine.folder.path().display();
    script(
        &machine.at("bin/python3"),
        &format!(
            "echo start >> {folder}/starts; [ -e {folder}/packages/ipykernel ] && has=1; \
             printf '3.12 %s\\n%s\\n{folder}/packages\\n{folder}/user' \"${{has:-0}}\" \"$0\""
        ),
    );
    fs::create_dir_all(machine.at("packages")).unwrap();
    uv(machine);
    fs::write(machine.at("starts"), "").unwrap();
    machine.age_files();
    machine.chooser()
}

impl Machine {
    /// Sets the modification times back by an hour.
    fn age_files(&self) {
        let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
        for path in ["packages/ipykernel", "packages", "bin/python3"] {
            if let Ok(file) = fs::File::open(self.at(path)) {
                file.set_modified(earlier).unwrap();
            }
        }
    }

    fn starts(&self) -> usize {
        fs::read_to_string(self.at("starts")).unwrap().lines().count()
    }

    async fn program_of(&self, chooser: &KernelspecChooser) -> PathBuf {
        let folder = self.at("root");
        let query = KernelspecQuery { folder: &folder, name: None, preferred: None, progress: None };
        chooser.choose(&query).await.unwrap().program
    }
}

#[tokio::test]
async fn an_unchanged_python_is_started_once() {
    let machine = Machine::new();
    let chooser = counting_python(&machine);
    for _ in 0..3 {
        let managed = machine.at("home/data/cellbridge/python/bin/python");
        assert_eq!(machine.program_of(&chooser).await, managed);
    }
    assert_eq!(machine.starts(), 1);
}

#[tokio::test]
async fn installing_and_removing_ipykernel_is_noticed() {
    let machine = Machine::new();
    let (own, managed) = (machine.at("bin/python3"), machine.at("home/data/cellbridge/python/bin/python"));
    let chooser = counting_python(&machine);
    assert_eq!(machine.program_of(&chooser).await, managed);
    fs::create_dir(machine.at("packages/ipykernel")).unwrap();
    assert_eq!(machine.program_of(&chooser).await, own);
    machine.age_files();
    assert_eq!(machine.program_of(&chooser).await, own);
    fs::remove_dir(machine.at("packages/ipykernel")).unwrap();
    assert_eq!(machine.program_of(&chooser).await, managed);
}

#[tokio::test]
async fn an_environment_that_inherits_packages_is_started_once() {
    let machine = Machine::new();
    let chooser = counting_python(&machine);
    let inheriting = venv(&machine.at("root/.venv"), false);
    fs::write(inheriting.prefix.join("pyvenv.cfg"), "include-system-site-packages = true").unwrap();
    fs::create_dir(machine.at("packages/ipykernel")).unwrap();
    fs::copy(machine.at("bin/python3"), &inheriting.interpreter).unwrap();
    machine.age_files();
    let earlier = std::time::SystemTime::now() - std::time::Duration::from_secs(3600);
    fs::File::open(&inheriting.interpreter).unwrap().set_modified(earlier).unwrap();
    for _ in 0..3 {
        assert_eq!(machine.program_of(&chooser).await, inheriting.interpreter);
    }
    assert_eq!(machine.starts(), 1);
}
