use std::sync::Arc;
use std::time::Duration;

use notebook::{CellType, Edit, Json, Output};
use place::{Document as _, Expected, SaveStatus};
use serde_json::json;
use ydoc::Dialect;

use super::ServerDocument;
use crate::testing::{Fake, Saving, sources};

async fn open(fake: &Fake) -> Arc<ServerDocument> {
    let document = ServerDocument::new(fake.handle(), "x.ipynb".to_owned(), "x.ipynb".into());
    document.open().await.unwrap();
    document
}

fn set(id: &str, source: &str) -> Vec<Edit> {
    vec![Edit::SetSource { id: id.into(), source: source.to_owned() }]
}

#[tokio::test]
async fn an_edit_in_a_room_is_confirmed_by_the_file() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    assert!(document.is_live() && document.notice().is_none());
    let applied = document.apply(set("c1", "new"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    assert_eq!(sources(&applied.notebook), ["a", "new"]);
    assert_eq!(sources(&fake.inside().notebook()), ["a", "new"]);
    assert_eq!(fake.inside().puts, 0, "a file with a room must not be written");
}

#[tokio::test]
async fn a_save_that_did_not_reach_the_file_is_not_confirmed() {
    let fake = Fake::new(&["a"], true).await;
    let document = open(&fake).await;
    fake.inside().saving = Saving::Lies;
    let applied = document.apply(set("c0", "new"), Vec::new()).await.unwrap();
    let SaveStatus::NotYet(why) = applied.saved else { panic!("it is not on disk") };
    assert!(why.contains("not in the file"), "{why}");
    assert_eq!(sources(&document.snapshot().await.unwrap()), ["new"]);
    fake.inside().saving = Saving::Writes;
    let applied = document.apply(set("c0", "newer"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
}

#[tokio::test]
async fn an_edit_lost_by_a_dying_server_is_applied_again() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    fake.inside().saving = Saving::Dies;
    let applied = document.apply(set("c1", "new"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    // The server opened the notebook with another history; no cell is there twice.
    assert_eq!(sources(&applied.notebook), ["a", "new"]);
    assert_eq!(sources(&fake.inside().live()), ["a", "new"]);
}

/// The later ones are made on what the earlier ones leave, also the second time.
#[tokio::test]
async fn lost_edits_of_one_cell_are_all_applied_again() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    fake.inside().saving = Saving::Dies;
    let patch = Json::from_value(&json!({ "tags": ["x"] }));
    let mut edits = set("c1", "new");
    edits.push(Edit::SetType { id: "c1".into(), cell_type: CellType::Raw });
    edits.push(Edit::MergeMetadata { id: "c1".into(), patch });
    let applied = document.apply(edits, Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    let in_file = fake.inside().notebook();
    for notebook in [applied.notebook, in_file] {
        let cell = &notebook.cells()[1];
        assert_eq!((&*cell.source(), cell.cell_type()), ("new", &CellType::Raw));
        assert_eq!(cell.tags(), ["x"]);
    }
}

#[tokio::test]
async fn a_lost_edit_does_not_overwrite_changes_by_others() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    {
        let mut inside = fake.inside();
        inside.saving = Saving::Dies;
        inside.meanwhile = Some(|notebook| {
            let source = "theirs".to_owned();
            notebook.apply(&Edit::SetSource { id: "c1".into(), source }).unwrap();
        });
    }
    let edits = [set("c0", "mine"), set("c1", "mine too")].concat();
    let error = document.apply(edits, Vec::new()).await.unwrap_err();
    assert!(error.cause.contains("Lost: the new source of cell c1"), "{error}");
    assert_eq!(sources(&document.snapshot().await.unwrap()), ["mine", "theirs"]);
}

#[tokio::test]
async fn a_lost_connection_is_made_again_and_subscribers_are_notified() {
    let fake = Fake::new(&["a"], true).await;
    let document = open(&fake).await;
    let mut changes = document.changes();
    changes.mark_unchanged();
    {
        let mut inside = fake.inside();
        let mut notebook = inside.notebook();
        notebook.apply(&set("c0", "theirs").remove(0)).unwrap();
        inside.write(&notebook);
        inside.drop_connections();
    }
    tokio::time::timeout(Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    assert_eq!(sources(&document.snapshot().await.unwrap()), ["theirs"]);
}

#[tokio::test]
async fn expected_revisions_are_checked_in_rooms_and_files() {
    for has_rooms in [true, false] {
        let fake = Fake::new(&["a"], has_rooms).await;
        let document = open(&fake).await;
        let expected = Expected { id: "c0".into(), revision: Some("other".to_owned()), read: None };
        let error = document.apply(set("c0", "new"), vec![expected]).await.unwrap_err();
        assert!(error.cause.contains("changed after you read it"), "{error}");
        let error = document.apply(set("nope", "new"), Vec::new()).await.unwrap_err();
        assert!(error.cause.contains("was not changed"), "{error}");
        assert_eq!(sources(&document.snapshot().await.unwrap()), ["a"]);
    }
}

#[tokio::test]
async fn without_rooms_the_file_is_written_with_a_notice() {
    let fake = Fake::new(&["a", "b"], false).await;
    let document = open(&fake).await;
    assert!(!document.is_live());
    assert!(document.notice().unwrap().contains("no real-time collaboration"));
    let applied = document.apply(set("c1", "new"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    assert_eq!(sources(&fake.inside().notebook()), ["a", "new"]);
}

#[tokio::test]
async fn changes_by_others_in_the_file_are_kept() {
    let fake = Fake::new(&["a", "b"], false).await;
    fake.inside().meanwhile = Some(|notebook| {
        notebook.apply(&Edit::SetSource { id: "c0".into(), source: "theirs".to_owned() }).unwrap();
    });
    let document = open(&fake).await;
    document.apply(set("c1", "mine"), Vec::new()).await.unwrap();
    assert_eq!(sources(&fake.inside().notebook()), ["theirs", "mine"]);
}

#[tokio::test]
async fn the_file_is_not_written_once_the_server_has_rooms() {
    let fake = Fake::new(&["a"], false).await;
    let document = open(&fake).await;
    fake.inside().has_rooms = true;
    let applied = document.apply(set("c0", "new"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    assert!(document.is_live());
    assert_eq!(fake.inside().puts, 0);
}

#[tokio::test]
async fn shown_outputs_are_in_the_room_at_once() {
    let fake = Fake::new(&["a"], true).await;
    let document = open(&fake).await;
    let output = Output::Stream { name: "stdout".into(), text: "hi\n".into() };
    let outputs =
        Edit::SetOutputs { id: "c0".into(), outputs: vec![output].into(), execution_count: Some(1) };
    assert!(document.show(vec![outputs.clone()]).await.unwrap());
    document.set_running(&"c0".into(), true).await.unwrap();
    let shown = async {
        while !outputs.is_applied(&fake.inside().live()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), shown).await.unwrap();
}

#[tokio::test]
async fn a_file_truncated_by_a_full_disk_is_restored() {
    let fake = Fake::new(&["a"], false).await;
    let document = open(&fake).await;
    let (before, size) = {
        let inside = fake.inside();
        (inside.notebook(), inside.file.len())
    };
    fake.inside().disk = size + 10;
    let long = "x".repeat(100);
    let error = document.apply(set("c0", &long), Vec::new()).await.unwrap_err();
    assert!(error.cause.contains("full") && error.cause.contains("was restored"), "{error}");
    assert_eq!(sources(&fake.inside().notebook()), sources(&before));
    assert_eq!(sources(&document.snapshot().await.unwrap()), ["a"]);
    fake.inside().disk = 10;
    let error = document.apply(set("c0", &long), Vec::new()).await.unwrap_err();
    assert!(error.cause.contains("BROKEN PART"), "{error}");
}

#[tokio::test]
async fn a_renamed_file_is_followed() {
    let fake = Fake::new(&["a"], true).await;
    fake.inside().dialect = Dialect::ServerDocuments;
    let document = open(&fake).await;
    document.apply(set("c0", "old"), Vec::new()).await.unwrap();
    fake.inside().path = "new.ipynb".to_owned();
    let applied = document.apply(set("c0", "new"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDiskAt("new.ipynb".into()));
    assert!(document.notice().unwrap().contains("\"new.ipynb\""));
    // And again where nobody looked before the connection was lost.
    fake.inside().path = "newer.ipynb".to_owned();
    fake.inside().drop_connections();
    let applied = document.apply(set("c0", "newer"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDiskAt("newer.ipynb".into()));
    assert!(document.notice().unwrap().contains("\"newer.ipynb\""));
}

#[tokio::test]
async fn a_write_that_failed_after_writing_is_on_disk() {
    let fake = Fake::new(&["a"], false).await;
    let document = open(&fake).await;
    fake.inside().fails_after_writing = true;
    let applied = document.apply(set("c0", "new"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    assert_eq!(sources(&fake.inside().notebook()), ["new"]);
}

/// Waits until the room's document or the file is as it should be.
async fn until(fake: &Fake, is_so: impl Fn(&mut crate::testing::Inside) -> bool) {
    let wait = async {
        while !is_so(&mut fake.inside()) {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), wait).await.expect("it never is so");
}

async fn not_yet(document: &ServerDocument, edits: Vec<Edit>) {
    let applied = document.apply(edits, Vec::new()).await.unwrap();
    assert!(matches!(applied.saved, SaveStatus::NotYet(_)), "{:?}", applied.saved);
}

#[tokio::test]
async fn a_pending_edit_outlives_the_connection() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    fake.inside().saving = Saving::Lies;
    not_yet(&document, set("c0", "new")).await;
    not_yet(&document, set("c0", "newer")).await;
    {
        let mut inside = fake.inside();
        inside.saving = Saving::Writes;
        inside.drop_connections();
    }
    // It is saved without a request, and is then no longer pending.
    until(&fake, |inside| sources(&inside.notebook()) == ["newer", "b"]).await;
    let applied = document.apply(set("c1", "mine"), Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    let mut inside = fake.inside();
    assert_eq!(sources(&inside.live()), ["newer", "mine"]);
}

#[tokio::test]
async fn a_lost_edit_is_reported_once() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    fake.inside().saving = Saving::Lies;
    not_yet(&document, set("c0", "new")).await;
    let mut changes = document.changes();
    changes.mark_unchanged();
    {
        let mut inside = fake.inside();
        inside.saving = Saving::Writes;
        let mut notebook = inside.notebook();
        notebook.apply(&set("c0", "theirs").remove(0)).unwrap();
        inside.write(&notebook);
        inside.drop_connections();
    }
    tokio::time::timeout(Duration::from_secs(10), changes.changed()).await.unwrap().unwrap();
    assert!(document.notice().unwrap().contains("the new source of cell c0"));
    let applied = document.apply(set("c1", "mine"), Vec::new()).await.unwrap();
    let SaveStatus::NotYet(why) = applied.saved else { panic!("the loss is not reported") };
    assert!(why.contains("this change is saved") && why.contains("the new source of cell c0"), "{why}");
    let applied = document.apply(set("c1", "again"), Vec::new()).await.unwrap();
    assert_eq!((applied.saved, document.notice()), (SaveStatus::OnDisk, None));
    assert_eq!(sources(&fake.inside().live()), ["theirs", "again"]);
}

#[tokio::test]
async fn a_lost_part_of_an_edit_is_applied_again() {
    let fake = Fake::new(&["a", "b"], true).await;
    let document = open(&fake).await;
    fake.inside().saving = Saving::Reverts;
    let edits = [set("c0", "mine"), set("c1", "mine too")].concat();
    let applied = document.apply(edits, Vec::new()).await.unwrap();
    assert_eq!(applied.saved, SaveStatus::OnDisk);
    assert_eq!(sources(&fake.inside().notebook()), ["mine", "mine too"]);
}
