//! The machines as places, and how they end.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use jupyter::{Capabilities, Jupyter, Settings, Source};
use parking_lot::Mutex;
use place::{Error, ErrorKind, KernelState, NextStep, Place as _};
use rest::{Credentials, Options};
use tokio::time::timeout;

use crate::api::{MachineId, Runtime};
use crate::failure::{Failure, Subject};
use crate::issuer::Issuer;
use crate::ledger::{Entry, Ledger};
use crate::requests::Api;

pub(crate) const SCHEME: &str = "colab-vm";
/// The folder of the notebooks, below the root of a machine's server.
const ROOT: &str = "content";
/// Time limit for finding out whether a machine works, at shutdown.
const KERNELS_TIMEOUT: Duration = Duration::from_secs(2);

/// What starts and ends machines, and the places of those that run.
pub(crate) struct RunningMachines {
    pub(crate) api: Arc<Api>,
    pub(crate) ledger: Arc<Ledger>,
    copies: PathBuf,
    reach: Options,
    run_logs: Option<PathBuf>,
    places: Mutex<HashMap<MachineId, Open>>,
}

struct Open {
    url: String,
    place: Arc<Jupyter>,
}

impl RunningMachines {
    pub(crate) fn new(api: Api, own_state: &Path, reach: Options, run_logs: Option<PathBuf>) -> Self {
        Self {
            api: Arc::new(api),
            ledger: Arc::new(Ledger::new(own_state)),
            copies: own_state.join("colab").join("copies"),
            reach,
            run_logs,
            places: Mutex::default(),
        }
    }

    /// The machines that run. What is kept of others is dropped.
    pub(crate) async fn running(&self) -> Result<Vec<Runtime>, Error> {
        let now = SystemTime::now();
        // Only what was there before the request: a machine may start while Google answers.
        let known: Vec<_> = self.places.lock().keys().cloned().collect();
        let over: Vec<_> =
            self.ledger.entries().into_iter().filter(|entry| self.ledger.is_over(entry, now)).collect();
        let running = self.api.machines().await.map_err(|failure| failure.explain(Subject::Account))?;
        let ids: HashSet<_> = running.iter().map(|it| &it.id).collect();
        self.places.lock().retain(|id, _| ids.contains(id) || !known.contains(id));
        for entry in over.iter().filter(|entry| !ids.contains(&entry.id)) {
            self.ledger.remove(&entry.id);
        }
        Ok(running)
    }

    /// The place of a machine: the same one each time.
    pub(crate) async fn place(&self, runtime: &Runtime) -> Result<Arc<Jupyter>, Error> {
        let id = &runtime.id;
        let connection = if let Some(connection) = &runtime.connection {
            connection.clone()
        } else {
            if let Some(place) = self.open(id) {
                return Ok(place);
            }
            let machine = self.api.machine(id).await;
            let machine = machine.map_err(|failure| failure.explain(Subject::Machine(id)))?;
            machine.connection.ok_or_else(|| unusable(id, "has no address yet"))?
        };
        let url = self.api.machine_address(&connection.url);
        let url = url.ok_or_else(|| unusable(id, "has an address that is not one of Google's machines"))?;
        let mut places = self.places.lock();
        // A place that has found its machine gone does not look again.
        if let Some(open) = places.get(id).filter(|open| open.url == url && open.place.is_present()) {
            return Ok(open.place.clone());
        }
        let copies = self.copies(id);
        let (api, ledger) = (self.api.clone(), self.ledger.clone());
        let issuer = Issuer::new(api, ledger, id.clone(), url.clone(), copies.clone(), connection);
        let place = Jupyter::new(Settings {
            documents: Source::Given { url: url.clone(), credentials: Credentials::Issued(Arc::new(issuer)) },
            kernels: None,
            reconnect: None,
            options: self.reach.clone(),
            prefix: format!("{SCHEME}:{id}/"),
            notebook: None,
            kernel: None,
            in_process: None,
            run_logs: self.run_logs.clone(),
            capabilities: Capabilities { rooms: false, commands: false },
            machine: Some(jupyter::Machine {
                scheme: SCHEME,
                title: format!("the Colab machine {id} ({})", runtime.kind),
                root: ROOT,
                copies: Some(copies),
            }),
        });
        places.insert(id.clone(), Open { url, place: place.clone() });
        Ok(place)
    }

    fn open(&self, id: &MachineId) -> Option<Arc<Jupyter>> {
        self.places.lock().get(id).map(|open| open.place.clone()).filter(|place| place.is_present())
    }

    /// The folder of this computer with the copies of a machine's notebooks.
    pub(crate) fn copies(&self, id: &MachineId) -> PathBuf {
        self.copies.join(id.as_str())
    }

    /// Ends a machine whose creation has ended.
    pub(crate) async fn end(&self, id: &MachineId) -> Result<(), Failure> {
        self.api.delete(id).await?;
        self.places.lock().remove(id);
        self.ledger.remove(id);
        Ok(())
    }

    /// Ends a machine at shutdown, unless it is to be kept, another process uses it, or it works.
    pub(crate) async fn end_unused(&self, entry: &Entry) {
        let id = &entry.id;
        if entry.keeps {
            return;
        }
        let Some(_lock) = self.ledger.release(id) else { return };
        if self.may_work(id).await {
            if let Err(error) = self.ledger.keep(entry) {
                tracing::warn!(%id, %error, "the record of a Colab machine cannot be written");
            }
            tracing::warn!(%id, kind = %entry.kind, "the Colab machine works, so it runs on, and may cost compute units");
        } else if let Err(failure) = self.end(id).await {
            let problem = failure.explain(Subject::Machine(id));
            tracing::warn!(%id, problem = problem.cause, "the Colab machine was not stopped, and may cost compute units");
        }
    }

    /// Whether code runs on a machine. One that does not say so in time may.
    async fn may_work(&self, id: &MachineId) -> bool {
        let Some(place) = self.open(id) else { return false };
        match timeout(KERNELS_TIMEOUT, place.kernels()).await {
            Ok(Ok(kernels)) => kernels.iter().any(|kernel| kernel.description().state == KernelState::Busy),
            Ok(Err(error)) => error.kind == ErrorKind::Timeout,
            Err(_) => true,
        }
    }
}

fn unusable(id: &MachineId, problem: &str) -> Error {
    Error::new(ErrorKind::RemoteFailure, format!("The Colab machine {id} {problem}."), NextStep::TryAgain)
}
