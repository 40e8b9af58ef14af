//! The unit and integration tests, through cargo-nextest.

use std::thread::available_parallelism;

use anyhow::Result;

use crate::command;
use crate::project::Project;
use crate::tool::Tool;

const NEXTEST: Tool = Tool { name: "cargo-nextest", version: "0.9.143" };
/// Some tests wait for timeouts.
const TESTS_PER_CORE: usize = 3;

/// Runs every test of the workspace; with nextest's `ci` profile in continuous integration.
pub(crate) fn run(project: &Project) -> Result<()> {
    let mut nextest = NEXTEST.command(project)?;
    nextest.args(["nextest", "run", "--workspace", "--exclude", "bench", "--locked"]);
    let at_once = available_parallelism().map_or(1, usize::from) * TESTS_PER_CORE;
    nextest.args(["--test-threads", &at_once.to_string()]);
    // Starting itself before each test takes a tenth of the time; it only matters to who suspends tests with Ctrl-Z.
    nextest.env("NEXTEST_DOUBLE_SPAWN", "0");
    if is_ci(std::env::var("CI").ok().as_deref()) {
        nextest.args(["--profile", "ci"]);
    }
    command::run(&mut nextest)
}

fn is_ci(variable: Option<&str>) -> bool {
    variable.is_some_and(|value| value.eq_ignore_ascii_case("true") || value == "1")
}

#[cfg(test)]
mod tests {
    use super::is_ci;

    #[test]
    fn only_a_true_ci_variable_counts() {
        assert!(is_ci(Some("true")) && is_ci(Some("TRUE")) && is_ci(Some("1")));
        assert!(!is_ci(None) && !is_ci(Some("")) && !is_ci(Some("false")));
    }
}
