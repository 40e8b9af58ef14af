//! Finds charts whose specification is only in a script, as Altair, and Plotly in Colab, write them.

use bytes::Bytes;
use notebook::Json;
use serde_json::value::RawValue;

use super::plotly::plotly;
use super::vega::vega;

/// Describes the chart that a script in `html` draws.
pub(crate) fn in_html(html: &str) -> Option<String> {
    if let Some((_, call)) = html.split_once("Plotly.newPlot(") {
        let arguments = arguments(call);
        let [_, traces, layout, ..] = &arguments[..] else { return None };
        return Some(plotly(traces, Some(layout)));
    }
    if html.contains("vegaEmbed") {
        let specification = ["})(", "var spec = ", "const spec = "].iter().find_map(|before| {
            let (_, call) = html.split_once(before)?;
            arguments(call).into_iter().next().filter(|argument| argument.as_str().starts_with('{'))
        });
        return Some(vega(&specification?));
    }
    None
}

/// The first arguments of a call that are JSON: three at most.
fn arguments(call: &str) -> Vec<Json> {
    let mut arguments = Vec::new();
    let mut rest = call;
    while arguments.len() < 3 {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(value)) = values.next() else { break };
        let after = values.byte_offset();
        if let Ok(json) = Json::parse(Bytes::copy_from_slice(value.get().as_bytes())) {
            arguments.push(json);
        }
        match rest[after..].trim_start().strip_prefix(',') {
            Some(next) => rest = next,
            None => break,
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_drawing_function_are_found() {
        let html =
            "<script>if (x) { Plotly.newPlot( \"id\",  [{\"y\": [1, 2]}], {\"title\": \"T\"}, {\"r\": 1} ) }";
        assert_eq!(in_html(html).unwrap(), "[plotly chart \"T\"]\nscatter: y [1, 2]");
        let html =
            "(function(spec, o){ vegaEmbed(d, spec, o) })({\"mark\": \"bar\"}, {\"mode\": \"vega-lite\"});";
        assert_eq!(in_html(html).unwrap(), "[vega-lite chart]\nbar");
    }

    #[test]
    fn other_scripts_are_ignored() {
        for html in
            ["", "Plotly.newPlot(id, data)", "Plotly.newPlot(\"id\", [", "vegaEmbed(a, b)", "<p>})({}</p>"]
        {
            assert_eq!(in_html(html), None, "{html}");
        }
    }
}
