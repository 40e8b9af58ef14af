//! The runs of a notebook's cells that are remembered.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::SystemTime;

use names::Names;
use notebook::CellId;

use crate::facts::Run;

/// How many cells, and runs of code in no cell, are remembered. The oldest are forgotten.
const MAX_RUNS: usize = 1000;

/// The last run of each cell of a notebook, deleted cells included, and the runs of code in no cell.
#[derive(Debug, Default)]
pub struct History {
    runs: Vec<Run>,
    count: u64,
}

/// A run that has ended, after the kernel had begun with it.
#[derive(Debug, Clone)]
pub struct Ended {
    pub cell: Option<CellId>,
    /// The hash of what ran.
    pub source: u64,
    pub names: Arc<Names>,
    pub instance: u64,
    pub ended_at: SystemTime,
    pub has_failed: bool,
    pub execution_count: Option<u64>,
}

impl History {
    /// Adds a run. It takes the place of an earlier one of its cell.
    pub fn add(&mut self, ended: Ended) {
        self.count += 1;
        let order = self.count;
        let last = self.runs.iter().position(|run| run.cell.is_some() && run.cell == ended.cell);
        let last = last.map(|index| self.runs.remove(index)).filter(|run| run.instance == ended.instance);
        let first = last.as_ref().map_or(order, |run| run.first);
        let since = last.filter(|run| run.source == ended.source).map_or(order, |run| run.since);
        let Ended { cell, source, names, instance, ended_at, has_failed, execution_count } = ended;
        self.runs.push(Run {
            cell,
            source,
            names,
            instance,
            order,
            first,
            since,
            ended_at,
            has_failed,
            execution_count,
        });
        if self.runs.len() > MAX_RUNS {
            self.runs.remove(0);
        }
    }

    /// In the order in which they ended.
    pub fn runs(&self) -> &[Run] {
        &self.runs
    }
}

/// Equal for equal sources, within one process.
pub fn hash(source: &str) -> u64 {
    let mut hash = DefaultHasher::new();
    source.hash(&mut hash);
    hash.finish()
}
