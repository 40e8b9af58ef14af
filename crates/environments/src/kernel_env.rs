//! Variables that kernels inherit: none that configure this program, or belong to the client that started it, or to its model.
//!
//! A kernel runs what a model wrote. With these variables it could use the client's session and spend from the key of
//! its model; and a program that it starts would take itself for a part of the client. A client that is an `AppImage`, a snap or a
//! flatpak also has variables that lead into its package (`PYTHONHOME`, `LD_LIBRARY_PATH`): another Python does not start with them, or
//! loads the wrong libraries.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use crate::Variables;

/// Names of variables that are left out, and the starts of names, with comments.
const LEFT_OUT: &str = include_str!("kernel_env/left_out.txt");

/// The variables that kernels inherit of these: all but those of the client, unless `kept` names them.
pub(crate) fn inherited(mut variables: Variables, kept: &[String]) -> Variables {
    let is_kept = |name: &OsStr| kept.iter().any(|kept| name == OsStr::new(kept));
    variables.retain(|name| !is_left_out(name) || is_kept(name));
    for package in packages(&variables) {
        variables = variables.with_paths(|name, path| is_kept(name) || !package.has(name, path));
    }
    variables
}

/// What a client comes in that has a folder of its own for programs and libraries.
struct Package {
    kind: &'static str,
    folder: PathBuf,
}

/// How kernels are protected from the variables of a client's package.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackagedClient {
    /// `AppImage`, `snap` or `flatpak`.
    pub kind: &'static str,
    pub folder: PathBuf,
    /// The variables that reach kernels without their paths in the folder, or not at all.
    pub variables: Vec<String>,
}

impl PackagedClient {
    /// The packages whose variables are among these, those of this process.
    pub fn find(variables: &Variables) -> Vec<Self> {
        let found = packages(variables).into_iter().map(|package| {
            let left = variables.with_paths(|name, path| !package.has(name, path));
            let changed = variables.iter().filter(|(name, value)| left.get(name) != Some(*value));
            let names = changed.map(|(name, _)| name.to_string_lossy().into_owned()).collect();
            Self { kind: package.kind, folder: package.folder, variables: names }
        });
        found.collect()
    }
}

fn packages(variables: &Variables) -> Vec<Package> {
    let named = |name: &str| {
        let folder = variables.get(name).map(PathBuf::from);
        folder.filter(|folder| folder.is_absolute() && folder.parent().is_some())
    };
    let mut found: Vec<Package> = [("AppImage", "APPDIR"), ("snap", "SNAP")]
        .into_iter()
        .filter_map(|(kind, name)| Some(Package { kind, folder: named(name)? }))
        .collect();
    if cfg!(unix) && variables.get("FLATPAK_ID").is_some_and(|id| !id.is_empty()) {
        found.push(Package { kind: "flatpak", folder: "/app".into() });
    }
    found
}

impl Package {
    /// Whether a variable's path leads into it and is not for kernels.
    fn has(&self, name: &OsStr, path: &Path) -> bool {
        // These name the package itself, and where the person is. A flatpak's programs are those that there are for a kernel in it.
        const KEPT: [&str; 5] = ["APPDIR", "APPIMAGE", "OLDPWD", "PWD", "SNAP"];
        let is_kept = KEPT.iter().any(|kept| name == *kept) || self.kind == "flatpak" && name == "PATH";
        !is_kept && path.starts_with(&self.folder)
    }
}

fn is_left_out(name: &OsStr) -> bool {
    // Only names in ASCII are listed.
    let Some(name) = name.to_str() else { return false };
    // Windows does not distinguish case, and elsewhere nobody means something else by it.
    let name = name.to_ascii_uppercase();
    left_out().any(|listed| name == listed || listed.ends_with('_') && name.starts_with(listed))
}

