//! Several writers at once.

use std::collections::{BTreeSet, HashSet};

use notebook::{CellId, CellType, Edit, Json, NewCell, Output, Text};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use ydoc::LiveNotebook;

/// Writers with what each has still to hear.
struct Writers {
    live: Vec<LiveNotebook>,
    waiting: Vec<Vec<Vec<u8>>>,
}

impl Writers {
    fn new(count: usize) -> Self {
        let mut live: Vec<_> = (0..count).map(|_| LiveNotebook::new()).collect();
        let first = Edit::Insert { index: 0, cell: NewCell::new(CellType::Code, "first\nline\n") };
        let update = live[0].apply(&[first]).unwrap();
        for other in &mut live[1..] {
            other.integrate(&update).unwrap();
        }
        Self { waiting: vec![Vec::new(); count], live }
    }

    fn broadcast(&mut self, who: usize, update: &[u8]) {
        for (other, waiting) in self.waiting.iter_mut().enumerate() {
            if other != who && !update.is_empty() {
                waiting.push(update.to_vec());
            }
        }
    }

    fn edit(&mut self, who: usize, edits: &[Edit]) {
        let update = self.live[who].apply(edits).unwrap();
        self.broadcast(who, &update);
    }

    /// One hears one of the updates that wait for it, not the oldest necessarily.
    fn hear(&mut self, who: usize, which: usize) {
        let length = self.waiting[who].len();
        if length == 0 {
            return;
        }
        let update = self.waiting[who].swap_remove(which % length);
        self.live[who].integrate(&update).unwrap();
        if let Some(repaired) = self.live[who].repair() {
            self.broadcast(who, &repaired);
        }
    }

    fn settle(&mut self) {
        while self.waiting.iter().any(|waiting| !waiting.is_empty()) {
            for who in 0..self.live.len() {
                self.hear(who, 0);
            }
        }
    }

    fn texts(&mut self) -> Vec<String> {
        let texts = self.live.iter_mut().map(|live| live.snapshot().unwrap().to_bytes());
        texts.map(|text| String::from_utf8(text).unwrap()).collect()
    }
}

const WORDS: [&str; 6] = ["x = 1\n", "\u{1f600}", "é", "print(\"\u{1d518}\")\n", "# text\n", "\r\n"];

fn random_edit(live: &mut LiveNotebook, pick: &mut impl FnMut(usize) -> usize) -> Edit {
    let notebook = live.snapshot().unwrap();
    let cells = notebook.cells();
    let kind = pick(12);
    if cells.is_empty() || kind < 2 {
        let kind = if pick(2) == 0 { CellType::Code } else { CellType::Markdown };
        let cell = NewCell::new(kind, WORDS[pick(WORDS.len())]);
        return Edit::Insert { index: pick(cells.len() + 1), cell };
    }
    let cell = &cells[pick(cells.len())];
    let id = cell.id().clone();
    match kind {
        2 => Edit::Move { id, index: pick(cells.len()) },
        3 if cells.len() > 3 => Edit::Delete { ids: vec![id] },
        4 | 5 if cell.is_code() => {
            let mut outputs = cell.outputs();
            match outputs.last_mut() {
                Some(Output::Stream { text, .. }) if pick(3) > 0 => {
                    text.push(WORDS[pick(WORDS.len())]);
                }
                _ => {
                    outputs.push(Output::Stream { name: "stdout".to_owned(), text: Text::from("\u{1f600}") });
                }
            }
            Edit::SetOutputs { id, outputs: outputs.into(), execution_count: Some(pick(100) as u64) }
        }
        6 => {
            let types = [CellType::Code, CellType::Markdown, CellType::Raw];
            Edit::SetType { id, cell_type: types[pick(types.len())].clone() }
        }
        7 => {
            let patches = [r#"{"a":1,"b":{"c":null}}"#, r#"{"a":null}"#, r#"{"b":{"c":[2]},"tags":["x"]}"#];
            let patch = Json::parse(patches[pick(patches.len())].into()).unwrap();
            Edit::MergeMetadata { id, patch }
        }
        _ => {
            let source = cell.source();
            let mut characters: Vec<char> = source.chars().collect();
            let at = pick(characters.len() + 1);
            let end = (at + pick(4)).min(characters.len());
            characters.splice(at..end, WORDS[pick(WORDS.len())].chars());
            Edit::SetSource { id, source: characters.into_iter().collect() }
        }
    }
}

/// Everybody edits everything while updates are late and out of order.
#[test]
fn three_writers_end_with_one_document() {
    for seed in 0..4u8 {
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[seed; 32]);
        let mut pick = |end: usize| (rng.random::<u32>() as usize) % end;
        let mut writers = Writers::new(3);
        for _ in 0..1_000 {
            let who = pick(3);
            let edit = random_edit(&mut writers.live[who], &mut pick);
            writers.edit(who, &[edit]);
            for who in 0..3 {
                if pick(3) > 0 {
                    let which = pick(1_000);
                    writers.hear(who, which);
                }
            }
        }
        writers.settle();
        let texts = writers.texts();
        assert_eq!(texts[0], texts[1], "seed {seed}");
        assert_eq!(texts[0], texts[2], "seed {seed}");
        for live in &mut writers.live {
            assert!(!live.is_incomplete());
            let notebook = live.snapshot().unwrap();
            let ids: HashSet<_> = notebook.cells().iter().map(notebook::Cell::id).collect();
            assert_eq!(ids.len(), notebook.cells().len());
            // An id of the document's own would mean that a cell is there twice.
            assert!(ids.iter().all(|id| !id.starts_with('y')), "{ids:?}");
            notebook::Notebook::parse(notebook.to_bytes().into()).unwrap();
        }
    }
}

