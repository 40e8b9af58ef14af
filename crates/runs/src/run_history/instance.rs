//! The instances of a kernel: its lives between two restarts.

use operations::{KernelRun, ReadPosition};
use uuid::Uuid;

use super::Begun;
use crate::kernel_use::{KernelUse, User};

/// How many names of instances are remembered.
const MAX_NAMES: usize = 1024;
/// How many runs of other servers on a kernel are remembered for notebooks that are opened later.
const MAX_KEPT: usize = 10_000;
/// What a name begins with that this program has made up, because the kernel has none.
const MADE_UP: char = '?';

/// The numbers of all instances, which only this program uses, by their names, which all servers use.
#[derive(Debug, Default)]
pub(super) struct Instances {
    names: Vec<(String, u64)>,
    last: u64,
}

impl Instances {
    /// The number of an instance.
    pub(super) fn number(&mut self, name: &str) -> u64 {
        let known = self.names.iter().find(|(known, _)| known == name).map(|(_, number)| *number);
        known.unwrap_or_else(|| self.add(name.to_owned()))
    }

    /// The name under which other servers know it.
    pub(super) fn name(&self, number: u64) -> String {
        // The newest, which is its own where the kernel has one.
        let known = self.names.iter().rev().find(|(_, known)| *known == number);
        known.map(|(name, _)| name.clone()).unwrap_or_default()
    }

    /// An instance of which nothing is known.
    pub(super) fn unknown(&mut self) -> u64 {
        self.add(made_up())
    }

    fn add(&mut self, name: String) -> u64 {
        self.last += 1;
        self.alias(name, self.last);
        self.last
    }

    fn alias(&mut self, name: String, number: u64) {
        self.names.push((name, number));
        self.names.drain(..self.names.len().saturating_sub(MAX_NAMES));
    }
}

/// What is known of a kernel.
#[derive(Debug, Default)]
pub(super) struct KnownKernel {
    present: Option<Present>,
    /// The instance that the last run here, or an agent who restarted it, knows of.
    noticed: Option<u64>,
    /// The same, of the last run, if the instance had no name yet.
    noticed_unnamed: Option<u64>,
    /// The process that a restart has ended, or is about to.
    ended: Option<String>,
    /// How far its file was read, and what other servers have written there.
    pub(super) position: ReadPosition,
    pub(super) kept: Vec<KernelRun>,
    /// Changes with `kept`.
    pub(super) version: u64,
    pub(super) uses: KernelUse,
}

#[derive(Debug, Clone)]
struct Present {
    name: String,
    number: u64,
    /// The last count that it gave here.
    count: Option<u64>,
}

impl KnownKernel {
    /// A run begins; `process` is the kernel's [instance](place::Kernel::instance).
    pub(super) fn begin(&mut self, process: Option<String>, instances: &mut Instances) -> Begun {
        let instance = self.present_or_new(process, instances);
        let is_restarted = self.noticed.replace(instance).is_some_and(|noticed| noticed != instance);
        let is_said = self.noticed_unnamed.take() == Some(instance);
        let is_unnamed = self.present.as_ref().is_some_and(|present| present.name.starts_with(MADE_UP));
        self.noticed_unnamed = Some(instance).filter(|_| is_restarted && is_unnamed);
        Begun { instance, is_restarted, is_said }
    }

    pub(super) fn present_or_new(&mut self, process: Option<String>, instances: &mut Instances) -> u64 {
        let present = self.present(process, instances);
        present.unwrap_or_else(|| self.replace(made_up(), None, instances))
    }

    /// The present instance; `None` if nothing is known of one.
    pub(super) fn present(&mut self, process: Option<String>, instances: &mut Instances) -> Option<u64> {
        let Some(process) = self.lives(process) else {
            return self.present.as_ref().map(|present| present.number);
        };
        match &mut self.present {
            Some(present) if present.name == process => Some(present.number),
            // Only now its name is known.
            Some(present) if present.name.starts_with(MADE_UP) => {
                instances.alias(process.clone(), present.number);
                present.name = process;
                Some(present.number)
            }
            _ => Some(self.replace(process, None, instances)),
        }
    }

    /// The process, unless a restart has ended it.
    fn lives(&self, process: Option<String>) -> Option<String> {
        process.filter(|process| self.ended.as_ref() != Some(process))
    }

    /// A restart that is no news. Returns the name of the new instance until it has one of its own.
    pub(super) fn restart(&mut self, process: Option<String>, instances: &mut Instances) -> String {
        self.ended = process.or_else(|| self.present.take().map(|present| present.name));
        let name = made_up();
        self.noticed = Some(self.replace(name.clone(), None, instances));
        name
    }

    /// A process has ended. If it is the present one, another takes its place, which gets its name later.
    pub(super) fn ended(&mut self, process: String, instances: &mut Instances) {
        if self.present.as_ref().is_some_and(|present| present.name == process) {
            self.ended = Some(process);
            self.replace(made_up(), None, instances);
        }
    }

    /// The kernel instance of an ended run, and whether it is newly detected. `process` is that which ran it, if it is another than
    /// when it began. Where processes have no names, counts tell: they grow, so that one that does not is of another instance.
    pub(super) fn counted(
        &mut self,
        began_in: u64,
        (process, has_names): (Option<String>, bool),
        count: Option<u64>,
        instances: &mut Instances,
    ) -> (u64, bool) {
        let process = self.lives(process);
        let is_other = process.is_some();
        let now = self.present(process, instances);
        let Some(present) = self.present.as_mut().filter(|_| now == Some(began_in)) else {
            return match now.filter(|_| is_other) {
                Some(now) => (now, self.noticed.replace(now) != Some(now)),
                None => (began_in, false),
            };
        };
        let is_restarted = !has_names && count.zip(present.count).is_some_and(|(now, last)| now <= last);
        if !is_restarted {
            present.count = count.or(present.count);
            return (began_in, false);
        }
        let begun = self.replace(made_up(), count, instances);
        self.noticed = Some(begun);
        (begun, true)
    }

    /// What other servers have written since.
    pub(super) fn add(&mut self, runs: Vec<KernelRun>, instances: &mut Instances) {
        for run in &runs {
            let cell = run.cell.as_ref().map(|cell| format!("cell {cell}"));
            let what = cell.or_else(|| run.run.as_ref().map(|run| format!("run {run}")));
            if what.is_some() || run.is_restart {
                self.uses.add(User::Elsewhere(run.agent.clone()), what);
            }
        }
        let known = self.kept.len();
        self.kept.extend(runs);
        let Some(last) = self.kept[known..].last().cloned() else { return };
        self.version += 1;
        self.kept.drain(..self.kept.len().saturating_sub(MAX_KEPT));
        if self.present.as_ref().is_none_or(|present| present.name != last.instance) {
            // The file was written before this server looked, or by one that runs now.
            let number = self.replace(last.instance, last.execution_count, instances);
            self.noticed = self.noticed.or(Some(number));
        }
    }

    fn replace(&mut self, name: String, count: Option<u64>, instances: &mut Instances) -> u64 {
        let number = instances.number(&name);
        self.present = Some(Present { name, number, count });
        number
    }
}

/// The name of an instance that has none.
fn made_up() -> String {
    format!("{MADE_UP}{}", Uuid::new_v4().simple())
}