fn left_out() -> impl Iterator<Item = &'static str> {
    LEFT_OUT.lines().filter(|line| !line.is_empty() && !line.starts_with('#'))
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;

    use super::*;
    use crate::process_env::tests::with;

    #[test]
    fn what_belongs_to_the_client_is_not_inherited() {
        let of_client = [
            "CLAUDECODE",
            "CLAUDE_CODE_SESSION_ID",
            "CLAUDE_PROJECT_DIR",
            "ANTHROPIC_BASE_URL",
            "KIRO_SESSION",
            "AZURE_API_KEY",
            "CODEX_SANDBOX",
            "CURSOR_TRACE_ID",
            "VSCODE_IPC_HOOK",
            "GEMINI_CLI",
            "GEMINI_API_KEY",
            "ANTHROPIC_API_KEY",
            "OPENAI_API_KEY",
            "GOOGLE_API_KEY",
            "CELLBRIDGE_TOKEN",
            "JUPYTER_TOKEN",
            "OTEL_EXPORTER_OTLP_HEADERS",
            "CELLBRIDGE_ASK",
            "CELLBRIDGE_OF_ANOTHER_VERSION",
            "openai_api_key",
        ];
        let of_person = [
            "PATH",
            "HOME",
            "VIRTUAL_ENV",
            "JUPYTER_PATH",
            "GOOGLE_APPLICATION_CREDENTIALS",
            "CODE",
            "AWS_PROFILE",
            "HOST",
            "REQUESTS_CA_BUNDLE",
        ];
        let all = of_client.iter().chain(&of_person).map(|name| (*name, "x")).collect::<Vec<_>>();
        let left = |kept: &[&str]| -> Vec<OsString> {
            let kept: Vec<String> = kept.iter().copied().map(str::to_owned).collect();
            inherited(with(&all).variables, &kept).into_iter().map(|(name, _)| name).collect()
        };
        let sorted = |names: &[&str]| {
            let mut names: Vec<OsString> = names.iter().map(OsString::from).collect();
            names.sort();
            names
        };
        assert_eq!(left(&[]), sorted(&of_person));
        let kept = ["OPENAI_API_KEY", "CODEX_SANDBOX", "NONE"];
        assert_eq!(left(&kept), sorted(&[&of_person[..], &kept[..2]].concat()));
    }

    #[cfg(unix)]
    #[test]
    fn paths_into_the_package_of_a_client_are_not_inherited() {
        let all = with(&[
            ("APPDIR", "/tmp/.mount_x"),
            ("APPIMAGE", "/home/ada/x.AppImage"),
            ("SNAP", "/snap/code/1"),
            ("PYTHONHOME", "/tmp/.mount_x/usr"),
            ("PYTHONPATH", "/tmp/.mount_x/lib:/home/ada/lib:/snap/code/1/lib"),
            ("LD_LIBRARY_PATH", "/snap/code/1/usr/lib::/opt/cuda/lib"),
            ("LD_PRELOAD", "/snap/code/1/a.so /usr/lib/b.so"),
            ("QT_PLUGIN_PATH", "/tmp/.mount_x/plugins"),
            ("KEPT", "/snap/code/1/x"),
            ("OTHER", "/snap/code/10:/tmp/.mount_xy"),
            ("URL", "file:///snap/code/1"),
            ("PATH", "/tmp/.mount_x/usr/bin:/usr/bin"),
            ("PWD", "/snap/code/1"),
        ])
        .variables;
        let left = inherited(all.clone(), &["KEPT".to_owned()]);
        let value = |name: &str| left.get(name).and_then(OsStr::to_str);
        for (name, expected) in [
            ("PYTHONHOME", None),
            ("QT_PLUGIN_PATH", None),
            ("PYTHONPATH", Some("/home/ada/lib")),
            ("LD_LIBRARY_PATH", Some("/opt/cuda/lib")),
            ("LD_PRELOAD", Some("/usr/lib/b.so")),
            ("PATH", Some("/usr/bin")),
        ] {
            assert_eq!(value(name), expected, "{name}");
        }
        for name in ["APPDIR", "APPIMAGE", "SNAP", "KEPT", "OTHER", "URL", "PWD"] {
            assert_eq!(left.get(name), all.get(name), "{name}");
        }
        let found = PackagedClient::find(&all);
        let kinds: Vec<_> = found.iter().map(|package| (package.kind, &*package.folder)).collect();
        assert_eq!(kinds, [("AppImage", Path::new("/tmp/.mount_x")), ("snap", Path::new("/snap/code/1"))]);
        assert_eq!(found[0].variables, ["PATH", "PYTHONHOME", "PYTHONPATH", "QT_PLUGIN_PATH"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_flatpak_keeps_its_programs_and_not_its_libraries() {
        let all =
            with(&[("FLATPAK_ID", "com.x"), ("PATH", "/app/bin:/usr/bin"), ("GTK_PATH", "/app/lib/gtk")]);
        let left = inherited(all.variables.clone(), &[]);
        assert_eq!((left.get("PATH"), left.get("GTK_PATH")), (all.variables.get("PATH"), None));
        assert_eq!(
            inherited(with(&[("APPDIR", "/"), ("X", "/y")]).variables, &[]).get("X"),
            Some(OsStr::new("/y"))
        );
    }

    #[test]
    fn each_name_is_listed_once() {
        for name in left_out() {
            let covers = |listed: &&str| *listed == name || listed.ends_with('_') && name.starts_with(listed);
            assert_eq!(left_out().filter(covers).collect::<Vec<_>>(), [name]);
        }
    }
}
