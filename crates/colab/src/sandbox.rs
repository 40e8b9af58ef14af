//! Browsers that may not read every file of their user.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use crate::browser::Desktop;

/// The time that the desktop may take to name its browser.
const QUERY_TIMEOUT: Duration = Duration::from_secs(2);
/// The folder of the desktop files of snaps, named `SNAP_PROGRAM.desktop`.
const SNAP_DESKTOP_FILES: &str = "/var/lib/snapd/desktop/applications";

/// The reason why a browser may not find a file in the folder for temporary files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Sandbox {
    /// A snap of this name: it has a temporary folder of its own, and no hidden folders.
    Snap(String),
    /// A flatpak: it sees what its permissions name.
    Flatpak,
    /// A command that opens pages on the person's machine, as VS Code's does.
    Remote,
}

impl Sandbox {
    /// That of a program, by its path and its arguments.
    pub(crate) fn of_command(program: &Path, arguments: &[String]) -> Option<Self> {
        let name = |path: &Path| Some(path.file_name()?.to_str()?.to_owned());
        // `/snap/bin/firefox` is a link to `snap`, which starts what the link is called.
        let is_snap = |path: &Path| {
            path.starts_with("/snap") || path.starts_with("/var/lib/snapd") || path.ends_with("bin/snap")
        };
        let target = program.canonicalize().unwrap_or_else(|_| program.to_owned());
        if is_snap(program) || is_snap(&target) {
            let runs = arguments.iter().skip_while(|argument| *argument != "run").nth(1);
            let snap = if name(program)? == "snap" { runs.cloned()? } else { name(program)? };
            return Some(Self::Snap(snap.split('.').next().unwrap_or_default().to_owned()));
        }
        if name(program)? == "flatpak" || program.to_string_lossy().contains("/flatpak/exports/bin/") {
            return Some(Self::Flatpak);
        }
        program.ends_with("helpers/browser.sh").then_some(Self::Remote)
    }

    /// That of the program that the desktop opens HTML files with. Without an answer, none is known.
    pub(crate) async fn of_desktop(desktop: &Desktop) -> Option<Self> {
        let mut query = std::process::Command::new("xdg-mime");
        query.args(["query", "default", "text/html"]);
        let mut query = desktop.located(&query)?;
        query.stdin(Stdio::null()).stderr(Stdio::null()).kill_on_drop(true);
        let answer = tokio::time::timeout(QUERY_TIMEOUT, query.output()).await.ok()?.ok()?;
        Self::of_desktop_file(String::from_utf8_lossy(&answer.stdout).trim(), Path::new(SNAP_DESKTOP_FILES))
    }

    fn of_desktop_file(name: &str, snaps: &Path) -> Option<Self> {
        let (snap, _) = name.strip_suffix(".desktop")?.split_once('_')?;
        snaps.join(name).is_file().then(|| Self::Snap(snap.to_owned()))
    }

    /// A folder of the user's that the browser can read.
    pub(crate) fn readable_folder(&self, home: Option<&Path>) -> Option<PathBuf> {
        let Self::Snap(snap) = self else { return None };
        let folder = home?.join("snap").join(snap).join("common");
        folder.is_dir().then_some(folder)
    }

    /// A sentence for the person.
    pub(crate) fn describe(&self) -> String {
        let cause = match self {
            Self::Snap(name) => format!("The browser is a snap ({name}), which may not read the file"),
            Self::Flatpak => "The browser is a flatpak, which may not read the file".to_owned(),
            Self::Remote => "The browser is on another machine, which cannot read the file".to_owned(),
        };
        format!("{cause} that leads to Colab. If the browser shows an error, open the URL below by hand.")
    }
}

#[cfg(test)]
#[cfg(unix)]
mod tests {
    use super::*;

    #[test]
    fn snaps_flatpaks_and_remote_helpers_are_known_by_their_command() {
        let snap = |name: &str| Some(Sandbox::Snap(name.to_owned()));
        for (command, expected) in [
            ("/snap/bin/firefox", snap("firefox")),
            ("/var/lib/snapd/snap/bin/chromium.launcher", snap("chromium")),
            ("/usr/bin/snap run firefox --new-tab", snap("firefox")),
            ("/usr/bin/flatpak run org.mozilla.firefox", Some(Sandbox::Flatpak)),
            ("/var/lib/flatpak/exports/bin/org.mozilla.firefox", Some(Sandbox::Flatpak)),
            ("/home/ada/.vscode-server/bin/1/bin/helpers/browser.sh", Some(Sandbox::Remote)),
            ("/usr/bin/firefox", None),
            ("/usr/bin/xdg-open", None),
        ] {
            let mut words = command.split(' ').map(str::to_owned);
            let program = PathBuf::from(words.next().unwrap());
            let arguments: Vec<String> = words.collect();
            assert_eq!(Sandbox::of_command(&program, &arguments), expected, "{command}");
        }
    }

    #[test]
    fn a_link_to_snap_is_one() {
        let folder = tempfile::tempdir().unwrap();
        let bin = folder.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        std::fs::write(bin.join("snap"), "").unwrap();
        let link = folder.path().join("chromium");
        std::os::unix::fs::symlink(bin.join("snap"), &link).unwrap();
        assert_eq!(Sandbox::of_command(&link, &[]), Some(Sandbox::Snap("chromium".to_owned())));
    }

    #[test]
    fn the_desktop_file_of_a_snap_names_it_and_its_own_folder_is_readable() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("firefox_firefox.desktop"), "").unwrap();
        let found = |name: &str| Sandbox::of_desktop_file(name, folder.path());
        let snap = Sandbox::Snap("firefox".to_owned());
        assert_eq!(found("firefox_firefox.desktop"), Some(snap.clone()));
        assert_eq!(found("org.gnome_x.desktop"), None);
        assert_eq!(found("firefox.desktop"), None);
        assert_eq!(found(""), None);
        assert_eq!(snap.readable_folder(Some(folder.path())), None);
        let common = folder.path().join("snap/firefox/common");
        std::fs::create_dir_all(&common).unwrap();
        assert_eq!(snap.readable_folder(Some(folder.path())), Some(common));
    }
}
