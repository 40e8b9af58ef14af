//! Kernels that are shell scripts. The end-to-end tests cover what a kernel does once it answers.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tempfile::TempDir;
use workspace::{Error, ErrorKind, Kernel as _, KernelState};

use super::{KernelLauncher, LocalKernel};
use crate::ProcessEnv;
use crate::environment::KernelChoice;
use crate::kernelspec::{InstalledKernelspec, InterruptMode};
use crate::root::Root;
use crate::tests::script;

/// A kernel that is the shell script `body`, in its own folder.
fn kernel(body: &str) -> (TempDir, Arc<LocalKernel>) {
    kernel_with_timeout(body, Duration::from_secs(3600))
}

fn kernel_with_timeout(body: &str, start_timeout: Duration) -> (TempDir, Arc<LocalKernel>) {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    script(&program, body);
    let variables: [(&str, PathBuf); 4] = [
        ("JUPYTER_RUNTIME_DIR", folder.path().join("run")),
        ("TMPDIR", folder.path().to_path_buf()),
        ("PATH", "/usr/bin:/bin".into()),
        ("BASH_FUNC_odd%%", "() { :; }".into()),
    ];
    let variables = variables.map(|(name, value)| (name.into(), value.into()));
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
        choice: KernelChoice { kernelspec: spec, program, environment: None },
        folder: folder.path().to_path_buf(),
        notebook: Some("/root/x.ipynb".into()),
        start_timeout,
        process_env: Arc::new(ProcessEnv { variables: variables.into(), home: None }),
    };
    let root = Root::new(folder.path().to_path_buf());
    (folder, LocalKernel::new(launcher, None, root))
}

async fn failure(kernel: &LocalKernel) -> Error {
    kernel.executor().await.map(|_| ()).unwrap_err()
}

/// Waits until a script has written its process id there.
async fn written(path: &Path) -> String {
    loop {
        match fs::read_to_string(path) {
            Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
            _ => tokio::task::yield_now().await,
        }
    }
}

async fn until_gone(process: &str) {
    while Path::new("/proc").join(process).exists() {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_kernel_that_exits_at_once_reports_its_output() {
    let (folder, kernel) = kernel("echo on the way; echo something is broken >&2; exit 7");
    let error = failure(&kernel).await;
    assert_eq!(error.fault, workspace::Fault::Person);
    for expected in ["exit code 7", "on the way", "something is broken"] {
        assert!(error.cause.contains(expected), "{error}");
    }
    assert!(matches!(kernel.description().state, KernelState::Dead { how } if how.contains("exit code 7")));
    assert_eq!(fs::read_dir(folder.path().join("run")).unwrap().count(), 0);
}

#[tokio::test]
async fn a_missing_ipykernel_is_named() {
    let (_folder, kernel) = kernel("echo '/v/bin/python: No module named ipykernel_launcher' >&2; exit 1");
    let error = failure(&kernel).await;
    assert!(error.to_string().contains("program -m pip install ipykernel"), "{error}");
}

#[tokio::test]
async fn a_kernel_gets_its_environment() {
    let body = r#"pwd; echo "[$OWN] [$JPY_SESSION_NAME] [$JPY_PARENT_PID]"; ls -l "$1" | cut -c1-10
        grep -c hmac-sha256 "$1"; tr '\0' '\n' < /proc/$$/environ | grep BASH_FUNC; read -r line || echo no input; exit 1"#;
    let (folder, kernel) = kernel(body);
    let error = failure(&kernel).await;
    let expected = [
        folder.path().canonicalize().unwrap().display().to_string(),
        format!("[/usr/bin:/bin!] [/root/x.ipynb] [{}]", std::process::id()),
        "-rw-------\n1\n".to_owned(),
        "BASH_FUNC_odd%%=() { :; }".to_owned(),
        "no input".to_owned(),
    ];
    for expected in expected {
        assert!(error.cause.contains(&expected), "{expected} in {error}");
    }
}

#[tokio::test]
async fn a_kernel_whose_port_is_taken_is_started_again() {
    let (folder, kernel) = kernel("echo started >> starts; echo 'Address already in use' >&2; exit 1");
    failure(&kernel).await;
    assert_eq!(fs::read_to_string(folder.path().join("starts")).unwrap().lines().count(), 3);
}

#[tokio::test]
async fn a_missing_program_is_an_error() {
    let (folder, kernel) = kernel("");
    fs::remove_file(folder.path().join("program")).unwrap();
    let error = failure(&kernel).await;
    assert!(error.cause.contains("program"), "{error}");
}

#[tokio::test]
async fn a_kernel_that_does_not_answer_is_ended() {
    // It has a child that ignores SIGTERM, as real ones may.
    let body = "(trap '' TERM; sleep 1000) & echo $! > child; echo busy; echo $$ > pid; sleep 1000";
    // Time enough for a shell to write two files.
    let (folder, kernel) = kernel_with_timeout(body, Duration::from_secs(2));
    let starting = tokio::spawn({
        let kernel = kernel.clone();
        async move { failure(&kernel).await }
    });
    let (process, child) =
        (written(&folder.path().join("pid")).await, written(&folder.path().join("child")).await);
    assert_eq!(kernel.description().state, KernelState::Starting);
    let error = starting.await.unwrap();
    assert!(error.cause.contains("did not answer within"), "{error}");
    until_gone(&process).await;
    until_gone(&child).await;
}

#[tokio::test]
async fn shutdown_cancels_a_start_even_of_a_stopped_process() {
    let (folder, kernel) = kernel("echo $$ > pid; kill -STOP $$");
    let starting = tokio::spawn({
        let kernel = kernel.clone();
        async move { failure(&kernel).await }
    });
    let process = written(&folder.path().join("pid")).await;
    kernel.shutdown().await.unwrap();
    until_gone(&process).await;
    let error = starting.await.unwrap();
    assert_eq!(error.kind, ErrorKind::Conflict, "the run that waits for it does not start another one");
    assert!(kernel.is_shut_down());
    assert!(failure(&kernel).await.cause.contains("was shut down"));
    assert!(matches!(kernel.description().state, KernelState::Dead { .. }));
}

#[tokio::test]
async fn a_kernel_that_never_started_can_be_shut_down_but_not_interrupted() {
    let (_folder, kernel) = kernel("exit 1");
    assert_eq!(kernel.description().state, KernelState::NotStarted);
    assert_eq!(kernel.interrupt().await.unwrap_err().fault, workspace::Fault::Agent);
    kernel.shutdown().await.unwrap();
    assert!(kernel.is_shut_down());
    assert!(kernel.restart().await.is_err());
}
