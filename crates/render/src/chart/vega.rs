//! Describes charts of Vega-Lite and Vega (`application/vnd.vegalite.v5+json` and the like; Altair).

use notebook::{Json, truncate};

use super::parts::{MAX_PARTS, title};
use super::series::columns;

/// The longest specification that is shown, in characters.
const MAX_SHOWN: usize = 1500;

/// The specification, with its data summarized.
pub(super) fn vega(specification: &Json) -> String {
    let parts: Vec<_> = specification.members().collect();
    let part = |name: &str| parts.iter().find(|(found, _)| found == name).map(|(_, value)| value);
    let schema: String = part("$schema").and_then(|schema| schema.decode().ok()).unwrap_or_default();
    let kind = if schema.contains("/vega/") { "vega" } else { "vega-lite" };
    let title = part("title").and_then(title).map(|title| format!(" {title:?}")).unwrap_or_default();
    let is_shown = |name: &str| {
        !matches!(name, "$schema" | "title" | "datasets" | "data" | "config") && !name.contains("usermeta")
    };
    let views: Vec<_> = parts.iter().filter(|(name, _)| is_shown(name)).cloned().collect();
    let views = Json::object(&views).compact();
    let sets = part("datasets").into_iter().flat_map(Json::members);
    let inline = part("data").and_then(|data| data.member("values"));
    let data = sets.map(|(_, set)| set).chain(inline).map(|set| format!("data: {}", columns(&set)));
    let lines = [format!("[{kind} chart{title}]"), truncate(&views, MAX_SHOWN).into_owned()];
    lines.into_iter().chain(data.take(MAX_PARTS)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn described(specification: &Value) -> String {
        vega(&Json::from_value(specification))
    }

    #[test]
    fn a_chart_is_its_specification_with_summarized_data() {
        let chart = json!({
            "$schema": "https://vega.github.io/schema/vega-lite/v6.1.0.json", "title": "Cities", "config": { "view": 1 },
            "mark": { "type": "bar" }, "data": { "name": "d" }, "datasets": { "d": [{ "c": "K", "p": 1 }] },
            "encoding": { "x": { "field": "c", "type": "nominal" } },
        });
        assert_eq!(
            described(&chart),
            "[vega-lite chart \"Cities\"]\n{\"mark\":{\"type\":\"bar\"},\"encoding\":{\"x\":{\"field\":\"c\",\"type\":\"nominal\"}}}\n\
             data: 1 row: c [\"K\"]; p [1]"
        );
        let vega = json!({ "$schema": "https://vega.github.io/schema/vega/v5.json", "data": { "values": [{ "t": 1 }] } });
        assert_eq!(described(&vega), "[vega chart]\n{}\ndata: 1 row: t [1]");
        assert!(described(&json!({ "layer": "x".repeat(9000) })).chars().count() < 2 * MAX_SHOWN);
    }
}
