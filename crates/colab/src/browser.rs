//! Opens a URL in the person's browser.

use std::path::PathBuf;
use std::process::Stdio;

use tokio::process::{Child, Command};

/// How to open a URL.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Browser {
    /// Not at all: the person opens the URL by hand.
    Never,
    /// With a command in the form of `$BROWSER`: alternatives separated as in `$PATH`, each a command in which `%s`
    /// stands for the URL. Without `%s`, the URL is appended.
    Command(String),
    /// With the default browser of the system.
    System,
}

/// A command that opens a browser. It is never stopped: the browser belongs to the person.
pub(crate) struct BrowserCommand(Option<Child>);

impl BrowserCommand {
    /// A sentence about the failure, if the command has failed by now.
    pub(crate) fn failure(&mut self) -> Option<String> {
        let status = self.0.as_mut()?.try_wait().ok()??;
        (!status.success()).then(|| format!("The command that opens the browser failed ({status})."))
    }
}

impl Browser {
    /// The program that would be started to open a page: the first that `find` knows. The error is a sentence.
    pub fn program(&self, find: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, String> {
        let commands = match self {
            Self::Never => return Err("Browsers are not opened.".to_owned()),
            Self::Command(command) => user_commands(command, ""),
            Self::System => open::commands("https://localhost/").into_iter().map(Command::from).collect(),
        };
        let programs =
            commands.iter().map(|command| command.as_std().get_program().to_string_lossy().into_owned());
        let programs: Vec<String> = programs.collect();
        programs.iter().find_map(|name| find(name)).ok_or_else(|| match self {
            Self::Command(command) => format!("$BROWSER names no program that exists: {command:?}."),
            _ => format!("No program to open a browser was found ({}).", programs.join(", ")),
        })
    }

    /// Starts a command that opens `url`, and does not wait for it. The error is a sentence.
    pub(crate) fn open(&self, url: &str) -> Result<BrowserCommand, String> {
        let commands = match self {
            Self::Never => return Ok(BrowserCommand(None)),
            Self::Command(command) => user_commands(command, url),
            Self::System => open::commands(url).into_iter().map(Command::from).collect(),
        };
        let mut problem = match self {
            Self::Command(command) => format!("$BROWSER is not a command that can be started: {command:?}."),
            _ => "No command to open a browser was found on this system.".to_owned(),
        };
        for mut command in commands {
            // The browser must not write to stdout, which carries the protocol, nor end at a Ctrl-C for this program.
            // It does not need the token of the agents either.
            command.env_remove("CELLBRIDGE_TOKEN");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            #[cfg(unix)]
            command.process_group(0);
            match command.spawn() {
                Ok(child) => return Ok(BrowserCommand(Some(child))),
                Err(error) => {
                    let program = command.as_std().get_program().to_string_lossy().into_owned();
                    problem = format!("The browser could not be opened with {program:?}: {error}.");
                }
            }
        }
        Err(problem)
    }
}

fn user_commands(alternatives: &str, url: &str) -> Vec<Command> {
    let separator = if cfg!(windows) { ';' } else { ':' };
    let words = |alternative: &str| {
        // A trailing & asks for the background; every command runs there anyway.
        shlex::split(alternative.trim().trim_end_matches('&')).filter(|words| !words.is_empty())
    };
    let command = |words: Vec<String>| {
        let has_placeholder = words.iter().any(|word| word.contains("%s"));
        let mut command = Command::new(&words[0]);
        command.args(words[1..].iter().map(|word| word.replace("%s", url)));
        if !has_placeholder {
            command.arg(url);
        }
        command
    };
    alternatives.split(separator).filter_map(words).map(command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(windows))]
    fn lines(alternatives: &str) -> Vec<String> {
        let line = |command: &Command| {
            let command = command.as_std();
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|")
        };
        user_commands(alternatives, "https://x/#a=1&b=2").iter().map(line).collect()
    }

    #[test]
    #[cfg(not(windows))]
    fn browser_variables_are_parsed_as_by_other_programs() {
        assert_eq!(lines("firefox"), ["firefox|https://x/#a=1&b=2"]);
        assert_eq!(
            lines("'my browser' --new-tab %s &:w3m"),
            ["my browser|--new-tab|https://x/#a=1&b=2", "w3m|https://x/#a=1&b=2"]
        );
        assert!(lines("").is_empty());
        assert!(lines(" : ").is_empty());
    }

    #[test]
    #[cfg(not(windows))]
    fn the_program_is_the_first_that_exists() {
        let find =
            |name: &str| (name == "w3m" || name == "xdg-open").then(|| PathBuf::from("/bin").join(name));
        let program = |command: &str| Browser::Command(command.into()).program(find);
        assert_eq!(program("none %s:w3m -T %s"), Ok("/bin/w3m".into()));
        assert!(program("none %s").unwrap_err().contains("none"));
        assert!(Browser::System.program(|_| None).is_err());
        #[cfg(target_os = "linux")]
        assert_eq!(Browser::System.program(find), Ok("/bin/xdg-open".into()));
    }

    #[tokio::test]
    async fn a_missing_command_is_named() {
        let browser = Browser::Command("no-such-browser-anywhere".into());
        let Err(problem) = browser.open("https://x/") else { panic!("a browser was opened") };
        assert!(problem.contains("no-such-browser-anywhere"), "{problem}");
    }
}
