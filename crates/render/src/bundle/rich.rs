//! Describes content that a frontend would draw.

use notebook::{Json, MimeKind, one_line};

use super::{Forms, compact};
use crate::data_uri::without_data_uris;
use crate::{Chart, chart, size};

/// The longest JSON of an unknown type that is included, in bytes.
const MAX_UNKNOWN_JSON: usize = 400;

/// A description, if one of the MIME types is better described than included.
pub(super) fn described(forms: &Forms<'_>) -> Option<String> {
    forms.0.iter().find_map(|(mime, content)| match MimeKind::of(mime) {
        kind @ (MimeKind::Plotly | MimeKind::Vega) => Some(Chart::of(kind, content)?.described()),
        MimeKind::Widget => Some(forms.plain().map_or_else(|| "[widget]".to_owned(), |plain| widget(&plain))),
        MimeKind::Bokeh => Some("[Bokeh chart, which only a browser can draw]".to_owned()),
        MimeKind::Library => Some(String::new()),
        MimeKind::GeoJson => {
            let features = content.member("features").map_or(1, |features| features.elements().count());
            Some(format!("[GeoJSON: {features} features, {}]", size(content.as_str().len())))
        }
        MimeKind::Script => {
            let length = content.multiline_text().map_or(0, |text| text.len());
            Some(format!("[{mime}, {}, not run]", size(length)))
        }
        // pandas writes the same table as HTML, too.
        MimeKind::Table if forms.get("text/html").is_none() => {
            Some(format!("[table] {}", chart::outline(&content.member("data")?)))
        }
        _ => None,
    })
}

/// A widget with the text of its state, which whoever follows its messages puts into its plain text.
fn widget(plain: &str) -> String {
    if plain.is_empty() {
        // It is hidden, or has been closed.
        String::new()
    } else if is_widget_repr(plain) {
        format!("[widget in its initial state: {plain}]")
    } else if plain.contains('\n') {
        format!("[widget]\n{plain}")
    } else {
        format!("[widget: {plain}]")
    }
}

/// Whether nobody followed the widget: `ipywidgets` writes the call that would make it, such as `IntSlider(value=3)`.
fn is_widget_repr(plain: &str) -> bool {
    let name = plain.split('(').next().unwrap_or_default();
    plain.ends_with(')')
        && name.len() < plain.len()
        && name.starts_with(|first: char| first.is_ascii_uppercase())
        && name.chars().all(|character| character.is_alphanumeric() || character == '_')
}

/// Content of an unknown MIME type.
pub(super) fn other(mime: &str, content: &Json) -> String {
    let is_text = mime.starts_with("text/");
    let mime = one_line(mime);
    match content.multiline_text() {
        Some(text) if is_text => without_data_uris(&text).into_owned(),
        Some(text) => {
            format!("[{mime}, {}]", size(if is_base64(&text) { text.len() / 4 * 3 } else { text.len() }))
        }
        None if content.as_str().len() <= MAX_UNKNOWN_JSON => format!("[{mime}] {}", compact(content)),
        None => format!("[{mime}, {}]", size(content.as_str().len())),
    }
}

/// Kernels send binary content as base64.
fn is_base64(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=\n".contains(&byte))
}
