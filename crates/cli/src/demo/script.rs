//! The steps of the agent, and the answer that each must get.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::agent::Agent;
use super::transcript::Transcript;
use super::{NOTEBOOK, cells};

/// The number of chapters: one for the connection, and those in the steps.
pub(crate) const CHAPTERS: usize = 7;

/// A new Python environment means a download of some hundred megabytes.
const PREPARATION_TIMEOUT: Duration = Duration::from_secs(1200);
/// The first plot in a new environment builds caches.
const CALL_TIMEOUT: Duration = Duration::from_secs(180);

/// The lines of a reply that are shown.
const MAX_LINES: usize = 16;

enum Step {
    Chapter(&'static str),
    Thought(&'static str),
    /// A call of a tool, which succeeds.
    Call(&'static str, Value, &'static [&'static str]),
    /// One that fails.
    Failure(&'static str, Value, &'static [&'static str]),
}

fn steps() -> Vec<Step> {
    use Step::{Call, Chapter, Failure, Thought};
    let insert = |kind: &str, source: &str| {
        let arguments = json!({ "cell_index": -1, "cell_type": kind, "cell_source": source });
        Call("insert_cell", arguments, &["id "])
    };
    let insert_and_run = |source: &str| json!({ "cell_index": -1, "cell_source": source });
    let (old, new) = (cells::WRONG_LOOP, cells::RIGHT_LOOP);
    let edit = json!({ "cell_index": 5, "old_string": old, "new_string": new });
    let slow = json!({ "cell_index": 7, "timeout": 1, "progress_interval": 0.25 });
    let create = json!({ "notebook_path": NOTEBOOK, "mode": "create", "kernel_name": "cellbridge-python" });
    vec![
        Chapter("It creates a notebook with a kernel"),
        Call("use_notebook", create, &["Created", NOTEBOOK]),
        Chapter("It writes cells and runs them"),
        insert("markdown", cells::TITLE),
        insert("code", cells::WALKS),
        Call("execute_cell", json!({ "cell_index": 1 }), &["500 walks of 1000 steps", "COMPLETED"]),
        Chapter("It sees a plot"),
        insert("markdown", cells::PLOT_TEXT),
        Call("insert_execute_code_cell", insert_and_run(cells::PLOT), &["[an image", "COMPLETED"]),
        Chapter("It gets an error and fixes it"),
        insert("markdown", cells::DISTANCE_TEXT),
        Failure("insert_execute_code_cell", insert_and_run(cells::DISTANCE), &["KeyError", "10000"]),
        Thought("There is no walk of 10 000 steps: the loop should use the keys of the dictionary."),
        Call("edit_cell_source", edit, &["-for steps in (", "+for steps in distance:"]),
        Call("execute_cell", json!({ "cell_index": 5 }), &["after  1000 steps:", "COMPLETED"]),
        Chapter("It follows a long run"),
        insert("markdown", cells::HOME_TEXT),
        insert("code", cells::HOME),
        Call("execute_cell", slow, &["progress notifications", "STILL RUNNING"]),
        Thought("The run continues without me; I will fetch the rest later."),
        Call("get_run", json!({ "wait_seconds": 60 }), &["part 1 of", "part 8 of 8", "COMPLETED"]),
        Chapter("It looks at the result"),
        Call("execute_code", json!({ "code": cells::LOOK }), &["walks", "ndarray", "COMPLETED"]),
        Call("read_notebook", json!({ "response_format": "brief", "limit": 0 }), &[NOTEBOOK, "# How far"]),
    ]
}

pub(crate) async fn play(agent: &mut Agent, transcript: &mut Transcript) -> anyhow::Result<()> {
    connect(agent, transcript).await?;
    for step in steps() {
        let (tool, arguments, expected, fails) = match step {
            Step::Chapter(title) => {
                transcript.chapter(title)?;
                continue;
            }
            Step::Thought(thought) => {
                transcript.thinks(thought)?;
                continue;
            }
            Step::Call(tool, arguments, expected) => (tool, arguments, expected, false),
            Step::Failure(tool, arguments, expected) => (tool, arguments, expected, true),
        };
        let limit = if tool == "use_notebook" { PREPARATION_TIMEOUT } else { CALL_TIMEOUT };
        transcript.calls(tool, &arguments)?;
        let (params, mut progress) = (json!({ "name": tool, "arguments": arguments }), Vec::new());
        let mut on_progress = |message: &str| {
            progress.push(message.to_owned());
            transcript.progress(message)
        };
        let result = agent.request("tools/call", params, limit, &mut on_progress).await?;
        let (text, has_failed) = (text(&result, &progress), result["isError"] == true);
        // The calls show already where each cell is.
        transcript.replies(&text, if tool == "insert_cell" { 1 } else { MAX_LINES })?;
        ensure!(has_failed == fails, "{tool} {}:\n{text}", if fails { "did not fail" } else { "failed" });
        for part in expected {
            ensure!(text.contains(part), "{tool} should have answered {part:?}, but answered:\n{text}");
        }
    }
    Ok(())
}

/// The handshake, and the list of tools.
async fn connect(agent: &mut Agent, transcript: &mut Transcript) -> anyhow::Result<()> {
    transcript.chapter("An agent connects")?;
    let client = json!({ "name": "cellbridge-demo", "version": env!("CARGO_PKG_VERSION") });
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
    let server = agent.request("initialize", params, CALL_TIMEOUT, &mut |_| Ok(())).await?;
    agent.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await?;
    transcript.calls("initialize", &json!({ "protocolVersion": server["protocolVersion"] }))?;
    let of_server = |member: &str| server["serverInfo"][member].as_str().unwrap_or_default();
    transcript.replies(&format!("{} {}", of_server("name"), of_server("version")), MAX_LINES)?;
    let listed = agent.request("tools/list", json!({}), CALL_TIMEOUT, &mut |_| Ok(())).await?;
    let tools = listed["tools"].as_array().context("tools/list answered without tools")?;
    let names: Vec<&str> = tools.iter().filter_map(|tool| tool["name"].as_str()).collect();
    transcript.calls("tools/list", &json!({}))?;
    let rows: Vec<String> = names.chunks(6).map(|row| row.join(", ")).collect();
    transcript.replies(&format!("{} tools:\n{}", names.len(), rows.join(",\n")), MAX_LINES)
}

/// The reply as the agent gets it: the progress, the text, and a line for each image.
fn text(result: &Value, progress: &[String]) -> String {
    let count = progress.len();
    let progress = progress.last().filter(|_| count > 1);
    let progress = progress.map(|last| format!("[{count} progress notifications, the last: {last}]"));
    let is_error = (result["isError"] == true).then(|| "[isError]".to_owned());
    let content = result["content"].as_array().into_iter().flatten().map(|block| match &block["data"] {
        Value::String(data) => {
            let (mime, bytes) = (block["mimeType"].as_str().unwrap_or_default(), data.len() / 4 * 3);
            format!("[an image for the model: {mime}, {bytes} bytes]")
        }
        _ => block["text"].as_str().unwrap_or_default().to_owned(),
    });
    progress.into_iter().chain(is_error).chain(content).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_is_its_progress_its_text_and_its_images() {
        let picture = json!({ "type": "image", "mimeType": "image/png", "data": "iVBORw==" });
        let result = json!({ "content": [{ "type": "text", "text": "one" }, picture], "isError": true });
        let expected = "[2 progress notifications, the last: b]\n[isError]\none\n[an image for the model: image/png, 6 bytes]";
        assert_eq!(text(&result, &["a".to_owned(), "b".to_owned()]), expected);
        assert_eq!(text(&json!({ "content": [] }), &["a".to_owned()]), "");
    }

    #[test]
    fn the_steps_have_the_chapters_that_the_bar_counts() {
        let chapters = steps().iter().filter(|step| matches!(step, Step::Chapter(_))).count();
        assert_eq!(chapters + 1, CHAPTERS);
        assert_eq!(cells::DISTANCE.matches(cells::WRONG_LOOP).count(), 1);
    }
}
