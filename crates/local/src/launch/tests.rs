//! Kernels that are small programs. The end-to-end tests cover what a kernel does once it answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use place::{Error, ErrorKind, Kernel as _, KernelState};
use tempfile::TempDir;

use super::{KernelLauncher, LocalKernel};
use crate::test_program::program;
use environments::{InstalledKernelspec, InterruptMode, KernelChoice, ProcessEnv, Variables};
use files::{Root, canonicalize};

/// A kernel that is a program which does the steps, in its own folder.
fn kernel(steps: &[&str]) -> (TempDir, Arc<LocalKernel>) {
    kernel_with_timeout(steps, Duration::from_secs(3600))
}

fn kernel_with_timeout(steps: &[&str], start_timeout: Duration) -> (TempDir, Arc<LocalKernel>) {
    let folder = tempfile::tempdir().unwrap();
    // The system's own may be spelled as no program spells it: `C:\Users\RUNNER~1\AppData\Local\Temp`.
    let real = canonicalize(folder.path()).unwrap();
    let program = program(&folder.path().join("program"), steps);
    let variables: [(&str, PathBuf); 4] = [
        ("JUPYTER_RUNTIME_DIR", folder.path().join("run")),
        ("TMPDIR", folder.path().to_path_buf()),
        ("PATH", "/usr/bin:/bin".into()),
        ("BASH_FUNC_odd%%", "() { :; }".into()),
    ];
    let mut all: Variables = variables.map(|(name, value)| (name.into(), value.into())).into();
    #[expect(clippy::disallowed_methods, reason = "programs of Windows do not start without it")]
    all.extend(std::env::var_os("SystemRoot").map(|value| ("SystemRoot".into(), value)));
    let spec = InstalledKernelspec {
        name: "k".into(),
        resources: PathBuf::new(),
        argv: vec!["program".into(), "{connection_file}".into()],
        display_name: "K".into(),
        language: "k".into(),
        env: BTreeMap::from([("OWN".into(), "${PATH}!".into())]),
        interrupt_mode: InterruptMode::Signal,
    };
    let launcher = KernelLauncher {
        id: "id".into(),
        choice: KernelChoice { kernelspec: spec, program, environment: None, notices: Vec::new() },
        folder: real,
        notebook: Some("/root/x.ipynb".into()),
        start_timeout,
        process_env: Arc::new(ProcessEnv { variables: all, home: None }),
    };
    let root = Root::new(folder.path().to_path_buf());
    (folder, LocalKernel::new(launcher, None, root, false))
}

async fn failure(kernel: &LocalKernel) -> Error {
    kernel.executor().await.map(|_| ()).unwrap_err()
}

/// Waits until a program has noted the id of a process there.
async fn noted(path: &Path) -> u32 {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().parse().unwrap(),
            _ => tokio::task::yield_now().await,
        }
    }
}

async fn until_gone(process: u32) {
    while is_alive(process) {
        tokio::task::yield_now().await;
    }
}

/// One that has ended and for which nobody has waited yet counts.
#[cfg(unix)]
fn is_alive(process: u32) -> bool {
    let process = rustix::process::Pid::from_raw(process.cast_signed()).unwrap();
    rustix::process::test_kill_process(process).is_ok()
}

#[cfg(windows)]
use ::windows::is_alive;

