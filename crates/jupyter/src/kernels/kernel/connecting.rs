//! The connection to a kernel: made when it is needed, and made again after a restart.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use super::state::is_dead;
use super::{SHUT_DOWN, ServerKernel};
use crate::failure;
use crate::kernels::channels::Channels;
use crate::kernels::monitor::monitor;
use ::kernel::{Client, Death, KernelError, Status};
use place::{Error, ErrorKind, Kernel as _, NextStep};
use rest::KernelModel;
use tokio::time::timeout;

/// How long a kernel may take to answer.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How long after its last use a kernel is assumed to exist. When a kernel is shut down, the connection to it ends only
/// some time later.
const TRUSTED: Duration = Duration::from_millis(250);

/// How long a call that only asks which cells are stale may wait for a connection.
const IDENTIFY_TIMEOUT: Duration = Duration::from_secs(2);

const CHECK_SOCKETS: &str = "Check that the server runs, and that the proxies in front of it pass WebSockets on; the next call tries again.";

impl ServerKernel {
    fn client_if_up(&self) -> Option<Client> {
        let mut state = self.state.lock();
        let client = state.client.clone().filter(|client| !is_dead(client) && !client.is_superseded())?;
        state.last_used = Some(SystemTime::now());
        Some(client)
    }

    /// Which process of the kernel runs now, if there is a connection to it.
    pub(super) fn process(&self) -> Option<String> {
        self.state.lock().client.as_ref().filter(|client| !is_dead(client))?.process()
    }

    /// The connection, if it was used so recently that the server need not be asked.
    fn trusted_client(&self) -> Option<Client> {
        // Another client can take over the connection at any moment.
        let client = self.client_if_up().filter(|_| self.handle.is_limited())?;
        let verified_at = self.state.lock().verified_at.replace(Instant::now());
        verified_at.filter(|at| at.elapsed() < TRUSTED).map(|_| client)
    }

    /// The connection; made if there is none. A kernel that is dead on the server is restarted.
    async fn ensure_connected(&self) -> Result<Client, Error> {
        let _turn = self.turn.lock().await;
        let client = self.client_if_up();
        let is_idle = client.as_ref().is_some_and(|client| *client.status().borrow() == Status::Idle);
        // Only an answer shows that another client has not taken over the connection: a request would be lost. A busy kernel need not answer.
        let is_asked = is_idle && !self.handle.is_limited();
        if let Some(client) = client.as_ref().filter(|_| is_asked)
            && client.identify().await.is_ok()
        {
            return Ok(client.clone());
        }
        let model = match (self.fetch().await, client) {
            (Err(error), Some(_)) if self.is_gone() => return Err(error),
            // The connection reconnects by itself.
            (Err(_), Some(client)) => return Ok(client),
            (Ok(_), Some(client)) if !is_asked => return Ok(client),
            (model, _) => model?,
        };
        let state = model.execution_state.as_deref();
        if state == Some("dead") {
            self.post_restart().await?;
        }
        let is_fresh = matches!(state, Some("dead" | "starting" | "restarting" | "autorestarting"));
        self.connect(is_fresh).await
    }

    /// The connection, which is made if there is none.
    pub(super) async fn client(&self) -> Result<Client, Error> {
        match self.trusted_client() {
            Some(client) => Ok(client),
            None => self.run_to_completion(|this| async move { this.ensure_connected().await }).await,
        }
    }

    /// Connects if no connection shows which process the kernel is. Disturbs nobody.
    pub(super) async fn connect_to_identify(&self) {
        let client = self.state.lock().client.clone();
        let has_ended = client.as_ref().is_some_and(|client| client.ended_process().is_some());
        let status = client.map(|client| client.status().borrow().clone());
        let is_live = status.as_ref().is_some_and(|status| !matches!(status, Status::Dead { .. }));
        // Only jupyter-server-documents can lose a kernel that is restarted, until a new connection is made, and tells nobody that
        // a kernel's process has ended.
        let is_trusted = is_live && (self.handle.is_limited() || status != Some(Status::Idle));
        if has_ended || is_trusted || self.is_gone() {
            return;
        }
        let connecting = async {
            match self.fetch().await?.execution_state.as_deref() {
                // It would be restarted.
                Some("dead") => Ok(()),
                // The replies that others wait for would come to us.
                Some("busy") if !self.handle.is_limited() => Ok(()),
                // The first messages of a new process can come before the server listens to it again, and are lost: it is asked.
                _ => self.client().await.map(drop),
            }
        };
        if let Ok(Err(error)) = timeout(IDENTIFY_TIMEOUT, connecting).await {
            tracing::debug!(%error, "the process of a kernel is not known");
        }
    }

