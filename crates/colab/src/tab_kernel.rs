//! The runtime behind the tab as a kernel. The page runs cells; it cannot be interrupted or restarted through its tools.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, ready};
use kernel::{Event, LossCause, Outcome, Sink, Status};
use notebook::{Json, Output, Text};
use parking_lot::Mutex;
use place::{
    Error, ErrorKind, Execution, Executor, Fault, Future, Kernel, KernelDescription, KernelId, KernelState,
    RunDetails,
};
use serde_json::json;
use tokio::sync::watch;
use tokio_util::task::AbortOnDropHandle;

use crate::document::TabDocument;
use crate::page::CallFailure;
use crate::tab::Tab;

const SCRATCH_CELL: &str = "Colab's tools run only cells, so the code runs in a scratch cell at the end of the notebook, which is \
                            removed afterwards.";

pub(crate) struct TabKernel {
    id: KernelId,
    tab: Arc<Tab>,
    document: Arc<TabDocument>,
    activity: Arc<Activity>,
}

/// The kernel's activity, as far as we know: a person may run cells as well.
struct Activity {
    running: AtomicUsize,
    last: Mutex<Option<SystemTime>>,
    /// Never changes: that a tab leaves is no death of its kernel.
    status: watch::Sender<Status>,
}

impl TabKernel {
    pub(crate) fn new(tab: Arc<Tab>, document: Arc<TabDocument>) -> Self {
        let activity = Activity {
            running: AtomicUsize::new(0),
            last: Mutex::default(),
            status: watch::Sender::new(Status::Idle),
        };
        // Runs queue by this id.
        let id = KernelId::from(tab.path().trim_end_matches(':'));
        Self { id, tab, document, activity: Arc::new(activity) }
    }
}

impl Kernel for TabKernel {
    fn id(&self) -> &KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        let is_busy = self.activity.running.load(Ordering::Relaxed) > 0;
        KernelDescription {
            name: "colab".to_owned(),
            display_name: "Google Colab".to_owned(),
            language: "python".to_owned(),
            environment: "Colab runtime".to_owned(),
            state: if is_busy { KernelState::Busy } else { KernelState::Idle },
            last_activity: *self.activity.last.lock(),
            connections: None,
            keeping: None,
            foreign: None,
        }
    }

    fn is_gone(&self) -> bool {
        false
    }

    /// The person's tab uses it.
    fn is_shared(&self) -> BoxFuture<'_, bool> {
        ready(true).boxed()
    }

    fn outlives_us(&self) -> bool {
        true
    }

    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        let executor = TabExecutor {
            tab: self.tab.clone(),
            document: self.document.clone(),
            activity: self.activity.clone(),
        };
        let is_connected = self.tab.connection.page().is_some();
        let executor: Result<Arc<dyn Executor>, Error> =
            if is_connected { Ok(Arc::new(executor)) } else { Err(self.tab.not_connected("Running code")) };
        ready(executor).boxed()
    }

    fn check_interruptible(&self) -> Result<(), Error> {
        let press = "The person can press the stop button beside the running cell in the Colab tab, or choose Runtime > \
                     Interrupt execution.";
        Err(by_the_person("interrupt code", press))
    }

    fn check_restartable(&self) -> Result<(), Error> {
        let press = "The person can choose Runtime > Restart session in the Colab tab.";
        Err(by_the_person("restart the runtime", press))
    }

    fn interrupt(&self) -> Future<'_, ()> {
        ready(self.check_interruptible()).boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        ready(self.check_restartable()).boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        let press = "The person can choose Runtime > Disconnect and delete runtime in the Colab tab.";
        ready(Err(by_the_person("end the runtime", press))).boxed()
    }
}

fn by_the_person(what: &str, press: &'static str) -> Error {
    Error::new(ErrorKind::Unsupported, format!("Colab's tools cannot {what}."), press)
        .with_fault(Fault::Person)
}

