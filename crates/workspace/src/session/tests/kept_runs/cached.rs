//! What is kept of the states of cells is what would be found anew.

use proptest::prelude::*;

use super::*;

const SOURCES: [&str; 9] = [
    "x = 1",
    "x = 2",
    "y = x + 1",
    "print(y, nowhere)",
    "x = 1\nraise E",
    "def f():\n    return x",
    "z = f()",
    "x.append(y)",
    "# none",
];

/// Numbers are taken modulo what there is.
#[derive(Debug, Clone)]
enum Step {
    Insert(usize, usize),
    Set(usize, usize),
    Delete(usize),
    Move(usize, usize),
    Run(usize),
    /// A run of another server on the same kernel.
    RunElsewhere(usize),
    Restart,
    Tag(usize, &'static str),
    /// Somebody else has written the file, with another count.
    Rewrite(usize, Option<u64>),
}

fn step() -> impl Strategy<Value = Step> {
    let (at, source) = (0..20_usize, 0..SOURCES.len());
    prop_oneof![
        3 => (at.clone(), source.clone()).prop_map(|(at, source)| Step::Insert(at, source)),
        3 => (at.clone(), source).prop_map(|(at, source)| Step::Set(at, source)),
        1 => at.clone().prop_map(Step::Delete),
        1 => (at.clone(), at.clone()).prop_map(|(from, to)| Step::Move(from, to)),
        4 => at.clone().prop_map(Step::Run),
        1 => at.clone().prop_map(Step::RunElsewhere),
        1 => Just(Step::Restart),
        1 => (at.clone(), prop_oneof![Just("raises-exception"), Just("skip-execution")])
            .prop_map(|(at, tag)| Step::Tag(at, tag)),
        1 => (at, proptest::option::of(1..4_u64)).prop_map(|(at, count)| Step::Rewrite(at, count)),
    ]
}

impl Server {
    async fn take(&self, machine: &Machine, other: &Self, step: &Step) {
        let now = self.snapshot().await;
        let count = now.cells().len();
        let id = |at: usize| now.cells()[at % count].id().clone();
        match step {
            Step::Insert(at, source) => {
                let cell = NewCell::new(CellType::Code, SOURCES[*source]);
                self.edit(vec![Edit::Insert { index: at % (count + 1), cell }]).await;
            }
            Step::Restart => machine.restarts(),
            _ if count == 0 => {}
            Step::Set(at, source) => self.set(at % count, SOURCES[*source]).await,
            Step::Delete(at) => self.edit(vec![Edit::Delete { ids: vec![id(*at)] }]).await,
            Step::Move(from, to) => self.edit(vec![Edit::Move { id: id(*from), index: to % count }]).await,
            Step::Run(at) => drop(self.run(at % count).await),
            Step::RunElsewhere(at) => drop(other.run(at % count).await),
            Step::Tag(at, tag) => {
                let patch = Json::from_value(&serde_json::json!({ "tags": [tag] }));
                self.edit(vec![Edit::MergeMetadata { id: id(*at), patch }]).await;
            }
            Step::Rewrite(at, execution_count) => {
                let (mut written, mut text) = (now.clone(), Vec::new());
                let (outputs, execution_count) = (Vec::new().into(), *execution_count);
                written.apply(&Edit::SetOutputs { id: id(*at), outputs, execution_count }).unwrap();
                written.write(&mut text).unwrap();
                let page = machine.memory.pages.lock().unwrap().values().next().unwrap().clone();
                *page.notebook.lock().unwrap() = Notebook::parse(text.into()).unwrap();
            }
        }
    }

    /// All that is said of the cells, in words.
    async fn said(&self) -> Vec<String> {
        let (workspace, notebook) = (self.session.workspace(), self.snapshot().await);
        let clock = |time| format!("{time:?}");
        let states = workspace.cell_states(&self.opened, &notebook, &clock);
        let count = notebook.cells().len();
        let mut said = vec![
            format!("{}", states.has_runs()),
            format!("{:?}", workspace.cells_to_run(&self.opened, &notebook, 0..count, true)),
        ];
        said.extend((0..count).map(|index| {
            let undefined: Vec<_> = states.undefined(index).collect();
            format!("{:?} {} {undefined:?}", states.get(index), states.is_stale(index))
        }));
        said
    }

    /// The same without anything that is kept.
    async fn said_anew(&self) -> Vec<String> {
        let kept = std::mem::take(&mut *self.opened.judge());
        let said = self.said().await;
        *self.opened.judge() = kept;
        said
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn what_is_kept_of_the_states_is_what_is_found_anew(steps in proptest::collection::vec(step(), 1..24)) {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(async {
            let machine = Machine::new();
            let (server, other) = (machine.server().await, machine.server().await);
            for step in &steps {
                server.take(&machine, &other, step).await;
                prop_assert_eq!(server.said().await, server.said_anew().await, "after {:?} of {:?}", step, steps);
                // Nothing has changed since.
                prop_assert_eq!(server.said().await, server.said_anew().await);
            }
            Ok(())
        })?;
    }
}
