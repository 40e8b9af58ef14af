//! Undo in sessions: whose operations it takes back, and what it refuses.

mod updates;

use operations::OperationId;

use super::*;
use crate::session::{PastOperation, UndoTarget, Undone};

/// A workspace that records, and the folder that it needs.
fn recording() -> (Arc<Workspace>, tempfile::TempDir) {
    let ((_, workspace), folder) = (memory(), tempfile::tempdir().unwrap());
    workspace.record_history(folder.path().join("history"));
    (workspace, folder)
}

async fn agent(workspace: &Arc<Workspace>, name: &str) -> (Session, Arc<OpenNotebook>) {
    let session = Session::new(workspace.clone());
    session.introduce(name.to_owned());
    let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    (session, opened)
}

async fn set(session: &Session, opened: &OpenNotebook, index: usize, source: &str) {
    let before = opened.document().snapshot().await.unwrap();
    let id = before.cells()[index].id().clone();
    let edit = Edit::SetSource { id, source: source.to_owned() };
    session.acting("set", session.edit(opened, &before, vec![edit], Vec::new())).await.unwrap();
}

async fn sources(opened: &OpenNotebook) -> Vec<String> {
    let now = opened.document().snapshot().await.unwrap();
    now.cells().iter().map(|cell| cell.source().into_owned()).collect()
}

async fn undo(session: &Session, opened: &OpenNotebook, target: UndoTarget) -> Result<Undone, Error> {
    session.undo(opened, &target, None, false).await
}

#[tokio::test]
async fn an_agent_takes_back_its_own_operations() {
    let (workspace, _folder) = recording();
    let (one, opened) = agent(&workspace, "one").await;
    with_cells(&one, "a.ipynb", 2).await;
    let (other, _) = agent(&workspace, "other").await;
    set(&one, &opened, 0, "by one").await;
    set(&other, &opened, 1, "by other").await;
    let undone = undo(&one, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(undone.operations[0].agent, "one");
    assert!(undone.diff.contains("-by one\n+0"), "{}", undone.diff);
    assert_eq!(sources(&opened).await, ["0", "by other"]);
    let error = undo(&one, &opened, UndoTarget::Last(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::InvalidArgument);
    assert!(error.cause.contains("by `other`"), "{error}");
    undo(&one, &opened, UndoTarget::LastOfAll(1)).await.unwrap();
    assert_eq!(sources(&opened).await, ["0", "1"]);
}

#[tokio::test]
async fn another_session_of_the_same_client_is_somebody_else_until_it_ends() {
    let folder = tempfile::tempdir().unwrap();
    // Two servers on one folder.
    let [(memory_here, here), (memory_there, there)] = [memory(), memory()];
    for workspace in [&here, &there] {
        workspace.record_history(folder.path().join("history"));
    }
    let (one, opened) = agent(&here, "Claude Code").await;
    with_cells(&one, "a.ipynb", 3).await;
    *memory_there.pages.lock().unwrap() = memory_here.pages.lock().unwrap().clone();
    let (other, _) = agent(&here, "Claude Code").await;
    let (distant, elsewhere) = agent(&there, "Claude Code").await;
    set(&distant, &elsewhere, 0, "by another server").await;
    set(&other, &opened, 1, "by another session").await;
    set(&one, &opened, 2, "own").await;
    // All is written.
    distant.history(&elsewhere, None).await.unwrap();
    assert_eq!(one.history(&opened, None).await.unwrap().len(), 6);
    let all_own = async || undo(&one, &opened, UndoTarget::Last(9)).await;
    all_own().await.unwrap();
    assert_eq!(sources(&opened).await, ["by another server", "by another session", "2"]);
    let error = all_own().await.unwrap_err();
    assert!(error.cause.contains("by another connected session of `Claude Code`"), "{error}");
    drop(other);
    all_own().await.unwrap();
    assert_eq!(sources(&opened).await, ["by another server", "1", "2"]);
    drop((distant, elsewhere, there));
    all_own().await.unwrap();
    assert_eq!(sources(&opened).await, ["0", "1", "2"]);
}

#[tokio::test]
async fn the_history_names_who_did_what_and_what_others_changed_since() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 2).await;
    set(&session, &opened, 0, "by one").await;
    set(&session, &opened, 1, "also").await;
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    let id = opened.document().snapshot().await.unwrap().cells()[0].id().clone();
    let theirs = Edit::SetSource { id, source: "theirs".to_owned() };
    opened.document().apply(vec![theirs], Vec::new()).await.unwrap();
    let past = session.history(&opened, None).await.unwrap();
    let seen: Vec<_> = past
        .iter()
        .map(|past| (past.operation.tool.as_str(), past.is_undone, past.is_changed_since))
        .collect();
    assert_eq!(
        seen,
        [("set", false, false), ("set", false, true), ("set", true, false), ("", false, false)],
        "the first is the checkpoint"
    );
    let error = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(error.cause.contains("-by one\n+theirs"), "{error}");
    assert_eq!(sources(&opened).await, ["theirs", "1"]);
}

