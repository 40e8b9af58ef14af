//! Verifications in sessions: what they write, and what they leave.

use std::sync::Mutex;

use ::verify::{Verification, VerifyOptions};
use kernel::{Event, Outcome, Sink, Status};
use notebook::{Cell, Json, Output};
use place::{Execution, Executor, RunDetails, RunId};
use tokio::sync::watch;

use super::*;

/// Prints `fresh` in each cell.
struct Printer {
    /// Happens while a cell runs.
    meanwhile: Box<dyn Fn(&str) + Send + Sync>,
    /// The runs that a later server would find.
    noted: Mutex<Vec<RunId>>,
}

impl Printer {
    fn new(meanwhile: impl Fn(&str) + Send + Sync + 'static) -> Arc<Self> {
        Arc::new(Self { meanwhile: Box::new(meanwhile), noted: Mutex::default() })
    }
}

struct Printed;

impl Execution for Printed {}

impl Executor for Printer {
    fn execute(&self, code: &RunDetails, mut sink: Sink) -> Arc<dyn Execution> {
        self.noted.lock().unwrap().push(code.run.clone());
        (self.meanwhile)(&code.source);
        sink(Event::Output { output: printed("fresh"), display_id: None });
        sink(Event::Finished(Outcome::Done { execution_count: None, next_input: None }));
        Arc::new(Printed)
    }

    fn acknowledge(&self, run: &RunId) {
        self.noted.lock().unwrap().retain(|noted| noted != run);
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Idle).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::empty_object()
    }
}

fn printed(text: &str) -> Output {
    Output::Stream { name: "stdout".to_owned(), text: text.into() }
}

fn print_in(cell: &CellId, text: &str) -> Edit {
    Edit::SetOutputs { id: cell.clone(), outputs: vec![printed(text)].into(), execution_count: Some(7) }
}

fn outputs(page: &Page) -> Vec<Vec<Output>> {
    page.notebook.lock().unwrap().cells().iter().map(Cell::outputs).collect()
}

/// A notebook of two cells, both of which say `old`.
async fn two_cells() -> (Arc<Memory>, Session, Arc<OpenNotebook>, Vec<CellId>) {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let (opened, before) = with_cells(&session, "a.ipynb", 2).await;
    let ids: Vec<CellId> = before.cells().iter().map(|cell| cell.id().clone()).collect();
    let edits = ids.iter().map(|id| print_in(id, "old")).collect();
    opened.document().apply(edits, Vec::new()).await.unwrap();
    (memory, session, opened, ids)
}

async fn verify(session: &Session, opened: &Arc<OpenNotebook>, apply: bool) -> Result<Verification, Error> {
    let options = VerifyOptions {
        cells: None,
        cell_timeout: std::time::Duration::from_secs(60),
        apply,
        in_copy: false,
        notebook: None,
    };
    session.verify(opened.clone(), options).unwrap().answer.await.unwrap()
}

#[tokio::test]
async fn outputs_that_came_while_it_verified_stay() {
    let (memory, session, opened, ids) = two_cells().await;
    let page = memory.pages.lock().unwrap()[opened.path()].clone();
    let (person, theirs) = (page.clone(), print_in(&ids[1], "theirs"));
    let meanwhile = move |source: &str| {
        if source == "1" {
            person.notebook.lock().unwrap().apply(&theirs).unwrap();
        }
    };
    *memory.executor.lock().unwrap() = Some(Printer::new(meanwhile));
    let verification = verify(&session, &opened, true).await.unwrap();
    assert_eq!(outputs(&page), [vec![printed("fresh")], vec![printed("theirs")]]);
    let text = verification.text();
    assert!(text.contains(&format!("cell #1 (id {})", ids[1])), "{text}");
    assert!(text.ends_with("Not applied to #1: changed during the verification."), "{text}");
}

#[tokio::test]
async fn a_later_server_finds_no_runs_of_a_verification() {
    let (memory, session, opened, _) = two_cells().await;
    let printer = Printer::new(|_| {});
    *memory.executor.lock().unwrap() = Some(printer.clone());
    verify(&session, &opened, false).await.unwrap();
    assert!(printer.noted.lock().unwrap().is_empty());
}

#[tokio::test]
async fn no_kernel_is_left_where_the_kernelspecs_cannot_be_read() {
    let (memory, session, opened, _) = two_cells().await;
    let spec = notebook::Kernelspec { name: "python3".to_owned(), display_name: None, language: None };
    opened.document().apply(vec![Edit::set_kernelspec(&spec)], Vec::new()).await.unwrap();
    *memory.executor.lock().unwrap() = Some(Printer::new(|_| {}));
    memory.has_no_kernelspecs.store(true, Ordering::Relaxed);
    assert!(verify(&session, &opened, false).await.is_err());
    assert!(memory.kernels.lock().unwrap().iter().all(|kernel| kernel.is_gone()));
}
