use axum::body::Body;
use axum::http::{Request, StatusCode};
use axum::response::IntoResponse as _;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::*;
use crate::settings::{Capabilities, Machine, Source};
use crate::testing::serve_router;

const FILES: [&str; 4] = ["Data.ipynb", "a/model.ipynb", "b/notes.txt", "cafe\u{301}.ipynb"];

/// A server with these files, and without rooms.
async fn place() -> (Arc<Jupyter>, AbortOnDropHandle<()>) {
    place_on(None).await
}

async fn place_on(machine: Option<Machine>) -> (Arc<Jupyter>, AbortOnDropHandle<()>) {
    let prefix = if machine.is_some() { "vm:a1/" } else { "" };
    let router = axum::Router::new().fallback(|request: Request<Body>| async move {
        let path = percent_decode_str(request.uri().path()).decode_utf8_lossy().into_owned();
        match path.strip_prefix("/api/contents").and_then(|path| model(path.trim_matches('/'))) {
            Some(model) => model.to_string().into_response(),
            None => (StatusCode::NOT_FOUND, r#"{"message": "No such file or directory"}"#).into_response(),
        }
    });
    let (url, task) = serve_router(router).await;
    let place = Jupyter::new(Settings {
        documents: Source::Given { url, credentials: rest::Credentials::None },
        kernels: None,
        reconnect: None,
        options: rest::Options::default(),
        prefix: prefix.to_owned(),
        notebook: None,
        kernel: None,
        in_process: None,
        run_logs: None,
        capabilities: Capabilities { rooms: false, commands: false },
        machine,
    });
    (place, task)
}

fn model(path: &str) -> Option<Value> {
    if FILES.contains(&path) {
        let content = json!({ "cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        return Some(
            json!({ "name": path, "path": path, "type": "notebook", "size": 9, "content": content }),
        );
    }
    let below = |file: &&&str| path.is_empty() || file.starts_with(&format!("{path}/"));
    let inside: Vec<&str> =
        FILES.iter().filter(below).map(|file| file[path.len()..].trim_matches('/')).collect();
    let entry = |rest: &&str| {
        let (name, kind) = match rest.split_once('/') {
            Some((folder, _)) => (folder, "directory"),
            None if is_notebook(rest) => (*rest, "notebook"),
            None => (*rest, "file"),
        };
        let path = format!("{path}/{name}");
        json!({ "name": name, "path": path.trim_matches('/'), "type": kind, "content": null })
    };
    let entries: Vec<Value> = inside.iter().map(entry).collect();
    (!entries.is_empty())
        .then(|| json!({ "name": path, "path": path, "type": "directory", "content": entries }))
}

async fn opened(path: &str, mode: Mode) -> Result<String, String> {
    let (place, _task) = place().await;
    let opened = place.open(&path.into(), mode).await;
    opened.map(|document| document.path().to_string()).map_err(|error| error.cause)
}

#[tokio::test]
async fn a_missing_notebook_names_the_nearest() {
    for (asked, nearest) in [
        ("data.ipynb", "The nearest is \"Data.ipynb\"."),
        ("Data", "The nearest is \"Data.ipynb\"."),
        ("model.ipynb", "The nearest is \"a/model.ipynb\"."),
        ("a/Model%2Eipynb", "The nearest is \"a/model.ipynb\"."),
    ] {
        let error = opened(asked, Mode::Connect).await.unwrap_err();
        assert!(error.ends_with(nearest), "{asked}: {error}");
    }
    let error = opened("else.ipynb", Mode::Connect).await.unwrap_err();
    assert!(error.contains("There is no notebook") && !error.contains("nearest"), "{error}");
    let error = opened("b/notes.txt", Mode::Connect).await.unwrap_err();
    assert!(error.contains("not a notebook"), "{error}");
}

#[tokio::test]
async fn a_notebook_in_another_unicode_form_is_opened() {
    assert_eq!(opened("caf\u{e9}.ipynb", Mode::Connect).await.unwrap(), "cafe\u{301}.ipynb");
    assert!(opened("caf\u{e9}.ipynb", Mode::Reopen).await.is_err());
}

#[tokio::test]
async fn the_paths_of_a_machine_start_from_its_folder() {
    let machine = Machine { scheme: "vm", title: "the machine a1".to_owned(), root: "a", copies: None };
    let (place, _task) = place_on(Some(machine)).await;
    assert_eq!((place.scheme(), place.name()), ("vm", "vm:a1/".to_owned()));
    assert_eq!(place.strip_name("vm:a1/x.ipynb"), Some("x.ipynb"));
    let listed = place.list_files("vm:a1/", 0).await.unwrap();
    assert_eq!(listed.into_iter().map(|file| file.path).collect::<Vec<_>>(), ["vm:a1/model.ipynb"]);
    let found = place.notebooks(10).await.unwrap();
    assert_eq!(found.paths, ["vm:a1/model.ipynb"]);
    for path in ["vm:a1/model.ipynb", "/a/model.ipynb"] {
        let opened = place.open(&path.into(), Mode::Connect).await.unwrap();
        assert_eq!(opened.path().as_str(), "vm:a1/model.ipynb");
    }
    assert!(place.open(&"vm:a1/Data.ipynb".into(), Mode::Connect).await.is_err());
}
