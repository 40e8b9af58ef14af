//! Changes of every kind are undone byte for byte, and what somebody else has changed is refused.

use notebook::Kernelspec;
use proptest::prelude::*;

use super::*;
use crate::testing::Story;
use crate::{changed_since, live};

/// A file as Jupyter writes it.
const FILE: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "title",
   "metadata": {},
   "source": [
    "# Title\n",
    "Text"
   ]
  },
  {
   "attachments": {
    "i.png": {
     "image/png": "AA=="
    }
   },
   "cell_type": "markdown",
   "id": "image",
   "metadata": {},
   "source": [
    "![](attachment:i.png)"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "plot",
   "metadata": {
    "own": {
     "deep": 1.50
    },
    "tags": [
     "x"
    ]
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "one\n",
      "two\n"
     ]
    },
    {
     "data": {
      "image/png": "AAAA",
      "text/plain": [
       "<Figure>"
      ]
     },
     "execution_count": 3,
     "metadata": {},
     "output_type": "execute_result"
    }
   ],
   "source": [
    "a = 1\n",
    "a"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "empty",
   "metadata": {},
   "outputs": [],
   "source": []
  },
  {
   "cell_type": "raw",
   "id": "raw",
   "metadata": {
    "format": "text/x"
   },
   "source": [
    "raw"
   ]
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Python 3",
   "name": "python3"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

fn story() -> Story {
    Story::of(FILE.into())
}

fn id(id: &str) -> CellId {
    id.into()
}

fn source(cell: &str, source: &str) -> Edit {
    Edit::SetSource { id: id(cell), source: source.to_owned() }
}

fn delete(cells: &[&str]) -> Edit {
    Edit::Delete { ids: cells.iter().map(|cell| id(cell)).collect() }
}

fn to(cell: &str, index: usize) -> Edit {
    Edit::Move { id: id(cell), index }
}

fn kind(cell: &str, cell_type: CellType) -> Edit {
    Edit::SetType { id: id(cell), cell_type }
}

fn metadata(cell: &str, patch: &'static str) -> Edit {
    Edit::MergeMetadata { id: id(cell), patch: Json::parse(patch.into()).unwrap() }
}

fn insert(index: usize, cell: &str, text: &str) -> Edit {
    let cell = NewCell { id: id(cell), ..NewCell::new(CellType::Code, text) };
    Edit::Insert { index, cell }
}

fn outputs(cell: &str, text: Option<&str>) -> Edit {
    let output = |text: &str| Output::Stream { name: "stdout".to_owned(), text: text.into() };
    let outputs: Vec<_> = text.map(output).into_iter().collect();
    Edit::SetOutputs { id: id(cell), outputs: outputs.into(), execution_count: text.map(|_| 9) }
}

fn kernel(name: &str) -> Edit {
    Edit::set_kernelspec(&Kernelspec { name: name.to_owned(), display_name: None, language: None })
}

fn language(info: &'static str) -> Edit {
    Edit::set_language_info(Json::parse(info.into()).unwrap())
}

/// A change of each kind, as tools make them.
fn kinds() -> Vec<Vec<Edit>> {
    vec![
        vec![source("plot", "b = 2")],
        vec![source("title", "")],
        vec![source("empty", "x\n\ny")],
        vec![insert(0, "n1", "first")],
        vec![insert(5, "n2", "last")],
        vec![insert(2, "n3", "one"), insert(3, "n4", "two")],
        vec![insert(1, "n5", "x"), metadata("n5", r#"{"tags": ["t"]}"#)],
        vec![delete(&["plot"])],
        vec![delete(&["title"])],
        vec![delete(&["raw"])],
        vec![delete(&["image"])],
        vec![delete(&["title", "image", "plot", "empty", "raw"])],
        vec![delete(&["plot", "title"])],
        vec![to("plot", 0)],
        vec![to("title", 4)],
        vec![to("raw", 0), to("empty", 1)],
        vec![kind("plot", CellType::Markdown)],
        vec![kind("title", CellType::Code)],
        vec![kind("image", CellType::Code)],
        vec![kind("raw", CellType::Markdown)],
        vec![metadata("plot", r#"{"tags": null, "own": {"deep": 2, "new": []}}"#)],
        vec![metadata("title", r#"{"jupyter": {"source_hidden": true}}"#)],
        vec![outputs("plot", None)],
        vec![outputs("plot", Some("other\n"))],
        vec![outputs("empty", Some("new\n"))],
        // A cell that is split, and two that are merged.
        vec![source("plot", "a = 1"), insert(3, "n6", "a"), outputs("plot", None)],
        vec![source("plot", "a = 1\na\n"), outputs("plot", None), delete(&["empty"])],
        // A notebook that is replaced by a copy.
        vec![insert(0, "n7", "copy"), delete(&["title", "image", "plot", "empty", "raw"])],
        vec![delete(&["raw"]), insert(0, "n8", ""), to("plot", 4), source("title", "T")],
        // A run in a notebook whose metadata say less than its kernel.
        vec![language(r#"{"version": "3", "name": "python"}"#), outputs("plot", Some("1"))],
        vec![kernel("r"), language(r#"{"name": "R"}"#)],
        vec![Edit::SetMetadata { name: "kernelspec".to_owned(), value: None }],
    ]
}

#[test]
fn a_server_that_trusts_a_cell_has_not_changed_it() {
    let mut story = story();
    story.make(&[source("plot", "b = 2")]);
    story.change(&[metadata("plot", r#"{"trusted": true}"#)]);
    assert!(story.undo_last().is_ok());
    let sources: Vec<_> = story.now.cells().iter().map(|cell| cell.source().into_owned()).collect();
    assert_eq!(sources[2], "a = 1\na");
    story.make(&[source("plot", "c = 3")]);
    story.change(&[metadata("plot", r#"{"tags": ["theirs"]}"#)]);
    assert!(story.undo_last().is_err());
}

#[test]
fn members_that_nbformat_does_not_know_come_back() {
    let file = FILE.replacen(r#""id": "title","#, r#""id": "title", "zz": {"a": 1.50},"#, 1);
    let mut story = Story::of(file.into_bytes());
    let before = story.now.to_bytes();
    let deleted = story.make(&[Edit::Delete { ids: vec!["title".into()] }]);
    story.undo(&[deleted]).unwrap();
    let members = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).unwrap();
    assert_eq!(members(&story.now.to_bytes()), members(&before));
}

#[test]
fn a_change_of_each_kind_is_undone_byte_for_byte() {
    for edits in kinds() {
        let mut story = story();
        story.make(&edits);
        let changed = story.bytes();
        assert_ne!(changed, FILE, "{edits:?}");
        let undo = story.undo_last().unwrap_or_else(|conflicts| panic!("{edits:?}: {conflicts:?}"));
        assert_eq!(story.bytes(), FILE, "{edits:?}");
        story.undo(&[undo]).unwrap();
        assert_eq!(story.bytes(), changed, "an undo that is undone: {edits:?}");
        story.undo_last().unwrap();
        assert_eq!(story.bytes(), FILE, "and again: {edits:?}");
    }
}

/// Changes that can be made one after the other.
fn in_a_row() -> Vec<Vec<Edit>> {
    let mut row = vec![
        vec![source("plot", "b = 2")],
        vec![outputs("plot", Some("two\n"))],
        vec![insert(0, "n1", "first")],
        vec![to("n1", 3)],
        vec![source("n1", "second")],
        vec![outputs("n1", Some("x"))],
        vec![delete(&["title", "empty"])],
        vec![kind("plot", CellType::Raw)],
        vec![metadata("plot", r#"{"own": null}"#)],
        vec![kind("image", CellType::Code)],
        vec![delete(&["n1"])],
        vec![to("raw", 0)],
        vec![kernel("r"), source("raw", "r")],
        vec![language(r#"{"name": "R"}"#)],
        vec![language(r#"{"name": "r"}"#)],
    ];
    for index in 0..5 {
        row.push(vec![insert(index, &format!("m{index}"), "m"), source("image", &format!("{index}"))]);
    }
    row
}

#[test]
fn twenty_changes_are_undone_one_by_one_and_all_at_once() {
    let mut story = story();
    for edits in in_a_row() {
        story.make(&edits);
    }
    let changed = story.bytes();
    assert_eq!(story.operations.len(), 20);
    let all = live(&story.operations);
    let undo = story.undo(&all).unwrap();
    assert_eq!(story.bytes(), FILE);
    story.undo(&[undo]).unwrap();
    assert_eq!(story.bytes(), changed);
    for _ in 0..20 {
        story.undo_last().unwrap();
    }
    assert_eq!(story.bytes(), FILE);
    assert!(live(&story.operations).is_empty());
}

#[test]
fn what_somebody_else_changed_is_refused() {
    let changed = |diff: &str| Obstacle::Changed { diff: diff.to_owned() };
    let to_markdown = changed("@@ -1 +1 @@\n-code {}\n+markdown {}\n");
    for (own, others, cell, obstacle) in [
        (source("plot", "b"), source("plot", "theirs"), "plot", changed("@@ -1 +1 @@\n-b\n+theirs\n")),
        (source("plot", "b"), delete(&["plot"]), "plot", Obstacle::Deleted),
        (insert(0, "n", "x"), source("n", "x = 1"), "n", changed("@@ -1 +1 @@\n-x\n+x = 1\n")),
        (insert(0, "n", "x"), outputs("n", Some("theirs")), "n", Obstacle::NewOutputs),
        (kind("title", CellType::Code), outputs("title", Some("theirs")), "title", Obstacle::NewOutputs),
        (delete(&["raw"]), insert(0, "raw", "again"), "raw", Obstacle::Exists),
        (outputs("plot", None), outputs("plot", Some("theirs")), "plot", Obstacle::NewOutputs),
        (outputs("empty", Some("1")), kind("empty", CellType::Markdown), "empty", to_markdown),
        (outputs("empty", Some("1")), outputs("empty", Some("2")), "empty", Obstacle::NewOutputs),
        (to("plot", 0), to("plot", 4), "plot", Obstacle::Moved),
    ] {
        let mut story = story();
        story.make(&[own]);
        story.change(&[others]);
        let before = story.bytes();
        let expected = Conflict { operation: OperationId::new(1), part: Part::Cell(id(cell)), obstacle };
        assert_eq!(story.undo_last().unwrap_err(), [expected]);
        assert_eq!(story.bytes(), before);
    }
}

#[test]
fn files_that_somebody_else_attached_are_not_lost() {
    for own in [source("title", "# New"), metadata("title", r#"{"tags": ["t"]}"#)] {
        let mut story = story();
        story.make(&[own]);
        let (_, title) = story.now.cell(&id("title")).unwrap();
        let attached = NewCell {
            id: id("title"),
            metadata: Some(title.metadata()),
            attachments: Some(Json::parse(r#"{"i.png": {"image/png": "AA=="}}"#.into()).unwrap()),
            ..NewCell::new(CellType::Markdown, title.source())
        };
        story.change(&[delete(&["title"]), Edit::Insert { index: 0, cell: attached }]);
        let conflicts = story.undo_last().unwrap_err();
        let Obstacle::Changed { diff } = &conflicts[0].obstacle else { panic!("{conflicts:?}") };
        assert!(diff.contains("+attachment i.png"), "{diff}");
    }
}

#[test]
fn what_somebody_else_changed_beside_it_stays() {
    for (own, others) in [
        // Their outputs of a cell whose source changed, and their source of a cell whose outputs changed.
        (source("plot", "b"), outputs("plot", Some("theirs"))),
        (outputs("plot", None), source("plot", "theirs")),
        (to("plot", 0), source("plot", "theirs")),
        (source("plot", "b"), to("plot", 0)),
        (delete(&["plot"]), source("empty", "theirs")),
        (delete(&["plot"]), insert(2, "n", "between")),
        (insert(0, "n", "x"), delete(&["title"])),
    ] {
        let mut story = story();
        story.make(&[own]);
        story.change(std::slice::from_ref(&others));
        story.undo_last().unwrap();
        let mut alone = Story::of(FILE.into());
        alone.change(std::slice::from_ref(&others));
        assert_eq!(contents(&story), contents(&alone), "{others:?}");
    }
}

#[test]
fn a_cell_stands_between_its_neighbours_again() {
    let mut story = story();
    story.make(&[delete(&["plot"])]);
    story.change(&[insert(0, "n", "theirs"), to("raw", 0)]);
    story.undo_last().unwrap();
    let order: Vec<_> = story.now.cells().iter().map(|cell| cell.id().to_string()).collect();
    assert_eq!(order, ["raw", "n", "title", "image", "plot", "empty"]);
}

#[test]
fn a_change_under_a_later_one_is_refused_until_that_is_undone() {
    let mut story = story();
    let first = story.make(&[source("plot", "one")]);
    let second = story.make(&[source("plot", "two")]);
    assert!(story.undo(std::slice::from_ref(&first)).is_err());
    story.undo(&[second, first]).unwrap();
    assert_eq!(story.bytes(), FILE);
}

#[test]
fn metadata_of_the_notebook_that_somebody_else_has_changed_is_refused() {
    let mut story = story();
    let made = story.make(&[kernel("r"), source("plot", "b")]);
    story.change(&[kernel("julia")]);
    assert_eq!(changed_since(&story.operations, &story.now), [OperationId::new(1)].into());
    let conflicts = story.undo_last().unwrap_err();
    assert_eq!((conflicts.len(), &conflicts[0].part), (1, &Part::Metadata("kernelspec".to_owned())));
    let Obstacle::Changed { diff } = &conflicts[0].obstacle else { panic!("{conflicts:?}") };
    assert!(
        diff.contains("-{\"display_name\":\"r\"") && diff.contains("+{\"display_name\":\"julia\""),
        "{diff}"
    );
    // The cells alone come back.
    story.undo(&[Operation { metadata: Vec::new(), ..made }]).unwrap();
    assert_eq!(story.now.kernelspec().unwrap().name, "julia");
}

#[test]
fn contents_that_are_gone_are_named() {
    let mut story = story();
    let deleted = story.make(&[delete(&["plot"])]);
    let conflicts = plan(&story.now, &[deleted], &|_| None).unwrap_err();
    assert_eq!(conflicts[0].obstacle, Obstacle::Forgotten);
}

#[derive(Debug, Clone)]
enum Step {
    /// A change, made by an agent or by somebody else.
    Change {
        change: Change,
        is_own: bool,
    },
    UndoLast,
    /// Undoes the nth of all operations.
    Undo(usize),
}

#[derive(Debug, Clone)]
enum Change {
    Source(usize, u8),
    Insert(usize, u8),
    Delete(usize),
    Move(usize, usize),
    Type(usize, bool),
    Tag(usize, u8),
    Outputs(usize, u8),
    Kernel(u8),
}

impl Change {
    /// The edit, if the notebook has cells.
    fn edit(&self, story: &Story, count: usize) -> Option<Edit> {
        let cells = story.now.cells();
        let at = |index: usize| cells.get(index.checked_rem(cells.len())?);
        Some(match self {
            Self::Insert(index, text) => {
                insert(index % (cells.len() + 1), &format!("n{count}"), &format!("i{text}"))
            }
            Self::Source(cell, text) => source(at(*cell)?.id(), &format!("s{text}\n")),
            Self::Delete(cell) => delete(&[at(*cell)?.id()]),
            Self::Move(cell, index) => to(at(*cell)?.id(), index % cells.len()),
            Self::Type(cell, is_code) => {
                kind(at(*cell)?.id(), if *is_code { CellType::Code } else { CellType::Markdown })
            }
            Self::Tag(cell, tag) => {
                let patch = format!("{{\"tags\": [{tag}]}}");
                Edit::MergeMetadata { id: at(*cell)?.id().clone(), patch: Json::parse(patch.into()).unwrap() }
            }
            Self::Kernel(number) => kernel(&number.to_string()),
            Self::Outputs(cell, text) => {
                outputs(at(*cell).filter(|cell| cell.is_code())?.id(), Some(&text.to_string()))
            }
        })
    }
}

fn any_step() -> impl Strategy<Value = Step> {
    let change = prop_oneof![
        (0..9_usize, any::<u8>()).prop_map(|(cell, text)| Change::Source(cell, text)),
        (0..9_usize, any::<u8>()).prop_map(|(index, text)| Change::Insert(index, text)),
        (0..9_usize).prop_map(Change::Delete),
        (0..9_usize, 0..9_usize).prop_map(|(cell, index)| Change::Move(cell, index)),
        (0..9_usize, any::<bool>()).prop_map(|(cell, is_code)| Change::Type(cell, is_code)),
        (0..9_usize, any::<u8>()).prop_map(|(cell, tag)| Change::Tag(cell, tag)),
        (0..9_usize, any::<u8>()).prop_map(|(cell, text)| Change::Outputs(cell, text)),
        any::<u8>().prop_map(Change::Kernel),
    ];
    prop_oneof![
        4 => (change, any::<bool>()).prop_map(|(change, is_own)| Step::Change { change, is_own }),
        2 => Just(Step::UndoLast),
        1 => (0..20_usize).prop_map(Step::Undo),
    ]
}

/// The cells by id, with all that they hold.
fn contents(story: &Story) -> Vec<(CellId, Json, BlobId)> {
    let of = |cell: &Cell| (cell.id().clone(), cell.content_json(), digest(cell).0);
    let mut cells: Vec<_> = story.now.cells().iter().map(of).collect();
    cells.sort_by(|one, other| one.0.cmp(&other.0));
    cells
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// An undo touches only cells that its operation changed, and only where they are as it left them: what somebody else wrote
    /// is never lost.
    #[test]
    fn an_undo_never_overwrites_what_it_did_not_make(steps in prop::collection::vec(any_step(), 1..30)) {
        let mut story = story();
        for (count, step) in steps.into_iter().enumerate() {
            let undone = match step {
                Step::Change { change, is_own } => {
                    if let Some(edit) = change.edit(&story, count) {
                        if is_own { story.make(&[edit]); } else { story.change(&[edit]); }
                    }
                    continue;
                }
                Step::UndoLast => live(&story.operations).into_iter().next(),
                Step::Undo(index) => story.operations.get(index).cloned(),
            };
            let Some(undone) = undone else { continue };
            let before = contents(&story);
            let own: Vec<_> = undone.cells.iter().map(|change| id(&change.id)).collect();
            let was = story.now.clone();
            let is_undone = story.undo(std::slice::from_ref(&undone)).is_ok();
            let after = contents(&story);
            let of_others = |cells: &[(CellId, Json, BlobId)]| -> Vec<_> {
                cells.iter().filter(|cell| !is_undone || !own.contains(&cell.0)).cloned().collect()
            };
            prop_assert_eq!(of_others(&before), of_others(&after));
            for change in undone.cells.iter().filter(|_| is_undone) {
                let found = was.cell(&id(&change.id)).map(|(_, cell)| cell);
                let left = change.after.as_ref();
                prop_assert_eq!(found.is_some(), left.is_some());
                if let (Some(found), Some(left)) = (found, left.filter(|_| change.changes_content())) {
                    prop_assert_eq!(found.revision(), &left.revision);
                }
                let back = story.now.cell(&id(&change.id)).map(|(_, cell)| cell);
                prop_assert_eq!(back.is_some(), change.before.is_some());
                if let (Some(back), Some(wanted)) = (back, change.before.as_ref().filter(|_| change.changes_content())) {
                    prop_assert_eq!(back.revision(), &wanted.revision);
                }
            }
        }
    }

    /// Without anybody else, all undos lead back to the first bytes.
    #[test]
    fn all_undos_lead_back_to_the_first_bytes(changes in prop::collection::vec(any_step(), 1..30)) {
        let mut story = story();
        for (count, step) in changes.into_iter().enumerate() {
            match step {
                Step::Change { change, .. } => {
                    if let Some(edit) = change.edit(&story, count) {
                        story.make(&[edit]);
                    }
                }
                Step::UndoLast => drop(story.undo_last()),
                Step::Undo(_) => {}
            }
        }
        while !live(&story.operations).is_empty() {
            let undone = story.undo_last();
            prop_assert!(undone.is_ok(), "{undone:?}");
        }
        prop_assert_eq!(story.bytes(), FILE);
    }
}

#[test]
fn the_times_of_a_run_return_with_its_outputs() {
    let mut story = Story::new(&["one"]);
    let ran = |second: u32, count| {
        let times = serde_json::json!({ "execution": { "iopub.status.busy": format!("2026-01-01T00:00:{second}Z") } });
        let outputs = Edit::SetOutputs { id: "c0".into(), outputs: [].into(), execution_count: Some(count) };
        [outputs, Edit::MergeMetadata { id: "c0".into(), patch: Json::from_value(&times) }]
    };
    story.make(&ran(11, 1));
    let last = story.make(&ran(22, 2));
    let undone = plan(&story.now, &[last], &|id| story.blobs.get(id)).unwrap();
    let (_, cell) = undone.after.cell(&"c0".into()).unwrap();
    assert!(cell.metadata().as_str().contains("00:00:11Z"), "{}", cell.metadata().as_str());
    let first = story.operations[0].clone();
    let both = plan(&story.now, &[story.operations[1].clone(), first], &|id| story.blobs.get(id)).unwrap();
    assert_eq!(both.after.cell(&"c0".into()).unwrap().1.metadata().as_str(), "{}");
}
