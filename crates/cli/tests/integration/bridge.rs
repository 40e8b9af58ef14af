//! What most tests start with: the program, its agent, and what a tab needs to connect.

use anyhow::Result;
use testkit::{Agent, Connection, Endpoint, Program, Tab};

/// The program under test.
pub(crate) const PROGRAM: &str = env!("CARGO_BIN_EXE_cellbridge");

/// The notification after which an agent lists the tools again.
pub(crate) const LIST_CHANGED: &str = "notifications/tools/list_changed";
/// With these variables the program finds no Python, also not one that it has installed for the person who runs the tests, and
/// installs none.
pub(crate) const WITHOUT_PYTHON: [(&str, &str); 3] =
    [("PATH", "/no/such/folder"), ("HOME", "/no/such/home"), ("XDG_DATA_HOME", "/no/such/home/data")];

/// A program on stdio whose agent is initialised and knows the tab's port and token.
pub(crate) struct Bridge {
    pub(crate) agent: Agent,
    pub(crate) connection: Connection,
}

impl Bridge {
    pub(crate) async fn start() -> Result<Self> {
        Self::start_with(&[]).await
    }

    pub(crate) async fn start_with(arguments: &[&str]) -> Result<Self> {
        let mut agent = Agent::start(PROGRAM, &[&["colab", "--no-browser"], arguments].concat())?;
        agent.initialize("2025-11-25").await?;
        let connection = Connection::ask(&mut agent).await?;
        Ok(Self { agent, connection })
    }

    /// A connected page with the seven tools and `echo`; the agent has been notified.
    pub(crate) async fn tab(&mut self) -> Result<Tab> {
        let mut tab = Tab::connect(&self.connection).await?;
        tab.open().await?;
        self.agent.wait_notification(LIST_CHANGED).await?;
        Ok(tab)
    }

    /// Fails unless a call reaches the page and its answer comes back.
    pub(crate) async fn assert_works(&mut self, tab: &mut Tab) -> Result<()> {
        let call = self.agent.start_call("get_cells", "{}").await?;
        let asked = tab.expect_call("get_cells").await?;
        tab.reply(&asked, r#"{"content":[],"proof":1.0}"#).await?;
        assert_eq!(self.agent.wait_response(call).await?.result()?, r#"{"content":[],"proof":1.0}"#);
        Ok(())
    }
}

/// A program that serves Streamable HTTP on a free port.
pub(crate) struct Served {
    pub(crate) program: Program,
    /// The endpoint as the program printed it.
    pub(crate) url: String,
}

impl Served {
    pub(crate) async fn start(arguments: &[&str]) -> Result<Self> {
        Self::start_with(&[&["colab", "--no-browser"], arguments].concat()).await
    }

    /// Starts the program with nothing but these arguments and those of the transport.
    pub(crate) async fn start_with(arguments: &[&str]) -> Result<Self> {
        let transport = ["--transport", "streamable-http", "--port", "0"];
        let mut program = Program::start(PROGRAM, &[arguments, &transport].concat(), &WITHOUT_PYTHON)?;
        let line = program.wait_stderr("MCP endpoint").await?;
        let url = line.strip_prefix("cellbridge: MCP endpoint ").map(str::to_owned);
        Ok(Self { program, url: url.ok_or_else(|| anyhow::anyhow!("no endpoint in {line:?}"))? })
    }

    /// A client that shows the token in the URL if one was printed.
    pub(crate) fn endpoint(&self) -> Endpoint {
        Endpoint::new(&self.url)
    }

    /// The endpoint without a token.
    pub(crate) fn bare_url(&self) -> &str {
        self.url.split('?').next().unwrap_or_default()
    }

    /// Another path on the same port.
    pub(crate) fn sibling(&self, path: &str) -> String {
        self.bare_url().replace("/mcp", path)
    }
}
