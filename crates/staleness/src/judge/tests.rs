use std::collections::HashMap;

use names::{Names, Needs};
use notebook::{CellType, Edit, NewCell};
use proptest::prelude::*;

use super::*;
use crate::StaleState;

/// Sources that define, need, hide and guess names.
const SOURCES: [&str; 17] = [
    "",
    "# nothing",
    "a = 1",
    "b = a + 1\nprint(b)",
    "c = b; d = c",
    "del a",
    "def f(x):\n    return x + c + late",
    "f(a)",
    "late = 2",
    "def g():\n    global e\n    e = 1",
    "print(e, nowhere)",
    "import numpy as np\nnp.a",
    "%%bash\necho $a",
    "%%someone\nhidden = 1",
    "hidden",
    "a = (",
    "from os import *",
];

/// A change of a notebook; numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Insert(usize, usize, bool),
    SetSource(usize, usize),
    Delete(usize),
    Move(usize, usize),
    /// Somebody else has written the file: nothing is as it was in memory.
    Reread,
}

fn step() -> impl Strategy<Value = Step> {
    let (at, source) = (0..40_usize, 0..SOURCES.len());
    prop_oneof![
        4 => (at.clone(), source.clone(), any::<bool>()).prop_map(|(at, source, is_code)| Step::Insert(at, source, is_code)),
        3 => (at.clone(), source).prop_map(|(at, source)| Step::SetSource(at, source)),
        1 => at.clone().prop_map(Step::Delete),
        1 => (at.clone(), at).prop_map(|(from, to)| Step::Move(from, to)),
        1 => Just(Step::Reread),
    ]
}

fn take(notebook: &mut Notebook, step: &Step) {
    let count = notebook.cells().len();
    let id = |at: usize| notebook.cells()[at % count].id().clone();
    let edit = match step {
        Step::Insert(at, source, is_code) => {
            let kind = if *is_code { CellType::Code } else { CellType::Markdown };
            Edit::Insert { index: at % (count + 1), cell: NewCell::new(kind, SOURCES[*source]) }
        }
        Step::Reread => {
            let mut text = Vec::new();
            notebook.write(&mut text).unwrap();
            *notebook = Notebook::parse(text.into()).unwrap();
            return;
        }
        _ if count == 0 => return,
        Step::SetSource(at, source) => Edit::SetSource { id: id(*at), source: SOURCES[*source].to_owned() },
        Step::Delete(at) => Edit::Delete { ids: vec![id(*at)] },
        Step::Move(from, to) => Edit::Move { id: id(*from), index: to % count },
    };
    notebook.apply(&edit).unwrap();
}

/// All at once, from the names of all cells.
fn undefined(notebook: &Notebook) -> Vec<Undefined> {
    let cells = notebook.cells().iter().enumerate().filter(|(_, cell)| cell.is_code());
    let needs: Vec<(usize, Needs)> =
        cells.map(|(index, cell)| (index, Needs::of(&Names::of_cell(&cell.source())))).collect();
    let needs: Vec<(usize, &Needs)> = needs.iter().map(|(index, needs)| (*index, needs)).collect();
    names::undefined(&needs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn undefined_names_are_found_as_from_all_cells(steps in proptest::collection::vec(step(), 1..40)) {
        let (mut notebook, mut known, mut names) = (Notebook::new(), CellNames::default(), ReadNames::default());
        names.start(&notebook, "python");
        for step in steps {
            let before = notebook.clone();
            take(&mut notebook, &step);
            let found = known.undefined(&notebook, "python", &mut names);
            prop_assert_eq!(&found[..], undefined(&notebook), "after {:?}", step);
            // An edit is asked about from both sides.
            if matches!(step, Step::SetSource(..)) {
                let found = known.undefined(&before, "python", &mut names);
                prop_assert_eq!(&found[..], undefined(&before));
            }
        }
    }
}

#[test]
fn a_cell_of_which_no_run_is_known_is_judged_alone_as_among_all() {
    let mut notebook = Notebook::new();
    for (index, source) in SOURCES.into_iter().enumerate() {
        let cell = NewCell::new(CellType::Code, source);
        notebook.apply(&Edit::Insert { index, cell }).unwrap();
        let outputs = match index % 3 {
            0 => vec![notebook::Output::Stream { name: "stdout".to_owned(), text: "x".into() }],
            _ => Vec::new(),
        };
        let execution_count = (index % 4 == 0).then_some(7);
        let id = notebook.cells()[index].id().clone();
        notebook.apply(&Edit::SetOutputs { id, outputs: outputs.into(), execution_count }).unwrap();
    }
    for (language, instance) in [("python", None), ("python", Some(3)), ("R", Some(3))] {
        let basis = || Basis {
            notebook: notebook.clone(),
            language: language.to_owned(),
            version: 0,
            instance,
            modules: BTreeMap::new(),
            clock: String::new(),
        };
        let (mut judge, none) = (Judge::default(), (Vec::<Run>::new(), HashMap::new()));
        let all = judge.facts(&basis(), none.clone(), &|_| String::new());
        let judged = judge.judged(basis(), || none.clone(), &|_| String::new());
        for (cell, state) in all.cells.iter().zip(all.states) {
            let alone = judged.state(cell.index, &notebook.cells()[cell.index]).unwrap();
            assert_eq!((alone.state, alone.evidence), (state.state, state.evidence), "{}", cell.index);
        }
    }
}

#[test]
fn a_figure_is_seen_in_the_outputs_also_if_no_cell_sets_the_configuration_any_longer() {
    let sources = ["plt.rc('font', size=9)", "n = 1", "fit().plot_predict()"];
    let mut notebook = Notebook::new();
    let mut history = crate::History::default();
    for source in sources {
        let index = notebook.cells().len();
        if index == 0 || source != sources[1] {
            let cell = NewCell::new(CellType::Code, source);
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        } else {
            let id = notebook.cells()[0].id().clone();
            notebook.apply(&Edit::SetSource { id, source: source.to_owned() }).unwrap();
        }
        let cell = notebook.cells().last().map(|cell| cell.id().clone());
        history.add(Run::well(cell, source), None);
    }
    let figure = r#"{ "text/plain": "<Figure size 640x480 with 1 Axes>" }"#;
    let bundle = notebook::MimeBundle {
        data: notebook::Json::parse(figure.into()).unwrap(),
        metadata: notebook::Json::empty_object(),
    };
    let (id, outputs) =
        (notebook.cells()[1].id().clone(), [notebook::Output::Display(bundle)].as_slice().into());
    notebook.apply(&Edit::SetOutputs { id, outputs, execution_count: None }).unwrap();
    let language = "python".to_owned();
    let basis = Basis {
        notebook,
        language,
        version: 1,
        instance: Some(1),
        modules: BTreeMap::new(),
        clock: String::new(),
    };
    let known = Judge::default().facts(&basis, (history.runs().to_vec(), HashMap::new()), &|_| String::new());
    let states: Vec<StaleState> = known.states.iter().map(|state| state.state).collect();
    assert_eq!(states, [StaleState::UpToDate, StaleState::MayHaveChanged]);
}
