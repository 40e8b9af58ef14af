use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Json;
use axum::extract::Path;
use axum::routing::get;
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::*;
use crate::testing::{handle, serve_router};

/// A server with `a.ipynb` and the folder `slow`, which holds `slow/b.ipynb` and is listed once a permit is there.
struct FakeServer {
    requests: Arc<AtomicUsize>,
    slow_listings: Arc<Semaphore>,
    _task: AbortOnDropHandle<()>,
    search: NotebookSearch,
}

impl FakeServer {
    async fn new(slow_listings: usize) -> Self {
        let requests = Arc::new(AtomicUsize::new(0));
        let slow_listings = Arc::new(Semaphore::new(slow_listings));
        let (count, permits) = (requests.clone(), slow_listings.clone());
        let list = move |path: String| async move {
            count.fetch_add(1, Ordering::Relaxed);
            if path != "slow" {
                return folder("", &[("a.ipynb", "notebook"), ("slow", "directory")]);
            }
            permits.acquire().await.unwrap().forget();
            folder("slow", &[("slow/b.ipynb", "notebook")])
        };
        let root = list.clone();
        let router = axum::Router::new()
            .route("/api/contents/", get(move || root(String::new())))
            .route("/api/contents/{path}", get(move |Path(path): Path<String>| list(path)));
        let (url, task) = serve_router(router).await;
        let search = NotebookSearch::new(handle(url), Prefix::default());
        Self { requests, slow_listings, _task: task, search }
    }
}

fn folder(path: &str, entries: &[(&str, &str)]) -> Json<Value> {
    let entry = |(path, kind): &(&str, &str)| {
        let name = path.rsplit('/').next().unwrap();
        json!({"name": name, "path": path, "type": kind, "writable": true, "content": null})
    };
    let entries: Vec<Value> = entries.iter().map(entry).collect();
    Json(json!({"name": path, "path": path, "type": "directory", "writable": true, "content": entries}))
}

#[tokio::test]
async fn a_repeated_search_is_answered_without_requests() {
    let server = FakeServer::new(1).await;
    let found = server.search.find(10).await.unwrap();
    assert_eq!(found.paths, ["a.ipynb", "slow/b.ipynb"]);
    assert_eq!(found.extent, SearchExtent::Complete);
    let requests = server.requests.load(Ordering::Relaxed);
    assert_eq!(server.search.find(10).await.unwrap(), found);
    assert_eq!(server.requests.load(Ordering::Relaxed), requests);
}

#[tokio::test]
async fn a_created_notebook_is_found_before_the_next_search() {
    let server = FakeServer::new(1).await;
    server.search.find(10).await.unwrap();
    server.search.add(&"slow/a.ipynb".into());
    let found = server.search.find(10).await.unwrap();
    assert_eq!(found.paths, ["a.ipynb", "slow/a.ipynb", "slow/b.ipynb"]);
}

#[tokio::test]
async fn a_slow_search_answers_with_what_it_has_and_goes_on() {
    let mut server = FakeServer::new(0).await;
    server.search.call_timeout = Duration::ZERO;
    let found = server.search.find(10).await.unwrap();
    assert_eq!(found.extent, SearchExtent::InProgress);
    server.slow_listings.add_permits(1);
    server.search.call_timeout = Duration::from_secs(60);
    let found = server.search.find(10).await.unwrap();
    assert_eq!(found.extent, SearchExtent::Complete);
    assert_eq!(found.paths, ["a.ipynb", "slow/b.ipynb"]);
    assert_eq!(server.requests.load(Ordering::Relaxed), 2, "it was one search");
}

#[tokio::test]
async fn a_search_ends_at_its_limit_and_says_so() {
    let server = FakeServer::new(1).await;
    let found = server.search.find(1).await.unwrap();
    assert_eq!((found.paths, found.extent), (vec!["a.ipynb".into()], SearchExtent::Truncated));
}
