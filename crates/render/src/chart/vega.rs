//! Describes charts of Vega-Lite and Vega (`application/vnd.vegalite.v5+json` and the like; Altair).

use notebook::Json;
use serde_json::Value;

use super::parts::{MAX_PARTS, MAX_SPECIFICATION, title};
use super::series::columns;

/// The deepest nesting of views that is described.
const MAX_DEPTH: usize = 8;

pub(super) fn vega(specification: &Json) -> String {
    let parts: Vec<_> = specification.members().collect();
    let part = |name: &str| parts.iter().find(|(found, _)| found == name).map(|(_, value)| value);
    let schema: String = part("$schema").and_then(|schema| schema.decode().ok()).unwrap_or_default();
    let kind = if schema.contains("/vega/") { "vega" } else { "vega-lite" };
    let mut text = format!("[{kind} chart");
    if let Some(title) = part("title").and_then(title) {
        text.push_str(&format!(" {title:?}"));
    }
    text.push(']');
    let mut views = Vec::new();
    let view = parts.iter().filter(|(name, _)| !matches!(&**name, "datasets" | "data" | "config"));
    for (name, value) in view.filter(|(_, value)| value.as_str().len() <= MAX_SPECIFICATION) {
        if name == "mark" && kind == "vega-lite" {
            let encoding = part("encoding").map(Json::to_value).unwrap_or_default();
            views.push(describe_mark(&value.to_value(), &encoding));
        } else {
            describe_views(name, &value.to_value(), MAX_DEPTH, &mut views);
        }
    }
    let sets = part("datasets").into_iter().flat_map(Json::members);
    let inline = part("data").and_then(|data| data.member("values"));
    let data = sets.map(|(_, set)| set).chain(inline).map(|set| format!("data: {}", columns(&set)));
    views.truncate(MAX_PARTS);
    for line in views.into_iter().chain(data.take(MAX_PARTS)) {
        text.push('\n');
        text.push_str(&line);
    }
    text
}

/// Describes the views within a view.
fn describe_views(name: &str, value: &Value, depth: usize, views: &mut Vec<String>) {
    let Some(depth) = depth.checked_sub(1).filter(|_| views.len() < MAX_PARTS) else { return };
    let parts = match name {
        "layer" | "hconcat" | "vconcat" | "concat" | "marks" => {
            value.as_array().map_or(&[][..], Vec::as_slice)
        }
        "spec" => std::slice::from_ref(value),
        _ => return,
    };
    for part in parts {
        if let Some(mark) = part.get("mark") {
            views.push(describe_mark(mark, part.get("encoding").unwrap_or(&Value::Null)));
        } else if let Some(mark) = part.get("type").filter(|_| name == "marks") {
            views.push(describe_mark(mark, &Value::Null));
        }
        for (name, value) in part.as_object().into_iter().flatten() {
            describe_views(name, value, depth, views);
        }
    }
}

/// One mark: `bar: x city (nominal), y mean(population) (quantitative) "People"`.
fn describe_mark(mark: &Value, encoding: &Value) -> String {
    let name = |value: &Value| value.as_str().unwrap_or("?").to_owned();
    let mut text = name(mark.get("type").unwrap_or(mark));
    let channels: Vec<String> = encoding
        .as_object()
        .into_iter()
        .flatten()
        .filter_map(|(channel, definition)| {
            let field = definition.get("field").map(name);
            let field = match definition.get("aggregate").and_then(Value::as_str) {
                Some(aggregate) => format!("{aggregate}({})", field.unwrap_or_default()),
                None => field.or_else(|| definition.get("value").map(Value::to_string))?,
            };
            let kind = definition.get("type").map(|kind| format!(" ({})", name(kind))).unwrap_or_default();
            let title = definition.get("title").and_then(Value::as_str);
            let title = title.map(|title| format!(" {title:?}")).unwrap_or_default();
            Some(format!("{channel} {field}{kind}{title}"))
        })
        .collect();
    if !channels.is_empty() {
        text.push_str(": ");
        text.push_str(&channels.join(", "));
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn described(specification: &Value) -> String {
        vega(&Json::from_value(specification))
    }

    #[test]
    fn a_chart_is_described_by_mark_channels_and_data() {
        let chart = json!({
            "$schema": "https://vega.github.io/schema/vega-lite/v6.1.0.json", "title": "Cities",
            "mark": { "type": "bar" }, "data": { "name": "d" }, "datasets": { "d": [{ "c": "K", "p": 1 }] },
            "encoding": { "x": { "field": "c", "type": "nominal" }, "color": { "value": "red" },
                          "y": { "aggregate": "mean", "field": "p", "type": "quantitative", "title": "People" } },
        });
        assert_eq!(
            described(&chart),
            "[vega-lite chart \"Cities\"]\nbar: x c (nominal), color \"red\", y mean(p) (quantitative) \"People\"\n\
             data: 1 row: c [\"K\"]; p [1]"
        );
    }

    #[test]
    fn nested_views_are_described() {
        let chart = json!({ "hconcat": [
            { "layer": [{ "mark": "line", "encoding": { "x": { "field": "t" } } }, { "mark": "point" }] },
            { "spec": { "mark": "area" } },
        ], "data": { "values": [{ "t": 1 }] } });
        assert_eq!(described(&chart), "[vega-lite chart]\nline: x t\npoint\narea\ndata: 1 row: t [1]");
        let vega =
            json!({ "$schema": "https://vega.github.io/schema/vega/v5.json", "marks": [{ "type": "rect" }] });
        assert_eq!(described(&vega), "[vega chart]\nrect");
    }

    #[test]
    fn malformed_charts_are_described() {
        for odd in [json!(7), json!({ "mark": 7, "encoding": [] }), json!({ "layer": { "layer": 1 } })] {
            assert!(described(&odd).starts_with("[vega-lite chart]"));
        }
        let mut deep = json!({ "mark": "bar" });
        (0..100).for_each(|_| deep = json!({ "layer": [deep.clone()] }));
        assert_eq!(described(&deep), "[vega-lite chart]");
    }
}
