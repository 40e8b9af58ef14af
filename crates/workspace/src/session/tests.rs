//! Sessions over a place in memory. The documents of real places have tests of their own.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use notebook::{CellRef, CellType, Edit, NewCell, Notebook};
use place::{KernelChoice, KernelSelector};

use self::fakes::*;
use super::*;
use crate::workspace::Settings;

mod adopted;
mod fakes;
mod kept_runs;
mod limits;
mod places;
mod series;
mod undo;
mod verify;

#[tokio::test]
async fn the_current_notebook_belongs_to_one_session() {
    let (_, workspace) = memory();
    let (one, other) = (Session::new(workspace.clone()), Session::new(workspace));
    one.use_notebook("a", &"x/a.ipynb".into(), Mode::Connect).await.unwrap();
    other.use_notebook("b", &"b.ipynb".into(), Mode::Connect).await.unwrap();
    assert_eq!(one.notebook(None).await.unwrap().path(), "x/a.ipynb");
    assert_eq!(other.notebook(None).await.unwrap().path(), "b.ipynb");
    // A path and a name that another session gave lead to a notebook and change nothing.
    assert_eq!(other.notebook(Some("x/a.ipynb")).await.unwrap().path(), "x/a.ipynb");
    assert_eq!(other.notebook(Some("a")).await.unwrap().path(), "x/a.ipynb");
    assert_eq!(other.current().as_deref(), Some("b"));
}

#[tokio::test]
async fn a_name_is_not_the_path_of_another_notebook() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    session.use_notebook("b", &"b.ipynb".into(), Mode::Connect).await.unwrap();
    let refused = session.use_notebook("b.ipynb", &"a.ipynb".into(), Mode::Connect).await.err().unwrap();
    assert_eq!(refused.cause, "\"b.ipynb\" is the path of another notebook.");
    assert_eq!(session.current().as_deref(), Some("b"));
    session.use_notebook("/a.ipynb", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    assert_eq!(session.notebook(Some("b.ipynb")).await.unwrap().path(), "b.ipynb");
}

#[tokio::test]
async fn an_unknown_name_is_an_error_that_lists_the_open_names() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    let error = session.notebook(None).await.err().unwrap();
    assert_eq!(error.next, NextStep::NameNotebook { open: Vec::new() });
    session.use_notebook("plots", &"p.ipynb".into(), Mode::Connect).await.unwrap();
    let error = session.notebook(Some("plot")).await.err().unwrap();
    assert_eq!(error.next, NextStep::NameNotebook { open: vec!["plots".to_owned()] });
}

#[tokio::test]
async fn an_index_means_the_cell_that_the_agent_was_shown_there() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    let (opened, before) = with_cells(&session, "a.ipynb", 3).await;
    session.saw(&"a.ipynb".into(), &before, 0..3);
    assert_eq!(session.target(&"a.ipynb".into(), &before, &CellRef::Index(1)).unwrap(), 1);

    let cell = NewCell::new(CellType::Code, "new".to_owned());
    let applied = opened.document().apply(vec![Edit::Insert { index: 0, cell }], Vec::new()).await.unwrap();
    let after = applied.notebook;
    let error = session.target(&"a.ipynb".into(), &after, &CellRef::Index(1)).err().unwrap();
    assert!(error.cause.contains("at index 2 now"), "{error}");
    let id = before.cells()[1].id().clone();
    assert_eq!(session.target(&"a.ipynb".into(), &after, &CellRef::Id(id.to_string())).unwrap(), 2);
    // The refusal said which cell is there now.
    assert_eq!(session.target(&"a.ipynb".into(), &after, &CellRef::Index(1)).unwrap(), 1);
}

#[tokio::test]
async fn edits_update_what_the_agent_has_seen() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    let (opened, before) = with_cells(&session, "a.ipynb", 3).await;
    session.saw(&"a.ipynb".into(), &before, 0..3);
    let ids: Vec<_> = before.cells().iter().map(|cell| cell.id().clone()).collect();
    let cell = NewCell::new(CellType::Code, "new".to_owned());
    let new = cell.id.clone();
    let edit = async |notebook: &Notebook, edit| {
        session.edit(&opened, notebook, vec![edit], Vec::new()).await.unwrap().notebook
    };
    let order = |notebook: &Notebook| -> Vec<CellId> {
        let indices = 0..notebook.cells().len();
        let cell = |index| session.target(&"a.ipynb".into(), notebook, &CellRef::Index(index)).unwrap();
        indices.map(|index| notebook.cells()[cell(index)].id().clone()).collect()
    };

    let inserted = edit(&before, Edit::Insert { index: 1, cell }).await;
    assert_eq!(order(&inserted), [&ids[0], &new, &ids[1], &ids[2]].map(CellId::clone));
    assert!(session.expected(&"a.ipynb".into(), &new, None).revision.is_some());
    let moved = edit(&inserted, Edit::Move { id: new.clone(), index: 3 }).await;
    assert_eq!(order(&moved), [&ids[0], &ids[1], &ids[2], &new].map(CellId::clone));
    let deleted = edit(&moved, Edit::Delete { ids: vec![ids[0].clone(), ids[2].clone()] }).await;
    assert_eq!(order(&deleted), [&ids[1], &new].map(CellId::clone));
    let changed = edit(&deleted, Edit::SetSource { id: new.clone(), source: "newer".to_owned() }).await;
    assert_eq!(session.changed_by_others(&"a.ipynb".into(), &changed), [0; 0]);
}

