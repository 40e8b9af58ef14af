//! Undo of runs that show widgets, and of runs that change what other cells show.

use std::sync::Mutex;

use kernel::{Event, Outcome, Sink, Status};
use notebook::{Json, MimeBundle, Output};
use place::{Execution, Executor, RunDetails};
use serde_json::json;
use tokio::sync::watch;

use super::*;

const VIEW: &str = "application/vnd.jupyter.widget-view+json";
const STATE: &str = "application/vnd.jupyter.widget-state+json";

/// A kernel in which `show` displays a widget, and `move` changes it.
#[derive(Default)]
struct Slider {
    shown: Mutex<Option<Sink>>,
}

struct Over;

impl Execution for Over {}

fn moved_to(value: u8) -> [Event; 2] {
    let state = json!({ "state": { "m": { "model_name": "IntSliderModel", "state": { "value": value } } } });
    [
        Event::Widget { model_id: "m".to_owned(), text: value.to_string() },
        Event::WidgetState(Json::from_value(&state)),
    ]
}

impl Executor for Slider {
    fn execute(&self, code: &RunDetails, mut sink: Sink) -> Arc<dyn Execution> {
        let mut shown = self.shown.lock().unwrap();
        if code.source == "show" {
            let data = Json::from_value(&json!({ "text/plain": "", VIEW: { "model_id": "m" } }));
            let output = Output::Display(MimeBundle { data, metadata: Json::empty_object() });
            sink(Event::Output { output, display_id: None });
            moved_to(0).into_iter().for_each(&mut sink);
            sink(Event::Finished(Outcome::Done { execution_count: None, next_input: None }));
            *shown = Some(sink);
            return Arc::new(Over);
        }
        if let Some(shown) = &mut *shown {
            moved_to(5).into_iter().for_each(shown);
        }
        sink(Event::Finished(Outcome::Done { execution_count: None, next_input: None }));
        Arc::new(Over)
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Idle).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::from_value(&json!({ "name": "python" }))
    }
}

/// A notebook with the metadata of such a kernel, two cells, and an empty state of widgets, as front ends write it.
async fn slider() -> (Session, Arc<OpenNotebook>, tempfile::TempDir) {
    let (memory, workspace) = memory();
    let folder = tempfile::tempdir().unwrap();
    workspace.record_history(folder.path().join("history"));
    *memory.executor.lock().unwrap() = Some(Arc::new(Slider::default()));
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 2).await;
    run(&session, &opened, Some(1), "nothing").await;
    let empty = json!({ STATE: { "state": {}, "version_major": 2, "version_minor": 0 } });
    let widgets = Edit::SetMetadata { name: "widgets".to_owned(), value: Some(Json::from_value(&empty)) };
    opened.document().apply(vec![widgets], Vec::new()).await.unwrap();
    (session, opened, folder)
}

async fn run(session: &Session, opened: &Arc<OpenNotebook>, index: Option<usize>, source: &str) {
    let now = opened.document().snapshot().await.unwrap();
    let cell = index.map(|index| now.cells()[index].id().clone());
    let call = async {
        let run = session.run(opened.clone(), cell, source.to_owned()).unwrap();
        run.settled().await;
    };
    session.acting("run", call).await;
}

/// What the cells show, and the state of widgets.
async fn shown(opened: &OpenNotebook) -> (Vec<String>, serde_json::Value) {
    let now = opened.document().snapshot().await.unwrap();
    let text = |output: Output| match output {
        Output::Display(bundle) => bundle.text("text/plain").unwrap(),
        other => format!("{other:?}"),
    };
    let texts = now.cells().iter().flat_map(notebook::Cell::outputs).map(text).collect();
    (texts, now.metadata().member("widgets").map(|widgets| widgets.to_value()).unwrap_or_default())
}

fn value(widgets: &serde_json::Value) -> &serde_json::Value {
    &widgets[STATE]["state"]["m"]["state"]["value"]
}

#[tokio::test]
async fn the_state_of_widgets_comes_back_with_the_outputs() {
    let (session, opened, _folder) = slider().await;
    let before = shown(&opened).await;
    run(&session, &opened, Some(0), "show").await;
    let (texts, widgets) = shown(&opened).await;
    assert_eq!((texts, value(&widgets)), (vec!["0".to_owned()], &json!(0)));
    let undone = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(shown(&opened).await, before);
    assert!(!undone.diff.contains("widgets"), "{}", undone.diff);
    // The undo of the undo, and of both again.
    let last = session.history(&opened, None).await.unwrap().last().unwrap().operation.id;
    undo(&session, &opened, UndoTarget::Operation(last)).await.unwrap();
    let (texts, widgets) = shown(&opened).await;
    assert_eq!((texts, value(&widgets)), (vec!["0".to_owned()], &json!(0)));
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(shown(&opened).await, before);
}

#[tokio::test]
async fn what_a_later_run_has_changed_in_other_cells_is_its_own() {
    for cell in [Some(1), None] {
        let (session, opened, _folder) = slider().await;
        let before = shown(&opened).await;
        run(&session, &opened, Some(0), "show").await;
        let displayed = shown(&opened).await;
        run(&session, &opened, cell, "move").await;
        let (texts, widgets) = shown(&opened).await;
        assert_eq!((texts, value(&widgets)), (vec!["5".to_owned()], &json!(5)));
        let past = session.history(&opened, None).await.unwrap();
        assert!(past.iter().all(|past| !past.is_changed_since), "{past:?}");
        undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
        assert_eq!(shown(&opened).await, displayed);
        undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
        assert_eq!(shown(&opened).await, before);
    }
}

#[tokio::test]
async fn a_run_that_was_undone_writes_no_more() {
    let (session, opened, _folder) = slider().await;
    let before = shown(&opened).await;
    run(&session, &opened, Some(0), "show").await;
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    run(&session, &opened, None, "move").await;
    assert_eq!(shown(&opened).await, before);
}