struct TabExecutor {
    tab: Arc<Tab>,
    document: Arc<TabDocument>,
    activity: Arc<Activity>,
}

/// Code that the page runs. Dropping it leaves the page running it, and forgets the answer.
struct TabExecution {
    is_scratch: bool,
    _task: AbortOnDropHandle<()>,
}

impl Executor for TabExecutor {
    fn execute(&self, run: &RunDetails, mut sink: Sink) -> Arc<dyn Execution> {
        let (tab, document, busy) = (self.tab.clone(), self.document.clone(), Busy::new(&self.activity));
        let cell = run.cell.as_ref().map(|id| document.page_id(id));
        let (source, is_scratch) = (run.source.clone(), cell.is_none());
        let task = place::spawn(async move {
            let ran = match &cell {
                Some(cell) => run_cell(&tab, cell, &mut sink).await,
                None => run_scratch_cell(&tab, &document, &source, &mut sink).await,
            };
            drop(busy);
            sink(Event::Finished(ran));
        });
        Arc::new(TabExecution { is_scratch, _task: AbortOnDropHandle::new(task) })
    }

    fn status(&self) -> watch::Receiver<Status> {
        self.activity.status.subscribe()
    }

    fn language_info(&self) -> Json {
        Json::from_value(&json!({ "name": "python" }))
    }
}

impl Execution for TabExecution {
    fn notice(&self) -> Option<&str> {
        self.is_scratch.then_some(SCRATCH_CELL)
    }
}

/// The kernel is busy for as long as this exists.
struct Busy(Arc<Activity>);

impl Busy {
    fn new(activity: &Arc<Activity>) -> Self {
        activity.running.fetch_add(1, Ordering::Relaxed);
        Self(activity.clone())
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::Relaxed);
        *self.0.last.lock() = Some(SystemTime::now());
    }
}

/// Runs a cell of the page and passes its outputs on. The page gives them all at the end.
async fn run_cell(tab: &Tab, cell: &str, sink: &mut Sink) -> Outcome {
    sink(Event::Started { execution_count: None });
    let result = match tab.call("run_code_cell", &json!({ "cellId": cell })).await {
        Ok(Ok(result)) => result,
        Ok(Err(error)) => return Outcome::Refused { cause: error.cause },
        Err(CallFailure::NotSent) => {
            return Outcome::Refused { cause: tab.not_connected("Running a cell").cause };
        }
        Err(CallFailure::Disconnected { .. } | CallFailure::TimedOut) => {
            return Outcome::Lost { is_started: true, cause: LossCause::ApplicationLeft };
        }
    };
    let mut outcome = Outcome::Done { execution_count: None, next_input: None };
    let outputs = result.member("outputs");
    for output in outputs.iter().flat_map(Json::elements) {
        let output = Output::from_json(&output);
        match (&output, &mut outcome) {
            (Output::Error { name, value, .. }, _) => {
                outcome = Outcome::Error { execution_count: None, name: name.clone(), value: value.clone() };
            }
            (Output::Result { execution_count: count, .. }, Outcome::Done { execution_count, .. }) => {
                *execution_count = *count;
            }
            _ => {}
        }
        sink(Event::Output { output, display_id: None });
    }
    outcome
}

/// Runs code in a cell that is added for it and removed again.
async fn run_scratch_cell(tab: &Tab, document: &TabDocument, source: &str, sink: &mut Sink) -> Outcome {
    let cell = match document.add_scratch_cell(source).await {
        Ok(cell) => cell,
        Err(error) => return Outcome::Refused { cause: error.cause },
    };
    let outcome = run_cell(tab, &cell, sink).await;
    if let Err(error) = document.delete_cell(&cell).await {
        let text = format!("[The scratch cell {cell} could not be removed: {}]\n", error.cause);
        let output = Output::Stream { name: "stderr".to_owned(), text: Text::from(&*text) };
        sink(Event::Output { output, display_id: None });
    }
    outcome
}
