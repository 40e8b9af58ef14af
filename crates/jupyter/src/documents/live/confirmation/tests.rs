use std::sync::Arc;

use notebook::{CellType, Edit, NewCell, Output};

use super::*;
use crate::server_handle::ServerHandle;
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
fn an_edit_is_found_in_a_file_without_ids() {
    let output = Output::Stream { name: "stdout".into(), text: "hi\n".into() };
    let edits = [
        Edit::SetSource { id: "c1".into(), source: "new".to_owned() },
        Edit::Insert { index: 1, cell: NewCell::new(CellType::Code, "x") },
        Edit::Delete { ids: vec!["c0".into()] },
        Edit::Move { id: "c0".into(), index: 2 },
        Edit::SetOutputs { id: "c2".into(), outputs: vec![output].into(), execution_count: Some(3) },
    ];
    let before = notebook(&["x", "x", "y"]);
    for edit in edits {
        let mut after = before.clone();
        after.apply(&edit).unwrap();
        let intent = Intent::of(edit.clone(), &before);
        assert!(holds(&mut old(&after), Some(&after), std::slice::from_ref(&intent)), "{edit:?}");
        assert!(!holds(&mut old(&before), Some(&after), std::slice::from_ref(&intent)), "{edit:?}");
    }
}

#[tokio::test]
async fn a_silent_server_is_waited_for_until_the_deadline() {
    // It accepts connections, and never answers.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let source = Source::Given { url, credentials: rest::Credentials::None };
    let handle = Arc::new(ServerHandle::new(source, rest::Options::default()));
    let changes = tokio::sync::watch::Sender::new(0);
    let shared = Shared::new(handle, "x.ipynb".to_owned(), Dialect::ServerDocuments, 0, changes);
    let deadline = || Instant::now() + Duration::from_millis(20);
    let requests = async {
        let kinds = [
            contents(&shared, ContentsQuery::Hash, deadline()).await.map(drop).unwrap_err().kind,
            in_file(&shared, &[], deadline()).await.map(drop).unwrap_err().kind,
        ];
        assert_eq!(kinds, [Kind::Timeout; 2]);
        shared.state().location.joined("f", "x.ipynb");
        assert!(!file_lookup::refresh(&shared, deadline()).await);
    };
    tokio::time::timeout(Duration::from_secs(5), requests).await.expect("it waits longer");
}
