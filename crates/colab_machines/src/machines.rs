//! The machines of the signed-in account, as tools see them.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};
use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join, join_all, try_join};
use jupyter::Viewer;
use place::{
    Error, ErrorKind, Future, Machine, MachineKind, MachineList, MachineOffer, MachineOrigin, Machines,
    NextStep, Place, StoppedMachine, WantedMachine, progress,
};
use rest::Options;
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::access::Access;
use crate::api::{MachineId, Spec};
use crate::failure::{Subject, no_machine};
use crate::offers::{Account, choose};
use crate::refusal::Code;
use crate::requests::Api;
use crate::running::{RunningMachines, SCHEME};
use crate::start::Start;
use crate::{Expiry, Http, Login, Store};

/// Time limit for ending machines when this program ends.
const SHUTDOWN_TIMEOUT: Duration = Duration::from_secs(5);

/// Google's machines.
pub struct ColabMachines {
    machines: Arc<RunningMachines>,
    starts: TaskTracker,
    closing: CancellationToken,
}

impl ColabMachines {
    /// Contacts nothing. `run_logs` is that of [`jupyter::Settings`].
    pub fn new(
        http: Http,
        store: Store,
        own_state: &Path,
        reach: Options,
        run_logs: Option<PathBuf>,
    ) -> Arc<Self> {
        let api = Api { http: http.clone(), access: Access::new(http, store) };
        let machines = Arc::new(RunningMachines::new(api, own_state, reach, run_logs));
        Arc::new(Self { machines, starts: TaskTracker::new(), closing: CancellationToken::new() })
    }

    /// Shows notebooks of machines that are found from now on.
    pub fn shown_by(&self, viewer: Arc<dyn Viewer>) {
        let _ = self.machines.viewer.set(viewer);
    }

    fn login(&self) -> Result<Login, Error> {
        self.machines.api.access.login()
    }

    /// The account, and what it may have.
    async fn account(&self, login: &Login) -> Result<(Account, Vec<Spec>), Error> {
        let asked = try_join(self.machines.api.tier(), self.machines.api.specs()).await;
        let (tier, specs) = asked.map_err(|failure| failure.explain(Subject::Account))?;
        Ok((Account { name: login.account.clone(), tier }, specs))
    }
}

/// What the person should know.
fn notices(login: &Login, running: &[Machine], now: SystemTime) -> Vec<String> {
    let expiry = Expiry::of(login, now, true);
    let mut notices = Vec::new();
    if let Some(end) = expiry.time().filter(|_| expiry.is_near(now)) {
        let condition = match expiry {
            Expiry::IfTesting(_) => "If the consent screen of the OAuth client is in \"Testing\", the",
            _ => "The",
        };
        notices.push(format!(
            "{condition} login to Google ends at {}; the person can sign in again before with `cellbridge colab login`.",
            shown(end)
        ));
    }
    let left = running.iter().filter_map(|machine| match machine.origin {
        MachineOrigin::OtherProcess { at, is_running: false, .. } => Some((at, machine.id.as_str())),
        _ => None,
    });
    let (times, ids): (Vec<_>, Vec<_>) = left.unzip();
    if let Some(since) = times.into_iter().min() {
        notices.push(format!(
            "Machines that earlier Cellbridge servers started run on since {}: {}.",
            shown(since),
            ids.join(", ")
        ));
    }
    notices
}

fn shown(time: SystemTime) -> String {
    DateTime::<Utc>::from(time).format("%Y-%m-%d %H:%M UTC").to_string()
}

impl Machines for ColabMachines {
    fn scheme(&self) -> &'static str {
        SCHEME
    }

    fn is_present(&self) -> bool {
        self.machines.api.access.is_present()
    }

    /// Ours, and those that Google chooses.
    fn is_id(&self, text: &str) -> bool {
        let is_hex = |text: &str| {
            text.len() >= 6 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f' | b'-'))
        };
        text.strip_prefix("r-").is_some_and(|rest| rest.len() == 36 && is_hex(rest))
            || text.strip_prefix("cellbridge-").and_then(|rest| rest.rsplit('-').next()).is_some_and(is_hex)
    }

    fn places(&self) -> Future<'_, Vec<Arc<dyn Place>>> {
        async {
            let running = self.machines.running().await?;
            let places = join_all(running.iter().map(|runtime| self.machines.place(runtime))).await;
            let usable = running.iter().zip(places).filter_map(|(runtime, place)| match place {
                Ok(place) => place.map(|place| place as Arc<dyn Place>),
                Err(error) => {
                    tracing::warn!(id = %runtime.id, problem = error.cause, "the Colab machine cannot be used");
                    None
                }
            });
            Ok(usable.collect())
        }
        .boxed()
    }

    fn list(&self) -> Future<'_, MachineList> {
        async {
            let login = self.login()?;
            let ((account, specs), running) = try_join(self.account(&login), self.machines.running()).await?;
            let running: Vec<_> = running
                .into_iter()
                .map(|it| Machine {
                    origin: self.machines.ledger.origin(&it.id),
                    id: it.id.to_string(),
                    kind: it.kind,
                })
                .collect();
            let notices = notices(&login, &running, SystemTime::now());
            let offers = specs.iter().map(|spec| account.offer(spec)).collect();
            Ok(MachineList { account: account.title(), running, offers, notices })
        }
        .boxed()
    }

    fn offer(&self, wanted: WantedMachine) -> Future<'_, MachineOffer> {
        async move {
            let (account, specs) = self.account(&self.login()?).await?;
            Ok(account.offer(choose(&wanted, &specs, &account)?))
        }
        .boxed()
    }

    fn start(&self, kind: MachineKind, keeps: bool) -> Future<'_, Arc<dyn Place>> {
        async move {
            let (machines, closing) = (self.machines.clone(), self.closing.clone());
            let start = Start { machines, kind, keeps, lines: progress::sender(), closing };
            let (answer, started) = oneshot::channel();
            self.starts.spawn(start.run(answer));
            let started = started.await.unwrap_or_else(|_| {
                let cause = "The start of the machine was aborted.";
                Err(Error::new(ErrorKind::Internal, cause, NextStep::ListMachines))
            });
            started.map(|place| place as Arc<dyn Place>)
        }
        .boxed()
    }

    fn stop<'a>(&'a self, id: &'a str) -> Future<'a, StoppedMachine> {
        async move {
            let id = MachineId::parse(id).ok_or_else(|| no_machine(id))?;
            let was_running = match self.machines.api.machine(&id).await {
                Ok(_) => true,
                Err(failure) if failure.is(Code::NotFound) => false,
                Err(failure) => return Err(failure.explain(Subject::Machine(&id))),
            };
            let ended = self.machines.end(&id).await;
            ended.map_err(|failure| failure.explain(Subject::Machine(&id)))?;
            let copies = Some(self.machines.copies(&id)).filter(|folder| folder.exists());
            Ok(StoppedMachine { id: id.to_string(), was_running, copies })
        }
        .boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.closing.cancel();
            self.starts.close();
            let held = self.machines.ledger.held();
            let ended = join_all(held.iter().map(|entry| self.machines.end_unused(entry)));
            if timeout(SHUTDOWN_TIMEOUT, join(self.starts.wait(), ended)).await.is_err() {
                let machines: Vec<_> = held.iter().map(|it| format!("{} ({})", it.id, it.kind)).collect();
                let machines = machines.join(", ");
                tracing::warn!(
                    machines,
                    "not all Colab machines were stopped in time: they may run on and cost compute units; the next server \
                     lists them"
                );
            }
        }
        .boxed()
    }
}

#[cfg(test)]
mod tests;
