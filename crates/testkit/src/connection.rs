//! How a person or a test learns the tab's token and port.

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

use crate::Agent;

/// What a tab needs to connect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Connection {
    /// The tab's port.
    pub port: u16,
    /// The tab's token.
    pub token: String,
    /// The token in the line that a person can paste.
    pub pasted_token: String,
    /// The whole URL to open in a browser.
    pub url: String,
}

impl Connection {
    /// Asks the program, which must have been started with `--no-browser` and have no page.
    pub async fn ask(agent: &mut Agent) -> Result<Self> {
        let result = agent.call_tool("open_colab_browser_connection", r#"{"timeout_seconds":0}"#).await?;
        Self::read(&result)
    }

    /// Reads the answer `false` of `open_colab_browser_connection`.
    pub fn read(result: &Value) -> Result<Self> {
        ensure!(result["content"][0]["text"] == "false", "not the answer `false`: {result}");
        Self::in_text(result["content"][1]["text"].as_str().context("no second text block")?)
    }

    /// Reads the address that a person is to open.
    pub fn in_text(help: &str) -> Result<Self> {
        let is_part_of_url = |c: char| !c.is_whitespace() && !"\"'`<>()".contains(c);
        let start = help.find("https://").with_context(|| format!("no URL in {help:?}"))?;
        let length = help[start..].find(|c| !is_part_of_url(c)).unwrap_or(help.len() - start);
        let url = help[start..start + length].to_owned();
        let (_, fragment) = url.split_once("#mcpProxyToken=").context("no token in the URL")?;
        let (token, port) = fragment.split_once("&mcpProxyPort=").context("no port in the URL")?;
        let (port, token) = (port.parse()?, token.to_owned());
        let of_line = |line: &str| Some(line.trim().strip_suffix(&format!("&{port}"))?.to_owned());
        let pasted_token = help.lines().filter_map(of_line).find(|pasted| pasted.starts_with(&token));
        let pasted_token = pasted_token.with_context(|| format!("no line to paste: {help}"))?;
        Ok(Self { port, token, pasted_token, url })
    }
}
