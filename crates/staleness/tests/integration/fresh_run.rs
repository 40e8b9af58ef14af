//! Where nothing is stale, a run of all cells in a fresh kernel gives the same outputs. An interpreter of sums stands in for
//! Python's.

use std::collections::HashMap;

use proptest::prelude::*;
use staleness::StaleState;

use crate::story::Story;

const NAMES: [&str; 4] = ["p", "q", "r", "s"];

/// What a cell computes; `None` if it fails.
type Value = Option<i64>;

#[derive(Default)]
struct Kernel(HashMap<String, i64>);

impl Kernel {
    /// Runs `name = term + term`. What cannot be read fails.
    fn run(&mut self, source: &str) -> Value {
        let (target, sum) = source.split_once(" = ")?;
        let term = |term: &str| term.parse().ok().or_else(|| self.0.get(term).copied());
        let value = sum.split(" + ").map(term).sum::<Value>()?;
        self.0.insert(target.to_owned(), value);
        Some(value)
    }
}

#[derive(Debug, Clone)]
enum Step {
    Run(usize),
    RunAll,
    RunStale,
    Edit(usize, String),
    Insert(usize, String),
    Delete(usize),
    Move(usize, usize),
    Restart,
    RunBeside(String),
}

/// `target = term + term`, which may read its own target.
fn source() -> impl Strategy<Value = String> {
    (0..NAMES.len(), prop::collection::vec(0..NAMES.len() + 3, 1..3)).prop_map(|(target, terms)| {
        let name = |index: usize| match NAMES.get(index) {
            Some(name) => (*name).to_owned(),
            None => index.to_string(),
        };
        let terms: Vec<_> = terms.into_iter().map(name).collect();
        format!("{} = {}", NAMES[target], terms.join(" + "))
    })
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any::<usize>().prop_map(Step::Run),
        1 => Just(Step::RunAll),
        2 => Just(Step::RunStale),
        3 => (any::<usize>(), source()).prop_map(|(cell, source)| Step::Edit(cell, source)),
        2 => (any::<usize>(), source()).prop_map(|(position, source)| Step::Insert(position, source)),
        1 => any::<usize>().prop_map(Step::Delete),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(cell, position)| Step::Move(cell, position)),
        1 => Just(Step::Restart),
        1 => source().prop_map(Step::RunBeside),
    ]
}

/// A notebook with its kernel and the outputs that its cells show.
struct Played {
    story: Story,
    kernel: Kernel,
    outputs: HashMap<String, Value>,
    inserted: usize,
}

impl Played {
    fn play(&mut self, step: Step) {
        let ids = self.story.ids();
        let pick = |index: usize| ids[index % ids.len()].clone();
        match step {
            Step::Insert(position, source) => {
                self.inserted += 1;
                self.story.insert(position % (ids.len() + 1), &format!("n{}", self.inserted), &source);
            }
            Step::Restart => {
                self.story.restart();
                self.kernel = Kernel::default();
            }
            Step::RunBeside(source) => {
                self.kernel.run(&source);
                self.story.run_code(&source);
            }
            _ if ids.is_empty() => {}
            Step::Run(cell) => self.run(&pick(cell)),
            Step::RunAll => ids.iter().for_each(|id| self.run(id)),
            Step::RunStale => self.run_stale(),
            Step::Edit(cell, source) => self.story.edit(&pick(cell), &source),
            Step::Delete(cell) => self.story.delete(&pick(cell)),
            Step::Move(cell, position) => self.story.move_to(&pick(cell), position % ids.len()),
        }
    }

    fn run(&mut self, id: &str) {
        let index = self.story.ids().iter().position(|other| other == id).unwrap();
        let value = self.kernel.run(&self.story.sources()[index]);
        if value.is_some() {
            self.story.run(id);
        } else {
            self.story.fail(id);
        }
        self.outputs.insert(id.to_owned(), value);
    }

    fn run_stale(&mut self) {
        let ids = self.story.ids();
        let all: Vec<&str> = ids.iter().map(String::as_str).collect();
        self.story.planned(&all, true).iter().for_each(|id| self.run(id));
    }
}

fn played(steps: Vec<Step>) -> Played {
    let story = Story::of(&["p = 1", "q = p + 2", "r = p + q"]);
    let mut played = Played { story, kernel: Kernel::default(), outputs: HashMap::new(), inserted: 0 };
    for step in steps {
        played.play(step);
    }
    played
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn a_cell_that_is_up_to_date_shows_what_a_fresh_run_gives(steps in prop::collection::vec(step(), 0..25)) {
        let played = played(steps);
        let (ids, states, sources) = (played.story.ids(), played.story.states(), played.story.sources());
        let mut fresh = Kernel::default();
        for ((id, state), source) in ids.iter().zip(&states).zip(&sources) {
            let expected = fresh.run(source);
            if state.state == StaleState::UpToDate {
                prop_assert_eq!(played.outputs[id], expected, "cell {} of {:#?}", id, sources);
            }
        }
    }

    #[test]
    fn running_what_is_stale_leaves_nothing_stale_that_can_run(steps in prop::collection::vec(step(), 0..25)) {
        let mut played = played(steps);
        played.run_stale();
        // Nothing helps cells that use what no cell above them defines.
        let mut fresh = Kernel::default();
        let can_run = played.story.sources().iter().all(|source| fresh.run(source).is_some());
        let is_stale = played.story.states().iter().any(|state| state.state.is_stale());
        prop_assert!(!can_run || !is_stale, "{:#?} {:#?}", played.story.sources(), played.story.states());
    }
}
