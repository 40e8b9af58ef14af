//! Our connection to a kernel that another program has started: how it is made, and what its end means.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use kernel::{Client, KernelError, Status};
use place::{Error, ErrorKind};
use tokio::time::{Instant, sleep};
use transports::probe;

use super::ForeignKernel;
use crate::foreign::file::ForeignFile;
use crate::foreign::process::KernelProcess;
use crate::foreign::refused;
use crate::foreign::search::{PROBE_TIMEOUT, on_files};
use environments::{InstalledKernelspec, ProcessEnv, data_folders, list};

/// How long a kernel that lives may take to reply. One that works on something may have no thread for that.
const JOIN_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a kernel that was connected may be away, because its program restarts it: Jupyter looks every three seconds.
const RESTART_TIMEOUT: Duration = Duration::from_secs(5);
const RETRY_PAUSE: Duration = Duration::from_millis(100);

/// What is found out about a kernel when it is joined.
#[derive(Default)]
struct Surroundings {
    kernelspec: Option<InstalledKernelspec>,
    process: Option<KernelProcess>,
}

impl ForeignKernel {
    pub(super) fn living_client(&self) -> Option<Client> {
        let client = self.state.lock().client.clone()?;
        let is_dead = matches!(*client.status().borrow(), Status::Dead { .. });
        (!is_dead).then_some(client)
    }

    /// The connection, made if there is none. Fails if the kernel does not answer.
    pub(crate) async fn connect(&self) -> Result<Client, Error> {
        let _one_at_a_time = self.connecting.lock().await;
        if let Some(client) = self.living_client() {
            self.state.lock().last_activity = Some(SystemTime::now());
            return Ok(client);
        }
        let file = self.wait_until_alive().await?;
        // The owner of its process notices its end; here the end of the connection tells.
        let process_end = std::future::pending();
        let connected = transports::connect(&file.info, JOIN_TIMEOUT, false, process_end).await;
        let client = connected.map_err(|error| self.not_joined(error))?;
        let (info, name) = (file.info.clone(), file.kernel_name().map(str::to_owned));
        let surroundings = on_files(self.process_env.clone(), move |process_env| Surroundings {
            kernelspec: name.and_then(|name| installed(process_env, &name)),
            process: KernelProcess::find(&info),
        });
        let Surroundings { kernelspec, process } = surroundings.await;
        self.follow(&client);
        let mut state = self.state.lock();
        (state.file, state.kernelspec, state.process) = (file, kernelspec, process.map(Arc::new));
        (state.client, state.is_gone) = (Some(client.clone()), false);
        state.last_activity = Some(SystemTime::now());
        Ok(client)
    }

    /// Its connection file as it is now, once somebody answers there. One that was connected may be restarting.
    async fn wait_until_alive(&self) -> Result<ForeignFile, Error> {
        let was_connected = self.state.lock().client.is_some();
        let end = Instant::now() + if was_connected { RESTART_TIMEOUT } else { Duration::ZERO };
        let path = self.state.lock().file.path.clone();
        loop {
            let path = path.clone();
            let read = on_files(self.process_env.clone(), move |_| Some(ForeignFile::read(&path))).await;
            let file = match read {
                Some(Ok(Some(file))) => file,
                Some(Err(refusal)) => return Err(refused(&self.id, &refusal)),
                // Whoever ends a kernel removes its file.
                Some(Ok(None)) | None => return Err(self.gone()),
            };
            if probe(&file.info, PROBE_TIMEOUT).await.is_some() {
                return Ok(file);
            }
            if Instant::now() >= end {
                return Err(self.gone());
            }
            sleep(RETRY_PAUSE).await;
        }
    }

    /// Records when the kernel was last active, and finds out whether it is gone when the connection ends. Ends with the
    /// connection.
    fn follow(&self, client: &Client) {
        let (mut status, this) = (client.status(), self.this.clone());
        place::spawn(async move {
            while status.changed().await.is_ok() {
                let Some(this) = this.upgrade() else { return };
                this.state.lock().last_activity = Some(SystemTime::now());
                if matches!(*status.borrow_and_update(), Status::Dead { .. }) {
                    // The next run has to know whether to connect again or to start another kernel.
                    if this.wait_until_alive().await.is_err() {
                        tracing::debug!(kernel = %this.id, "a foreign kernel has ended");
                    }
                    return;
                }
            }
        });
    }

    fn gone(&self) -> Error {
        self.state.lock().is_gone = true;
        Error::new(
            ErrorKind::KernelGone,
            format!(
                "Kernel {} is gone: the program that started it has ended it, or it has crashed. Its variables are lost.",
                self.id
            ),
            "Run the cell again: that starts a new kernel. First run the cells on which it depends.",
        )
    }

    fn not_joined(&self, error: KernelError) -> Error {
        let cause = format!("Kernel {} cannot be joined: {error}.", self.id);
        let next = "If it is running code, try again when the code has finished.";
        Error::new(ErrorKind::RemoteFailure, cause, next).with_source(error)
    }
}

/// The installed kernelspec with this name. Reads files.
fn installed(process_env: &ProcessEnv, name: &str) -> Option<InstalledKernelspec> {
    let environments = ["VIRTUAL_ENV", "CONDA_PREFIX"].map(|variable| process_env.path(variable));
    let environments: Vec<_> = environments.into_iter().flatten().collect();
    let kernelspecs = list(&data_folders(process_env, &environments));
    kernelspecs.into_iter().find(|kernelspec| kernelspec.name.eq_ignore_ascii_case(name))
}
