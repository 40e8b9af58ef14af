//! One kernel of this machine, from its choice until it is shut down.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use kernel::{Client, Status};
use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;
use workspace::{
    Error, ErrorKind, Executor, Future, Kernel, KernelDescription, KernelId, KernelState, NextStep,
};

use super::launcher::{KernelLauncher, RunningKernel};
use crate::kernelspec::InterruptMode;

/// A kernel of this machine. Its process is started at the first use.
pub(crate) struct LocalKernel {
    this: Weak<Self>,
    launcher: KernelLauncher,
    /// Held while the process is started or stopped.
    start_stop: tokio::sync::Mutex<()>,
    state: Mutex<State>,
}

struct State {
    phase: Phase,
    last_activity: Option<SystemTime>,
    cancel_start: CancellationToken,
}

enum Phase {
    NotStarted,
    Starting,
    Running(Arc<RunningKernel>),
    FailedToStart { cause: String },
    ShutDown,
}

impl LocalKernel {
    pub(crate) fn new(launcher: KernelLauncher) -> Arc<Self> {
        let state =
            State { phase: Phase::NotStarted, last_activity: None, cancel_start: CancellationToken::new() };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            launcher,
            start_stop: tokio::sync::Mutex::new(()),
            state: Mutex::new(state),
        })
    }

    pub(crate) fn is_shut_down(&self) -> bool {
        matches!(self.state.lock().phase, Phase::ShutDown)
    }

    fn running(&self) -> Option<Arc<RunningKernel>> {
        match &self.state.lock().phase {
            Phase::Running(running) => Some(running.clone()),
            _ => None,
        }
    }

    /// The connection, if the kernel runs.
    fn client_if_running(&self) -> Option<Client> {
        let running = self.running().filter(|running| exit_status(running).is_none())?;
        self.state.lock().last_activity = Some(SystemTime::now());
        Some(running.client.clone())
    }

    /// Starts the process unless it runs. What is left of one that died is stopped first.
    async fn ensure_running(&self) -> Result<Client, Error> {
        let _lock = self.start_stop.lock().await;
        if let Some(client) = self.client_if_running() {
            return Ok(client);
        }
        if let Some(dead) = self.running() {
            dead.process.stop().await;
        }
        self.start().await
    }

    /// Starts the process; the caller holds `start_stop`.
    async fn start(&self) -> Result<Client, Error> {
        let cancel = {
            let mut state = self.state.lock();
            if matches!(state.phase, Phase::ShutDown) {
                return Err(shut_down());
            }
            state.phase = Phase::Starting;
            state.cancel_start = CancellationToken::new();
            state.last_activity = Some(SystemTime::now());
            state.cancel_start.clone()
        };
        let started = cancel.run_until_cancelled(self.launcher.start()).await;
        let mut state = self.state.lock();
        if matches!(state.phase, Phase::ShutDown) {
            return Err(shut_down());
        }
        match started {
            Some(Ok(running)) => {
                let client = running.client.clone();
                self.track_activity(&client);
                state.phase = Phase::Running(Arc::new(running));
                Ok(client)
            }
            Some(Err(error)) => {
                state.phase = Phase::FailedToStart { cause: error.cause.clone() };
                Err(error)
            }
            None => {
                state.phase = Phase::NotStarted;
                let cause = "The kernel was restarted or shut down while it was starting.";
                Err(Error::new(ErrorKind::Conflict, cause, NextStep::Run))
            }
        }
    }

    /// Records when the kernel was last active, until the connection ends.
    fn track_activity(&self, client: &Client) {
        let (mut status, this) = (client.status(), self.this.clone());
        tokio::spawn(async move {
            while status.changed().await.is_ok() {
                let Some(this) = this.upgrade() else { return };
                this.state.lock().last_activity = Some(SystemTime::now());
                if matches!(*status.borrow_and_update(), Status::Dead { .. }) {
                    return;
                }
            }
        });
    }

    async fn restart_process(&self) -> Result<(), Error> {
        self.state.lock().cancel_start.cancel();
        let _lock = self.start_stop.lock().await;
        if let Some(running) = self.running() {
            running.stop(true).await;
        }
        self.start().await.map(drop)
    }

    async fn end_process(&self) {
        let phase = {
            let mut state = self.state.lock();
            state.cancel_start.cancel();
            std::mem::replace(&mut state.phase, Phase::ShutDown)
        };
        if let Phase::Running(running) = phase {
            running.stop(false).await;
        }
        // A cancelled start ends its process before it releases the lock.
        drop(self.start_stop.lock().await);
    }

    /// Runs `work` to its end even if the caller is dropped.
    async fn run_detached<T, W>(&self, work: impl FnOnce(Arc<Self>) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: std::future::Future<Output = T> + Send + 'static,
    {
        let this = self.this.upgrade().ok_or_else(shut_down)?;
        tokio::spawn(work(this)).await.map_err(|error| {
            Error::new(
                ErrorKind::Internal,
                format!("A task for the kernel failed: {error}."),
                NextStep::TryAgain,
            )
        })
    }
}

