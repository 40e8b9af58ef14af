//! One kernel from its choice to its end.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use kernel::{Client, Status};
use tokio_util::sync::CancellationToken;
use workspace::{Error, Future, Kernel, KernelDescription, KernelState, Side};

use super::start::{Recipe, Running};
use crate::kernelspec::InterruptMode;

/// A kernel of this machine. Its process is started when it is first used.
pub(crate) struct LocalKernel {
    this: Weak<Self>,
    recipe: Recipe,
    /// The queue of those who start or stop the process.
    turn: tokio::sync::Mutex<()>,
    life: Mutex<Life>,
}

struct Life {
    phase: Phase,
    last_activity: Option<SystemTime>,
    /// Cuts a start short.
    hurry: CancellationToken,
}

enum Phase {
    NotStarted,
    Starting,
    Up(Arc<Running>),
    /// It did not come up.
    Failed(String),
    /// It was shut down for good.
    Closed,
}

impl LocalKernel {
    /// A kernel that is not started.
    pub(crate) fn new(recipe: Recipe) -> Arc<Self> {
        let life = Life { phase: Phase::NotStarted, last_activity: None, hurry: CancellationToken::new() };
        Arc::new_cyclic(|this| Self {
            this: this.clone(),
            recipe,
            turn: tokio::sync::Mutex::new(()),
            life: Mutex::new(life),
        })
    }

    /// Whether it was shut down for good.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.life().phase, Phase::Closed)
    }

    fn life(&self) -> MutexGuard<'_, Life> {
        self.life.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn running(&self) -> Option<Arc<Running>> {
        match &self.life().phase {
            Phase::Up(running) => Some(running.clone()),
            _ => None,
        }
    }

    /// The connection, if the kernel is well.
    fn client_if_up(&self) -> Option<Client> {
        let running = self.running().filter(|running| death(running).is_none())?;
        self.life().last_activity = Some(SystemTime::now());
        Some(running.client.clone())
    }

    /// Starts the process unless it runs. One that is dead is cleared away first.
    async fn ensure(&self) -> Result<Client, Error> {
        let _turn = self.turn.lock().await;
        if let Some(client) = self.client_if_up() {
            return Ok(client);
        }
        if let Some(dead) = self.running() {
            dead.process.stop().await;
        }
        self.start().await
    }

    /// Starts the process; the caller has the turn.
    async fn start(&self) -> Result<Client, Error> {
        let hurry = {
            let mut life = self.life();
            if matches!(life.phase, Phase::Closed) {
                return Err(closed());
            }
            life.phase = Phase::Starting;
            life.hurry = CancellationToken::new();
            life.last_activity = Some(SystemTime::now());
            life.hurry.clone()
        };
        let started = hurry.run_until_cancelled(self.recipe.start()).await;
        let mut life = self.life();
        if matches!(life.phase, Phase::Closed) {
            return Err(closed());
        }
        match started {
            Some(Ok(running)) => {
                let client = running.client.clone();
                self.follow(&client);
                life.phase = Phase::Up(Arc::new(running));
                Ok(client)
            }
            Some(Err(error)) => {
                life.phase = Phase::Failed(error.cause.clone());
                Err(error)
            }
            None => {
                life.phase = Phase::NotStarted;
                let cause = "the kernel was restarted or shut down while it was starting.";
                Err(Error::new(Side::Agent, cause, "Run the cell again."))
            }
        }
    }

    /// Notes when the kernel does something. Ends with the connection.
    fn follow(&self, client: &Client) {
        let (mut status, this) = (client.status(), self.this.clone());
        tokio::spawn(async move {
            while status.changed().await.is_ok() {
                let Some(this) = this.upgrade() else { return };
                this.life().last_activity = Some(SystemTime::now());
                if matches!(*status.borrow_and_update(), Status::Dead(_)) {
                    return;
                }
            }
        });
    }

    /// Stops the process and starts another.
    async fn start_anew(&self) -> Result<(), Error> {
        self.life().hurry.cancel();
        let _turn = self.turn.lock().await;
        if let Some(running) = self.running() {
            running.stop(true).await;
        }
        self.start().await.map(drop)
    }

    async fn close(&self) {
        let phase = {
            let mut life = self.life();
            life.hurry.cancel();
            std::mem::replace(&mut life.phase, Phase::Closed)
        };
        if let Phase::Up(running) = phase {
            running.stop(false).await;
        }
        // A start that was cut short ends its process before it gives up its turn.
        drop(self.turn.lock().await);
    }

    /// Runs `work` to its end even if whoever asked goes away.
    async fn to_the_end<T, W>(&self, work: impl FnOnce(Arc<Self>) -> W) -> Result<T, Error>
    where
        T: Send + 'static,
        W: std::future::Future<Output = T> + Send + 'static,
    {
        let this = self.this.upgrade().ok_or_else(closed)?;
        tokio::spawn(work(this)).await.map_err(|error| {
            Error::new(Side::Us, format!("the work on the kernel was cut short: {error}."), "Try again.")
        })
    }
}

