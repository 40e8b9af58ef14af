//! Opens a URL in the person's browser.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::redirect::RedirectPage;
use crate::sandbox::Sandbox;

/// Time to watch a command that opens a browser: without a browser it fails sooner.
const FAILURE_TIMEOUT: Duration = Duration::from_secs(2);

/// The way to open a URL.
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

/// The programs and folders on which opening a browser depends.
#[derive(Debug, Clone, Default)]
pub struct Desktop {
    /// The folders in which programs are looked for. None of them belongs to the folder that agents work in.
    pub programs: Vec<PathBuf>,
    /// The user's folder.
    pub home: Option<PathBuf>,
    /// The folder for temporary files.
    pub temporary: PathBuf,
}

impl Desktop {
    /// The file of a program. A relative path has none: it would depend on the folder that we are in.
    fn find(&self, program: &OsStr) -> Option<PathBuf> {
        let path = Path::new(program);
        if path.components().count() > 1 {
            return Some(path.to_owned()).filter(|path| path.is_absolute() && path.is_file());
        }
        self.programs.iter().map(|folder| folder.join(path)).find(|file| file.is_file())
    }

    /// The command with the file of its program, and with no other folders for what it starts in turn.
    pub(crate) fn located(&self, command: &std::process::Command) -> Option<Command> {
        let mut located = Command::new(self.find(command.get_program())?);
        located.args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => located.env(name, value),
                None => located.env_remove(name),
            };
        }
        if let Ok(programs) = std::env::join_paths(&self.programs) {
            located.env("PATH", programs);
        }
        Some(located)
    }
}

/// A command that opens a browser. It is never stopped: the browser belongs to the person. What the browser reads exists until this is
/// dropped, or taken.
pub struct BrowserCommand {
    child: Child,
    /// The page that the browser reads.
    redirect: Option<RedirectPage>,
    /// The reason why it may not be able to.
    sandbox: Option<Sandbox>,
}

impl BrowserCommand {
    /// The page that the browser reads, which is to exist until it has been read.
    pub(crate) fn take_redirect(&mut self) -> Option<RedirectPage> {
        self.redirect.take()
    }

    /// A sentence about the failure, if the command fails within a short time.
    pub async fn failure(&mut self) -> Option<String> {
        match timeout(FAILURE_TIMEOUT, self.child.wait()).await {
            Ok(Ok(status)) if !status.success() => Some(failed(status)),
            _ => None,
        }
    }

    /// A sentence about the failure, if the command has failed by now, or about what may be a reason why no page connects.
    pub(crate) fn problem(&mut self) -> Option<String> {
        match self.child.try_wait() {
            Ok(Some(status)) if !status.success() => Some(failed(status)),
            _ => self.sandbox.as_ref().map(Sandbox::describe),
        }
    }
}

fn failed(status: ExitStatus) -> String {
    format!("The command that opens the browser failed ({status}).")
}

impl Browser {
    /// The program that would be started to open a page: the first that `find` knows. The error is a sentence.
    pub fn program(&self, find: impl Fn(&str) -> Option<PathBuf>) -> Result<PathBuf, String> {
        if *self == Self::Never {
            return Err("Browsers are not opened.".to_owned());
        }
        let commands = self.commands("https://localhost/");
        let programs = commands.iter().map(|command| command.get_program().to_string_lossy().into_owned());
        let programs: Vec<String> = programs.collect();
        programs.iter().find_map(|name| find(name)).ok_or_else(|| match self {
            Self::Command(command) => format!("The program in $BROWSER does not exist: {command:?}."),
            _ => format!("No program to open a browser was found ({}).", programs.join(", ")),
        })
    }

    /// The commands of which the first that can be started opens `url`.
    fn commands(&self, url: &str) -> Vec<std::process::Command> {
        match self {
            Self::Never => Vec::new(),
            Self::Command(alternatives) => user_commands(alternatives, url),
            Self::System => open::commands(url),
        }
    }

    /// Starts a command that opens `url`, and does not wait for it. The error is a sentence.
    pub async fn open(&self, url: &str, desktop: &Desktop) -> Result<Option<BrowserCommand>, String> {
        if *self == Self::Never {
            return Ok(None);
        }
        let sandbox = self.sandbox(desktop).await;
        // On Windows, only the user's own programs see the arguments of a process.
        let redirect = if cfg!(windows) { None } else { Some(redirect(url, sandbox.as_ref(), desktop)?) };
        let (target, redirect) = match redirect {
            Some((page, target)) => (Cow::Owned(target), Some(page)),
            None => (Cow::Borrowed(url), None),
        };
        let child = self.start(&target, desktop)?;
        Ok(Some(BrowserCommand { child, redirect, sandbox }))
    }

