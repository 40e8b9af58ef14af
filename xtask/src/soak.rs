//! Tests of many agents that go on for a time.

use anyhow::Result;
use clap::ValueEnum;

use crate::command;
use crate::project::Project;

#[derive(Clone, Copy, ValueEnum)]
pub(crate) enum Subject {
    /// 32 agents over HTTP on three Colab tabs, one of which is closed again and again
    Tabs,
}

/// Runs the tests of `subject`, whose agents follow each other for `seconds`. Without nextest, which ends a test after two
/// minutes.
pub(crate) fn run(subject: Subject, seconds: u32) -> Result<()> {
    let project = Project::find()?;
    let test = match subject {
        Subject::Tabs => "many_agents_on_three_tabs",
    };
    let options =
        ["test", "--locked", "--package", "cli", "--test", "integration", "--", "--nocapture", test];
    command::run(project.cargo().args(options).env("CELLBRIDGE_SOAK_SECONDS", seconds.to_string()))
}
