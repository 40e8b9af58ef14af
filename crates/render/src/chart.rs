//! Charts that a browser would draw, in words: what is drawn, of how many values, from where to where.

mod in_html;
mod plotly;
mod series;
mod vega;

pub(crate) use in_html::in_html;
pub(crate) use plotly::plotly;
pub(crate) use series::columns;
pub(crate) use vega::vega;

use notebook::Json;

/// How many traces, views or columns are told apart.
const MOST: usize = 40;

/// Up to how many bytes a specification, without its data, is looked at.
const LARGEST: usize = 4 * 1024 * 1024;

/// The string that `json` is, or that stands in its member `text`: the two forms of a title.
fn title(json: &Json) -> Option<String> {
    let member = json.member("text");
    let text = json.multiline_text().or_else(|| member.as_ref()?.multiline_text())?;
    let text = crate::html::readable(&text).text;
    (!text.is_empty()).then_some(text)
}