impl Kernel for LocalKernel {
    fn id(&self) -> &KernelId {
        &self.launcher.id
    }

    fn description(&self) -> KernelDescription {
        let info = self.launcher.choice.info();
        let state = self.state.lock();
        let kernel_state = match &state.phase {
            Phase::NotStarted => KernelState::NotStarted,
            Phase::Starting => KernelState::Starting,
            Phase::FailedToStart { cause } => KernelState::Dead { how: cause.clone() },
            Phase::ShutDown => KernelState::Dead { how: "it was shut down".to_owned() },
            Phase::Running(running) => match (exit_status(running), &*running.client.status().borrow()) {
                (Some(status), _) => KernelState::Dead { how: status },
                (None, Status::Busy) => KernelState::Busy,
                (None, Status::Starting) => KernelState::Starting,
                (None, Status::Idle | Status::Dead { .. }) => KernelState::Idle,
            },
        };
        KernelDescription {
            name: info.name,
            display_name: info.display_name,
            language: info.language,
            environment: info.environment,
            state: kernel_state,
            last_activity: state.last_activity,
            connections: None,
        }
    }

    fn is_gone(&self) -> bool {
        self.is_shut_down()
    }

    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        async {
            let client = match self.client_if_running() {
                Some(client) => client,
                None => self.run_detached(|this| async move { this.ensure_running().await }).await??,
            };
            Ok(Arc::new(client) as Arc<dyn Executor>)
        }
        .boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async {
            let client = self.running().filter(|running| exit_status(running).is_none()).map(|running| {
                if self.launcher.choice.kernelspec.interrupt_mode == InterruptMode::Signal {
                    running.process.interrupt();
                }
                // The client alone: holding the process would keep its files while a restart replaces it.
                running.client.clone()
            });
            let client = client.ok_or_else(|| {
                Error::new(
                    ErrorKind::InvalidArgument,
                    "The kernel is not running, so there is nothing to interrupt.",
                    NextStep::Run,
                )
            })?;
            if self.launcher.choice.kernelspec.interrupt_mode == InterruptMode::Message {
                client.interrupt_message().await.map_err(|error| {
                    let cause = format!("The kernel could not be interrupted: {error}.");
                    Error::new(ErrorKind::RemoteFailure, cause, NextStep::RestartKernel).with_source(error)
                })?;
            }
            Ok(())
        }
        .boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { self.run_detached(|this| async move { this.restart_process().await }).await? }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        async { self.run_detached(|this| async move { this.end_process().await }).await }.boxed()
    }
}

/// How the process exited; `None` while it runs.
fn exit_status(running: &RunningKernel) -> Option<String> {
    if let Some(exit) = running.process.exit() {
        return Some(exit.to_string());
    }
    if let Some(status) = running.process.exit_status() {
        return Some(status);
    }
    match &*running.client.status().borrow() {
        Status::Dead { how } => Some(how.clone()),
        _ => None,
    }
}

fn shut_down() -> Error {
    Error::new(ErrorKind::KernelGone, "This kernel was shut down.", NextStep::StartKernel)
}
