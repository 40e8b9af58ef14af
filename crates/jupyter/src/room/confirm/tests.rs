use std::sync::Arc;

use notebook::{CellType, Edit, NewCell, Output};

use super::*;
use crate::link::Link;
use crate::settings::Source;
use crate::testing::notebook;

/// The notebook as a file of nbformat 4.4 holds it.
fn old(notebook: &Notebook) -> Notebook {
    let mut text = Vec::new();
    notebook.write(&mut text).unwrap();
    let mut file: serde_json::Value = serde_json::from_slice(&text).unwrap();
    file["nbformat_minor"] = 4.into();
    for cell in file["cells"].as_array_mut().unwrap() {
        cell.as_object_mut().unwrap().remove("id");
    }
    Notebook::parse(file.to_string().into()).unwrap()
}

#[test]
fn an_edit_is_found_in_a_file_without_ids_and_only_where_it_is() {
    let output = Output::Stream { name: "stdout".into(), text: "hi\n".into() };
    let edits = [
        Edit::SetSource { id: "c1".to_owned(), source: "new".to_owned() },
        Edit::Insert { index: 1, cell: NewCell::new(CellType::Code, "x") },
        Edit::Delete { ids: vec!["c0".to_owned()] },
        Edit::Move { id: "c0".to_owned(), index: 2 },
        Edit::SetOutputs { id: "c2".to_owned(), outputs: vec![output].into(), execution_count: Some(3) },
    ];
    let before = notebook(&["x", "x", "y"]);
    for edit in edits {
        let mut after = before.clone();
        after.apply(&edit).unwrap();
        let intent = Intent::of(edit.clone(), &before);
        assert!(holds(&mut old(&after), Some(&after), &[&intent]), "{edit:?}");
        assert!(!holds(&mut old(&before), Some(&after), &[&intent]), "{edit:?}");
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_not_waited_for_beyond_the_end() {
    // Connections are taken, and never answered.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let source = Source::Given { url, credentials: rest::Credentials::None };
    let link = Arc::new(Link::new(source, rest::Options::default()));
    let changes = tokio::sync::watch::Sender::new(0);
    let shared = Shared::new(link, "x.ipynb".to_owned(), Dialect::ServerDocuments, 0, changes);
    let end = || Instant::now() + Duration::from_millis(20);
    let looks = async {
        let kinds = [
            modified(&shared, end()).await.map(drop).unwrap_err().kind,
            in_file(&shared, &[], end()).await.map(drop).unwrap_err().kind,
        ];
        assert_eq!(kinds, [Kind::TooSlow; 2]);
        shared.state().file_id = Some("f".to_owned());
        assert!(!trace(&shared, end()).await);
    };
    tokio::time::timeout(Duration::from_secs(5), looks).await.expect("it waits for longer");
}
