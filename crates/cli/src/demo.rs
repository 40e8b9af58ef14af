//! `cellbridge demo`: an agent's work, done for real.
//!
//! Nothing here reaches into the server: the program is started once more as an MCP server on stdio, and everything
//! goes through its tools, the way it does for an agent.

mod agent;
mod answer;
mod cells;
mod file;
mod registration;
mod story;
mod transcript;

use std::path::Path;

use anyhow::Context as _;

use crate::args;
use agent::Agent;
use story::Story;
use transcript::Transcript;

/// The file that is left behind.
const NOTEBOOK: &str = "cellbridge-demo.ipynb";

/// Plays the agent in a folder, and says how to register the program with a real one. Fails if any step does not go
/// as it should.
pub(crate) async fn run(options: args::Demo) -> anyhow::Result<()> {
    let folder = match options.folder {
        Some(folder) => folder,
        None => std::env::current_dir().context("the current folder is gone; name another one")?,
    };
    let folder = std::path::absolute(folder)?;
    std::fs::create_dir_all(&folder).with_context(|| format!("{} cannot be used", folder.display()))?;
    let path = folder.join(NOTEBOOK);
    file::make_room(&path)?;

    let program = std::env::current_exe().context("cannot tell where this program is")?;
    let mut transcript = Transcript::begin(story::CHAPTERS.len());
    transcript.say(&format!("{} works in {}", program.display(), folder.display()))?;
    let agent = Agent::start(&program, &folder)?;
    let complaints = agent.complaints();
    if let Err(error) = play(agent, &mut transcript, &path).await {
        transcript.end();
        return Err(complaints.added_to(error));
    }
    transcript.end();
    transcript.say(&registration::lines(&program, &folder))
}

async fn play(agent: Agent, transcript: &mut Transcript, path: &Path) -> anyhow::Result<()> {
    let mut story = Story::new(agent, transcript);
    let told = story.tell().await;
    // The server is asked to end even when the story broke off: it has a kernel to stop.
    let ended = story.end().await;
    told.and(ended)?;
    let left = file::check(path)?;
    transcript.success(&format!("{} is valid and complete: {left}", path.display()))
}
