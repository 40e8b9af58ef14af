//! What the cells of a notebook gave in a run, compared with what is saved.

use crate::compare::{Comparison, Rerun, compare, difference, without_pages};
use notebook::{Json, Output};

use crate::cells::Checked;
use crate::imports::MissingModule;

/// The outputs of the cells that ran.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Ran {
    pub(crate) outputs: Vec<Vec<Output>>,
    /// The same as other front ends save them, for each cell with widgets.
    pub(crate) other_forms: Vec<Vec<Vec<Output>>>,
    pub(crate) ended: Ended,
    /// What the notebook imports and the environment lacks, if a cell has failed for that.
    pub(crate) missing: Vec<MissingModule>,
    /// The links of the folder that are not in its copy, because they lead out of it.
    pub(crate) left_out: Vec<String>,
    /// Such as `Python 3.12.4`.
    pub(crate) runtime: String,
    pub(crate) introduction: Vec<String>,
    /// What a notebook keeps of all widgets of the kernel: see [`Executor::widget_state`].
    pub(crate) widgets: Option<Json>,
}

impl Ran {
    /// Compares what a cell says now with what is saved, which was written by a front end that knows widgets or by one that does
    /// not, and by one that saves what a pager shows or by one that does not.
    pub(crate) fn compare(&self, position: usize, cell: &Checked, rerun: &Rerun) -> Comparison {
        let mut compared = self.forms(position, cell).map(|form| compare(&cell.saved, form, rerun));
        let first = compared.next().unwrap_or(Comparison::Same);
        let is_different = matches!(first, Comparison::Different { .. });
        let other = compared.find(|other| is_different && !matches!(other, Comparison::Different { .. }));
        other.unwrap_or(first)
    }

    /// How a cell that says something else differs, for people: from the form that is most like what is saved.
    pub(crate) fn difference(&self, position: usize, cell: &Checked, rerun: &Rerun) -> String {
        let differences = self.forms(position, cell).map(|form| match compare(&cell.saved, form, rerun) {
            Comparison::Different { lines } => difference(&cell.saved, form, &lines),
            Comparison::Same | Comparison::Close { .. } => String::new(),
        });
        differences.min_by_key(|text| (text.lines().count(), text.len())).unwrap_or_default()
    }

    fn forms<'r>(&'r self, position: usize, cell: &'r Checked) -> impl Iterator<Item = &'r [Output]> {
        let fresh = &self.outputs[position];
        let others = self.other_forms.get(position).into_iter().flatten();
        let without_pages = cell.asks_for_help.then(|| without_pages(fresh, cell.saved.len()));
        std::iter::once(fresh).chain(others).map(Vec::as_slice).chain(without_pages)
    }

    /// Why the cell at that position failed, if it did.
    pub(crate) fn failure_at(&self, position: usize) -> Option<String> {
        match &self.ended {
            Ended::At { position: at, cause } if *at == position => Some(cause.clone()),
            _ => None,
        }
    }

