use bytes::Bytes;
use notebook::{CellType, Edit, NewCell};
use place::{Document as _, SaveStatus};
use ydoc::Dialect;

use super::*;
use crate::settings::{Machine, Source};
use crate::testing::{Fake, Saving, sources};

#[tokio::test]
async fn another_file_at_the_path_is_opened_instead() {
    let fake = Fake::new(&["a"], true).await;
    fake.inside().dialect = Dialect::ServerDocuments;
    let documents = Documents::new(fake.handle(), Prefix::default());
    let open = || async { documents.open(&"x.ipynb".into(), Mode::Connect).await.unwrap() };
    let first = open().await;
    let asked = fake.inside().requests;
    assert!(Arc::ptr_eq(&first, &open().await));
    assert_eq!(fake.inside().requests, asked, "one that is open costs no request");
    // Renamed: the name still leads to it, as long as no other has it.
    fake.inside().path = "new.ipynb".to_owned();
    let edit = Edit::SetSource { id: "c0".into(), source: "b".to_owned() };
    first.apply(vec![edit], Vec::new()).await.unwrap();
    assert!(Arc::ptr_eq(&first, &open().await));
    assert!(first.notice().unwrap().contains("\"new.ipynb\""));
    fake.inside().is_taken = true;
    let second = open().await;
    assert!(!Arc::ptr_eq(&first, &second));
    assert_eq!(second.notice(), None);
}

#[tokio::test]
async fn pending_edits_of_a_displaced_file_are_reported_as_lost() {
    let fake = Fake::new(&["a"], true).await;
    let documents = Documents::new(fake.handle(), Prefix::default());
    let first = documents.open(&"x.ipynb".into(), Mode::Connect).await.unwrap();
    {
        let mut inside = fake.inside();
        inside.saving = Saving::Lies;
        inside.is_taken = true;
    }
    let edit = Edit::SetSource { id: "c0".into(), source: "b".to_owned() };
    let applied = first.apply(vec![edit], Vec::new()).await.unwrap();
    assert!(matches!(applied.saved, SaveStatus::NotYet(_)), "{:?}", applied.saved);
    let second = documents.open(&"x.ipynb".into(), Mode::Connect).await.unwrap();
    assert!(!Arc::ptr_eq(&first, &second));
    assert!(second.notice().unwrap().contains("the new source of cell c0"));
}

#[tokio::test]
async fn a_notebook_that_the_server_cannot_read_is_refused_with_the_reason() {
    for (text, reason) in [("{\"cells\": [", "EOF"), ("{\"cells\": 1}extra", "trailing")] {
        let fake = Fake::new(&["a"], true).await;
        fake.inside().file = text.to_owned();
        let documents = Documents::new(fake.handle(), Prefix::default());
        let opened = documents.open(&"x.ipynb".into(), Mode::Connect).await;
        let error = opened.map(drop).unwrap_err();
        assert!(error.cause.contains("readable notebook") && error.cause.contains(reason), "{}", error.cause);
    }
}

#[tokio::test]
async fn a_created_notebook_replaces_the_document_at_its_path() {
    for has_rooms in [true, false] {
        let fake = Fake::new(&["a"], has_rooms).await;
        let documents = Documents::new(fake.handle(), Prefix::default());
        let first = documents.open(&"x.ipynb".into(), Mode::Connect).await.unwrap();
        fake.inside().path = "new.ipynb".to_owned();
        let second = documents.open(&"x.ipynb".into(), Mode::Create).await.unwrap();
        assert!(!Arc::ptr_eq(&first, &second));
        assert!(Arc::ptr_eq(&second, &documents.open(&"x.ipynb".into(), Mode::Connect).await.unwrap()));
    }
}

#[tokio::test]
async fn a_created_notebook_has_no_cells() {
    for dialect in [Dialect::Collaboration, Dialect::ServerDocuments] {
        let fake = Fake::new(&[], true).await;
        {
            let mut inside = fake.inside();
            inside.dialect = dialect;
            inside.path = "new.ipynb".to_owned();
        }
        let documents = Documents::new(fake.handle(), Prefix::default());
        let document = documents.open(&"x.ipynb".into(), Mode::Create).await.unwrap();
        assert!(sources(&document.snapshot().await.unwrap()).is_empty());
        let cell = NewCell::new(CellType::Code, "first");
        document.apply(vec![Edit::Insert { index: 0, cell }], Vec::new()).await.unwrap();
        assert_eq!(sources(&fake.inside().live()), ["first"]);
    }
}

#[tokio::test]
async fn only_the_cell_that_the_server_added_is_removed() {
    let fake = Fake::new(&["theirs"], true).await;
    fake.inside().path = "new.ipynb".to_owned();
    let documents = Documents::new(fake.handle(), Prefix::default());
    let created = documents.open(&"x.ipynb".into(), Mode::Create).await.unwrap();
    assert_eq!(sources(&created.snapshot().await.unwrap()), ["theirs"]);
    // An empty notebook that was not created here may be open in somebody's browser, with the cell.
    let fake = Fake::new(&[], true).await;
    let documents = Documents::new(fake.handle(), Prefix::default());
    let opened = documents.open(&"x.ipynb".into(), Mode::Connect).await.unwrap();
    assert_eq!(sources(&opened.snapshot().await.unwrap()), [""]);
}

#[tokio::test]
async fn a_notebook_of_a_machine_is_kept_on_this_computer() {
    let fake = Fake::new(&["a"], false).await;
    fake.inside().path = "content/b/x.ipynb".to_owned();
    let copies = tempfile::tempdir().unwrap();
    let machine = Machine {
        scheme: "vm",
        title: "the machine a1".to_owned(),
        root: "content",
        copies: Some(copies.path().to_owned()),
    };
    let source = Source::Given { url: fake.base.clone(), credentials: rest::Credentials::None };
    let mut handle = ServerHandle::new(source, rest::Options::default());
    handle.machine = Some(machine);
    let documents = Documents::new(Arc::new(handle), Prefix::new("vm:a1/".to_owned(), "content"));
    let document = documents.open(&"vm:a1/b/x.ipynb".into(), Mode::Connect).await.unwrap();
    let edit = Edit::SetSource { id: "c0".into(), source: "b".to_owned() };
    document.apply(vec![edit], Vec::new()).await.unwrap();
    let kept = std::fs::read(copies.path().join("b/x.ipynb")).unwrap();
    assert_eq!(sources(&Notebook::parse(Bytes::from(kept)).unwrap()), ["b"]);
    let notice = document.notice().unwrap();
    assert!(notice.starts_with("The files of the machine a1 end with it."), "{notice}");
}
