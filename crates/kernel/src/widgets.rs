//! The state of ipywidgets, followed from the comm messages of a kernel, as a front end does.
//!
//! A widget has a model in the kernel, and one here: `comm_open` brings its state, `comm_msg` changes it, and `comm_close` ends it.
//! A cell displays a widget by the id of its model. No I/O.
//!
//! | file | what it does |
//! |---|---|
//! | `store` | follows the models |
//! | `view` | what a person sees of a model, as text |
//! | `html` | text of the HTML in a model |
//! | `format` | how outputs and models refer to models |
//! | `saved` | the state as a notebook keeps it in its metadata |
//!
//! The protocol is <https://github.com/jupyter-widgets/ipywidgets/blob/main/packages/schema/messages.md>.

mod format;
mod html;
mod saved;
mod store;
mod view;

pub(crate) use format::VIEW;
pub(crate) use saved::all_widgets;
pub use saved::{earlier_widgets, has_models, restored_widgets, saved_widgets, uses_model, widget_text};
pub(crate) use store::Widgets;

use notebook::{MimeBundle, Output};
/// The ids of the models that outputs show, in order.
pub fn shown_widgets<'a>(outputs: impl IntoIterator<Item = &'a Output>) -> Vec<String> {
    outputs.into_iter().filter_map(shown_widget).collect()
}

/// The id of the model that an output shows.
pub(crate) fn shown_widget(output: &Output) -> Option<String> {
    match output {
        Output::Display(bundle) | Output::Result { bundle, .. } => shown_in(bundle),
        _ => None,
    }
}

pub(crate) fn shown_in(bundle: &MimeBundle) -> Option<String> {
    Some(bundle.data.member(VIEW)?.member("model_id")?.text()?.into_owned())
}

#[cfg(test)]
mod tests;
