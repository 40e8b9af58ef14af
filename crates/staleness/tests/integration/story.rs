//! A notebook, its kernel, and what is remembered of its runs.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use names::{Names, Unknown};
use staleness::{Cell, CellState, Facts, History, Module, RandomUses, Run, add_random, hash, plan, states};
use syntax::is_blank;

pub(crate) struct Story {
    cells: Vec<Written>,
    history: History,
    instance: Option<u64>,
    instances: u64,
    /// The kernel's counter.
    count: u64,
    minutes: u64,
    is_python: bool,
    /// What has run, by its hash.
    ran: HashMap<u64, String>,
    /// What the kernel says that the next run assigns.
    assigned: Option<BTreeSet<String>>,
    /// The names whose values it says are equal to those before.
    unchanged: BTreeSet<String>,
    /// Whether the next run shows what the cell has shown before.
    shows_the_same: bool,
    /// Whether the next run is interrupted.
    is_interrupted: bool,
    /// The random states that it says the next run changes.
    drew: BTreeSet<String>,
    /// The random states that it says the next run leaves.
    random_states: BTreeMap<String, u64>,
    /// The modules that the kernel has loaded.
    loaded: BTreeSet<String>,
    /// The files of modules, as they are now.
    modules: BTreeMap<String, u64>,
}

#[derive(Clone)]
struct Written {
    id: String,
    source: String,
    execution_count: Option<u64>,
    has_outputs: bool,
    outputs: u64,
}

impl Story {
    /// A notebook whose cells, `a`, `b` and so on, have never run.
    pub(crate) fn of(sources: &[&str]) -> Self {
        let mut story = Self {
            cells: Vec::new(),
            history: History::default(),
            instance: Some(1),
            instances: 1,
            count: 0,
            minutes: 0,
            is_python: true,
            ran: HashMap::new(),
            assigned: None,
            unchanged: BTreeSet::new(),
            shows_the_same: false,
            is_interrupted: false,
            drew: BTreeSet::new(),
            random_states: BTreeMap::new(),
            loaded: BTreeSet::new(),
            modules: BTreeMap::new(),
        };
        for (index, source) in sources.iter().enumerate() {
            let letter = char::from(b'a' + u8::try_from(index % 26).unwrap());
            let id = if sources.len() <= 26 { letter.to_string() } else { format!("c{index}") };
            story.insert(index, &id, source);
        }
        story
    }

    /// The same, run from top to bottom.
    pub(crate) fn ran(sources: &[&str]) -> Self {
        let mut story = Self::of(sources);
        story.run_all();
        story
    }

    pub(crate) fn in_another_language(mut self) -> Self {
        self.is_python = false;
        self
    }

    pub(crate) fn run(&mut self, id: &str) {
        self.run_and(id, false);
    }

    pub(crate) fn run_each(&mut self, ids: &[&str]) {
        for id in ids {
            self.run(id);
        }
    }

    /// Runs a cell of which the kernel says what it assigns.
    pub(crate) fn run_assigning(&mut self, id: &str, names: &[&str]) {
        self.assigned = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self.run(id);
    }

    /// Runs a cell of which the kernel says that it leaves values equal to those before, of names that it binds or not.
    pub(crate) fn run_leaving_equal(&mut self, id: &str, names: &[&str], bound: &[&str]) {
        self.shows_the_same = true;
        self.run_otherwise_leaving_equal(id, names, bound);
        self.shows_the_same = false;
    }

    /// The same, but the cell shows something else than before.
    pub(crate) fn run_otherwise_leaving_equal(&mut self, id: &str, names: &[&str], bound: &[&str]) {
        self.unchanged = names.iter().map(|name| (*name).to_owned()).collect();
        self.run_assigning(id, bound);
    }

    /// Runs a cell of which the kernel says that it draws from `NumPy`'s random state.
    pub(crate) fn run_drawing(&mut self, id: &str) {
        self.drew = BTreeSet::from([syntax::random_state("NumPy")]);
        self.run(id);
    }

    /// Runs a cell of which the kernel says that it leaves `NumPy`'s random state so.
    pub(crate) fn run_leaving(&mut self, id: &str, state: u64) {
        self.random_states = BTreeMap::from([(syntax::random_state("NumPy"), state)]);
        self.run_drawing(id);
    }

    /// Somebody writes the file of a module.
    pub(crate) fn write_module(&mut self, module: &str, content: u64) {
        self.modules.insert(module.to_owned(), content);
    }

