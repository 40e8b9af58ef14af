//! The machines as places, and how they end.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, SystemTime};

use jupyter::{Capabilities, Jupyter, Settings, Source, Viewer};
use parking_lot::Mutex;
use place::{Error, ErrorKind, KernelState, NextStep, Place as _};
use rest::{Credentials, Options};
use tokio::time::timeout;

use crate::api::{MachineId, Runtime};
use crate::failure::{Failure, Subject};
use crate::issuer::Issuer;
use crate::ledger::{Entry, Ledger};
use crate::refusal::Code;
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
    places: Mutex<HashMap<MachineId, Arc<Jupyter>>>,
    pub(crate) viewer: OnceLock<Arc<dyn Viewer>>,
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
            viewer: OnceLock::new(),
        }
    }

    /// The machines that run. What is kept of others is dropped.
    pub(crate) async fn running(&self) -> Result<Vec<Runtime>, Error> {
        let account = self.account()?;
        let now = SystemTime::now();
        // Only what was there before the request: a machine may start while Google answers.
        let known: Vec<_> = self.places.lock().keys().cloned().collect();
        let mut over = self.ledger.entries();
        over.retain(|entry| entry.account == account && self.ledger.is_over(entry, now));
        let running = self.api.machines().await.map_err(|failure| failure.explain(Subject::Account))?;
        let ids: HashSet<_> = running.iter().map(|it| &it.id).collect();
        self.places.lock().retain(|id, _| ids.contains(id) || !known.contains(id));
        for entry in over.iter().filter(|entry| !ids.contains(&entry.id)) {
            // A list may be incomplete, or late.
            if self.api.machine_once(&entry.id).await.is_err_and(|failure| failure.is(Code::NotFound)) {
                self.ledger.remove(&entry.id);
            }
        }
        Ok(running)
    }

    /// Who is signed in, if that is known.
    pub(crate) fn account(&self) -> Result<Option<String>, Error> {
        self.api.access.login().map(|login| login.account)
    }

    /// The place of a machine: the same one each time. `None` if Google has not given it an address yet.
    pub(crate) async fn place(&self, runtime: &Runtime) -> Result<Option<Arc<Jupyter>>, Error> {
        let id = &runtime.id;
        let mut connection = runtime.connection.clone();
        if connection.is_none() {
            if let Some(place) = self.open(id) {
                return Ok(Some(place));
            }
            let machine = self.api.machine(id).await;
            connection = machine.map_err(|failure| failure.explain(Subject::Machine(id)))?.connection;
        }
        let Some(connection) = connection else { return Ok(None) };
        let url = self.api.machine_address(&connection.url);
        let url = url.ok_or_else(|| {
            let cause = format!("The address of the Colab machine {id} is not one of Google's machines.");
            Error::new(ErrorKind::RemoteFailure, cause, NextStep::ReportBug)
        })?;
        let mut places = self.places.lock();
        // A place that has found its machine gone does not look again.
        let is_there = |place: &&Arc<Jupyter>| place.address().is_some_and(|(base, _)| base == url);
        if let Some(place) = places.get(id).filter(is_there).filter(|place| place.is_present()) {
            return Ok(Some(place.clone()));
        }
        let copies = self.copies(id);
        let (api, ledger) = (self.api.clone(), self.ledger.clone());
        let issuer = Issuer::new(api, ledger, id.clone(), url.clone(), copies.clone(), connection);
        let place = Jupyter::new(Settings {
            documents: Source::Given { url, credentials: Credentials::Issued(Arc::new(issuer)) },
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
                title: format!("Colab machine {id} ({})", runtime.kind),
                root: ROOT,
                copies: Some(copies),
            }),
        });
        if let Some(viewer) = self.viewer.get() {
            place.shown_by(viewer.clone());
        }
        places.insert(id.clone(), place.clone());
        Ok(Some(place))
    }

    fn open(&self, id: &MachineId) -> Option<Arc<Jupyter>> {
        self.places.lock().get(id).filter(|place| place.is_present()).cloned()
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

    /// Ends a machine at shutdown, unless it is kept, another process uses it, or code runs on it.
    pub(crate) async fn end_unused(&self, entry: &Entry) {
        if let Err(problem) = self.try_end(entry).await {
            let Entry { id, kind, .. } = entry;
            tracing::warn!(%id, %kind, problem, "the Colab machine runs on, and may cost compute units");
        }
    }

    /// Fails with the reason why a machine runs on.
    async fn try_end(&self, entry: &Entry) -> Result<(), String> {
        let id = &entry.id;
        if entry.keeps {
            return Err("it was to be kept".to_owned());
        }
        // Google would answer that there is no such machine.
        if self.account().is_ok_and(|account| account != entry.account) {
            return Err("it is another account's".to_owned());
        }
        let is_settled = self.ledger.is_settled(id);
        let _lock = self.ledger.release(id).ok_or("another process uses it")?;
        match self.is_busy(id).await {
            // Otherwise, the next server would end it with itself.
            Some(true) => Err(match self.ledger.keep(entry) {
                Ok(()) => "code runs on it".to_owned(),
                Err(error) => format!("code runs on it ({error})"),
            }),
            None => Err("it cannot be asked whether code runs on it".to_owned()),
            Some(false) => {
                // The record of a machine that may still be created stays.
                let ended = if is_settled { self.end(id).await } else { self.api.delete(id).await };
                ended.map_err(|failure| failure.explain(Subject::Machine(id)).cause)
            }
        }
    }

    /// Whether code runs on a machine. `None` if that cannot be found out in time.
    async fn is_busy(&self, id: &MachineId) -> Option<bool> {
        let known = self.places.lock().get(id).cloned();
        let Some(place) = known else { return Some(false) };
        match timeout(KERNELS_TIMEOUT, place.kernels()).await {
            Ok(Ok(kernels)) => {
                Some(kernels.iter().any(|kernel| kernel.description().state == KernelState::Busy))
            }
            // The machine was gone when it was asked for last.
            _ if !place.is_present() => {
                let is_gone =
                    self.api.machine_once(id).await.is_err_and(|failure| failure.is(Code::NotFound));
                is_gone.then_some(false)
            }
            _ => None,
        }
    }
}