#[tokio::test]
async fn a_preview_changes_nothing_and_only_takes_back_some_cells() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    let (_, before) = with_cells(&session, "a.ipynb", 2).await;
    session.checkpoint(&opened, "tidy").await.unwrap();
    let ids: Vec<_> = before.cells().iter().map(|cell| cell.id().clone()).collect();
    let edits = ids.iter().map(|id| Edit::SetSource { id: id.clone(), source: "x".to_owned() }).collect();
    session.edit(&opened, &before, edits, Vec::new()).await.unwrap();
    let since = UndoTarget::Since(crate::Since::Checkpoint("tidy".to_owned()));
    let shown = session.undo(&opened, &since, None, true).await.unwrap();
    assert!(shown.applied.is_none() && shown.diff.contains("-x\n+0"), "{}", shown.diff);
    assert_eq!(sources(&opened).await, ["x", "x"]);
    session.undo(&opened, &since, Some(&ids[1..]), false).await.unwrap();
    assert_eq!(sources(&opened).await, ["x", "1"]);
    undo(&session, &opened, since).await.unwrap();
    assert_eq!(sources(&opened).await, ["0", "1"]);
}

#[tokio::test]
async fn a_cell_that_waits_for_its_run_is_refused() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    let (_, before) = with_cells(&session, "a.ipynb", 1).await;
    set(&session, &opened, 0, "x").await;
    // Nothing runs until this task waits.
    let run = session.workspace().journal();
    let cell = runs::RunCell { path: opened.path().clone(), id: before.cells()[0].id().clone() };
    let run = run.begin(Some(cell), "x".to_owned());
    let error = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap_err();
    assert_eq!((error.kind, error.next), (ErrorKind::Busy, NextStep::WaitForRun));
    run.end(place::RunState::Done);
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
}

#[tokio::test]
async fn only_the_cell_that_another_program_runs_is_refused() {
    let (memory, workspace) = memory();
    let folder = tempfile::tempdir().unwrap();
    workspace.record_history(folder.path().join("history"));
    let (session, opened) = agent(&workspace, "one").await;
    let (_, before) = with_cells(&session, "a.ipynb", 2).await;
    set(&session, &opened, 0, "x").await;
    set(&session, &opened, 1, "y").await;
    *memory.running.lock().unwrap() = vec![before.cells()[0].id().clone()];
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    let error = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap_err();
    assert!(error.kind == ErrorKind::Busy && error.cause.contains("another program"), "{error}");
    assert_eq!(sources(&opened).await, ["x", "1"]);
}

#[tokio::test]
async fn outputs_that_came_while_an_undo_was_planned_stay() {
    let (memory, workspace) = memory();
    let folder = tempfile::tempdir().unwrap();
    workspace.record_history(folder.path().join("history"));
    let (session, opened) = agent(&workspace, "one").await;
    let (_, before) = with_cells(&session, "a.ipynb", 1).await;
    let id = before.cells()[0].id().clone();
    let print = |text: &str| {
        let output = notebook::Output::Stream { name: "stdout".to_owned(), text: text.into() };
        Edit::SetOutputs { id: id.clone(), outputs: vec![output].into(), execution_count: None }
    };
    session.edit(&opened, &before, vec![print("ours")], Vec::new()).await.unwrap();
    let (page, theirs) = (memory.pages.lock().unwrap()[opened.path()].clone(), print("theirs"));
    let in_between = {
        let (page, theirs) = (page.clone(), theirs.clone());
        move || page.notebook.lock().unwrap().apply(&theirs).unwrap()
    };
    *memory.in_between.lock().unwrap() = Some(Box::new(in_between));
    let error = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Conflict);
    assert!(theirs.is_applied(&page.notebook.lock().unwrap()));
}

