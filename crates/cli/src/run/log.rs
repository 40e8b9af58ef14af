//! What a person sees while a notebook runs: a progress bar on a terminal, else a line for each cell.

use notebook::Output;
use place::RunState;
use runs::Run;

use terminal::Progress;

const MAX_LINE: usize = 60;

pub(super) struct Log {
    progress: Progress,
    count: usize,
    position: usize,
}

impl Log {
    pub(super) fn new(count: usize) -> Self {
        let progress = Progress::of_steps(count, "{bar:24} {pos}/{len} {msg} ({elapsed})");
        Self { progress, count, position: 0 }
    }

    /// A cell begins to run.
    pub(super) fn begin(&mut self, name: &str, first_line: &str) {
        self.position += 1;
        self.progress.set_message(&format!("{name}: {}", notebook::truncate(first_line, MAX_LINE)));
    }

    /// A cell has run. Its notes may name others, which `renumbered` corrects.
    pub(super) fn end(&mut self, name: &str, run: &Run, renumbered: impl Fn(&str) -> String) {
        self.progress.step();
        let view = run.view();
        let took = view.elapsed.as_secs_f64();
        let state = match &view.state {
            RunState::Error { name, value } => {
                format!("{name}: {}", value.lines().next().unwrap_or_default())
            }
            RunState::Failed(error) => error.to_string(),
            state @ RunState::KernelDied { .. } => state.outcome(),
            state => state.name().to_owned(),
        };
        if self.progress.is_hidden() || view.state.is_failure() {
            self.say(&format!("[{}/{}] {name}: {state} ({took:.1} s)", self.position, self.count));
        }
        if let RunState::Skipped { reason } = &view.state {
            self.say(&renumbered(&reason.to_string()));
        }
        view.notices.iter().chain(&view.notes).for_each(|note| self.say(&renumbered(note)));
        for output in view.outputs.iter().filter(|output| matches!(output, Output::Error { .. })) {
            self.say(&render::full_text(output));
        }
    }

    pub(super) fn say(&self, text: &str) {
        self.progress.note(text);
    }

    pub(super) fn finish(&self) {
        self.progress.end();
    }
}
