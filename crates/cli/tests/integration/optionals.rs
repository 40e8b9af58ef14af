//! Optional arguments that clients fill in with empty values mean what leaving them out means.

use anyhow::{Context as _, Result};
use serde_json::{Map, Value, json};

use crate::allowed::{CALLS, Client, text};

/// What one client or another sends for an argument of this type that it leaves out.
const FILLINGS: [fn(&Value) -> Value; 3] = [
    |_| Value::Null,
    |schema| match schema["type"].as_str() {
        Some("string") => json!(""),
        Some("array") => json!([]),
        Some("object") => json!({}),
        _ => Value::Null,
    },
    |schema| match schema["type"].as_str() {
        Some("string") => json!("null"),
        Some("array") => json!("None"),
        Some("object") => json!("undefined"),
        _ => json!(""),
    },
];

/// These are texts to search for, which may be any word.
const TEXTS: [&str; 4] = ["query", "pattern", "path", "name"];

/// The reply to a call in a new folder without what differs from run to run, and the notebook's cells afterwards.
async fn outcome(tool: &str, arguments: &Value) -> Result<(String, String)> {
    let mut client = Client::start(&[]).await?;
    let result = client.agent.call_tool(tool, &arguments.to_string()).await?;
    let root = client.folder.path().display().to_string();
    let masked = |text: &str| {
        // The id of a run ends in letters of its own: `r1-kqzmt`.
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '-');
        let words = words.map(|word| if word.contains(|c: char| c.is_ascii_digit()) { "#" } else { word });
        words.collect::<Vec<_>>().join(" ")
    };
    let reply = text(&result)?.replace(&root, "ROOT");
    // Changes cannot be recorded here; whether the reply already says so depends on who is faster.
    let lines: Vec<_> = reply.lines().filter(|line| !line.starts_with("Note: changes are applied")).collect();
    let reply = format!("{} {}", result["isError"], lines.join("\n").trim());
    let file = std::fs::read_to_string(client.folder.path().join("a.ipynb"))?;
    Ok((masked(&reply), masked(&file)))
}

#[tokio::test]
async fn empty_values_are_as_good_as_none() -> Result<()> {
    let mut client = Client::start(&[]).await?;
    let list = client.agent.request("tools/list", "{}").await?;
    let tools = list["tools"].as_array().context("no tools")?;
    for (tool, arguments) in CALLS {
        // A new kernel's id, and a port that answers nothing, are of no interest here.
        let Some(definition) = tools.iter().find(|listed| listed["name"] == tool) else { continue };
        let arguments: Map<String, Value> = serde_json::from_str(arguments)?;
        let expected = outcome(tool, &arguments.clone().into()).await?;
        let properties = definition["inputSchema"]["properties"].as_object().context("no properties")?;
        for (number, filling) in FILLINGS.iter().enumerate() {
            let is_left_out = |name: &&String| {
                !arguments.contains_key(*name) && (number < 2 || !TEXTS.contains(&name.as_str()))
            };
            let filled = properties.iter().filter(|(name, _)| is_left_out(name));
            let filled = filled.map(|(name, schema)| (name.clone(), filling(schema)));
            let all: Map<String, Value> = arguments.clone().into_iter().chain(filled).collect();
            assert_eq!(outcome(tool, &all.clone().into()).await?, expected, "{tool} {}", Value::from(all));
        }
    }
    Ok(())
}
