//! A line of progress on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use notebook::one_line;

use super::{Painted, are_notes_read_by_person, note, say_painted};

/// Hidden where there is no terminal.
pub struct Progress(ProgressBar);

impl Progress {
    pub fn hidden() -> Self {
        Self(ProgressBar::hidden())
    }

    /// A bar of `count` steps.
    pub fn of_steps(count: usize, template: &str) -> Self {
        Self::shown(ProgressBar::new(count as u64), template)
    }

    /// A line about something that takes an unknown time.
    pub fn of_one(name: &str, template: &str) -> Self {
        Self::shown(ProgressBar::new_spinner().with_prefix(one_line(name).into_owned()), template)
    }

    fn shown(bar: ProgressBar, template: &str) -> Self {
        if !are_notes_read_by_person() {
            return Self::hidden();
        }
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(100));
        Self(bar)
    }

    pub fn is_hidden(&self) -> bool {
        self.0.is_hidden()
    }

    /// What happens now.
    pub fn set_message(&self, message: &str) {
        self.0.set_message(one_line(message).into_owned());
    }

    /// One more step is done.
    pub fn step(&self) {
        self.0.inc(1);
    }

    /// Prints lines on standard error, above the line of progress.
    pub fn note(&self, text: &str) {
        self.0.suspend(|| note(text));
    }

    /// Prints lines on standard output, above the line of progress.
    pub fn say_painted(&self, lines: &Painted) -> anyhow::Result<()> {
        self.0.suspend(|| say_painted(lines))
    }

    pub fn end(&self) {
        self.0.finish_and_clear();
    }
}