#[tokio::test]
async fn metadata_of_the_notebook_is_undone_with_the_operation_or_left_with_only_some_cells() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    let (_, before) = with_cells(&session, "a.ipynb", 1).await;
    let id = before.cells()[0].id().clone();
    let change = || {
        let info = Edit::set_language_info(notebook::Json::from_value(&serde_json::json!({ "name": "r" })));
        vec![Edit::SetSource { id: id.clone(), source: "x".to_owned() }, info]
    };
    session.edit(&opened, &before, change(), Vec::new()).await.unwrap();
    let shown = session.preview(&opened, &before, &change(), &[]).unwrap();
    assert!(shown.contains("change the notebook's language_info"), "{shown}");
    assert_eq!(session.difference(&opened, None).await.unwrap(), shown);
    let language = async || opened.document().snapshot().await.unwrap().language();
    session.undo(&opened, &UndoTarget::Last(1), Some(std::slice::from_ref(&id)), false).await.unwrap();
    assert_eq!((sources(&opened).await[0].as_str(), language().await.as_deref()), ("0", Some("r")));
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(language().await, None);
    assert!(undo(&session, &opened, UndoTarget::Last(1)).await.is_err());
}

#[tokio::test]
async fn a_notebook_begins_with_the_operation_that_made_it_which_is_not_undone() {
    let (workspace, _folder) = recording();
    let (session, earlier) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 1).await;
    set(&session, &earlier, 0, "of an earlier file").await;
    let made = session.use_notebook("a", &"a.ipynb".into(), Mode::Create).await.unwrap();
    let error = undo(&session, &made, UndoTarget::Last(1)).await.unwrap_err();
    assert_eq!(
        error.cause,
        "There is nothing to undo: o3 created this notebook; undo never deletes a notebook."
    );
    let error = undo(&session, &made, UndoTarget::Operation(OperationId::new(3))).await.unwrap_err();
    assert_eq!(error.cause, "o3 created this notebook; undo never deletes a notebook.");
    let error = undo(&session, &made, UndoTarget::Operation(OperationId::new(2))).await.unwrap_err();
    assert_eq!(error.cause, "o2 belongs to an earlier notebook at this path; o3 created this one.");
    set(&session, &made, 0, "new").await;
    undo(&session, &made, UndoTarget::Last(1)).await.unwrap();
    let past = session.history(&made, None).await.unwrap();
    let lines: Vec<_> = past.iter().map(|past| (crate::summary(&past.operation), past.is_undone)).collect();
    assert_eq!(
        (lines[2].0.as_str(), lines[2].1, lines[1].1, lines[3].1),
        ("created", false, false, true),
        "{lines:?}"
    );
}

#[tokio::test]
async fn without_a_folder_changes_are_made_all_the_same() {
    let (_, workspace) = memory();
    workspace.record_history("/dev/null/nowhere".into());
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 1).await;
    set(&session, &opened, 0, "x").await;
    assert_eq!(sources(&opened).await, ["x"]);
    let error = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap_err();
    assert!(!error.cause.is_empty());
    let (_, silent) = memory();
    let (session, opened) = agent(&silent, "one").await;
    assert_eq!(undo(&session, &opened, UndoTarget::Last(1)).await.unwrap_err().kind, ErrorKind::Unsupported);
}

#[tokio::test]
async fn a_refusal_names_the_later_operation_that_stands_in_the_way() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 1).await;
    set(&session, &opened, 0, "x").await;
    set(&session, &opened, 0, "y").await;
    let last = session.history(&opened, None).await.unwrap().last().unwrap().operation.id;
    let error = undo(&session, &opened, UndoTarget::Operation(OperationId::new(last.number() - 1)))
        .await
        .unwrap_err();
    assert!(!error.cause.contains("somebody else"), "{error}");
    assert!(error.cause.contains(&format!("by {last}")), "{error}");
}

#[tokio::test]
async fn a_run_begins_with_a_checkpoint_if_it_is_the_first_change() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    let cell = {
        let (other, _) = agent(&workspace, "other").await;
        let (_, before) = with_cells(&other, "a.ipynb", 1).await;
        before.cells()[0].id().clone()
    };
    session.run(opened.clone(), Some(cell), "0".to_owned()).unwrap();
    let past = session.history(&opened, None).await.unwrap();
    let made = past.iter().filter(|past| past.operation.checkpoint() == Some("before one"));
    assert_eq!(made.count(), 1);
}