/// Not only the end counts: after every step, what was read piece by piece is what is there.
#[test]
fn the_snapshot_is_always_current() {
    let mut runner = TestRunner::new(Config { cases: 20, failure_persistence: None, ..Config::default() });
    runner
        .run(&proptest::collection::vec(any::<u32>(), 400), |numbers| {
            let mut numbers = numbers.into_iter().cycle();
            let mut pick = |end: usize| numbers.next().unwrap() as usize % end;
            let mut writers = Writers::new(2);
            for _ in 0..40 {
                let who = pick(2);
                let edit = random_edit(&mut writers.live[who], &mut pick);
                writers.edit(who, &[edit]);
                writers.settle();
                let live = &mut writers.live[pick(2)];
                let mut fresh = LiveNotebook::new();
                fresh.integrate(&live.update_since(&fresh.state_vector()).unwrap()).unwrap();
                prop_assert_eq!(
                    String::from_utf8(live.snapshot().unwrap().to_bytes()),
                    String::from_utf8(fresh.snapshot().unwrap().to_bytes())
                );
            }
            Ok(())
        })
        .unwrap();
}

fn source(writers: &mut Writers, id: &CellId) -> String {
    let notebook = writers.live[0].snapshot().unwrap();
    notebook.cell(id).unwrap().1.source().into_owned()
}

/// What a person types elsewhere in the cell stays when an agent overwrites the cell.
#[test]
fn typing_elsewhere_survives() {
    let mut writers = Writers::new(2);
    let id = writers.live[0].snapshot().unwrap().cells()[0].id().clone();
    let set = |source: &str| [Edit::SetSource { id: id.clone(), source: source.to_owned() }];
    let original = "import a\n\u{1f600} = 1\n\ndef f(x):\n    return x\n";
    writers.edit(0, &set(original));
    writers.settle();
    writers.edit(0, &set("import a\nimport b\n\u{1f600} = 2\n\ndef f(x):\n    return x\n"));
    writers.edit(1, &set("import a\n\u{1f600} = 1\n\ndef f(x):\n    return x + 1  # \u{1d518}\n"));
    writers.settle();
    let texts = writers.texts();
    assert_eq!(texts[0], texts[1]);
    let merged = "import a\nimport b\n\u{1f600} = 2\n\ndef f(x):\n    return x + 1  # \u{1d518}\n";
    assert_eq!(source(&mut writers, &id), merged);
}

#[test]
fn two_inserts_at_the_same_position() {
    let mut writers = Writers::new(2);
    let cells = [NewCell::new(CellType::Code, "a"), NewCell::new(CellType::Code, "b")];
    for (who, cell) in cells.iter().enumerate() {
        writers.edit(who, &[Edit::Insert { index: 1, cell: cell.clone() }]);
    }
    writers.settle();
    let texts = writers.texts();
    assert_eq!(texts[0], texts[1]);
    let notebook = writers.live[0].snapshot().unwrap();
    let ids: BTreeSet<_> = notebook.cells()[1..].iter().map(notebook::Cell::id).collect();
    assert_eq!(ids, cells.iter().map(|cell| &cell.id).collect());
}

/// Moving is taking out and putting in again, and two may do it at once.
#[test]
fn a_cell_moved_by_two_exists_once() {
    let mut writers = Writers::new(3);
    for index in 0..4 {
        writers.edit(0, &[Edit::Insert { index, cell: NewCell::new(CellType::Code, format!("{index}")) }]);
    }
    writers.settle();
    let id = writers.live[0].snapshot().unwrap().cells()[1].id().clone();
    for (who, index) in [(0, 0), (1, 3), (2, 4)] {
        writers.edit(who, &[Edit::Move { id: id.clone(), index }]);
    }
    writers.settle();
    let texts = writers.texts();
    assert_eq!(texts[0], texts[1]);
    assert_eq!(texts[0], texts[2]);
    assert_eq!(writers.live[2].snapshot().unwrap().cells().len(), 5);
}

#[test]
fn a_cell_whose_type_two_change_exists_once() {
    let mut writers = Writers::new(2);
    let id = writers.live[0].snapshot().unwrap().cells()[0].id().clone();
    for (who, cell_type) in [(0, CellType::Markdown), (1, CellType::Raw)] {
        writers.edit(who, &[Edit::SetType { id: id.clone(), cell_type }]);
    }
    writers.settle();
    let texts = writers.texts();
    assert_eq!(texts[0], texts[1]);
    assert_eq!(writers.live[0].snapshot().unwrap().cells().len(), 1);
}

/// An update that arrives twice changes nothing; one that arrives too early waits.
#[test]
fn updates_can_arrive_twice_or_too_early() {
    let mut writers = Writers::new(2);
    let id = writers.live[0].snapshot().unwrap().cells()[0].id().clone();
    let mut set = |source: &str| {
        writers.live[0].apply(&[Edit::SetSource { id: id.clone(), source: source.to_owned() }]).unwrap()
    };
    let (first, second) = (set("a"), set("ab"));
    let other = &mut writers.live[1];
    other.snapshot().unwrap();
    assert!(!other.integrate(&second).unwrap());
    assert!(other.is_incomplete());
    assert!(other.integrate(&first).unwrap());
    assert!(!other.is_incomplete());
    assert_eq!(other.snapshot().unwrap().cells()[0].source(), "ab");
    assert!(!other.integrate(&first).unwrap());
    assert!(!other.integrate(&second).unwrap());
}
