//! The environment that is made once for notebooks that find no kernel.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::task::AbortHandle;
use workspace::{Error, Side};

use super::install::Installer;
use super::python::Environment;
use crate::Surroundings;

/// How long making it may take, waiting for another program that makes it included.
const PATIENCE: Duration = Duration::from_secs(600);

/// How often a lock held by another program is tried again.
const RETRY: Duration = Duration::from_millis(250);

/// Written last: an environment without it was not finished.
const MARK: &str = "cellbridge-complete";

/// The environment of our own, made when first asked for.
pub(crate) struct Managed {
    surroundings: Arc<Surroundings>,
    folder: Option<PathBuf>,
    /// One attempt at a time serves all who wait. It goes on when they leave: a client's time-out must not keep a
    /// slow installation from ever coming to its end.
    attempt: Mutex<Option<Attempt>>,
    listeners: Arc<Mutex<Vec<mpsc::Sender<String>>>>,
}

struct Attempt {
    outcome: watch::Receiver<Option<Result<(), Error>>>,
    task: AbortHandle,
}

impl Managed {
    pub(crate) fn new(surroundings: Arc<Surroundings>) -> Self {
        let folder = surroundings.own_data().map(|data| data.join("python"));
        Self { surroundings, folder, attempt: Mutex::default(), listeners: Arc::default() }
    }

    /// The environment, if it has been made.
    pub(crate) fn made(&self) -> Option<Environment> {
        complete(self.folder.as_deref()?)
    }

    /// Where it is or will be.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// The environment, made if need be.
    pub(crate) async fn make(&self, progress: Option<&mpsc::Sender<String>>) -> Result<Environment, Error> {
        if let Some(environment) = self.made() {
            return Ok(environment);
        }
        let folder = self.folder.clone().ok_or_else(|| {
            Error::new(
                Side::Person,
                "there is no Python kernel, and no home folder in which to make one.",
                "Install ipykernel in the project's environment (pip install ipykernel), or set HOME.",
            )
        })?;
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).extend(progress.cloned());
        let mut outcome = self.attempt(&folder);
        let outcome = match outcome.wait_for(Option::is_some).await {
            Ok(outcome) => outcome.clone().unwrap_or(Ok(())),
            Err(_) => Err(Error::new(Side::Us, "making the Python environment was cut short.", "Try again.")),
        };
        outcome?;
        complete(&folder).ok_or_else(|| {
            let cause =
                format!("the Python environment in {} vanished as soon as it was made.", folder.display());
            Error::new(Side::Person, cause, "See what removes it, then try again.")
        })
    }

    /// Stops an attempt under way. What it left is removed by the next.
    pub(crate) fn stop(&self) {
        if let Some(attempt) = self.attempt.lock().unwrap_or_else(PoisonError::into_inner).take() {
            attempt.task.abort();
        }
    }

    /// Joins the attempt under way, or begins one.
    fn attempt(&self, folder: &Path) -> watch::Receiver<Option<Result<(), Error>>> {
        let mut attempt = self.attempt.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(attempt) = &*attempt
            && !attempt.task.is_finished()
        {
            return attempt.outcome.clone();
        }
        let (tell, outcome) = watch::channel(None);
        let (folder, surroundings, listeners) =
            (folder.to_path_buf(), self.surroundings.clone(), self.listeners.clone());
        let told = listeners.clone();
        let progress = Arc::new(move |line: &str| {
            let line: String = line.chars().take(200).collect();
            let mut listeners = told.lock().unwrap_or_else(PoisonError::into_inner);
            listeners.retain(|listener| {
                !matches!(listener.try_send(line.clone()), Err(mpsc::error::TrySendError::Closed(_)))
            });
        });
        let task = tokio::spawn(async move {
            let result = tokio::time::timeout(PATIENCE, make(&folder, &surroundings, progress)).await;
            let result = result.unwrap_or_else(|_| {
                let cause = format!(
                    "making a Python environment took longer than {} minutes.",
                    PATIENCE.as_secs() / 60
                );
                Err(Error::new(Side::Person, cause, "Check the network, then try again."))
            });
            listeners.lock().unwrap_or_else(PoisonError::into_inner).clear();
            tell.send_replace(Some(result));
        });
        *attempt = Some(Attempt { outcome: outcome.clone(), task: task.abort_handle() });
        outcome
    }
}

impl Drop for Managed {
    fn drop(&mut self) {
        self.stop();
    }
}

/// The environment in `folder`, if it was made to its end and its Python is still there.
fn complete(folder: &Path) -> Option<Environment> {
    let environment = Environment::at(folder).filter(|_| folder.join(MARK).is_file())?;
    environment.has_kernel().then_some(environment)
}

async fn make(
    folder: &Path,
    surroundings: &Surroundings,
    progress: Arc<dyn Fn(&str) + Send + Sync>,
) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        let cause = format!("no Python environment can be made in {}: {error}.", folder.display());
        Error::new(
            Side::Person,
            cause,
            "Make room or give access there, or install ipykernel in the project's environment.",
        )
    };
    let data = folder.parent().unwrap_or(folder);
    fs::create_dir_all(data).map_err(failed)?;
    // Held until the end, and let go by the system if we do not get there.
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
    Installer { folder, surroundings, progress }.install().await?;
    fs::write(folder.join(MARK), "").map_err(failed)
}

/// Takes a lock that ends with the process, however it ends.
async fn lock(path: &Path, progress: &(dyn Fn(&str) + Send + Sync)) -> std::io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    let mut has_told = false;
    while !try_lock(&file)? {
        if !has_told {
            progress("Waiting for another program that makes the Python environment");
            has_told = true;
        }
        tokio::time::sleep(RETRY).await;
    }
    Ok(file)
}

#[cfg(unix)]
fn try_lock(file: &File) -> std::io::Result<bool> {
    use rustix::fs::{FlockOperation, flock};
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

#[cfg(not(unix))]
fn try_lock(_file: &File) -> std::io::Result<bool> {
    Ok(true)
}