#[tokio::test]
async fn the_selected_cell_is_the_one_with_the_persons_cursor() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let (_, notebook) = with_cells(&session, "a.ipynb", 2).await;
    let find = || session.target(&"a.ipynb".into(), &notebook, &CellRef::parse(" @Selected "));
    let error = find().unwrap_err();
    assert!(error.cause.contains("not a live notebook"), "{error}");
    let page = memory.pages.lock().unwrap()["a.ipynb"].clone();
    page.is_live.store(true, Ordering::Relaxed);
    let error = find().unwrap_err();
    assert!(error.fault == place::Fault::Person && error.to_string().contains("click"), "{error}");
    let select = |cell: &str| *page.selected.lock().unwrap() = Some(cell.into());
    select(notebook.cells()[1].id());
    assert_eq!(find().unwrap(), 1);
    assert_eq!(session.find(&"a.ipynb".into(), &notebook, &CellRef::parse("@selected")).unwrap(), 1);
    // It was deleted a moment ago.
    select("gone");
    assert!(find().unwrap_err().cause.contains("gone"));
    // Nobody has opened that one.
    assert!(session.find(&"b.ipynb".into(), &notebook, &CellRef::parse("@selected")).is_err());
}

#[tokio::test]
async fn new_capabilities_of_a_place_are_notified() {
    let (memory, workspace) = memory();
    let mut capabilities = workspace.places().capabilities();
    assert!(workspace.places().default_place().frontend().is_none());
    memory.screens.send_replace(1);
    capabilities.changed().await.unwrap();
    assert!(workspace.places().default_place().frontend().is_some());
}

#[tokio::test]
async fn an_agent_expects_the_revision_that_it_was_shown() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    let (opened, before) = with_cells(&session, "a.ipynb", 2).await;
    let id = before.cells()[0].id().clone();
    assert_eq!(session.expected(&"a.ipynb".into(), &id, None).revision, None);
    session.saw(&"a.ipynb".into(), &before, [0]);
    assert_eq!(
        session.expected(&"a.ipynb".into(), &id, None).revision.as_deref(),
        Some(before.cells()[0].revision())
    );
    assert_eq!(session.expected(&"a.ipynb".into(), &id, Some("r".into())).revision.as_deref(), Some("r"));

    let edit = Edit::SetSource { id: id.clone(), source: "changed".into() };
    let after = opened.document().apply(vec![edit], Vec::new()).await.unwrap().notebook;
    assert_eq!(session.changed_by_others(&"a.ipynb".into(), &after), [0]);
    session.saw(&"a.ipynb".into(), &after, [0]);
    assert_eq!(session.changed_by_others(&"a.ipynb".into(), &after), [0; 0]);
}

#[tokio::test]
async fn closing_shuts_down_only_a_kernel_that_this_session_started() {
    let (memory, workspace) = memory();
    let (one, other) = (Session::new(workspace.clone()), Session::new(workspace));
    let opened = one.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    one.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    other.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    let is_shut_down = |index: usize| *memory.kernels.lock().unwrap()[index].is_shut_down.lock().unwrap();

    // Somebody else uses it.
    assert!(one.unuse_notebook(Some("a"), EndsKernel::IfOurs).await.unwrap().1.is_empty());
    // Somebody else started it.
    assert!(other.unuse_notebook(None, EndsKernel::IfOurs).await.unwrap().1.is_empty());
    assert!(!is_shut_down(0));

    let opened = one.use_notebook("b", &"b.ipynb".into(), Mode::Connect).await.unwrap();
    one.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    assert!(!one.unuse_notebook(None, EndsKernel::IfOurs).await.unwrap().1.is_empty());
    assert!(is_shut_down(1));
    assert_eq!(one.current(), None);
}

