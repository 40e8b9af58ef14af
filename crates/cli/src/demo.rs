//! `cellbridge demo`: does an agent's work, on a real notebook with a real kernel.
//!
//! The demo starts this program again as an MCP server on stdio and only calls its tools, as an agent would.

mod agent;
mod cells;
mod file;
mod script;
mod transcript;

use anyhow::Context as _;

use agent::Agent;
use transcript::Transcript;

use crate::args;

const NOTEBOOK: &str = "cellbridge-demo.ipynb";

/// Plays the agent in a folder, and prints how to register this program with a real one. Fails if any step fails.
pub(crate) async fn run(options: args::Demo) -> anyhow::Result<()> {
    let folder = match options.folder {
        Some(folder) => folder,
        None => std::env::current_dir().context("the current folder is gone; name another one")?,
    };
    let folder = std::path::absolute(folder)?;
    let program = std::env::current_exe().context("cannot find out where this program is")?;
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be used", folder.display()))?;
    let path = folder.join(NOTEBOOK);
    file::remove_earlier(&path)?;

    let mut transcript = Transcript::start(script::CHAPTERS);
    transcript.say(&format!("{} works in {}", program.display(), folder.display()))?;
    let mut agent = Agent::start(&program, &folder)?;
    let played = script::play(&mut agent, &mut transcript).await;
    // The server ends even if the script failed: it has a kernel to stop.
    let ended = agent.end().await;
    transcript.end();
    played.and(ended)?;
    let (path, summary) = (path.display(), file::check(&path)?);
    transcript.success(&format!("{path} is valid and complete: {summary}"))?;
    let program = program.display();
    transcript.say(&format!("\nGive your agent the same tools:\n\n  \"{program}\" install"))
}