#[tokio::test]
async fn a_kernel_that_exits_at_once_reports_its_output() {
    let (folder, kernel) = kernel(&["out on the way", "err something is broken", "exit 7"]);
    let error = failure(&kernel).await;
    assert_eq!(error.fault, place::Fault::Person);
    for expected in ["exit code 7", "on the way", "something is broken"] {
        assert!(error.cause.contains(expected), "{error}");
    }
    assert!(
        matches!(kernel.description().state, KernelState::Dead { how } if how.to_string().contains("exit code 7"))
    );
    assert_eq!(fs::read_dir(folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_missing_ipykernel_is_named() {
    let (folder, kernel) = kernel(&["err /v/bin/python: No module named ipykernel_launcher", "exit 1"]);
    let error = failure(&kernel).await;
    let program = folder.path().join("program").with_extension(std::env::consts::EXE_EXTENSION);
    assert!(
        error.to_string().contains(&format!("{} -m pip install ipykernel", program.display())),
        "{error}"
    );
}

#[tokio::test]
async fn a_kernel_gets_its_environment() {
    let names = ["OWN", "JPY_SESSION_NAME", "JPY_PARENT_PID", "BASH_FUNC_odd%%"];
    let names = names.map(|name| format!("variable {name}"));
    let mut steps = vec!["folder", "input"];
    steps.extend(names.iter().map(String::as_str));
    steps.push("exit 1");
    let (folder, kernel) = kernel(&steps);
    let error = failure(&kernel).await;
    let mut expected = vec![
        canonicalize(folder.path()).unwrap().display().to_string(),
        "OWN=/usr/bin:/bin!\n".to_owned(),
        "JPY_SESSION_NAME=/root/x.ipynb\n".to_owned(),
        "BASH_FUNC_odd%%=() { :; }".to_owned(),
        "input: \"\"".to_owned(),
    ];
    // On Windows it is a handle, which has any number.
    expected.extend(cfg!(unix).then(|| format!("JPY_PARENT_PID={}\n", std::process::id())));
    for expected in expected {
        assert!(error.cause.contains(&expected), "{expected} in {error}");
    }
}

#[cfg(unix)]
#[tokio::test]
async fn only_this_user_reads_a_connection_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, kernel) = kernel(&["note pid", "wait"]);
    let starting = tokio::spawn({
        let kernel = kernel.clone();
        async move { failure(&kernel).await }
    });
    noted(&folder.path().join("pid")).await;
    let mut files = fs::read_dir(folder.path().join("run")).unwrap();
    let file = files.next().unwrap().unwrap().path();
    assert_eq!(file.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert!(fs::read_to_string(&file).unwrap().contains("hmac-sha256"));
    kernel.shutdown().await.unwrap();
    starting.await.unwrap();
}

#[tokio::test]
async fn a_kernel_whose_port_is_taken_is_started_again() {
    let (folder, kernel) = kernel(&["note starts", "err Address already in use", "exit 1"]);
    failure(&kernel).await;
    assert_eq!(fs::read_to_string(folder.path().join("starts")).unwrap().lines().count(), 3);
}

#[tokio::test]
async fn a_missing_program_is_an_error() {
    let (folder, kernel) = kernel(&[]);
    fs::remove_file(folder.path().join("program").with_extension(std::env::consts::EXE_EXTENSION)).unwrap();
    let error = failure(&kernel).await;
    assert!(error.cause.contains("program"), "{error}");
}

#[tokio::test]
async fn a_kernel_that_hangs_without_its_port_is_started_again() {
    let steps = ["note starts", "err Address already in use", "wait"];
    let (folder, kernel) = kernel_with_timeout(&steps, Duration::from_secs(1));
    let error = failure(&kernel).await;
    assert!(error.cause.contains("did not answer within"), "{error}");
    assert_eq!(fs::read_to_string(folder.path().join("starts")).unwrap().lines().count(), 3);
}

#[tokio::test]
async fn a_kernel_that_hangs_without_its_port_is_not_waited_for() {
    let (folder, kernel) = kernel(&["note starts", "err Address already in use", "wait"]);
    let starting = tokio::spawn({
        let kernel = kernel.clone();
        async move { failure(&kernel).await }
    });
    let starts = || fs::read_to_string(folder.path().join("starts")).unwrap_or_default().lines().count();
    let again = async {
        while starts() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), again).await.expect("another process is started");
    kernel.shutdown().await.unwrap();
    starting.await.unwrap();
}

#[tokio::test]
async fn a_kernel_that_does_not_answer_is_ended() {
    // Time enough to note two processes.
    let steps = ["child child", "out busy", "note pid", "wait"];
    let (folder, kernel) = kernel_with_timeout(&steps, Duration::from_secs(2));
    let starting = tokio::spawn({
        let kernel = kernel.clone();
        async move { failure(&kernel).await }
    });
    let (process, child) =
        (noted(&folder.path().join("pid")).await, noted(&folder.path().join("child")).await);
    assert_eq!(kernel.description().state, KernelState::Starting);
    let error = starting.await.unwrap();
    assert!(error.cause.contains("did not answer within"), "{error}");
    until_gone(process).await;
    until_gone(child).await;
}

#[tokio::test]
async fn shutdown_cancels_a_start_even_of_a_stopped_process() {
    let (folder, kernel) = kernel(&["note pid", "stop"]);
    let starting = tokio::spawn({
        let kernel = kernel.clone();
        async move { failure(&kernel).await }
    });
    let process = noted(&folder.path().join("pid")).await;
    kernel.shutdown().await.unwrap();
    until_gone(process).await;
    let error = starting.await.unwrap();
    assert_eq!(error.kind, ErrorKind::Conflict, "the run that waits for it does not start another one");
    assert!(kernel.is_shut_down());
    assert!(failure(&kernel).await.cause.contains("was shut down"));
    assert!(matches!(kernel.description().state, KernelState::Dead { .. }));
}

#[tokio::test]
async fn a_kernel_that_never_started_can_be_shut_down_but_not_interrupted() {
    let (_folder, kernel) = kernel(&["exit 1"]);
    assert_eq!(kernel.description().state, KernelState::NotStarted);
    assert_eq!(kernel.interrupt().await.unwrap_err().fault, place::Fault::Agent);
    kernel.shutdown().await.unwrap();
    assert!(kernel.is_shut_down());
    assert!(kernel.restart().await.is_err());
}
