//! `cellbridge demo`: does an agent's work, on a real notebook with a real kernel.
//!
//! The demo starts this program again as an MCP server on stdio and only calls its tools, as an agent would.

mod agent;
mod answer;
mod cells;
mod file;
mod registration;
mod script;
mod transcript;

use std::path::Path;

use anyhow::Context as _;

use agent::Agent;
use script::Script;
use transcript::Transcript;

const NOTEBOOK: &str = "cellbridge-demo.ipynb";

/// What a terminal shows, if the output goes to one.
#[derive(Debug, Clone, Copy)]
pub struct Looks {
    pub has_colours: bool,
    /// Whether a line can be replaced.
    pub has_progress: bool,
}

/// Plays the agent in a folder, and prints how to register `program` with a real one. Fails if any step fails.
pub async fn run(program: &Path, folder: &Path, looks: Looks) -> anyhow::Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("{} cannot be used", folder.display()))?;
    let path = folder.join(NOTEBOOK);
    file::remove_earlier(&path)?;

    let mut transcript = Transcript::start(script::CHAPTERS.len(), looks);
    transcript.say(&format!("{} works in {}", program.display(), folder.display()))?;
    let (agent, stderr) = Agent::start(program, folder)?;
    if let Err(error) = play(agent, &mut transcript, &path).await {
        transcript.end();
        return Err(stderr.add_to(error));
    }
    transcript.end();
    transcript.say(&registration::lines(program, folder))
}

async fn play(agent: Agent, transcript: &mut Transcript, path: &Path) -> anyhow::Result<()> {
    let mut script = Script::new(agent, transcript);
    let played = script.play().await;
    // The server ends even if the script failed: it has a kernel to stop.
    let ended = script.end().await;
    played.and(ended)?;
    let summary = file::check(path)?;
    transcript.success(&format!("{} is valid and complete: {summary}", path.display()))
}
