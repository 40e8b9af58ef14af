//! What a person sees while a notebook runs: a progress bar on a terminal, else a line for each cell.

use std::io::IsTerminal as _;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use notebook::Output;
use workspace::{Run, RunState};

const MAX_LINE: usize = 60;

pub(super) struct Log {
    /// Hidden where there is no terminal.
    bar: ProgressBar,
    is_terminal: bool,
    count: usize,
    position: usize,
}

impl Log {
    pub(super) fn new(count: usize) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let bar = if is_terminal { ProgressBar::new(count as u64) } else { ProgressBar::hidden() };
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {pos}/{len} {msg} ({elapsed})") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self { bar, is_terminal, count, position: 0 }
    }

    /// A cell begins to run.
    pub(super) fn begin(&mut self, index: usize, first_line: &str) {
        self.position += 1;
        self.bar.set_message(format!("cell {index}: {}", notebook::truncate(first_line, MAX_LINE)));
    }

    /// A cell has run.
    pub(super) fn end(&mut self, index: usize, run: &Run) {
        self.bar.inc(1);
        let view = run.view();
        let took = view.elapsed.as_secs_f64();
        let state = match &view.state {
            RunState::Error { name, value } => {
                format!("{name}: {}", value.lines().next().unwrap_or_default())
            }
            RunState::Failed(error) => error.to_string(),
            state => state.name().to_owned(),
        };
        if !self.is_terminal || view.state.is_failure() {
            self.say(&format!("[{}/{}] cell {index}: {state} ({took:.1} s)", self.position, self.count));
        }
        view.notes.iter().for_each(|note| self.say(note));
        for output in view.outputs.iter().filter(|output| matches!(output, Output::Error { .. })) {
            self.say(&render::full_text(output));
        }
    }

    pub(super) fn say(&self, text: &str) {
        self.bar.suspend(|| eprintln!("{text}"));
    }

    pub(super) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
