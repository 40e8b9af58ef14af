//! Limits of sessions, and what happens to what they no longer use.

use super::*;
use crate::idle::IDLE_TIMEOUT;
use crate::workspace::Limits;

fn limited(limits: Limits) -> Session {
    let settings = Settings { limits, ..Settings::default() };
    Session::new(Workspace::new(Arc::new(Memory::default()), settings))
}

#[tokio::test]
async fn open_notebooks_of_a_session_are_limited() {
    let session = limited(Limits { notebooks: 2, ..Limits::NONE });
    for path in ["a.ipynb", "b.ipynb", "a.ipynb"] {
        session.use_notebook(path, &path.into(), Mode::Connect).await.unwrap();
    }
    for refused in [
        session.use_notebook("c", &"c.ipynb".into(), Mode::Connect).await.err(),
        session.notebook(Some("c.ipynb")).await.err(),
    ] {
        assert_eq!(refused.unwrap().cause, "This session has reached its limit of open notebooks (2).");
    }
    let other = Session::new(session.workspace().clone());
    other.use_notebook("c", &"c.ipynb".into(), Mode::Connect).await.unwrap();
    session.unuse_notebook(Some("a.ipynb"), EndsKernel::IfOurs).await.unwrap();
    session.use_notebook("c", &"c.ipynb".into(), Mode::Connect).await.unwrap();
}

#[tokio::test]
async fn runs_of_a_session_are_limited() {
    let session = limited(Limits { runs: 1, ..Limits::NONE });
    let (opened, _) = with_cells(&session, "a.ipynb", 2).await;
    let run = session.run(opened.clone(), None, "1".into()).unwrap();
    let cells = vec![("x".into(), "2".to_owned())];
    let refused = [
        session.run(opened.clone(), None, "1".into()).err(),
        session.run_in_order(&opened, cells, true).err(),
        session.run_code(None, "1".into()).await.err(),
    ];
    for refused in refused {
        assert_eq!(refused.unwrap().cause, "This session has reached its limit of unfinished runs (1).");
    }
    let other = Session::new(session.workspace().clone());
    other.run(opened.clone(), None, "1".into()).unwrap();
    run.settled().await;
    while session.own.slots.take().is_err() {
        tokio::task::yield_now().await;
    }
    session.run(opened, None, "1".into()).unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_unused_notebook_is_suspended() {
    let (memory, workspace) = memory();
    let (session, other) = (Session::new(workspace.clone()), Session::new(workspace.clone()));
    for session in [&session, &other] {
        session.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    }
    let mut rests = memory.pages.lock().unwrap()["a.ipynb"].rests.subscribe();
    drop(session);
    tokio::time::sleep(IDLE_TIMEOUT * 3).await;
    assert_eq!(*rests.borrow_and_update(), 0, "another session uses it");

    let held = other.notebook(None).await.unwrap();
    drop(other);
    tokio::time::sleep(IDLE_TIMEOUT * 3).await;
    assert_eq!(*rests.borrow_and_update(), 0, "a run may hold it");

    drop(held);
    rests.changed().await.unwrap();
    let again = Session::new(workspace.clone());
    again.use_notebook("a", &"a.ipynb".into(), Mode::Connect).await.unwrap();
    drop(again);
    tokio::time::sleep(IDLE_TIMEOUT / 2).await;
    assert_eq!(*rests.borrow_and_update(), 1, "it was used a moment ago");
    rests.changed().await.unwrap();
}