    /// A cell fails, after it has assigned these.
    pub(crate) fn fail_assigning(&mut self, id: &str, names: &[&str]) {
        self.assigned = Some(names.iter().map(|name| (*name).to_owned()).collect());
        self.fail(id);
    }

    pub(crate) fn interrupt(&mut self, id: &str) {
        self.is_interrupted = true;
        self.fail(id);
    }

    pub(crate) fn fail(&mut self, id: &str) {
        self.run_and(id, true);
    }

    fn run_and(&mut self, id: &str, has_failed: bool) {
        self.count += 1;
        let (count, shows_the_same, cell) = (self.count, self.shows_the_same, self.cell(id));
        (cell.execution_count, cell.has_outputs) = (Some(count), !is_blank(&cell.source));
        cell.outputs = if shows_the_same { cell.outputs } else { count };
        let source = cell.source.clone();
        self.ended(Some(id), &source, has_failed);
    }

    pub(crate) fn run_all(&mut self) {
        let ids: Vec<_> = self.cells.iter().map(|cell| cell.id.clone()).collect();
        for id in ids {
            self.run(&id);
        }
    }

    /// Somebody runs a cell in another program.
    pub(crate) fn run_elsewhere(&mut self, id: &str) {
        self.count += 1;
        let count = self.count;
        let cell = self.cell(id);
        (cell.execution_count, cell.has_outputs) = (Some(count), true);
    }

    /// A cell shows the outputs of an earlier run, with the number of its last one.
    pub(crate) fn shows(&mut self, id: &str, outputs: u64) {
        self.cell(id).outputs = outputs;
    }

    /// The agent runs code beside the cells.
    pub(crate) fn run_code(&mut self, source: &str) {
        self.count += 1;
        self.ended(None, source, false);
    }

    pub(crate) fn edit(&mut self, id: &str, source: &str) {
        source.clone_into(&mut self.cell(id).source);
    }

    pub(crate) fn insert(&mut self, position: usize, id: &str, source: &str) {
        let cell = Written {
            id: id.to_owned(),
            source: source.to_owned(),
            execution_count: None,
            has_outputs: false,
            outputs: 0,
        };
        self.cells.insert(position, cell);
    }

    pub(crate) fn delete(&mut self, id: &str) {
        self.cells.retain(|cell| cell.id != id);
    }

    pub(crate) fn move_to(&mut self, id: &str, position: usize) {
        let cell = self.cell(id).clone();
        self.delete(id);
        self.cells.insert(position, cell);
    }

    pub(crate) fn clear(&mut self, id: &str) {
        let cell = self.cell(id);
        (cell.execution_count, cell.has_outputs) = (None, false);
    }

    pub(crate) fn restart(&mut self) {
        self.instances += 1;
        self.instance = Some(self.instances);
        self.loaded.clear();
        self.count = 0;
    }

    pub(crate) fn shut_down(&mut self) {
        self.instance = None;
    }

    /// Our server is started again: it remembers no runs.
    pub(crate) fn forget(&mut self) {
        self.history = History::default();
    }

    pub(crate) fn states(&self) -> Vec<CellState> {
        self.judged(&self.prepared(&mut RandomUses::default()))
    }

    /// The facts, and how long the random states took.
    pub(crate) fn prepared(&self, random: &mut RandomUses) -> (Vec<Cell>, Vec<Run>, Duration, Option<u64>) {
        let cells = self.cells.iter().enumerate();
        let mut cells: Vec<Cell> = cells.map(|(index, cell)| self.fact(index, cell)).collect();
        let mut runs = self.history.runs().to_vec();
        let sources: Vec<&str> = self.cells.iter().map(|cell| cell.source.as_str()).collect();
        let started = Instant::now();
        syntax::with_stack(|| {
            add_random(random, &mut cells, &mut runs, &sources, |hash| self.ran.get(&hash).cloned());
        });
        (cells, runs, started.elapsed(), self.instance)
    }

    fn plan(&self, wanted: &[usize], all: bool) -> Vec<usize> {
        self.plan_of(&self.states(), wanted, all)
    }

    pub(crate) fn plan_of(&self, states: &[CellState], wanted: &[usize], all: bool) -> Vec<usize> {
        let (cells, runs, _, instance) = self.prepared(&mut RandomUses::default());
        let modules = &self.modules;
        let facts = Facts { cells: &cells, runs: &runs, instance, modules, clock: &|_| String::new() };
        plan(facts, states, wanted, all).cells
    }

