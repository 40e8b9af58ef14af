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
    /// The outputs of a cell with widgets as front ends save them that show its widgets: as runs save them; all, and widgets as they were
    /// when they were displayed; and these without what went into `Output` widgets.
    others: Option<Box<[OutputArea; 3]>>,
    /// Whether a widget takes the outputs now.
    is_captured: bool,
    asks_to_exit: bool,
}

impl Areas {
    pub(super) fn apply(&mut self, event: Event) {
        match event {
            Event::ExitRequested { .. } => self.asks_to_exit = true,
            Event::Output { output: Output::Stream { .. }, .. }
                if self.all.size_bytes() > MAX_OUTPUT_BYTES => {}
            event => {
                if matches!(event, Event::Captured(_) | Event::Widget { .. }) {
                    self.others.get_or_insert_with(|| Box::new(std::array::from_fn(|_| self.all.clone())));
                }
                if let Some(others) = &mut self.others {
                    let [of_runs, at_first, beside_widgets] = &mut **others;
                    of_runs.apply(event.clone());
                    if let Event::Captured(by) = &event {
                        self.is_captured = by.is_some();
                        return;
                    }
                    if !matches!(event, Event::Widget { .. } | Event::WidgetState(_)) {
                        at_first.apply(event.clone());
                        if !self.is_captured || matches!(event, Event::UpdateDisplay { .. }) {
                            beside_widgets.apply(event.clone());
                        }
                    }
                }
                self.all.apply(event);
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
        let shown = self.others.as_ref().map_or(&self.all, |others| &others[2]);
        shown.outputs().iter().find_map(|output| match output {
            Output::Error { name, value, .. } => Some(error_line(name, value)),
            _ => None,
        })
    }

    pub(super) fn outputs(&self) -> &[Output] {
        self.all.outputs()
    }

    pub(super) fn other_forms(&self) -> Vec<Vec<Output>> {
        self.others.iter().flat_map(|others| others.iter()).map(|area| area.outputs().to_vec()).collect()
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