#[tokio::test]
async fn a_verification_that_writes_fresh_outputs_begins_with_a_checkpoint() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    for (apply, expected) in [(false, 0), (true, 1)] {
        let (cells, cell_timeout) = (None, std::time::Duration::from_secs(1));
        let options = ::verify::VerifyOptions { cells, cell_timeout, apply, in_copy: false, notebook: None };
        session.verify(opened.clone(), options).unwrap();
        let past = session.history(&opened, None).await.unwrap();
        assert_eq!(past.iter().filter(|past| past.operation.checkpoint().is_some()).count(), expected);
    }
}

#[tokio::test]
async fn a_checkpoint_that_cannot_be_recorded_is_an_error() {
    let (_, workspace) = memory();
    workspace.record_history("/dev/null/nowhere".into());
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 1).await;
    assert_eq!(session.checkpoint(&opened, "tidy").await.unwrap_err().kind, ErrorKind::Unavailable);
    set(&session, &opened, 0, "x").await;
    assert!(session.take_record_warning().unwrap().contains("cannot be undone"));
    set(&session, &opened, 0, "y").await;
    assert_eq!(session.take_record_warning(), None);
}

#[tokio::test]
async fn one_call_is_one_operation() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 1).await;
    let id = opened.document().snapshot().await.unwrap().cells()[0].id().clone();
    set(&session, &opened, 0, "x").await;
    // A cell is inserted and gets outputs, as when it runs at once.
    let call = async {
        let before = opened.document().snapshot().await.unwrap();
        let cell = NewCell::new(CellType::Code, "new");
        let new = cell.id.clone();
        let inserted = session.edit(&opened, &before, vec![Edit::Insert { index: 1, cell }], Vec::new());
        let before = inserted.await.unwrap().notebook;
        let outputs = vec![notebook::Output::Stream { name: "stdout".to_owned(), text: "1".into() }];
        let edit = Edit::SetOutputs { id: new, outputs: outputs.into(), execution_count: Some(1) };
        session.edit(&opened, &before, vec![edit], Vec::new()).await.unwrap();
    };
    session.acting("insert_execute", call).await;
    let past = session.history(&opened, None).await.unwrap();
    let tools: Vec<_> = past.iter().map(|past| past.operation.tool.as_str()).collect();
    assert_eq!(tools, ["set", "set", "insert_execute"], "the first is the checkpoint");
    let undone = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(undone.operations.len(), 1);
    assert_eq!(sources(&opened).await, ["x"]);
    let past = session.history(&opened, None).await.unwrap();
    assert!(past[2].is_undone && !past[1].is_undone, "{past:?}");
    undo(&session, &opened, UndoTarget::Operation(past[1].operation.id)).await.unwrap();
    assert_eq!(sources(&opened).await, ["0"]);
    assert!(opened.document().snapshot().await.unwrap().cell(&id).is_some());
}

#[tokio::test]
async fn the_last_call_is_the_one_that_arrived_last_and_not_the_one_that_took_longest() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    with_cells(&session, "a.ipynb", 3).await;
    let (may_end, ends) = tokio::sync::oneshot::channel();
    // As the run of a cell, which is recorded at its end.
    let long = async {
        ends.await.unwrap();
        let before = opened.document().snapshot().await.unwrap();
        let outputs = vec![notebook::Output::Stream { name: "stdout".to_owned(), text: "trained".into() }];
        let id = before.cells()[0].id().clone();
        let edit = Edit::SetOutputs { id, outputs: outputs.into(), execution_count: Some(1) };
        session.edit(&opened, &before, vec![edit], Vec::new()).await.unwrap();
    };
    let edits = async {
        set(&session, &opened, 1, "earlier").await;
        set(&session, &opened, 2, "later").await;
        may_end.send(()).unwrap();
    };
    let call = session.acting("execute", long);
    tokio::join!(call, edits);
    let tools = |past: Vec<PastOperation>| -> Vec<String> {
        past.into_iter().map(|past| past.operation.tool).collect()
    };
    assert_eq!(tools(session.history(&opened, None).await.unwrap())[1..], ["set", "set", "execute"]);
    let undone = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(undone.operations[0].tool, "set");
    assert_eq!(sources(&opened).await, ["0", "earlier", "2"]);
    let trained = async || opened.document().snapshot().await.unwrap().cells()[0].output_count();
    assert_eq!(trained().await, 1);
    // Its undo brings it back, and then it is the last one again.
    let redo =
        UndoTarget::Operation(session.history(&opened, None).await.unwrap().last().unwrap().operation.id);
    undo(&session, &opened, redo).await.unwrap();
    assert_eq!(sources(&opened).await, ["0", "earlier", "later"]);
    undo(&session, &opened, UndoTarget::LastOfAll(2)).await.unwrap();
    assert_eq!(sources(&opened).await, ["0", "1", "2"]);
    assert_eq!(trained().await, 1);
    undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(trained().await, 0);
}