    pub(crate) fn judged(
        &self,
        (cells, runs, _, instance): &(Vec<Cell>, Vec<Run>, Duration, Option<u64>),
    ) -> Vec<CellState> {
        let clock = |time: SystemTime| {
            let minutes = time.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_secs() / 60;
            format!("9:{minutes:02}")
        };
        states(Facts { cells, runs, instance: *instance, modules: &self.modules, clock: &clock })
    }

    /// The ids of the cells that `plan` runs.
    pub(crate) fn planned(&self, wanted: &[&str], all: bool) -> Vec<String> {
        let position = |id: &&str| self.cells.iter().position(|cell| cell.id == *id).unwrap();
        let wanted: Vec<_> = wanted.iter().map(position).collect();
        self.plan(&wanted, all).into_iter().map(|position| self.cells[position].id.clone()).collect()
    }

    pub(crate) fn ids(&self) -> Vec<String> {
        self.cells.iter().map(|cell| cell.id.clone()).collect()
    }

    pub(crate) fn sources(&self) -> Vec<String> {
        self.cells.iter().map(|cell| cell.source.clone()).collect()
    }

    fn fact(&self, index: usize, cell: &Written) -> Cell {
        Cell {
            index,
            id: cell.id.as_str().into(),
            source: hash(&cell.source),
            names: self.names(&cell.source),
            random: BTreeMap::new(),
            is_blank: cell.source.trim().is_empty() || is_blank(&cell.source) && !cell.has_outputs,
            shows: SHOWN
                .iter()
                .filter(|(word, _)| cell.source.contains(word))
                .map(|(_, what)| *what)
                .collect(),
            has_outputs: cell.has_outputs,
            execution_count: cell.execution_count,
            outputs: Some(cell.outputs),
        }
    }

    fn names(&self, source: &str) -> Arc<Names> {
        Arc::new(if self.is_python { Names::of_cell(source) } else { Names::unknown(Unknown::NotPython) })
    }

    fn ended(&mut self, id: Option<&str>, source: &str, has_failed: bool) {
        self.minutes += 1;
        let loaded = self.loads(source);
        self.ran.insert(hash(source), source.to_owned());
        let outputs = id.map(|id| self.cell(id).outputs);
        let run = Run {
            cell: id.map(Into::into),
            source: hash(source),
            names: self.names(source),
            instance: self.instance.unwrap(),
            ended_at: Duration::from_secs(self.minutes * 60),
            has_failed,
            is_interrupted: std::mem::take(&mut self.is_interrupted),
            assigned: self.assigned.take().map(Arc::new),
            unchanged: Arc::new(std::mem::take(&mut self.unchanged)),
            drew: std::mem::take(&mut self.drew),
            random_states: std::mem::take(&mut self.random_states),
            loaded,
            outputs,
            execution_count: Some(self.count),
            ..Run::default()
        };
        self.history.add(run, None);
    }

    /// The modules that code loads, or loads again.
    fn loads(&mut self, source: &str) -> BTreeMap<String, Module> {
        let mut all = BTreeMap::new();
        for (name, content) in self.modules.iter().filter(|(name, _)| source.contains(name.as_str())) {
            if self.loaded.insert(name.clone()) || source.contains("reload(") {
                all.insert(name.clone(), Module { file: format!("{name}.py"), content: Some(*content) });
            }
        }
        all
    }

    fn cell(&mut self, id: &str) -> &mut Written {
        self.cells.iter_mut().find(|cell| cell.id == id).unwrap()
    }
}

/// A cell with this text shows what depends on these options.
const SHOWN: [(&str, &str); 3] =
    [(".plot_", names::CONFIGURATION), ("array_", names::ARRAYS), ("frame_", names::FRAMES)];

pub(crate) const UP: &str = "up to date";

/// Compares the states, and the evidence after a colon where it is given.
pub(crate) fn check(story: &Story, expected: &[&str]) {
    let states = story.states();
    let found: Vec<String> = states
        .iter()
        .zip(expected)
        .map(|(state, expected)| {
            let (name, evidence) = (state.state.name(), &state.evidence);
            if expected.contains(": ") { format!("{name}: {evidence}") } else { name.to_owned() }
        })
        .collect();
    assert_eq!(found, expected, "{:#?}", story.sources());
    assert_eq!(states.len(), expected.len());
}

pub(crate) fn ran(sources: &[&str], then: impl FnOnce(&mut Story), expected: &[&str]) {
    let mut story = Story::ran(sources);
    then(&mut story);
    check(&story, expected);
}
