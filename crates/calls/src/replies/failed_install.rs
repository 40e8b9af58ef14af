//! A cell whose `%pip` or `!pip` failed, although its run ended well: `IPython` reports no error for them.

use notebook::Output;
use place::RunState;
use render::full_text;
use runs::{Run, RunView};

/// What installers print when they have not installed, at the beginning of a line.
const FAILURES: [&str; 11] = [
    "ERROR: ",
    "error: ",
    "  × ",
    "× ",
    "error    libmamba",
    "critical libmamba",
    "CondaError: ",
    "CondaHTTPError: ",
    "PackagesNotFound",
    "LibMambaUnsatisfiableError: ",
    "UnsatisfiableError: ",
];
/// The same at the end of a line, from a shell or Python without them.
const MISSING: [&str; 4] =
    ["No module named pip", "No module named uv", ": not found", ": command not found"];
const INSTALLERS: [&str; 5] = ["pip", "uv", "conda", "mamba", "pixi"];
const LINE: &str = "Nothing was installed, although the code ended without an error: see the installer's output \
 above. add_packages, if offered, installs with the installer of the kernel's environment.";

/// The line about an installation that failed without an error.
pub(super) fn line(run: &Run, view: &RunView) -> Option<&'static str> {
    if view.state != RunState::Done || !installs(run.source()) {
        return None;
    }
    view.outputs.iter().any(says_failure).then_some(LINE)
}

/// Whether a line of the source names an installer and what it does.
fn installs(source: &str) -> bool {
    source.lines().any(|line| {
        let mut words = line.split_whitespace();
        words.any(is_installer) && words.any(|word| matches!(word, "install" | "add"))
    })
}

/// Also `pip3.11`, and programs by their path.
fn is_installer(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    INSTALLERS.iter().any(|name| word.ends_with(name))
}

/// Installers write in colours where `IPython` says that they may.
fn says_failure(output: &Output) -> bool {
    matches!(output, Output::Stream { .. }) && has_failed(&full_text(output))
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
            ("!pixi add six", true),
            ("%conda install six", true),
            ("%%bash\npip install six", true),
            ("%%sh\n/usr/bin/python3 -m pip install six", true),
            ("%%bash\npip list", false),
            ("!pip list", false),
            ("pip install six", true),
            ("pipeline install six", false),
        ] {
            assert_eq!(installs(source), expected, "{source}");
        }
    }

    #[test]
    fn a_failure_in_colour_is_found() {
        let printed = |name: &str| Output::Stream {
            name: name.to_owned(),
            text: "\x1b[31mERROR: No matching distribution found for nosuch\x1b[0m\x1b[31m\n\x1b[0m".into(),
        };
        assert!(says_failure(&printed("stdout")) && says_failure(&printed("stderr")));
    }

    #[test]
    fn the_words_of_a_failure_are_found() {
        for (text, expected) in [
            ("/e/bin/python: No module named pip\nNote: you may need to restart the kernel\n", true),
            ("ERROR: No matching distribution found for nosuch\n", true),
            ("error: Failed to fetch\n", true),
            ("  × No solution found when resolving dependencies:\n", true),
            ("/bin/bash: line 1: uv: command not found\n", true),
            ("/bin/sh: 1: pip3: not found\n", true),
            ("\nPackagesNotFoundInChannelsError: The following packages are not available\n", true),
            ("error    libmamba Could not solve for environment specs\n", true),
            ("Requirement already satisfied: six\n", false),
            ("Successfully installed error-1.0\n", false),
            ("WARNING: ERROR: x\n", false),
        ] {
            assert_eq!(has_failed(text), expected, "{text}");
        }
    }
}
