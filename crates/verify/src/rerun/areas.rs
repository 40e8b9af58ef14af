//! The outputs of a cell as its kernel sends them, in each form in which front ends save them.

use kernel::{Event, OutputArea};
use notebook::Output;

/// How many bytes of outputs a cell may have; what it prints beyond that is not compared.
const MAX_OUTPUT_BYTES: usize = 64 * 1024 * 1024;

/// The outputs of a cell.
#[derive(Default)]
pub(super) struct Areas {
    /// Also those that went into `Output` widgets, and widgets as they are at the end.
    all: OutputArea,
    /// Of a cell with widgets.
    others: Option<Box<OtherAreas>>,
    asks_to_exit: bool,
}

/// The outputs of a cell as front ends save them that show its widgets.
#[derive(Default)]
struct OtherAreas {
    /// As runs save them.
    of_runs: OutputArea,
    /// All, and widgets as they were when they were displayed.
    at_first: OutputArea,
    /// Without what went into `Output` widgets, and widgets as they were when they were displayed.
    beside_widgets: OutputArea,
    /// Whether a widget takes them now.
    is_captured: bool,
}

impl OtherAreas {
    fn apply(&mut self, event: &Event) {
        self.of_runs.apply(event.clone());
        match event {
            Event::Captured(by) => self.is_captured = by.is_some(),
            Event::Widget { .. } | Event::WidgetState(_) => {}
            event => {
                self.at_first.apply(event.clone());
                if !self.is_captured || matches!(event, Event::UpdateDisplay { .. }) {
                    self.beside_widgets.apply(event.clone());
                }
            }
        }
    }
}

impl Areas {
    pub(super) fn apply(&mut self, event: Event) {
        match event {
            Event::ExitRequested { .. } => self.asks_to_exit = true,
            Event::Output { output: Output::Stream { .. }, .. }
                if self.all.size_bytes() > MAX_OUTPUT_BYTES => {}
            event => {
                if matches!(event, Event::Captured(_) | Event::Widget { .. }) {
                    self.others.get_or_insert_with(|| {
                        let area = || self.all.clone();
                        let (of_runs, at_first, beside_widgets) = (area(), area(), area());
                        Box::new(OtherAreas { of_runs, at_first, beside_widgets, is_captured: false })
                    });
                }
                if let Some(others) = &mut self.others {
                    others.apply(&event);
                }
                if !matches!(event, Event::Captured(_)) {
                    self.all.apply(event);
                }
            }
        }
    }

    /// Why the cell failed although its reply has no error.
    pub(super) fn failure(&self, may_fail: bool, is_last: bool) -> Option<String> {
        if self.asks_to_exit && !is_last {
            return Some("it asks the kernel to exit".to_owned());
        }
        self.error().filter(|_| !may_fail)
    }

    /// The error that the cell shows, which its reply does not tell if the code caught it: `%run` of a script that fails, or a cell
    /// that runs another. What went into a widget is shown there.
    fn error(&self) -> Option<String> {
        let shown = self.others.as_ref().map_or(&self.all, |others| &others.beside_widgets);
        shown.outputs().iter().find_map(|output| match output {
            Output::Error { name, value, .. } => Some(error_line(name, value)),
            _ => None,
        })
    }

    pub(super) fn outputs(&self) -> &[Output] {
        self.all.outputs()
    }

    pub(super) fn other_forms(&self) -> Vec<Vec<Output>> {
        let Some(others) = &self.others else { return Vec::new() };
        [&others.of_runs, &others.at_first, &others.beside_widgets].map(|area| area.outputs().to_vec()).into()
    }
}

pub(super) fn error_line(name: &str, value: &str) -> String {
    let value = value.lines().next().unwrap_or_default();
    if value.is_empty() { name.to_owned() } else { format!("{name}: {value}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(output: Output) -> Event {
        Event::Output { output, display_id: None }
    }

    #[test]
    fn an_error_that_the_code_caught_is_an_error() {
        let mut areas = Areas::default();
        assert_eq!(areas.error(), None);
        let error = |value: &str| {
            let value = value.to_owned();
            shown(Output::Error { name: "E".to_owned(), value, traceback: Vec::new() })
        };
        areas.apply(Event::Captured(Some("w".to_owned())));
        areas.apply(error("in a widget"));
        areas.apply(Event::Captured(None));
        assert_eq!(areas.error(), None);
        areas.apply(shown(Output::Stream { name: "stdout".to_owned(), text: "a".into() }));
        areas.apply(error("one\ntwo"));
        assert_eq!(areas.error().as_deref(), Some("E: one"));
    }

    #[test]
    fn only_the_last_cell_may_ask_the_kernel_to_exit() {
        for keeps_kernel in [false, true] {
            let mut areas = Areas::default();
            areas.apply(Event::ExitRequested { keeps_kernel });
            assert_eq!(areas.failure(false, true), None);
            assert_eq!(areas.failure(true, false).as_deref(), Some("it asks the kernel to exit"));
        }
    }
}
