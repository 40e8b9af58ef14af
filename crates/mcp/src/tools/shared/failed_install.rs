//! A cell whose `%pip` or `!pip` failed, although its run ended well: `IPython` reports no error for them.

use notebook::Output;
use workspace::{Run, RunState, RunView};

/// What installers print when they have not installed, at the beginning of a line.
const FAILURES: [&str; 4] = ["ERROR: ", "error: ", "  × ", "× "];
/// The same at the end of a line, from a Python without them.
const MISSING: [&str; 4] =
    ["No module named pip", "No module named uv", "pip: command not found", "uv: command not found"];
const LINE: &str = "Nothing was installed, although the code ended without an error: see what the installer says above. add_packages \
                    installs with what the kernel's environment has, where that tool is offered.";

/// The line about an installation that failed without an error.
pub(super) fn line(run: &Run, view: &RunView) -> Option<&'static str> {
    if view.state != RunState::Done || !installs(run.source()) {
        return None;
    }
    let texts = view.outputs.iter().filter_map(|output| match output {
        Output::Stream { text, .. } => Some(text.as_str()),
        _ => None,
    });
    texts.into_iter().any(|text| has_failed(&text)).then_some(LINE)
}

/// Whether a line of the source installs by a magic or a shell command.
fn installs(source: &str) -> bool {
    source.lines().any(|line| {
        let command = line.trim_start();
        let Some(command) = command.strip_prefix(['%', '!']) else { return false };
        let command = command.trim_start_matches('!').trim_start_matches('%');
        ["pip", "uv", "conda", "mamba"].iter().any(|tool| {
            command
                .split_whitespace()
                .any(|word| word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.').ends_with(tool))
        }) && command.split_whitespace().any(|word| matches!(word, "install" | "add"))
    })
}

fn has_failed(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.trim_end();
        FAILURES.iter().any(|start| line.starts_with(start)) || MISSING.iter().any(|end| line.ends_with(end))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magics_and_shell_commands_that_install_are_found() {
        for (source, expected) in [
            ("%pip install six", true),
            ("import sys\n!{sys.executable} -m pip install six", true),
            ("  !pip3 install six", true),
            ("!uv pip install -p python six", true),
            ("!uv add six", true),
            ("%conda install six", true),
            ("%%bash\npip install six", false),
            ("!pip list", false),
            ("print('!pip install')", false),
            ("pip install six", false),
        ] {
            assert_eq!(installs(source), expected, "{source}");
        }
    }

    #[test]
    fn the_words_of_a_failure_are_found() {
        for (text, expected) in [
            ("/e/bin/python: No module named pip\nNote: you may need to restart the kernel\n", true),
            ("ERROR: No matching distribution found for nosuch\n", true),
            ("error: Failed to fetch\n", true),
            ("  × No solution found when resolving dependencies:\n", true),
            ("/bin/bash: line 1: uv: command not found\n", true),
            ("Requirement already satisfied: six\n", false),
            ("Successfully installed error-1.0\n", false),
            ("WARNING: ERROR: x\n", false),
        ] {
            assert_eq!(has_failed(text), expected, "{text}");
        }
    }
}