impl Kernel for LocalKernel {
    fn id(&self) -> &str {
        &self.recipe.id
    }

    fn description(&self) -> KernelDescription {
        let info = self.recipe.choice.info();
        let life = self.life();
        let state = match &life.phase {
            Phase::NotStarted => KernelState::NotStarted,
            Phase::Starting => KernelState::Starting,
            Phase::Failed(how) => KernelState::Dead(how.clone()),
            Phase::Closed => KernelState::Dead("it was shut down".to_owned()),
            Phase::Up(running) => match (death(running), &*running.client.status().borrow()) {
                (Some(how), _) => KernelState::Dead(how),
                (None, Status::Busy) => KernelState::Busy,
                (None, Status::Starting) => KernelState::Starting,
                (None, Status::Idle | Status::Dead(_)) => KernelState::Idle,
            },
        };
        KernelDescription {
            name: info.name,
            display_name: info.display_name,
            language: info.language,
            environment: info.environment,
            state,
            last_activity: life.last_activity,
            connections: None,
        }
    }

    fn is_gone(&self) -> bool {
        self.is_closed()
    }

    fn client(&self) -> Future<'_, Client> {
        async {
            if let Some(client) = self.client_if_up() {
                return Ok(client);
            }
            self.to_the_end(|this| async move { this.ensure().await }).await?
        }
        .boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async {
            let client = self.running().filter(|running| death(running).is_none()).map(|running| {
                if self.recipe.choice.spec.interrupt_mode == InterruptMode::Signal {
                    running.process.interrupt();
                }
                // Not all of it: a restart must not wait for this one's files to be let go.
                running.client.clone()
            });
            let client = client.ok_or_else(|| {
                Error::new(
                    Side::Agent,
                    "the kernel does not run, so there is nothing to interrupt.",
                    "Run a cell; that starts it.",
                )
            })?;
            if self.recipe.choice.spec.interrupt_mode == InterruptMode::Message {
                client.interrupt_message().await.map_err(|error| {
                    let hint = "If it does not react, call restart_notebook; variables are lost then.";
                    Error::new(Side::Place, format!("the kernel could not be interrupted: {error}."), hint)
                })?;
            }
            Ok(())
        }
        .boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { self.to_the_end(|this| async move { this.start_anew().await }).await? }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        async { self.to_the_end(|this| async move { this.close().await }).await }.boxed()
    }
}

/// How a kernel that was up ended; `None` if it did not.
fn death(running: &Running) -> Option<String> {
    if let Some(ended) = running.process.ended() {
        return Some(ended.to_string());
    }
    if let Some(how) = running.process.how_it_ended() {
        return Some(how);
    }
    match &*running.client.status().borrow() {
        Status::Dead(how) => Some(how.clone()),
        _ => None,
    }
}

fn closed() -> Error {
    Error::new(Side::Agent, "this kernel was shut down.", "Call use_notebook to get a new one.")
}
