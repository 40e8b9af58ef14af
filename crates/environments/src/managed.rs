//! The Python environment that this program makes for notebooks without a kernel.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, Shared};
use parking_lot::Mutex;
use place::{Error, ErrorKind, NextStep};
use tokio::sync::mpsc;
use tokio::task::AbortHandle;

use super::install::Installer;
use super::venv::Environment;
use crate::ProcessEnv;

/// Includes waiting for another program that makes it.
const INSTALL_TIMEOUT: Duration = Duration::from_secs(600);

/// The pause before another try to take a lock that another program holds.
const LOCK_RETRY: Duration = Duration::from_millis(250);

/// Written last: an environment without it is unfinished.
const COMPLETE_FILE: &str = "cellbridge-complete";

/// The managed environment, made at the first use.
pub(crate) struct Managed {
    process_env: Arc<ProcessEnv>,
    folder: Option<PathBuf>,
    /// All callers wait for the same attempt. It goes on without them, so that a slow installation completes even if
    /// every client times out.
    attempt: Mutex<Option<Attempt>>,
    progress: Arc<Mutex<Vec<mpsc::Sender<String>>>>,
}

struct Attempt {
    outcome: Shared<BoxFuture<'static, Result<(), Error>>>,
    task: AbortHandle,
}

impl Managed {
    pub(crate) fn new(process_env: Arc<ProcessEnv>) -> Self {
        let folder = process_env.own_data_dir().map(|data| data.join("python"));
        Self { process_env, folder, attempt: Mutex::default(), progress: Arc::default() }
    }

    /// The environment, if it is complete.
    pub(crate) fn made(&self) -> Option<Environment> {
        complete(self.folder.as_deref()?)
    }

    /// Where the environment is or will be.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The environment; makes it if necessary, without starting anything that lies in the folder `spared`.
    pub(crate) async fn make(
        &self,
        progress: Option<&mpsc::Sender<String>>,
        spared: Option<&Path>,
    ) -> Result<Environment, Error> {
        if let Some(environment) = self.made() {
            return Ok(environment);
        }
        let folder = self.folder.clone().ok_or_else(|| {
            Error::new(
                ErrorKind::Unavailable,
                "There is no Python kernel, and no home folder to install one in.",
                "Install ipykernel in the project's environment (pip install ipykernel), or set HOME.",
            )
        })?;
        self.progress.lock().extend(progress.cloned());
        let outcome = self.attempt(&folder, spared);
        outcome.await?;
        complete(&folder).ok_or_else(|| {
            let cause = format!("The new Python environment in {} has disappeared.", folder.display());
            Error::new(ErrorKind::Unavailable, cause, "Find out which program removes it, then try again.")
        })
    }

    /// Stops a running attempt. The next one removes what it left.
    pub(crate) fn stop(&self) {
        if let Some(attempt) = self.attempt.lock().take() {
            attempt.task.abort();
        }
    }

    /// Joins the running attempt, or starts one.
    fn attempt(&self, folder: &Path, spared: Option<&Path>) -> Shared<BoxFuture<'static, Result<(), Error>>> {
        let mut attempt = self.attempt.lock();
        if let Some(attempt) = &*attempt
            && !attempt.task.is_finished()
        {
            return attempt.outcome.clone();
        }
        let process_env = match spared {
            Some(spared) => Arc::new(self.process_env.outside(spared)),
            None => self.process_env.clone(),
        };
        let (folder, spared) = (folder.to_path_buf(), spared.map(Path::to_path_buf));
        let senders = self.progress.clone();
        let receivers = senders.clone();
        let progress = Arc::new(move |line: &str| {
            let line: String = line.chars().take(200).collect();
            receivers.lock().retain(|receiver| {
                !matches!(receiver.try_send(line.clone()), Err(mpsc::error::TrySendError::Closed(_)))
            });
        });
        let task = tokio::spawn(async move {
            let made = make(&folder, &process_env, spared.as_deref(), progress);
            let result = tokio::time::timeout(INSTALL_TIMEOUT, made).await;
            let result = result.unwrap_or_else(|_| {
                let cause = format!(
                    "Creating a Python environment took longer than {} minutes.",
                    INSTALL_TIMEOUT.as_secs() / 60
                );
                Err(Error::new(ErrorKind::Unavailable, cause, "Check the network, then try again."))
            });
            senders.lock().clear();
            result
        });
        let handle = task.abort_handle();
        let early = "The task that creates the Python environment ended early.";
        let outcome = task.map(move |ended| {
            ended.unwrap_or_else(|_| Err(Error::new(ErrorKind::Internal, early, NextStep::TryAgain)))
        });
        let outcome = outcome.boxed().shared();
        *attempt = Some(Attempt { outcome: outcome.clone(), task: handle });
        outcome
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The environment in `folder`, if it is complete and its Python still exists.
fn complete(folder: &Path) -> Option<Environment> {
    let environment = Environment::at(folder).filter(|_| folder.join(COMPLETE_FILE).is_file())?;
    environment.has_kernel().then_some(environment)
}

async fn make(
    folder: &Path,
    process_env: &ProcessEnv,
    spared: Option<&Path>,
    progress: Arc<dyn Fn(&str) + Send + Sync>,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        let cause = format!("A Python environment cannot be created in {}: {error}.", folder.display());
        Error::new(
            ErrorKind::Unavailable,
            cause,
            "Free some space there or make the folder writable, or install ipykernel in the project's environment.",
        )
        .with_source(error)
    };
    let data = folder.parent().unwrap_or(folder);
    fs::create_dir_all(data).map_err(failed)?;
    // The operating system releases it if this program is killed.
    let _lock = lock(&data.join("python.lock"), &*progress).await.map_err(failed)?;
    if complete(folder).is_some() {
        return Ok(());
    }
    let unfinished = folder.to_path_buf();
    let removed = tokio::task::spawn_blocking(move || match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    });
    removed.await.unwrap_or(Ok(())).map_err(failed)?;
    Installer { folder, process_env, spared, progress }.install().await?;
    fs::write(folder.join(COMPLETE_FILE), "").map_err(failed)
}

async fn lock(path: &Path, progress: &(dyn Fn(&str) + Send + Sync)) -> std::io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    let mut is_waiting = false;
    while !state::try_lock(&file)? {
        if !std::mem::replace(&mut is_waiting, true) {
            progress("Waiting for another program that creates the Python environment");
        }
        tokio::time::sleep(LOCK_RETRY).await;
    }
    Ok(file)
}
