//! Describes figures of Plotly (`application/vnd.plotly.v1+json`).

use notebook::Json;

use super::parts::{MAX_PARTS, title};
use super::series::series;

/// The members of a trace that contain its data, in the order in which they are described.
const DATA: &str = include_str!("plotly.txt");

pub(super) fn plotly(figure: &Json) -> String {
    let (data, layout) = (figure.member("data"), figure.member("layout"));
    let traces: Vec<_> = data.iter().flat_map(Json::elements).collect();
    let mut head = vec![format!("[plotly chart{}", layout.as_ref().and_then(titled).unwrap_or_default())];
    for (name, axis) in layout.iter().flat_map(Json::members) {
        if ["xaxis", "yaxis"].iter().any(|kind| name.starts_with(kind))
            && let Some(title) = axis.member("title").and_then(|text| title(&text))
        {
            head.push(format!("{} {title:?}", name.replacen("axis", "", 1)));
        }
    }
    let mut text = head.join(", ");
    text.push(']');
    for trace in traces.iter().take(MAX_PARTS) {
        text.push('\n');
        text.push_str(&describe_trace(trace));
    }
    if traces.len() > MAX_PARTS {
        text.push_str(&format!("\n… {} more traces", traces.len() - MAX_PARTS));
    }
    text
}

fn titled(layout: &Json) -> Option<String> {
    Some(format!(" {:?}", title(&layout.member("title")?)?))
}

fn describe_trace(trace: &Json) -> String {
    let parts: Vec<_> = trace.members().collect();
    let part = |name: &str| parts.iter().find(|(found, _)| found == name).map(|(_, value)| value);
    let text = |name: &str| part(name).and_then(Json::text).filter(|text| !text.is_empty());
    let mut description = text("type").unwrap_or("scatter".into()).into_owned();
    if let Some(name) = text("name") {
        description.push_str(&format!(" {name:?}"));
    }
    if let Some(mode) = text("mode") {
        description.push_str(&format!(" ({mode})"));
    }
    let data: Vec<String> = DATA
        .lines()
        .filter_map(|name| {
            let value = part(name)?;
            let is_number = value.as_str().starts_with(|first: char| first.is_ascii_digit() || first == '-');
            let value = if is_number { value.as_str().to_owned() } else { series(value)? };
            Some(format!("{name} {value}"))
        })
        .collect();
    if data.is_empty() { description } else { format!("{description}: {}", data.join("; ")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_figure_is_described_by_its_traces() {
        let traces = json!([
            { "type": "bar", "name": "counts", "x": ["a", "b"], "y": { "dtype": "i1", "bdata": "AQI=" } },
            { "mode": "lines", "y": [1, 2, 3] },
            { "type": "indicator", "value": 42 },
            { "type": "surface" },
        ]);
        let layout = json!({ "title": { "text": "Sales<br><b>2024</b>" }, "xaxis": { "title": { "text": "letter" } },
                             "yaxis2": { "title": "right" }, "yaxis": {} });
        let described = plotly(&Json::from_value(&json!({ "data": traces, "layout": layout })));
        assert_eq!(
            described,
            "[plotly chart \"Sales\\n2024\", x \"letter\", y2 \"right\"]\nbar \"counts\": x [\"a\", \"b\"]; y [1, 2]\n\
             scatter (lines): y [1, 2, 3]\nindicator: value 42\nsurface"
        );
    }

    #[test]
    fn malformed_figures_are_described() {
        assert_eq!(plotly(&Json::from_value(&json!({ "data": 7 }))), "[plotly chart]");
        let many = plotly(&Json::from_value(&json!({ "data": vec![json!({}); 50] })));
        assert!(many.ends_with("scatter\n… 10 more traces"), "{many}");
    }
}
