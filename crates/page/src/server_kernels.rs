//! The kernels that a Jupyter server lists.

use std::sync::Arc;
use std::time::{Duration, Instant};

use place::{Error, ErrorKind, Kernel, KernelState, Place, RunId};
use tokio::sync::Mutex;

use crate::machine::{SeenKernel, SeenRun};

/// How often the server is asked for its kernels.
const PAUSE: Duration = Duration::from_secs(2);

/// Asks a server for its kernels.
pub struct ServerKernels {
    place: Arc<dyn Place>,
    listed: Mutex<Option<Listed>>,
}

/// What the server listed.
struct Listed {
    at: Instant,
    kernels: Vec<Arc<dyn Kernel>>,
}

impl ServerKernels {
    pub fn new(place: Arc<dyn Place>) -> Self {
        Self { place, listed: Mutex::default() }
    }

    /// The kernel with this id.
    pub async fn kernel(&self, id: &str) -> Result<Arc<dyn Kernel>, Error> {
        let kernels = self.all().await;
        kernels.into_iter().find(|kernel| **kernel.id() == *id).ok_or_else(|| Error::no_kernel(id))
    }

    /// The kernels, as the server has listed them lately; none if it does not answer.
    pub async fn all(&self) -> Vec<Arc<dyn Kernel>> {
        let mut listed = self.listed.lock().await;
        match &*listed {
            Some(listed) if listed.at.elapsed() < PAUSE => listed.kernels.clone(),
            _ => {
                let kernels = self.place.kernels().await.unwrap_or_else(|error| {
                    tracing::debug!(%error, "the kernels of the server are not known");
                    Vec::new()
                });
                *listed = Some(Listed { at: Instant::now(), kernels: kernels.clone() });
                kernels
            }
        }
    }
}

impl SeenKernel {
    /// A kernel of a server, with what runs there.
    pub fn of_server(kernel: &dyn Kernel, runs: Vec<SeenRun>) -> Self {
        let description = kernel.description();
        Self {
            id: kernel.id().to_string(),
            display_name: description.display_name,
            state: match description.state {
                KernelState::NotStarted | KernelState::Starting => "starting".to_owned(),
                KernelState::Idle => "idle".to_owned(),
                KernelState::Busy => "busy".to_owned(),
                KernelState::Unreachable { how } | KernelState::Dead { how } => how,
            },
            process: None,
            language: Some(description.language).filter(|language| !language.is_empty()),
            notebook: runs.iter().rev().find_map(|run| run.notebook.clone()),
            started_at: None,
            memory: None,
            servers: description.connections.and_then(|count| usize::try_from(count).ok()).unwrap_or(0),
            runs,
        }
    }
}

/// Why a run gets no answer from the page: what started it asks on no page.
pub fn answered_elsewhere(run: &RunId) -> Error {
    let cause = format!("The program that started run {run} asks only in the agent's client.");
    Error::new(ErrorKind::Unsupported, cause, "Answer it there.")
}