    /// How many cells ran before one failed.
    pub(crate) fn passed(&self) -> usize {
        match self.ended {
            Ended::Whole => self.outputs.len(),
            Ended::At { position, .. } => position,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Ended {
    Whole,
    At { position: usize, cause: String },
}

#[cfg(test)]
mod tests {
    use kernel::Event;
    use notebook::MimeBundle;
    use serde_json::{Value, json};

    use super::super::areas::Areas;
    use super::*;

    fn stdout(text: &str) -> Output {
        Output::Stream { name: "stdout".to_owned(), text: text.into() }
    }

    fn show(output: Output) -> Event {
        Event::Output { output, display_id: None }
    }

    fn printed(text: &str) -> Event {
        show(stdout(text))
    }

    fn bundle(data: &Value) -> MimeBundle {
        MimeBundle { data: Json::from_value(data), metadata: Json::empty_object() }
    }

    fn fresh(cell: &Checked) -> Rerun {
        let now = std::time::SystemTime::now();
        Rerun::new(now..now, [cell.source.as_str()])
    }

    fn outputs(events: Vec<Event>) -> (Vec<Output>, Vec<Vec<Output>>) {
        let mut areas = Areas::default();
        for event in events {
            areas.apply(event);
        }
        (areas.outputs().to_vec(), areas.other_forms())
    }

    /// A run of one cell to its end.
    fn whole(outputs: Vec<Output>, others: Vec<Vec<Output>>) -> Ran {
        Ran {
            outputs: vec![outputs],
            other_forms: vec![others],
            ended: Ended::Whole,
            missing: Vec::new(),
            left_out: Vec::new(),
            runtime: String::new(),
            introduction: Vec::new(),
            widgets: None,
        }
    }

    #[test]
    fn what_goes_into_a_widget_may_be_saved_in_the_cell_or_with_the_widget() {
        let (outputs, others) = outputs(vec![
            printed("a\n"),
            Event::Captured(Some("w".to_owned())),
            printed("in the widget\n"),
            Event::ClearOutput { wait: true },
            printed("in the widget\n"),
            Event::Captured(None),
            printed("b\n"),
        ]);
        let ran = whole(outputs, others);
        let says = |text: &str| {
            let cell = Checked::with_saved(vec![stdout(text)]);
            ran.compare(0, &cell, &fresh(&cell)) == Comparison::Same
        };
        assert!(says("a\nb\n") && says("in the widget\nb\n"));
        assert!(!says("a\nin the widget\nb\n") && !says("other\n"));
    }

    #[test]
    fn a_widget_may_be_saved_as_it_was_displayed_or_as_it_is_at_the_end() {
        let data = |plain: &str| {
            let view = json!({ "model_id": "m" });
            bundle(&json!({ "application/vnd.jupyter.widget-view+json": view, "text/plain": plain }))
        };
        let picture = || Output::Display(bundle(&json!({ "image/png": "AAAA", "text/plain": "<Figure>" })));
        let widget = |text: &str| Event::Widget { model_id: "m".to_owned(), text: text.to_owned() };
        let (outputs, others) = outputs(vec![
            show(Output::Display(data("Output()"))),
            widget("empty"),
            Event::Captured(Some("w".to_owned())),
            printed("inside"),
            show(picture()),
            widget("inside"),
            Event::Captured(None),
            printed("after"),
        ]);
        let ran = whole(outputs, others);
        let shown = |plain: &str| Output::Display(data(plain));
        for (name, saved) in [
            ("nbclient and JupyterLab", vec![shown("Output()"), stdout("after")]),
            ("a front end that syncs", vec![shown("Output(outputs=({},))"), stdout("after")]),
            ("no widgets", vec![shown("Output()"), stdout("inside"), picture(), stdout("after")]),
            ("runs", vec![shown("inside"), picture(), stdout("after")]),
            ("all", vec![shown("inside"), stdout("inside"), picture(), stdout("after")]),
        ] {
            let cell = Checked::with_saved(saved);
            assert_eq!(ran.compare(0, &cell, &fresh(&cell)), Comparison::Same, "{name}");
        }
        let other = Checked::with_saved(vec![shown("Label()"), stdout("after")]);
        let different = ran.compare(0, &other, &fresh(&other));
        assert!(matches!(different, Comparison::Different { .. }), "{different:?}");
        let shown = ran.difference(0, &other, &fresh(&other));
        assert!(
            shown.contains("+[widget in its initial state: Output()]") && !shown.contains("inside"),
            "{shown}"
        );
    }

    #[test]
    fn help_may_be_saved_as_an_output_or_not() {
        let help = |text: &str| Output::Display(bundle(&json!({ "text/plain": text })));
        let ran = whole(vec![help("Docstring")], Vec::new());
        let says = |asks_for_help, saved: Vec<Output>| {
            let cell = Checked { asks_for_help, ..Checked::with_saved(saved) };
            ran.compare(0, &cell, &fresh(&cell)) == Comparison::Same
        };
        assert!(says(true, Vec::new()) && says(true, vec![help("Docstring")]));
        assert!(!says(true, vec![help("another text")]) && !says(false, Vec::new()));
    }

    #[test]
    fn without_widgets_there_is_one_way_to_save_outputs() {
        let (all, others) = outputs(vec![printed("a")]);
        assert_eq!((all.len(), others), (1, Vec::new()));
    }
}
