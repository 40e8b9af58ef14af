//! Charts that a browser would draw, described by what their libraries draw them from.

mod in_html;
mod outline;

use notebook::{Json, MimeKind, truncate};

use crate::html;
pub(crate) use outline::outline;

/// The most traces that are described.
const MAX_PARTS: usize = 40;
/// The longest description of a chart, in characters.
const MAX_DESCRIBED: usize = 2500;

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
        let (kind, about, parts) = match self {
            Self::Plotly(figure) => {
                let traces = figure.member("data").iter().flat_map(Json::elements).collect();
                ("plotly", figure.member("layout"), traces)
            }
            Self::Vega(specification) => ("vega", Some(specification.clone()), vec![specification.clone()]),
        };
        let title = about.and_then(|about| title(&about.member("title")?)).map(|title| format!(" {title:?}"));
        let head = format!("[{kind} chart{}]", title.unwrap_or_default());
        let lines: Vec<String> = parts.iter().take(MAX_PARTS).map(outline).collect();
        truncate(&[&[head], &lines[..]].concat().join("\n"), MAX_DESCRIBED).into_owned()
    }
}

/// A title: a string, or an object with a member `text`.
fn title(json: &Json) -> Option<String> {
    let member = json.member("text");
    let text = json.multiline_text().or_else(|| member.as_ref()?.multiline_text())?;
    Some(html::readable(&text).text).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_is_described_by_its_title_and_traces() {
        let traces =
            json!([{ "type": "bar", "x": ["a", "b"], "marker": { "color": "red" } }, { "type": "pie" }]);
        let figure = json!({ "data": traces, "layout": { "title": { "text": "Sales<br><b>2024</b>" } } });
        assert_eq!(
            Chart::Plotly(Json::from_value(&figure)).described(),
            "[plotly chart \"Sales\\n2024\"]\n{type: \"bar\", x: [\"a\", \"b\"]}\n{type: \"pie\"}"
        );
        let vega = json!({ "title": "T", "mark": "bar", "config": { "view": 1 } });
        assert_eq!(
            Chart::Vega(Json::from_value(&vega)).described(),
            "[vega chart \"T\"]\n{title: \"T\", mark: \"bar\"}"
        );
        assert_eq!(Chart::Plotly(Json::from_value(&json!({ "data": 7 }))).described(), "[plotly chart]");
    }
}