/// The person takes back the last change of a.ipynb on the page.
async fn person_undoes(workspace: &Arc<Workspace>) {
    let person = Session::new(workspace.clone());
    person.introduce_person();
    let of_person = person.notebook(Some("a.ipynb")).await.unwrap();
    let undone = person.undo(&of_person, &UndoTarget::LastOfAll(1), None, false);
    person.acting("cellbridge view", undone).await.unwrap();
    // The record is complete.
    person.history(&of_person, None).await.unwrap();
}

#[tokio::test]
async fn an_agent_is_told_once_what_the_person_did() {
    let (workspace, _folder) = recording();
    let (one, opened) = agent(&workspace, "one").await;
    with_cells(&one, "a.ipynb", 2).await;
    set(&one, &opened, 0, "by one").await;
    assert_eq!(one.take_persons_actions().await, [""; 0]);
    person_undoes(&workspace).await;
    let told = one.take_persons_actions().await;
    assert_eq!(told.len(), 1, "{told:?}");
    assert!(told[0].starts_with("The person undid o"), "{told:?}");
    assert!(told[0].ends_with(" in a.ipynb."), "{told:?}");
    assert_eq!(one.take_persons_actions().await, [""; 0]);
    let (other, opened) = agent(&workspace, "Person").await;
    assert_eq!(one.take_persons_actions().await, [""; 0]);
    set(&other, &opened, 1, "by an agent of that name").await;
    other.history(&opened, None).await.unwrap();
    assert_eq!(one.take_persons_actions().await, [""; 0]);
}

#[tokio::test]
async fn one_of_the_agents_without_sessions_is_told_what_the_person_did() {
    let (workspace, _folder) = recording();
    let (one, opened) = agent(&workspace, "one").await;
    with_cells(&one, "a.ipynb", 2).await;
    set(&one, &opened, 0, "by one").await;
    let call = async || {
        let session = Session::new(workspace.clone());
        session.be_stateless();
        session.notebook(Some("a.ipynb")).await.unwrap();
        session.take_persons_actions().await
    };
    assert_eq!(call().await, [""; 0]);
    person_undoes(&workspace).await;
    let told = call().await;
    assert!(told.len() == 1 && told[0].starts_with("The person undid o"), "{told:?}");
    assert_eq!(call().await, [""; 0]);
}

#[tokio::test]
async fn an_undo_names_the_cells_whose_outputs_were_too_large_to_be_recorded() {
    let (workspace, _folder) = recording();
    let (session, opened) = agent(&workspace, "one").await;
    let (_, before) = with_cells(&session, "a.ipynb", 2).await;
    let show = |index: usize, text: String| {
        let output = notebook::Output::Stream { name: "stdout".to_owned(), text: text.as_str().into() };
        let id = before.cells()[index].id().clone();
        Edit::SetOutputs { id, outputs: vec![output].into(), execution_count: None }
    };
    let (small, large) = (show(0, "x".repeat(5 << 20)), show(1, "x".repeat(33 << 20)));
    opened.document().apply(vec![small.clone(), large], Vec::new()).await.unwrap();
    let shown = opened.document().snapshot().await.unwrap();
    let ids: Vec<_> = shown.cells().iter().map(|cell| cell.id().clone()).collect();
    let delete = Edit::Delete { ids: ids.clone() };
    session.edit(&opened, &shown, vec![delete], Vec::new()).await.unwrap();
    let undone = undo(&session, &opened, UndoTarget::Last(1)).await.unwrap();
    assert_eq!(undone.without_outputs, ids[1..]);
    let now = opened.document().snapshot().await.unwrap();
    assert!(small.is_applied(&now));
    assert_eq!(now.cells()[1].output_count(), 0);
}
