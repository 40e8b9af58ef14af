//! The reference as Markdown.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use super::listing::{Section, Tool};

/// The annotations with their headings.
const ANNOTATIONS: [(&str, &str); 4] = [
    ("readOnlyHint", "changes nothing"),
    ("destructiveHint", "may destroy"),
    ("idempotentHint", "repeatable"),
    ("openWorldHint", "open world"),
];

pub(super) fn render(sections: &[Section]) -> String {
    let mut page = String::new();
    let mut names = Vec::new();
    for Section { title, introduction, tools } in sections {
        let _ = write!(page, "\n## {title}\n\n{introduction}\n\n");
        page.push_str(&overview(tools, &names));
        names.extend(tools.iter().map(|tool| text(&tool.definition, "name")));
        for tool in tools {
            page.push_str(&reference(&tool.definition));
        }
    }
    page
}

/// A line for each tool: its groups and annotations. `earlier` are the headings above.
fn overview(tools: &[Tool], earlier: &[&str]) -> String {
    let headings: Vec<&str> = ANNOTATIONS.iter().map(|(_, heading)| *heading).collect();
    let mut table = format!("| tool | groups | with `--read-only` | {} |\n", headings.join(" | "));
    table.push_str("|---|---|---|---|---|---|---|\n");
    for tool in tools {
        let name = text(&tool.definition, "name");
        // Of equal headings, those after the first are numbered.
        let repeated = match earlier.iter().filter(|other| **other == name).count() {
            0 => String::new(),
            count => format!("-{count}"),
        };
        let groups: Vec<String> = tool.groups.iter().map(|group| format!("`{group}`")).collect();
        let marks = ANNOTATIONS.map(|(hint, _)| yes(tool.definition["annotations"][hint] == true));
        let _ = writeln!(
            table,
            "| [`{name}`](#{name}{repeated}) | {} | {} | {} |",
            groups.join(", "),
            yes(tool.is_for_readers),
            marks.join(" | ")
        );
    }
    table
}

fn yes(is_so: bool) -> &'static str {
    if is_so { "yes" } else { "" }
}

/// A tool's title, description and parameters.
fn reference(definition: &Value) -> String {
    let mut section = format!("\n### `{}`\n\n", text(definition, "name"));
    if let Some(title) = definition["title"].as_str() {
        let _ = write!(section, "*{title}*\n\n");
    }
    let _ = writeln!(section, "{}", text(definition, "description"));
    for (heading, schema) in
        [("parameter", &definition["inputSchema"]), ("structured result", &definition["outputSchema"])]
    {
        let rows = rows("", schema);
        if !rows.is_empty() {
            let _ = write!(
                section,
                "\n| {heading} | type | required | default | |\n|---|---|---|---|---|\n{rows}"
            );
        }
    }
    section
}

/// A row for each property of an object, and for those of objects within it.
fn rows(prefix: &str, schema: &Value) -> String {
    let none = Map::new();
    let mut rows = String::new();
    for (name, property) in schema["properties"].as_object().unwrap_or(&none) {
        let path = format!("{prefix}{name}");
        let is_required =
            schema["required"].as_array().is_some_and(|all| all.contains(&name.as_str().into()));
        let default = property.get("default").map(|default| format!("`{default}`")).unwrap_or_default();
        let _ = writeln!(
            rows,
            "| `{path}` | {} | {} | {default} | {} |",
            cell(&kind(property)),
            yes(is_required),
            cell(property["description"].as_str().unwrap_or_default())
        );
        rows.push_str(&self::rows(&format!("{path}."), property));
        rows.push_str(&self::rows(&format!("{path}[]."), &property["items"]));
    }
    rows
}

/// The type with its limits.
fn kind(schema: &Value) -> String {
    if let Some(values) = schema["enum"].as_array() {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        return values.join(" or ");
    }
    let kind = match &schema["type"] {
        Value::String(kind) if kind == "array" => format!("array of {}", kind_of_items(schema)),
        Value::String(kind) => kind.clone(),
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" or "),
        _ => "any".to_owned(),
    };
    // The largest integer of JavaScript is no limit that matters.
    let most = &schema["maximum"];
    match (&schema["minimum"], most) {
        (Value::Null, Value::Null) => kind,
        (least, Value::Null) => format!("{kind}, from {least}"),
        (least, most) if most.as_u64() == Some((1 << 53) - 1) => format!("{kind}, from {least}"),
        (Value::Null, most) => format!("{kind}, to {most}"),
        (least, most) => format!("{kind}, {least} to {most}"),
    }
}

fn kind_of_items(schema: &Value) -> String {
    schema.get("items").map_or_else(|| "any".to_owned(), kind)
}

/// Text within a cell of a table.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

fn text<'a>(definition: &'a Value, member: &str) -> &'a str {
    definition[member].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_a_row_of_the_overview_and_a_table_of_its_parameters() {
        let item = json!({ "type": "object", "properties": { "source": { "type": "string" } }, "required": ["source"] });
        let definition = json!({
            "name": "insert", "title": "Insert", "description": "Insert cells.",
            "inputSchema": {
                "type": "object",
                "required": ["cells"],
                "properties": {
                    "cells": { "type": "array", "items": item, "description": "a|b" },
                    "mode": { "enum": ["x", "y"], "type": "string", "default": "x" },
                    "index": { "type": "integer", "minimum": 0, "maximum": 9_007_199_254_740_991_u64 },
                    "wait": { "type": ["number", "null"], "minimum": 0, "maximum": 9 },
                },
            },
            "outputSchema": { "properties": { "result": { "type": "boolean" } }, "required": ["result"] },
            "annotations": { "readOnlyHint": false, "destructiveHint": true },
        });
        let tool = Tool { definition, groups: vec!["edit", "run"], is_for_readers: false };
        let section = Section { title: "Tools", introduction: "All.", tools: vec![tool] };
        assert_eq!(
            render(&[section]),
            "\n## Tools\n\nAll.\n\n\
             | tool | groups | with `--read-only` | changes nothing | may destroy | repeatable | open world |\n\
             |---|---|---|---|---|---|---|\n\
             | [`insert`](#insert) | `edit`, `run` |  |  | yes |  |  |\n\
             \n### `insert`\n\n*Insert*\n\nInsert cells.\n\
             \n| parameter | type | required | default | |\n|---|---|---|---|---|\n\
             | `cells` | array of object | yes |  | a\\|b |\n\
             | `cells[].source` | string | yes |  |  |\n\
             | `mode` | `\"x\"` or `\"y\"` |  | `\"x\"` |  |\n\
             | `index` | integer, from 0 |  |  |  |\n\
             | `wait` | number or null, 0 to 9 |  |  |  |\n\
             \n| structured result | type | required | default | |\n|---|---|---|---|---|\n\
             | `result` | boolean | yes |  |  |\n"
        );
    }
}
