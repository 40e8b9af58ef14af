//! The tools that are listed whether a page is connected or not.
//!
//! Many agents read the list once and ignore `tools/list_changed`. Therefore the seven tools of the Colab page are
//! listed from the start, with the page's parameters and types and with our descriptions.

use std::sync::Arc;

use place::Tool;
use serde_json::Value;
use serde_json::value::to_raw_value;

/// The tool that opens Colab and waits for the page.
pub(crate) const CONNECT: &str = "open_colab_browser_connection";
/// The tool that calls any tool of the page, for agents that have not listed it.
pub(crate) const CALL_ANY: &str = "call_colab_tool";

/// The tools of the page that are known to change and run nothing. A page's own annotations are not trusted.
pub(crate) const READING: [&str; 1] = ["get_cells"];

/// The definitions in the order of the list: [`CONNECT`] first, [`CALL_ANY`] last.
const DEFINITIONS: &str = include_str!("tools.json");

/// The tools of a page; with `has_tabs`, [`CALL_ANY`] has an argument for the tab. A test shows that they can be read.
pub(crate) fn built_in(has_tabs: bool) -> Vec<Tool> {
    let definitions: Vec<Value> = serde_json::from_str(DEFINITIONS).unwrap_or_default();
    let tool = |mut definition: Value| {
        let name = definition["name"].as_str()?.to_owned();
        if has_tabs && name == CALL_ANY {
            definition["inputSchema"]["properties"]["notebook"] = serde_json::json!({
                "type": "string",
                "description": "The path of its notebook, e.g. colab:2; default: colab:",
            });
        }
        Some(Tool { name, definition: Arc::from(to_raw_value(&definition).ok()?) })
    };
    definitions.into_iter().filter_map(tool).collect()
}

/// The list that agents see: the built-in tools, replaced by the page's definitions of the same name, then the page's
/// other tools, then [`CALL_ANY`]. The page cannot replace [`CONNECT`] and [`CALL_ANY`].
pub(crate) fn merge(built_in: &[Tool], page: Option<&[Tool]>) -> Vec<Tool> {
    let Some(page) = page else { return built_in.to_vec() };
    let is_reserved = |name: &str| name == CONNECT || name == CALL_ANY;
    let from_page = |name: &str| page.iter().find(|tool| tool.name == name && !is_reserved(name));
    let mut merged: Vec<Tool> =
        built_in.iter().map(|tool| from_page(&tool.name).unwrap_or(tool).clone()).collect();
    let extra = page.iter().filter(|tool| built_in.iter().all(|listed| listed.name != tool.name));
    let last = merged.len().saturating_sub(1);
    merged.splice(last..last, extra.cloned());
    merged
}

#[cfg(test)]
mod tests {
    use serde_json::value::RawValue;

    use super::*;

    fn page_tool(name: &str) -> Tool {
        let text = format!(r#"{{"name":"{name}","from":"page"}}"#);
        Tool { name: name.into(), definition: Arc::from(RawValue::from_string(text).unwrap()) }
    }

    fn names(tools: &[Tool]) -> Vec<&str> {
        tools.iter().map(|tool| tool.name.as_str()).collect()
    }

    #[test]
    fn a_server_with_several_tabs_lets_calls_name_one() {
        let (before, tools) = (built_in(false), built_in(true));
        let is_changed = |(old, new): (&Tool, &Tool)| old.definition.get() != new.definition.get();
        let changed: Vec<_> = before.iter().zip(&tools).map(is_changed).collect();
        assert_eq!(changed, [false, false, false, false, false, false, false, false, true]);
        assert!(tools[8].definition.get().contains("colab:2"));
    }

    #[test]
    fn without_a_page_the_built_in_tools_are_listed() {
        let ours = built_in(false);
        let merged = merge(&ours, None);
        assert_eq!(
            names(&merged),
            [
                CONNECT,
                "add_code_cell",
                "add_text_cell",
                "delete_cell",
                "get_cells",
                "move_cell",
                "run_code_cell",
                "update_cell",
                CALL_ANY
            ]
        );
    }

    #[test]
    fn the_pages_definitions_replace_the_built_in_ones_and_extra_ones_are_added() {
        let ours = built_in(false);
        let page =
            [page_tool("colab_extra"), page_tool("get_cells"), page_tool(CONNECT), page_tool(CALL_ANY)];
        let merged = merge(&ours, Some(&page));
        assert_eq!(names(&merged)[8..], ["colab_extra", CALL_ANY]);
        let is_page = |index: usize| merged[index].definition.get().contains(r#""from":"page""#);
        let from_page: Vec<usize> = (0..merged.len()).filter(|index| is_page(*index)).collect();
        assert_eq!(from_page, [4, 8]);
    }
}
