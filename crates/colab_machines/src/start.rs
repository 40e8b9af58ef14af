//! One start of a machine, in a task of its own: if nobody waits for it any longer, the machine is ended again.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jupyter::Jupyter;
use place::{Error, ErrorKind, MachineKind};
use rest::{Kind, RestError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::api::{MachineId, Runtime};
use crate::failure::{Failure, Subject};
use crate::ledger::Entry;
use crate::requests::NotCreated;
use crate::running::RunningMachines;

/// Time limit for the Jupyter server on a new machine.
const BOOT_TIMEOUT: Duration = Duration::from_secs(180);

/// How long the end of this program waits for the creation of a machine, to end it.
const CLOSING_WAIT: Duration = Duration::from_secs(3);

/// The sender of the place, or of the reason why there is none.
pub(crate) type Answer = oneshot::Sender<Result<Arc<Jupyter>, Error>>;

/// A start.
pub(crate) struct Start {
    pub(crate) machines: Arc<RunningMachines>,
    pub(crate) kind: MachineKind,
    pub(crate) keeps: bool,
    /// Takes lines of progress.
    pub(crate) lines: Option<mpsc::Sender<String>>,
    /// Cancelled when this program ends.
    pub(crate) closing: CancellationToken,
}

impl Start {
    pub(crate) async fn run(self, mut answer: Answer) {
        let error = match self.create().await {
            Ok(runtime) => {
                let booted = tokio::select! {
                    booted = self.boot(&runtime) => booted,
                    () = answer.closed() => Err(interrupted()),
                    () = self.closing.cancelled() => Err(interrupted()),
                };
                match booted {
                    Ok(place) => {
                        self.machines.ledger.end_start(&runtime.id);
                        if answer.send(Ok(place)).is_err() {
                            let _ = self.end(&runtime.id).await;
                        }
                        return;
                    }
                    Err(error) => self.ended(error, &runtime.id).await,
                }
            }
            Err(error) => error,
        };
        let _ = answer.send(Err(error));
    }

    /// Creates the machine. It is recorded before, and the record is removed only if it is certain that there is no machine.
    async fn create(&self) -> Result<Runtime, Error> {
        let Self { machines, kind, keeps, .. } = self;
        let id = MachineId::generate(kind);
        let (account, at) = (machines.account()?, SystemTime::now());
        let entry = Entry { id: id.clone(), kind: kind.clone(), account, keeps: *keeps, at };
        machines.ledger.record(&entry).map_err(|error| {
            let cause = format!("The machine was not requested, because it cannot be recorded: {error}.");
            Error::new(ErrorKind::Unavailable, cause, "Free space in the state folder of Cellbridge.")
                .with_source(error)
        })?;
        self.report(format!("requesting the machine {id} ({kind}) from Google"));
        let report = |line| self.report(line);
        // A caller that has gone does not interrupt this: a machine cannot be ended before it is there.
        let creating = machines.api.create(&id, kind, &report);
        tokio::pin!(creating);
        let created = tokio::select! {
            created = &mut creating => created,
            () = self.closing.cancelled() => {
                let created = timeout(CLOSING_WAIT, &mut creating).await;
                let id = if let Ok(Ok(runtime)) = &created { &runtime.id } else { &id };
                let is_ended = machines.api.delete(id).await.is_ok();
                if !(is_ended && created.is_ok()) {
                    tracing::warn!(%id, %kind, "the Colab machine may be started after this program has ended");
                }
                return Err(interrupted());
            }
        };
        match created {
            Ok(runtime) => {
                if runtime.id != id {
                    // Google has chosen another id.
                    let _ = machines.ledger.record(&Entry { id: runtime.id.clone(), ..entry });
                    machines.ledger.remove(&id);
                }
                machines.ledger.settle(&runtime.id);
                Ok(runtime)
            }
            Err(NotCreated { failure, may_exist, is_named }) => {
                let mut left = String::new();
                if may_exist {
                    // The record stays: Google may still create it. The end of this program deletes it once more.
                    machines.ledger.end_start(&id);
                    if machines.api.delete(&id).await.is_err() || !is_named {
                        tracing::warn!(%id, ?failure, "a Colab machine may have been started");
                        let name = if is_named { id.to_string() } else { format!("({kind})") };
                        left = format!(
                            " The machine {name} may have been started: list the machines before you start another."
                        );
                    }
                } else {
                    machines.ledger.remove(&id);
                }
                let running = if failure.has_reason("TOO_MANY_ACTIVE_RUNTIMES") {
                    machines.running().await.unwrap_or_default()
                } else {
                    Vec::new()
                };
                let error = failure.explain(Subject::Start(kind, &running));
                Err(Error { cause: format!("{}{left}", error.cause), ..error })
            }
        }
    }

    /// Waits until the Jupyter server on the machine answers.
    async fn boot(&self, runtime: &Runtime) -> Result<Arc<Jupyter>, Error> {
        let start = Instant::now();
        loop {
            let waited = start.elapsed();
            self.report(format!("waiting for the Jupyter server of {} ({} s)", runtime.id, waited.as_secs()));
            let failure = match self.machines.place(runtime).await? {
                Some(place) => match place.status().await {
                    Ok(()) => return Ok(place),
                    Err(error) if is_booting(&error) => Some(error),
                    Err(error) => return Err(error),
                },
                None => None,
            };
            if waited > BOOT_TIMEOUT {
                return Err(failure.unwrap_or_else(|| Failure::Unfinished.explain(Subject::Account)));
            }
            sleep(self.machines.api.http.pauses.boot).await;
        }
    }

    /// Ends the machine after a failure, and says so.
    async fn ended(&self, error: Error, id: &MachineId) -> Error {
        let is_ended = self.end(id).await.is_ok();
        // Otherwise, the end of this program ends it.
        self.machines.ledger.end_start(id);
        let what = if is_ended { "was stopped again" } else { "may run on" };
        Error { cause: format!("{} The machine {id} {what}.", error.cause), ..error }
    }

    async fn end(&self, id: &MachineId) -> Result<(), ()> {
        self.machines.end(id).await.map_err(|failure| {
            let problem = failure.explain(Subject::Machine(id));
            tracing::warn!(%id, problem = problem.cause, "the Colab machine was not stopped, and may cost compute units");
        })
    }

    fn report(&self, line: String) {
        if let Some(lines) = &self.lines {
            let _ = lines.try_send(line);
        }
    }
}

fn interrupted() -> Error {
    Error::new(
        ErrorKind::Disconnected,
        "The start of the machine was cancelled.",
        place::NextStep::StartMachine,
    )
}

/// Whether the server may answer later: Google's proxy responds in its place until it is there.
fn is_booting(error: &Error) -> bool {
    let source = error.source.as_deref().and_then(|it| it.downcast_ref::<RestError>());
    source.is_some_and(|error| {
        !matches!(error.kind, Kind::Gone | Kind::Tls | Kind::Address | Kind::Unsupported | Kind::Forbidden)
    })
}
