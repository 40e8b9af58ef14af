use std::sync::Arc;

use futures_util::FutureExt as _;
use kernel::Event;
use notebook::{Notebook, Output};
use parking_lot::Mutex;
use place::{Applied, Error, Expected, Future, NotebookPath, RunId};
use tokio::sync::watch;
use tokio::time::timeout;

use super::*;
use crate::view::RunCell;

/// What a document answers when outputs are shown.
type Answers = Vec<Result<bool, Error>>;

/// Answers calls of `show` in this order, then with success.
struct Shown {
    path: NotebookPath,
    answers: Mutex<Answers>,
    count: watch::Sender<usize>,
}

impl Document for Shown {
    fn path(&self) -> &NotebookPath {
        &self.path
    }

    fn snapshot(&self) -> Future<'_, Notebook> {
        async { Ok(Notebook::new()) }.boxed()
    }

    fn apply(&self, _: Vec<Edit>, _: Vec<Expected>) -> Future<'_, Applied> {
        async { Err(Error::notebook_busy(&self.path)) }.boxed()
    }

    fn changes(&self) -> watch::Receiver<u64> {
        watch::Sender::new(0).subscribe()
    }

    fn show(&self, _: Vec<Edit>) -> Future<'_, bool> {
        self.count.send_modify(|count| *count += 1);
        let mut answers = self.answers.lock();
        let answer = if answers.is_empty() { Ok(true) } else { answers.remove(0) };
        async { answer }.boxed()
    }
}

/// Writes the one output of a run that is silent afterwards; how often it was shown within an hour. `is_early`: it came before
/// anything watched the run.
async fn shown(is_early: bool, answers: Answers) -> usize {
    let path = NotebookPath::new("x.ipynb");
    let document = Shown { path: path.clone(), answers: Mutex::new(answers), count: watch::Sender::new(0) };
    let cell = RunCell { path, id: CellId::new("a") };
    let run = Arc::new(Run::new(RunId::new("r1"), Some(cell), String::new()));
    let print = || {
        let output = Output::Stream { name: "stdout".to_owned(), text: "before\n".into() };
        run.on_event(Event::Output { output, display_id: None });
    };
    if is_early {
        print();
    }
    let writing = write_while_running(&document, &run);
    let printing = async {
        tokio::task::yield_now().await;
        if !is_early {
            print();
        }
    };
    let both = async { tokio::join!(writing, printing) };
    assert!(timeout(Duration::from_secs(3600), both).await.is_err(), "the run is not over");
    *document.count.borrow()
}

#[tokio::test(start_paused = true)]
async fn outputs_that_could_not_be_shown_are_shown_later() {
    assert_eq!(shown(false, Vec::new()).await, 1);
    assert_eq!(shown(false, vec![Ok(false), Ok(false)]).await, 3);
    let busy = || Err(Error::notebook_busy("x.ipynb"));
    assert_eq!(shown(false, vec![busy(), busy(), busy()]).await, 4);
}

#[test]
fn only_a_stream_of_enormous_length_is_cut_and_says_so() {
    let stream = |text: String| Output::Stream { name: "stdout".to_owned(), text: text.as_str().into() };
    let short = stream("x".repeat(MAX_STREAM));
    let long = stream(format!("begin{}end", "ü".repeat(MAX_STREAM)));
    let stored = cut([short.clone(), long].into());
    assert_eq!(stored[0], short);
    let Output::Stream { text, .. } = &stored[1] else { panic!() };
    let text = text.as_str();
    assert!(text.starts_with("begin") && text.ends_with("end") && text.len() < MAX_STREAM + 100);
    assert!(text.contains("\n[50 MB were left out here]\n"));
}

#[tokio::test(start_paused = true)]
async fn outputs_that_came_at_once_are_shown() {
    assert_eq!(shown(true, Vec::new()).await, 1);
}
