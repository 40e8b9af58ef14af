//! What clients and models read about the server before they use it.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{Icon, Implementation};

use crate::skill;
use calls::permissions::{Group, Permission, Policy};

const ICON: &[u8] = include_bytes!("icon.png");

/// What a model should know before it uses the notebook tools. Codex shows only the first line, and 250 characters of it;
/// Claude Code shows 2 KB.
const USAGE: &str = "\
Use these tools for .ipynb files, not those that edit files: the kernel keeps its variables, outputs and metadata stay, \
and people who have the notebook open see every change.
Give notebook_name to work on another notebook than the current one. Address cells by cell_id: indices move. \
A run that outlasts its timeout continues; get_run finds it and pages through long outputs. \
Edits are refused if the cell has changed since you read it; the refusal shows the new source. \
preview: true shows what an edit or a run would do.";
/// Agents do not find these by themselves.
const HINTED: [&str; 5] = ["edit_cells", "run_cells", "inspect_variable", "undo", "verify_notebook"];

/// The instructions for notebooks; `places` says where they are, in one line.
pub(crate) fn of_notebooks(policy: &Policy, places: &str) -> String {
    let may_edit = policy.offers("", &[Group::Edit], Permission::Write);
    let may_run = policy.offers("", &[Group::Run], Permission::Execute);
    let what = match (may_edit, may_run) {
        (true, true) => {
            "Read, edit and run Jupyter notebooks (.ipynb) in a live kernel: analyse and plot data, write code and text, \
             fix cells that fail"
        }
        (true, false) => "Read and edit Jupyter notebooks (.ipynb): write code and text",
        (false, true) => "Read and run Jupyter notebooks (.ipynb) in a live kernel",
        (false, false) => "Read and search Jupyter notebooks (.ipynb) with their outputs",
    };
    let is_offered = |tool: &&str| tools::find(tool).is_some_and(|tool| tool.is_offered(policy));
    let hints = HINTED.iter().copied().filter(is_offered).filter_map(skill::hint);
    let start = "First call use_notebook with a path; list_notebooks finds notebooks.";
    let mut lines = vec![format!("{what}. {start}"), places.to_owned(), USAGE.to_owned()];
    lines.extend(hints.map(|hint| format!("To {hint}.")));
    lines.join("\n")
}

/// The name, version and icon of the server.
pub(crate) fn server_info() -> Implementation {
    let icon = Icon::new(format!("data:image/png;base64,{}", STANDARD.encode(ICON)))
        .with_mime_type("image/png")
        .with_sizes(vec!["48x48".to_owned()]);
    Implementation::new("cellbridge", env!("CARGO_PKG_VERSION"))
        .with_title("Cellbridge")
        .with_icons(vec![icon])
}

#[cfg(test)]
mod tests {
    use super::*;
    use calls::permissions::Offer;

    #[test]
    fn the_first_line_says_what_can_be_done_and_which_tool_to_call_first() {
        let all = of_notebooks(&Policy::default(), "the folder /home/ada");
        let first = all.lines().next().unwrap();
        assert!(
            first.starts_with("Read, edit and run Jupyter notebooks") && first.contains("use_notebook"),
            "{first}"
        );
        assert!(first.chars().count() <= 250, "{}", first.chars().count());
        assert!(
            all.len() < 2048 - 500,
            "{} bytes leave no room for a relay and the operator's limits",
            all.len()
        );
        assert!(all.contains("the folder /home/ada"));
        for tool in HINTED {
            assert!(all.contains(&format!(": {tool}")), "{tool}: {all}");
        }
    }

    #[test]
    fn only_what_is_offered_is_promised() {
        let first = |policy| of_notebooks(&policy, "x").lines().next().unwrap().to_owned();
        let reading = first(Policy { is_read_only: true, ..Policy::default() });
        assert!(reading.starts_with("Read and search") && !reading.contains("edit"), "{reading}");
        let all = of_notebooks(&Policy { is_read_only: true, ..Policy::default() }, "x");
        assert!(HINTED.iter().all(|tool| !all.contains(tool)), "{all}");
        let tools = vec![Offer::Group(Group::Read), Offer::Group(Group::Edit)];
        let editing = first(Policy { tools, ..Policy::default() });
        assert!(editing.starts_with("Read and edit") && !editing.contains("run"), "{editing}");
    }

    #[test]
    fn the_icon_is_a_small_png() {
        let info = serde_json::to_value(server_info()).unwrap();
        let icon = &info["icons"][0];
        assert_eq!(
            (icon["mimeType"].as_str(), icon["sizes"][0].as_str()),
            (Some("image/png"), Some("48x48"))
        );
        assert!(icon["src"].as_str().unwrap().starts_with("data:image/png;base64,iVBORw0KGgo"));
        assert!(ICON.len() < 1500, "{}", ICON.len());
    }
}
