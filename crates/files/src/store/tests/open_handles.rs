//! Files that other programs hold, as Windows allows it.

use std::os::windows::fs::OpenOptionsExt as _;

use super::*;

/// Opens the file as a program does that lets others only read it.
fn hold(file: &Path) -> fs::File {
    const SHARE_READ: u32 = 1;
    fs::File::options().read(true).share_mode(SHARE_READ).open(file).unwrap()
}

#[tokio::test]
async fn who_holds_a_file_is_part_of_the_error() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let held = hold(&file);
    let error = document.apply(set("a", "three"), vec![]).await.unwrap_err();
    assert!(error.cause.contains("another program has it open"), "{error}");
    assert!(error.to_string().contains("Close the file"), "{error}");
    drop(held);
    document.apply(set("a", "three"), vec![]).await.unwrap();
    assert_eq!(on_disk(&file), ["three", "two"]);
}

#[tokio::test]
async fn a_file_is_saved_that_is_held_for_a_moment() {
    let (folder, file) = folder();
    let (_store, document) = open(&folder).await;
    let held = hold(&file);
    let mut saving = std::pin::pin!(document.apply(set("a", "three"), vec![]));
    while lock::try_lock(&file).unwrap().is_some() {
        assert!(poll!(&mut saving).is_pending());
        tokio::task::yield_now().await;
    }
    for _ in 0..10 {
        // Gives the thread that saves its turn.
        tokio::task::spawn_blocking(|| ()).await.unwrap();
    }
    drop(held);
    saving.await.unwrap();
    assert_eq!(on_disk(&file), ["three", "two"]);
}