    /// The restriction that keeps the browser from reading files, if that can be seen from its command or from the desktop.
    async fn sandbox(&self, desktop: &Desktop) -> Option<Sandbox> {
        match self {
            Self::Command(_) => {
                let words = |word: &OsStr| word.to_string_lossy().into_owned();
                let command = self.commands("").into_iter().find_map(|command| {
                    let program = desktop.find(command.get_program())?;
                    Some((program, command.get_args().map(words).collect::<Vec<_>>()))
                });
                command.and_then(|(program, arguments)| Sandbox::of_command(&program, &arguments))
            }
            Self::System if cfg!(target_os = "linux") => Sandbox::of_desktop(desktop).await,
            Self::Never | Self::System => None,
        }
    }

    fn start(&self, target: &str, desktop: &Desktop) -> Result<Child, String> {
        let mut problem = match self {
            Self::Command(command) => format!("$BROWSER is not a command that can be started: {command:?}."),
            _ => "No command to open a browser was found on this system.".to_owned(),
        };
        for mut command in self.commands(target).iter().filter_map(|command| desktop.located(command)) {
            // The browser must not write to stdout, which carries the protocol, nor end at a Ctrl-C for this program.
            // It does not need the token of the agents either.
            command.env_remove("CELLBRIDGE_TOKEN");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            #[cfg(unix)]
            command.process_group(0);
            match command.spawn() {
                Ok(child) => return Ok(child),
                Err(error) => {
                    let program = command.as_std().get_program().to_string_lossy().into_owned();
                    problem = format!("The browser could not be opened with {program:?}: {error}.");
                }
            }
        }
        Err(problem)
    }
}

/// The page that leads to `url`, where the browser can read it, and its address.
fn redirect(
    url: &str,
    sandbox: Option<&Sandbox>,
    desktop: &Desktop,
) -> Result<(RedirectPage, String), String> {
    let readable = sandbox.and_then(|sandbox| sandbox.readable_folder(desktop.home.as_deref()));
    let folder = readable.as_ref().unwrap_or(&desktop.temporary);
    let page = RedirectPage::write(folder, url).and_then(|page| {
        let address = page.url()?.into();
        Ok((page, address))
    });
    page.map_err(|error| {
        format!(
            "The browser was not opened, because the file that redirects it could not be written to {}: \
             {error}.",
            folder.display()
        )
    })
}

fn user_commands(alternatives: &str, url: &str) -> Vec<std::process::Command> {
    let separator = if cfg!(windows) { ';' } else { ':' };
    let words = |alternative: &str| {
        // A trailing & asks for the background; every command runs there anyway.
        shlex::split(alternative.trim().trim_end_matches('&')).filter(|words| !words.is_empty())
    };
    let command = |words: Vec<String>| {
        let has_placeholder = words.iter().any(|word| word.contains("%s"));
        let mut command = std::process::Command::new(&words[0]);
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
        let line = |command: &std::process::Command| {
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

    #[test]
    #[cfg(unix)]
    fn programs_are_found_where_nobody_else_puts_them() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("browser"), "").unwrap();
        let desktop = Desktop { programs: vec![folder.path().to_owned()], ..Desktop::default() };
        let file = folder.path().join("browser");
        assert_eq!(desktop.find("browser".as_ref()), Some(file.clone()));
        assert_eq!(desktop.find(file.as_os_str()), Some(file));
        for relative in ["other", "./browser", "src/lib.rs"] {
            assert_eq!(desktop.find(relative.as_ref()), None, "{relative}");
        }
        let command = desktop.located(Command::new("browser").arg("x").as_std()).unwrap();
        let path = command.as_std().get_envs().find(|(name, _)| *name == "PATH").unwrap().1.unwrap();
        assert_eq!(path, folder.path());
    }

    #[tokio::test]
    async fn a_missing_command_is_named() {
        let browser = Browser::Command("no-such-browser-anywhere".into());
        let folder = tempfile::tempdir().unwrap();
        let desktop = Desktop { temporary: folder.path().to_owned(), ..Desktop::default() };
        let Err(problem) = browser.open("https://x/", &desktop).await else { panic!("a browser was opened") };
        assert!(problem.contains("no-such-browser-anywhere"), "{problem}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[tokio::test]
    #[cfg(unix)]
    async fn the_url_is_in_a_file_that_a_sandboxed_browser_is_said_not_to_read() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("flatpak/exports/bin");
        std::fs::create_dir_all(&bin).unwrap();
        std::os::unix::fs::symlink("/bin/true", bin.join("org.browser")).unwrap();
        let desktop =
            Desktop { temporary: folder.path().to_owned(), programs: vec![bin.clone()], home: None };
        let browser = Browser::Command(bin.join("org.browser").display().to_string());
        let url = "https://x/#mcpProxyToken=SECRET";
        let mut command = browser.open(url, &desktop).await.unwrap().unwrap();
        let said = command.problem().unwrap();
        assert!(said.contains("flatpak") && !said.contains("SECRET"), "{said}");
        let page = command.take_redirect().unwrap();
        let file = page.url().unwrap().to_file_path().unwrap();
        assert!(std::fs::read_to_string(file).unwrap().contains("SECRET"));
    }
}
