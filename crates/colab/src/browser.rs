//! Opens a web page in the person's browser.

use std::process::Stdio;

use tokio::process::{Child, Command};

/// How to open a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Browser {
    /// Not at all: the person opens the address by hand.
    Never,
    /// With a command of the person's, in the form of `$BROWSER`: alternatives separated as in `$PATH`, each a
    /// command in which `%s` stands for the address, or to which it is appended.
    Command(String),
    /// With whatever the system uses for web pages.
    System,
}

/// A browser command that was started. The browser belongs to the person: it is never stopped.
pub(crate) struct Launch(Option<Child>);

impl Launch {
    /// Says so if the command has ended with a failure by now.
    pub(crate) fn failure(&mut self) -> Option<String> {
        let status = self.0.as_mut()?.try_wait().ok()??;
        (!status.success()).then(|| format!("The command that opens the browser failed ({status})."))
    }
}

impl Browser {
    /// Starts opening `address` and does not wait for it. The error is a sentence for people.
    pub(crate) fn open(&self, address: &str) -> Result<Launch, String> {
        let commands = match self {
            Self::Never => return Ok(Launch(None)),
            Self::Command(command) => own_commands(command, address),
            Self::System => open::commands(address).into_iter().map(Command::from).collect(),
        };
        let mut problem = match self {
            Self::Command(command) => format!("$BROWSER is no command that can be started: {command:?}."),
            _ => "No command is known that opens a browser here.".to_owned(),
        };
        for mut command in commands {
            // The browser must neither write into the protocol on stdout nor die of a Ctrl-C meant for us.
            // Nor does it need to know the secret that agents show.
            command.env_remove("CELLBRIDGE_TOKEN");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            #[cfg(unix)]
            command.process_group(0);
            match command.spawn() {
                Ok(child) => return Ok(Launch(Some(child))),
                Err(error) => {
                    let program = command.as_std().get_program().to_string_lossy().into_owned();
                    problem = format!("The browser could not be opened with {program:?}: {error}.");
                }
            }
        }
        Err(problem)
    }
}

fn own_commands(alternatives: &str, address: &str) -> Vec<Command> {
    let separator = if cfg!(windows) { ';' } else { ':' };
    let words = |alternative: &str| {
        // A trailing & asks for the background, where every command runs anyway.
        shlex::split(alternative.trim().trim_end_matches('&')).filter(|words| !words.is_empty())
    };
    let command = |words: Vec<String>| {
        let has_place = words.iter().any(|word| word.contains("%s"));
        let mut command = Command::new(&words[0]);
        command.args(words[1..].iter().map(|word| word.replace("%s", address)));
        if !has_place {
            command.arg(address);
        }
        command
    };
    alternatives.split(separator).filter_map(words).map(command).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(alternatives: &str) -> Vec<String> {
        let line = |command: &Command| {
            let command = command.as_std();
            let words = std::iter::once(command.get_program()).chain(command.get_args());
            words.map(|word| word.to_string_lossy().into_owned()).collect::<Vec<_>>().join("|")
        };
        own_commands(alternatives, "https://x/#a=1&b=2").iter().map(line).collect()
    }

    #[test]
    #[cfg(not(windows))]
    fn the_persons_command_is_understood_as_elsewhere() {
        assert_eq!(lines("firefox"), ["firefox|https://x/#a=1&b=2"]);
        assert_eq!(
            lines("'my browser' --new-tab %s &:w3m"),
            ["my browser|--new-tab|https://x/#a=1&b=2", "w3m|https://x/#a=1&b=2"]
        );
        assert!(lines("").is_empty());
        assert!(lines(" : ").is_empty());
    }

    #[tokio::test]
    async fn a_command_that_does_not_exist_is_named() {
        let browser = Browser::Command("no-such-browser-anywhere".into());
        let Err(problem) = browser.open("https://x/") else { panic!("it opened") };
        assert!(problem.contains("no-such-browser-anywhere"), "{problem}");
    }
}
