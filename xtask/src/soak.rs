//! Tests that go on for a time, instead of once.

use anyhow::{Result, ensure};
use clap::ValueEnum;

use crate::project::Project;
use crate::{command, e2e};

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Subject {
    /// Servers, keepers and kernels of a folder, which are killed at random moments
    Kernels,
    /// 32 agents over HTTP and 8 on stdio in a folder and on a Jupyter server; agents and servers are killed at random moments
    Agents,
    /// 32 agents over HTTP on three Colab tabs, one of which is closed again and again
    Tabs,
    /// Two agents and a person who change a notebook in turns and undo what was done, in a folder and on two kinds of servers
    Undo,
}

/// Runs the tests of `subject` for `seconds`. `seed` repeats what was random.
pub(crate) fn run(subject: Subject, seconds: u32, seed: Option<u32>) -> Result<()> {
    ensure!(seed.is_none() || subject != Subject::Tabs, "`soak tabs` has no seed");
    let mut variables = vec![("CELLBRIDGE_SOAK_SECONDS", seconds.to_string())];
    variables.extend(seed.map(|seed| ("CELLBRIDGE_SOAK_SEED", seed.to_string())));
    match subject {
        Subject::Kernels => in_python("e2e/local/test_kept_soak.py", &variables),
        Subject::Agents => in_python("e2e/tools/test_agents_soak.py", &variables),
        Subject::Undo => in_python("e2e/tools/test_undo_soak.py", &variables),
        // Without nextest, which ends a test after two minutes.
        Subject::Tabs => {
            let project = Project::find()?;
            let test = "many_agents_on_three_tabs";
            let options =
                ["test", "--locked", "--package", "cli", "--test", "integration", "--", "--nocapture", test];
            command::run(project.cargo().args(options).envs(variables))
        }
    }
}

fn in_python(test: &str, variables: &[(&str, String)]) -> Result<()> {
    e2e::run(&["-s", "-p", "no:xdist", test].map(str::to_owned), variables)
}
