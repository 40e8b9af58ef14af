//! Describes charts that a browser would draw: marks, fields, number of values and their range.

mod in_html;
mod parts;
mod plotly;
mod series;
mod vega;

pub(crate) use in_html::in_html;
pub(crate) use plotly::plotly;
pub(crate) use series::columns;
pub(crate) use vega::vega;
