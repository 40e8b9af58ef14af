//! Finds charts whose specification is only in a script.

use bytes::Bytes;
use notebook::Json;
use serde_json::value::RawValue;

use super::Chart;

/// The chart that a script draws: `Plotly.newPlot("id", […], {…}, {…})`, or Altair's `})({…}, {"mode": "vega-lite"});`.
pub(super) fn chart(html: &str) -> Option<Chart> {
    let calls = |name: &'static str| html.match_indices(name).map(move |(at, _)| &html[at + name.len()..]);
    let plotly = calls("Plotly.newPlot(").find_map(|call| {
        let [_, data, layout] = &arguments(call, 3)[..] else { return None };
        Some(Chart::Plotly(json(&format!(r#"{{"data":{data},"layout":{layout}}}"#))?))
    });
    let vega = || {
        let starts =
            ["})(", "var spec = ", "const spec = "].into_iter().filter(|_| html.contains("vegaEmbed"));
        let found = starts.flat_map(calls).filter_map(|call| json(arguments(call, 1).first()?));
        let is_specification = |it: &Json| it.member("$schema").or_else(|| it.member("mark")).is_some();
        found.into_iter().find(is_specification).map(Chart::Vega)
    };
    plotly.or_else(vega)
}

/// The first arguments of a call, at most `most`, as far as they are JSON.
fn arguments(call: &str, most: usize) -> Vec<&str> {
    let mut arguments = Vec::new();
    let mut rest = call;
    while arguments.len() < most {
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<&RawValue>();
        let Some(Ok(value)) = values.next() else { break };
        arguments.push(value.get());
        rest = rest[values.byte_offset()..].trim_start();
        rest = rest.strip_prefix(',').unwrap_or_default();
    }
    arguments
}

fn json(text: &str) -> Option<Json> {
    Json::parse(Bytes::copy_from_slice(text.as_bytes())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_arguments_of_the_drawing_function_are_found() {
        let html =
            "<script>if (x) { Plotly.newPlot( \"id\",  [{\"y\": [1, 2]}], {\"title\": \"T\"}, {\"r\": 1} ) }";
        assert_eq!(chart(html).unwrap().described(), "[plotly chart \"T\"]\n{y: [1, 2]}");
        let html =
            "(function(spec, o){ vegaEmbed(d, spec, o) })({\"mark\": \"bar\"}, {\"mode\": \"vega-lite\"});";
        assert_eq!(chart(html).unwrap().described(), "[vega chart]\n{mark: \"bar\"}");
    }

    #[test]
    fn other_scripts_are_ignored() {
        for html in
            ["", "Plotly.newPlot(id, data)", "Plotly.newPlot(\"id\", [", "vegaEmbed(a, b)", "<p>})({}</p>"]
        {
            assert!(chart(html).is_none(), "{html}");
        }
    }
}
