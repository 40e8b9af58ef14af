use super::*;
use crate::{Address, Credentials, Options};

fn server() -> Server {
    Server::new(&Address::parse("http://h:1/").unwrap(), Credentials::None, &Options::default()).unwrap()
}

fn entry(text: &str) -> Result<Entry> {
    server().entry(&Bytes::from(text.to_owned()), "\"x\"")
}

#[test]
fn a_notebook_s_content_is_not_copied() {
    let body = Bytes::from_static(
        br#"{"name":"x.ipynb","path":"a/x.ipynb","type":"notebook","writable":false,"last_modified":"2026-01-01T00:00:00Z",
            "content": {"cells": [], "n": 1.50, "deep": 12345678901234567890123},"hash":"ab","hash_algorithm":"sha256","size":7,"new":[1]}"#,
    );
    let entry = server().entry(&body, "\"x\"").unwrap();
    let content = entry.content.clone().unwrap();
    assert_eq!(content, &br#"{"cells": [], "n": 1.50, "deep": 12345678901234567890123}"#[..]);
    assert!(body.as_ptr_range().contains(&content.as_ptr()), "copied");
    assert_eq!((entry.kind, entry.is_writable, entry.size), (EntryKind::Notebook, false, Some(7)));
    assert_eq!(entry.hash.as_deref(), Some("sha256:ab"));
}

#[test]
fn a_listing_contains_entries() {
    let entry = entry(
        r#"{"name":"","path":"","type":"directory","content":[
            {"name":"d","path":"d","type":"directory","content":null,"size":null},
            {"name":"ü.txt","path":"/ü.txt","type":"file","mimetype":"text/plain"},
            {"name":"link","path":"link","type":"something new"}]}"#,
    );
    let entries = entry.unwrap().entries;
    let seen: Vec<_> = entries.iter().map(|entry| (entry.path.as_str(), entry.kind, entry.size)).collect();
    let (directory, file) = (EntryKind::Directory, EntryKind::File);
    assert_eq!(seen, [("d", directory, None), ("ü.txt", file, None), ("link", file, None)]);
}

#[test]
fn an_entry_without_content_has_none() {
    for content in ["", r#","content":null"#] {
        let entry = entry(&format!(r#"{{"type":"notebook","path":"x.ipynb"{content}}}"#)).unwrap();
        assert_eq!((entry.content, entry.hash, entry.is_writable), (None, None, true));
    }
}

#[test]
fn malformed_responses_fail() {
    assert_eq!(entry("<html>").unwrap_err().kind, Kind::NotJupyter);
    for text in
        ["", "[]", "{", r#"{"type":"directory","content":{}}"#, r#"{"type":"directory","content":[3]}"#]
    {
        assert_eq!(entry(text).unwrap_err().kind, Kind::Malformed, "{text}");
    }
}

#[test]
fn a_temporary_path_is_in_the_same_folder() {
    let one = temporary("/a/b.ipynb").unwrap();
    let random = one.strip_prefix("a/b-").and_then(|rest| rest.strip_suffix(".ipynb")).unwrap();
    assert_eq!(random.len(), 8, "{one}");
    assert!(random.bytes().all(|digit| digit.is_ascii_hexdigit()), "{one}");
    assert_ne!(one, temporary("a/b.ipynb").unwrap());
}

#[tokio::test]
async fn a_text_may_be_partly_written() {
    let fake = crate::testing::Fake::new(|seen| {
        assert_eq!(seen.line(), "GET /api/contents/x.ipynb?type=file&format=text&content=1");
        let body = r#"{"path":"x.ipynb","type":"file","format":"text","content":"{\"a\": \"\u00fc"}"#;
        crate::testing::reply(200, &[], body)
    })
    .await;
    let entry = fake.client("").contents("x.ipynb", crate::ContentsQuery::Text).await.unwrap();
    assert_eq!(entry.content.unwrap(), "{\"a\": \"\u{fc}".as_bytes());
}