#[tokio::test]
async fn closing_also_shuts_down_the_kernels_that_a_new_one_has_replaced() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    session.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    session.choose_kernel(&opened, KernelSelector::New(None)).await.unwrap();
    assert_eq!(session.unuse_notebook(None, EndsKernel::IfOurs).await.unwrap().1.len(), 2);
    assert!(memory.kernels.lock().unwrap().iter().all(|kernel| *kernel.is_shut_down.lock().unwrap()));
}

#[tokio::test]
async fn closing_shuts_down_no_kernel_if_the_agent_may_not() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let opened = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    session.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    assert!(session.unuse_notebook(Some("a"), EndsKernel::Never).await.unwrap().1.is_empty());
    assert!(!*memory.kernels.lock().unwrap()[0].is_shut_down.lock().unwrap());
    assert!(opened.kernel().is_some() && session.current().is_none());
}

#[tokio::test]
async fn a_kernel_of_an_ended_session_is_an_orphan() {
    let (memory, workspace) = memory();
    let one = Session::new(workspace.clone());
    let opened = one.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    one.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    drop(one);
    let other = Session::new(workspace.clone());
    assert!(other.unuse_notebook(Some("a.ipynb"), EndsKernel::IfOurs).await.unwrap().1.is_empty());
    assert!(!other.unuse_notebook(Some("a.ipynb"), EndsKernel::IfOrphaned).await.unwrap().1.is_empty());
    assert!(*memory.kernels.lock().unwrap()[0].is_shut_down.lock().unwrap());
}

#[tokio::test]
async fn a_selector_joins_a_kernel_or_starts_a_new_one() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    let a = session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    let b = session.use_notebook("b", &"b.ipynb".into(), Mode::Connect).await.unwrap();
    let choose =
        async |opened: &Arc<OpenNotebook>, selector| match session.choose_kernel(opened, selector).await {
            Ok(KernelChoice::Kernel { kernel, .. }) => kernel.id().clone(),
            _ => unreachable!("every request gets a kernel"),
        };
    assert_eq!(choose(&a, KernelSelector::Any).await, "k0");
    assert_eq!(choose(&a, KernelSelector::Any).await, "k0");
    assert_eq!(choose(&a, KernelSelector::Kernelspec("idle".into())).await, "k0");
    let first = session.kernel("k").await.unwrap().id().clone();
    assert_eq!(choose(&b, KernelSelector::Existing(first)).await, "k0");
    assert_eq!(choose(&b, KernelSelector::New(None)).await, "k1");
    assert_eq!(choose(&b, KernelSelector::Kernelspec("other".into())).await, "k2");
    assert_eq!(session.kernel("k7").await.err().unwrap().next, NextStep::ListKernels);
}

#[tokio::test]
async fn a_run_whose_kernel_does_not_start_fails_with_the_reason() {
    let (_, workspace) = memory();
    let session = Session::new(workspace.clone());
    let (opened, _) = with_cells(&session, "a.ipynb", 1).await;
    let run = session.run(opened, None, "1".into()).unwrap();
    run.settled().await;
    let place::RunState::Failed(error) = run.state() else { panic!("{:?}", run.state()) };
    assert_eq!(error.cause, "It does not start.");
    assert_eq!(workspace.journal().run(run.id()).unwrap().source(), "1");
}

#[tokio::test]
async fn a_kernel_that_is_shut_down_while_it_starts_is_not_replaced() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    let (opened, _) = with_cells(&session, "a.ipynb", 1).await;
    session.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    memory.kernels.lock().unwrap()[0].is_shut_down_at_start.store(true, Ordering::Relaxed);
    let run = session.run(opened, None, "1".into()).unwrap();
    run.over().await;
    assert!(matches!(run.state(), place::RunState::Failed(_)));
    assert_eq!(memory.kernels.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn runs_that_wait_when_this_program_ends_are_left_to_the_next_server() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace.clone());
    let (opened, notebook) = with_cells(&session, "a.ipynb", 3).await;
    session.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    let kernel = memory.kernels.lock().unwrap()[0].clone();
    kernel.outlives_us.store(true, Ordering::Relaxed);
    let starts = kernel.start.acquire().await.unwrap();
    let cells = notebook.cells().iter().map(|cell| (cell.id().clone(), cell.source().into_owned())).collect();
    let runs = session.run_in_order(&opened, cells, false).unwrap();
    while kernel.announced.lock().unwrap().len() < 3 {
        tokio::task::yield_now().await;
    }
    workspace.runner().end_runs_that_continue();
    drop(starts);
    for run in &runs {
        run.over().await;
    }
    workspace.runner().drain().await;
    let ids: Vec<_> = runs.iter().map(|run| run.id().clone()).collect();
    assert_eq!(*kernel.announced.lock().unwrap(), ids);
}