    /// Asks the server for its description. Fails if the kernel no longer exists.
    async fn fetch(&self) -> Result<KernelModel, Error> {
        let found = self.handle.kernel(&self.id).await?;
        let Some(model) = found else {
            self.set_gone(SHUT_DOWN);
            return Err(self.gone_error());
        };
        self.update(model.clone(), None);
        Ok(model)
    }

    async fn connect(&self, is_fresh: bool) -> Result<Client, Error> {
        let in_process = match &self.handle.in_process {
            Some(in_process) => in_process.connection(&self.id).await,
            None => None,
        };
        let mut refusal = None;
        let connected = if let Some(info) = &in_process {
            transports::connect(info, START_TIMEOUT, is_fresh, std::future::pending()).await
        } else {
            let server = self.handle.unshared().await.map_err(failure::of)?;
            let dial = Arc::new(Channels::new(server, &self.id, &self.handle));
            let (outage, log) = (self.outage.clone(), self.runs().map(|runs| runs.session_log()));
            let connected =
                transports::connect_websocket(dial.clone(), outage, START_TIMEOUT, is_fresh, log).await;
            refusal = dial.failure.lock().take();
            connected.map(|(client, events)| {
                if let Some(runs) = self.runs() {
                    runs.connected(&client, events);
                }
                client
            })
        };
        let client = match connected {
            Ok(client) => client,
            Err(error) => {
                // It may have been shut down in the meantime.
                self.fetch().await?;
                let unusable = self.unusable_error(error);
                return Err(match refusal.map(|refusal| failure::of(self.handle.named(refusal))) {
                    // The server's words about the socket help, not a restart of the kernel.
                    Some(Error { kind, fault, next, .. }) => Error { kind, fault, next, ..unusable },
                    None => unusable,
                });
            }
        };
        monitor(self.this.clone(), &client);
        let mut state = self.state.lock();
        if let Some(superseded) = state.client.take() {
            // A process that a server, or a person, has started in its place knows nothing of what ran before.
            if let Some(earlier) = superseded.process().or_else(|| superseded.ended_process()) {
                client.follow_process(Some(earlier));
            }
            // Its requests still end there.
            place::spawn(async move {
                let _ = superseded.status().wait_for(|status| *status != Status::Busy).await;
            });
        }
        state.is_counted = in_process.is_none();
        state.client = Some(client.clone());
        state.last_used = Some(SystemTime::now());
        state.verified_at = Some(Instant::now());
        Ok(client)
    }

    fn unusable_error(&self, error: KernelError) -> Error {
        let cause = format!("Kernel {} on {} cannot be used: {error}.", self.id, self.handle.title());
        let (kind, next) = match &error {
            // A restart of the kernel opens no socket.
            KernelError::Unusable { .. } => (ErrorKind::Unavailable, CHECK_SOCKETS.into()),
            _ => (ErrorKind::RemoteFailure, NextStep::RestartKernel),
        };
        Error::new(kind, cause, next).with_source(error)
    }

    async fn post_restart(&self) -> Result<(), Error> {
        let restarted = self.handle.call(|server| async move {
            match server.restart_kernel(&self.id).await {
                Ok(model) => Ok(Some(model)),
                Err(error) if error.kind == rest::Kind::NotFound => Ok(None),
                Err(error) => Err(error),
            }
        });
        if let Some(model) = restarted.await? {
            self.update(model, None);
            return Ok(());
        }
        self.set_gone(SHUT_DOWN);
        Err(self.gone_error())
    }

    pub(super) async fn restart_process(&self) -> Result<(), Error> {
        let _turn = self.turn.lock().await;
        let before = self.state.lock().client.take();
        self.post_restart().await?;
        if let Some(client) = before {
            client.report_death(Death::Restarted);
            // Two connections of one session disturb each other on some servers: jupyter-server-documents gives both the same ZeroMQ
            // identity, and a Kernel Gateway closes one for the other, which the server in front of it then opens again.
            let mut status = client.status();
            let _ = status.wait_for(|status| matches!(status, Status::Dead { .. })).await;
        }
        self.connect(true).await.map(drop)
    }
}
