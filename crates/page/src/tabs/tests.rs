//! A page between a browser and a server with tabs, over a real socket.

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use bytes::Bytes;
use futures_util::{StreamExt as _, future, stream};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::{OpenTab, TabServer};
use crate::pages::Pages;
use crate::private_socket;

/// The folder of sockets, and a page's process that looks there.
fn machine() -> (tempfile::TempDir, PathBuf, Arc<Pages>) {
    let state = tempfile::tempdir().unwrap();
    let folder = super::folder_of_tabs(state.path());
    let pages = Arc::new(Pages::of_user(Some(state.path().to_path_buf()), std::env::temp_dir()));
    (state, folder, pages)
}

/// A server with these routes, until it is dropped, and what a page names in place of a folder.
fn serving(folder: &Path, router: Router) -> (AbortOnDropHandle<()>, String) {
    let known = private_socket::names(folder);
    let listener = private_socket::listen(folder, &std::env::temp_dir()).unwrap();
    let names = private_socket::names(folder);
    let name = names.into_iter().find(|name| !known.contains(name)).unwrap();
    (AbortOnDropHandle::new(tokio::spawn(listener.serve(router))), format!("tabs:{name}"))
}

fn tabs(text: &'static str) -> Router {
    let tab = OpenTab { root: String::new(), path: text.to_owned(), identity: text.to_owned() };
    Router::new().route("/tabs", get(async move || Json(vec![tab.clone()])))
}

/// A stream with one event, which comes in two frames, and no end.
fn events() -> Router {
    let frames =
        ["data: {\"page\"", ":7}\n\nda"].map(|frame| Ok::<_, std::convert::Infallible>(Bytes::from(frame)));
    let events = async move || Body::from_stream(stream::iter(frames).chain(stream::pending()));
    Router::new().route("/view/events", post(events))
}

async fn json_of(answer: Response) -> (u16, Value) {
    let status = answer.status().as_u16();
    let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    (status, serde_json::from_slice(&body).unwrap())
}

/// The tabs that are known once as many servers are, as roots and paths.
async fn found(pages: &Pages, count: usize) -> Vec<(String, String)> {
    loop {
        let servers = pages.tabs();
        if servers.len() == count {
            let all = servers.iter().map(|tab| (tab.root.clone(), tab.path.clone()));
            return all.collect();
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
async fn the_tabs_of_all_servers_are_found_and_bad_ones_delay_nobody() {
    let (_state, folder, pages) = machine();
    let (_one, first) = serving(&folder, tabs("colab:"));
    let (_other, second) = serving(&folder, tabs("<b>colab:2"));
    let (_long, _) = serving(&folder, Router::new().route("/tabs", get(async || "[".repeat(1 << 17))));
    let (_silent, _) = serving(&folder, Router::new().route("/tabs", get(future::pending::<String>)));
    assert!(pages.tabs().is_empty(), "a page does not wait");
    let mut wanted = vec![(first, "colab:".to_owned()), (second, "<b>colab:2".to_owned())];
    wanted.sort();
    assert_eq!(found(&pages, 2).await, wanted);
}

#[tokio::test]
async fn a_page_gets_the_server_s_events() {
    let (_state, folder, pages) = machine();
    let (server, root) = serving(&folder, events());
    let answer = TabServer::of(&root, &pages).unwrap().events(Bytes::from("{}")).await;
    assert_eq!(*pages.open().borrow(), 1);
    let mut events = answer.into_body().into_data_stream();
    let mut received = Vec::new();
    while received.len() < "data: {\"page\":7}\n\nda".len() {
        received.extend(events.next().await.unwrap().unwrap());
    }
    assert!(received.starts_with(b"data: {\"page\":7}\n\n"));
    drop(server);
    assert!(events.next().await.is_none(), "the page connects again");
    drop(events);
    assert_eq!(*pages.open().borrow(), 0);
}

#[tokio::test]
async fn what_a_person_does_reaches_the_server() {
    let (_state, folder, pages) = machine();
    let act = async |Json(given): Json<Value>| {
        (axum::http::StatusCode::CONFLICT, Json(json!({ "given": given }))).into_response()
    };
    let (_server, root) = serving(&folder, Router::new().route("/view/act", post(act)));
    let answer = TabServer::of(&root, &pages).unwrap().act(Bytes::from("{\"do\":\"look\"}")).await;
    assert_eq!(json_of(answer).await, (409, json!({ "given": { "do": "look" } })));
}

#[tokio::test]
async fn a_server_that_has_ended_or_that_others_could_be_is_not_asked() {
    let (_state, folder, pages) = machine();
    let (server, root) = serving(&folder, events());
    std::fs::set_permissions(&folder, Permissions::from_mode(0o777)).unwrap();
    let asked = async || {
        let (status, body) =
            json_of(TabServer::of(&root, &pages).unwrap().events(Bytes::from("{}")).await).await;
        assert!(status == 409 && body["error"].as_str().unwrap().contains("has ended"), "{body}");
    };
    asked().await;
    std::fs::set_permissions(&folder, Permissions::from_mode(0o700)).unwrap();
    drop(server);
    asked().await;
    assert!(TabServer::of("/home/ada", &pages).is_none());
}
