use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::ConnectionInfo;
use place::StoredNotebook;
use tokio::sync::watch;

use super::*;
use crate::settings::InProcessServer;
use crate::testing::{Fake, notebook, sources};

/// Knows one file.
#[derive(Debug)]
struct Folder(PathBuf);

impl InProcessServer for Folder {
    fn kernels(&self) -> BoxFuture<'_, Option<String>> {
        async { None }.boxed()
    }

    fn connection<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<ConnectionInfo>> {
        async { None }.boxed()
    }

    fn file<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Option<PathBuf>> {
        async { Some(self.0.clone()) }.boxed()
    }
}

/// A notebook and its file. The server itself would answer with a cell `of the server`.
async fn stored() -> (Fake, Arc<StoredNotebook<ContentsStore>>, tempfile::NamedTempFile) {
    let fake = Fake::new(&["of the server"], false).await;
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut handle = Arc::into_inner(fake.handle()).unwrap();
    handle.in_process = Some(Arc::new(Folder(file.path().to_owned())));
    let store = ContentsStore::new(Arc::new(handle), "x.ipynb".to_owned());
    let stored = StoredNotebook::new(store, watch::Sender::new(0));
    (fake, Arc::new(stored), file)
}

fn text(cells: &[&str]) -> Vec<u8> {
    let mut text = Vec::new();
    notebook(cells).write(&mut text).unwrap();
    text
}

#[tokio::test]
async fn the_content_is_that_of_the_file() {
    let (_fake, stored, file) = stored().await;
    for cells in [&["a"][..], &["b"], &["b", "c"]] {
        std::fs::write(file.path(), text(cells)).unwrap();
        assert_eq!(sources(&stored.snapshot().await.unwrap()), cells);
    }
}

#[tokio::test]
async fn a_half_written_file_is_read_again() {
    let (fake, stored, file) = stored().await;
    let whole = text(&["a"]);
    std::fs::write(file.path(), &whole[..whole.len() / 2]).unwrap();
    let reading = tokio::spawn({
        let stored = stored.clone();
        async move { stored.snapshot().await }
    });
    // It was read more than once.
    while fake.inside().requests < 2 {
        tokio::task::yield_now().await;
    }
    std::fs::write(file.path(), whole).unwrap();
    assert_eq!(sources(&reading.await.unwrap().unwrap()), ["a"]);
}

#[tokio::test]
async fn a_file_that_is_no_notebook_is_an_error() {
    let (_fake, stored, file) = stored().await;
    std::fs::write(file.path(), "{").unwrap();
    assert!(stored.snapshot().await.is_err());
    std::fs::remove_file(file.path()).unwrap();
    assert!(stored.snapshot().await.is_err());
}
