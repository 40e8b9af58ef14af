//! Describes charts that a browser would draw: marks, fields, number of values and their range.

mod in_html;
mod plotly;
mod series;
mod vega;

pub(crate) use in_html::in_html;
pub(crate) use plotly::plotly;
pub(crate) use series::columns;
pub(crate) use vega::vega;

use notebook::Json;

/// The most traces, views or columns that are described.
const MAX_PARTS: usize = 40;

/// The largest specification without data that is read, in bytes.
const MAX_SPECIFICATION: usize = 4 * 1024 * 1024;

/// A title: a string, or an object with a member `text`.
fn title(json: &Json) -> Option<String> {
    let member = json.member("text");
    let text = json.multiline_text().or_else(|| member.as_ref()?.multiline_text())?;
    let text = crate::html::readable(&text).text;
    (!text.is_empty()).then_some(text)
}
