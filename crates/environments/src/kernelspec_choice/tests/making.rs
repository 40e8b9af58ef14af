//! Environments that are made, with small programs for uv and Python.

use tokio::sync::mpsc;

use super::*;
use crate::venv::tests::{PACKAGES, PROGRAMS};

/// A uv that makes an environment, notes each call, and fails at installing while there is a file `broken`.
pub(super) fn uv(machine: &Machine) {
    let folder = machine.folder.path().display();
    let python = machine.at("home/data/cellbridge/python");
    let python = python.display();
    program(
        &machine.at("bin/uv"),
        &[
            &format!("argument {folder}/calls"),
            &format!("for venv make {python}/pyvenv.cfg"),
            &format!("for venv make {python}/{PROGRAMS}/python{}", std::env::consts::EXE_SUFFIX),
            "for pip out Downloading ipykernel-7.4.0",
            &format!("for pip make {python}/{PACKAGES}/ipykernel/__init__.py"),
            &format!("for pip if {folder}/broken err no network"),
            &format!("for pip if {folder}/broken exit 2"),
        ],
    );
}

fn interpreter(machine: &Machine) -> PathBuf {
    let folder = machine.at("home/data/cellbridge/python").join(PROGRAMS);
    folder.join("python").with_extension(std::env::consts::EXE_EXTENSION)
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
    let query = KernelspecQuery {
        folder: &folder,
        name: None,
        preferred: None,
        purpose: Purpose::Opening,
        progress: Some(&progress),
    };
    let (a, b, c) = tokio::join!(one.choose(&query), one.choose(&query), other.choose(&query));
    for choice in [a, b, c] {
        assert_eq!(choice.unwrap().unwrap().program, interpreter(&machine));
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
    let query = KernelspecQuery {
        folder: &folder,
        name: Some(MANAGED),
        preferred: None,
        purpose: Purpose::Opening,
        progress: None,
    };
    tokio::select! {
        biased;
        _ = chooser.choose(&query) => unreachable!("it takes a process or two"),
        () = tokio::task::yield_now() => {}
    }
    chooser.choose(&query).await.unwrap();
    assert_eq!(calls(&machine), "venv pip ");
}

/// On Windows, the Pythons in the registry of the machine are found, too.
#[cfg(unix)]
#[tokio::test]
async fn without_python_the_error_says_what_to_install() {
    let machine = Machine::new();
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("no Python") && error.to_string().contains("Install Python"), "{error}");
    let python = machine.at("bin/python3");
    let itself = format!("for -ISc out {}", python.display());
    let steps =
        ["for -ISc out 3.11 0", &itself, "for -ISc exit 0", "out ensurepip is not available", "exit 1"];
    program(&python, &steps);
    let error = machine.choose(None, None).await.unwrap_err();
    assert!(error.cause.contains("ensurepip") && error.to_string().contains("python3-venv"), "{error}");
}
