use std::collections::HashMap;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::{TryStreamExt as _, poll};
use reqwest::Method;
use serde_json::{Value, json};

use super::*;
use crate::testing::{Fake, Seen, reply};

type Files = Arc<Mutex<HashMap<String, Vec<u8>>>>;

/// Handling of chunks by a server.
#[derive(Clone, Copy, PartialEq)]
enum Chunks {
    Appended,
    /// Each one replaces the file.
    Ignored,
    Refused,
}

/// The part of Jupyter's contents API that stores files; `limit` is how many bytes it stores of each.
async fn storing(files: &Files, limit: usize) -> Fake {
    serving(files, limit, Chunks::Appended, true).await
}

async fn serving(files: &Files, limit: usize, chunks: Chunks, renames: bool) -> Fake {
    let files = files.clone();
    Fake::new(move |seen: &Seen| {
        let path = seen.uri.path().trim_start_matches("/api/contents/").to_owned();
        let body: Value = serde_json::from_slice(&seen.body).unwrap_or_default();
        let mut files = files.lock().unwrap();
        let path = match seen.method.as_str() {
            "PUT" => {
                let content = STANDARD.decode(body["content"].as_str().unwrap()).unwrap();
                if chunks == Chunks::Refused && body["chunk"].is_number() {
                    return reply(400, &[], r#"{"message":"Unexpected field: chunk"}"#);
                }
                let file = files.entry(path.clone()).or_default();
                if chunks == Chunks::Ignored || matches!(body["chunk"].as_i64(), None | Some(1)) {
                    file.clear();
                }
                file.extend(content);
                file.truncate(limit);
                path
            }
            "PATCH" if !renames => return reply(405, &[], ""),
            "PATCH" => {
                let to = body["path"].as_str().unwrap().to_owned();
                if files.contains_key(&to) {
                    return reply(409, &[], r#"{"message":"File already exists"}"#);
                }
                let file = files.remove(&path).unwrap();
                files.insert(to.clone(), file);
                to
            }
            "DELETE" => {
                files.remove(&path);
                return reply(204, &[], "");
            }
            _ => path,
        };
        let Some(file) = files.get(&path) else { return reply(404, &[], r#"{"message":"missing"}"#) };
        let mut entry = json!({ "path": path, "type": "file", "size": file.len() });
        if seen.uri.query() == Some("type=file&format=base64&content=1") {
            entry["format"] = "base64".into();
            let lines: Vec<_> = file.chunks(57).map(|line| STANDARD.encode(line)).collect();
            entry["content"] = lines.join("\n").into();
        }
        reply(200, &[], entry.to_string())
    })
    .await
}

async fn uploaded(fake: &Fake, path: &str, bytes: &[u8], replaces: bool) -> Result<()> {
    let mut upload = fake.client("").upload(path)?;
    for piece in bytes.chunks(3 << 20) {
        upload.append(piece).await?;
    }
    upload.finish(replaces).await
}

fn bytes(count: usize) -> Vec<u8> {
    (0..=250).cycle().take(count).collect()
}

#[tokio::test]
async fn a_file_arrives_whole_in_chunks_of_which_the_last_is_marked() {
    let files = Files::default();
    let fake = storing(&files, usize::MAX).await;
    for (count, chunks) in [
        (0, vec![Value::Null]),
        (7, vec![Value::Null]),
        (CHUNK, vec![Value::Null]),
        (CHUNK + 1, vec![json!(1), json!(2), json!(-1)]),
        (3 * CHUNK, vec![json!(1), json!(2), json!(3), json!(4), json!(-1)]),
    ] {
        let before = fake.seen().len();
        uploaded(&fake, &format!("/a/{count}.bin"), &bytes(count), false).await.unwrap();
        assert_eq!(files.lock().unwrap()[&format!("a/{count}.bin")], bytes(count));
        let puts = fake.seen().split_off(before).into_iter().filter(|seen| seen.method == Method::PUT);
        let sent: Vec<Value> =
            puts.map(|seen| serde_json::from_slice::<Value>(&seen.body).unwrap()["chunk"].clone()).collect();
        assert_eq!(sent, chunks, "{count}");
    }
    assert_eq!(files.lock().unwrap().len(), 5, "temporary files are left");
}

#[tokio::test]
async fn an_existing_file_is_replaced_only_if_that_is_wanted() {
    let files = Files::default();
    let fake = storing(&files, usize::MAX).await;
    uploaded(&fake, "a", b"old", false).await.unwrap();
    assert_eq!(uploaded(&fake, "a", b"new", false).await.unwrap_err().kind, Kind::Conflict);
    assert_eq!(files.lock().unwrap()["a"], b"old");
    uploaded(&fake, "a", b"new", true).await.unwrap();
    assert_eq!(files.lock().unwrap()["a"], b"new");
    deleted(&files).await;
}

#[tokio::test]
async fn a_server_without_chunks_or_renames_gets_the_file_in_one_request() {
    for (chunks, renames) in [(Chunks::Refused, true), (Chunks::Ignored, true), (Chunks::Refused, false)] {
        let files = Files::default();
        let fake = serving(&files, usize::MAX, chunks, renames).await;
        for count in [7, CHUNK + 1, 3 * CHUNK] {
            uploaded(&fake, "a", &bytes(count), true).await.unwrap();
            deleted(&files).await;
            assert!(files.lock().unwrap()["a"] == bytes(count), "{count}");
            assert_eq!(files.lock().unwrap().len(), 1);
        }
        assert_eq!(uploaded(&fake, "a", b"new", false).await.unwrap_err().kind, Kind::Conflict);
        deleted(&files).await;
    }
}

#[tokio::test]
async fn a_file_is_read_through_the_contents_api_where_there_are_no_downloads() {
    let files = Files::default();
    let fake = storing(&files, usize::MAX).await;
    files.lock().unwrap().insert("a".to_owned(), bytes(1000));
    let server = fake.client("");
    let download = server.download("a").await.unwrap();
    assert_eq!(download.size, Some(1000));
    assert!(download.pieces.try_collect::<Vec<Bytes>>().await.unwrap().concat() == bytes(1000));
    assert_eq!(server.download("b").await.err().unwrap().kind, Kind::NotFound);
}

#[tokio::test]
async fn a_server_that_stores_less_is_noticed() {
    let files = Files::default();
    let fake = storing(&files, CHUNK).await;
    let error = uploaded(&fake, "a", &bytes(2 * CHUNK), false).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unsupported);
    deleted(&files).await;
    assert!(files.lock().unwrap().is_empty());
}

/// Waits until no part of a file is left.
async fn deleted(files: &Files) {
    let is_part = |path: &String| path.contains(".part-") || path.contains(".old-");
    let gone = async {
        while files.lock().unwrap().keys().any(is_part) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), gone).await.unwrap();
}

#[tokio::test]
async fn an_upload_that_is_given_up_is_deleted() {
    let files = Files::default();
    let fake = storing(&files, usize::MAX).await;
    let mut upload = fake.client("").upload("a").unwrap();
    upload.append(&bytes(CHUNK + 1)).await.unwrap();
    assert_eq!(files.lock().unwrap().len(), 1);
    drop(upload);
    deleted(&files).await;
}

#[tokio::test]
async fn when_uploads_are_ended_nothing_of_them_is_left() {
    let files = Files::default();
    let fake = storing(&files, usize::MAX).await;
    let server = fake.client("");
    let mut upload = server.upload("a").unwrap();
    upload.append(&bytes(CHUNK + 1)).await.unwrap();
    assert_eq!(files.lock().unwrap().len(), 1);
    let copying = tokio::spawn(async move {
        while upload.append(&bytes(CHUNK)).await.is_ok() {
            tokio::task::yield_now().await;
        }
    });
    server.end_uploads().await;
    assert!(files.lock().unwrap().is_empty());
    copying.await.unwrap();
    assert!(server.upload("b").unwrap().finish(false).await.is_err());
}

#[tokio::test]
async fn a_chunk_under_way_does_not_arrive_after_the_deletion() {
    let files = Files::default();
    let fake = storing(&files, usize::MAX).await;
    let mut upload = fake.client("").upload("a").unwrap();
    {
        let bytes = bytes(CHUNK + 1);
        let appended = pin!(upload.append(&bytes));
        assert!(poll!(appended).is_pending());
    }
    drop(upload);
    let seen = async {
        while fake.seen().len() < 2 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), seen).await.unwrap();
    let methods: Vec<Method> = fake.seen().into_iter().map(|seen| seen.method).collect();
    assert_eq!(methods, [Method::PUT, Method::DELETE]);
    deleted(&files).await;
}

#[tokio::test]
async fn a_download_comes_in_pieces_with_its_size() {
    let fake = Fake::new(|seen: &Seen| match seen.uri.path() {
        "/files/a/%C3%A4.csv" => reply(200, &[], bytes(CHUNK)),
        _ => reply(404, &[], r#"{"message":"missing"}"#),
    })
    .await;
    let server = fake.client("");
    let download = server.download("/a/ä.csv").await.unwrap();
    assert_eq!(download.size, Some(CHUNK as u64));
    let pieces: Vec<Bytes> = download.pieces.try_collect().await.unwrap();
    assert!(pieces.concat() == bytes(CHUNK));
    assert_eq!(server.download("b").await.err().unwrap().kind, Kind::NotFound);
}
