//! Charts that a browser would draw, described: marks, fields, number of values and their range.

mod in_html;
mod parts;
mod plotly;
mod series;
mod vega;

use notebook::{Json, MimeKind};

pub(crate) use series::columns;

/// A chart, with what its library draws it from.
#[derive(Debug)]
pub enum Chart {
    /// A figure, with its `data` and `layout`.
    Plotly(Json),
    /// A specification of Vega or Vega-Lite.
    Vega(Json),
}

impl Chart {
    /// The chart in content of this kind, if it is one.
    pub fn of(kind: MimeKind, content: &Json) -> Option<Self> {
        let content = Some(content.clone()).filter(Json::is_object)?;
        match kind {
            MimeKind::Plotly => Some(Self::Plotly(content)),
            MimeKind::Vega => Some(Self::Vega(content)),
            _ => None,
        }
    }

    /// The chart that a script in `html` draws, as Altair, and Plotly in Colab, write it.
    pub fn in_html(html: &str) -> Option<Self> {
        in_html::chart(html)
    }

    pub(crate) fn described(&self) -> String {
        match self {
            Self::Plotly(figure) => plotly::plotly(figure),
            Self::Vega(specification) => vega::vega(specification),
        }
    }
}
