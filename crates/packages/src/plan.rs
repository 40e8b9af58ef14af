//! What an installation would change.

use std::collections::BTreeMap;
use std::fmt;

use serde::Deserialize;
use serde_json::value::RawValue;

use crate::installer::Installer;
use crate::requirement::normalized;

/// A package that would be installed, replaced or removed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageChange {
    pub name: String,
    pub old: Option<String>,
    pub new: Option<String>,
}

impl PackageChange {
    /// Whether it replaces or removes something.
    pub fn is_replacement(&self) -> bool {
        self.old.is_some()
    }
}

impl fmt::Display for PackageChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, old, new } = self;
        match (old, new) {
            (None, Some(new)) => write!(f, "{name} {new}"),
            (Some(old), Some(new)) => write!(f, "{name} {old} → {new}"),
            (Some(old), None) => write!(f, "{name} {old} is removed"),
            (None, None) => f.write_str(name),
        }
    }
}

/// Reads what an installer has printed about its plan. `versions`: what is installed now, as far as it is known.
pub(crate) fn read(
    installer: &Installer,
    output: &str,
    versions: &BTreeMap<String, String>,
) -> Option<Vec<PackageChange>> {
    match installer {
        Installer::Uv { .. } | Installer::UvProject { .. } => Some(of_uv(output)),
        // pip alone prints no former versions, so that only here `versions` tells an update from a new package.
        Installer::Pip { .. } => Some(of_pip(output, versions)),
        Installer::Conda { .. } => of_conda(output),
        Installer::Pixi { .. } => None,
    }
}

/// The names in a plan of pip, which says nothing of what is installed.
pub(crate) fn names_of_pip(output: &str) -> Vec<String> {
    of_pip(output, &BTreeMap::new()).into_iter().map(|change| change.name).collect()
}

/// Lines like ` + six==1.17.0`, ` - numpy==1.26.4` and ` ~ x==1` for one that is installed again.
fn of_uv(output: &str) -> Vec<PackageChange> {
    let mut changes = Changes::default();
    for line in output.lines() {
        let Some((sign, package)) = line.trim().split_once(' ') else { continue };
        // `Would install 2 packages` splits at the space as well: only packages have `==`.
        let Some((name, version)) = package.split_once("==") else { continue };
        // A package from a file or repository has its source behind the version.
        let version = version.split_whitespace().next().unwrap_or_default();
        match sign {
            "+" => changes.of(name).new = Some(version.to_owned()),
            "-" => changes.of(name).old = Some(version.to_owned()),
            "~" => {
                // The version stays, but the files are replaced: it counts as a replacement.
                let change = changes.of(name);
                (change.old, change.new) = (Some(version.to_owned()), Some(version.to_owned()));
            }
            _ => {}
        }
    }
    changes.0
}

/// One line like `Would install numpy-2.2.0 six-1.17.0`.
fn of_pip(output: &str, versions: &BTreeMap<String, String>) -> Vec<PackageChange> {
    let line = output.lines().find_map(|line| line.trim().strip_prefix("Would install "));
    // No such line means that all is installed. Names may contain hyphens, versions do not: hence from the right.
    let packages = line.unwrap_or_default().split_whitespace().filter_map(|package| package.rsplit_once('-'));
    packages
        .map(|(name, version)| PackageChange {
            name: name.to_owned(),
            old: versions.get(name).cloned(),
            new: Some(version.to_owned()),
        })
        .collect()
}

/// What conda says of a failure: the last `message` of its objects, which the classic solver leaves empty.
pub(crate) fn message_of_conda(output: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Failure {
        message: String,
        exception_name: Option<String>,
    }
    let Failure { message, exception_name } = objects_of_conda(output).last()?;
    [Some(message), exception_name]
        .into_iter()
        .flatten()
        .map(|it| it.trim().to_owned())
        .find(|it| !it.is_empty())
}

/// The JSON objects of a kind, among whatever else was printed. One may follow the other on the same line.
fn objects_of_conda<'o, O: Deserialize<'o>>(output: &'o str) -> impl Iterator<Item = O> {
    let mut rest = output;
    std::iter::from_fn(move || {
        loop {
            rest = &rest[rest.find('{')?..];
            // Raw, to skip objects of other kinds as a whole: one inside them could be taken for the wanted one.
            let mut objects = serde_json::Deserializer::from_str(rest).into_iter::<&'o RawValue>();
            let Some(Ok(object)) = objects.next() else {
                // A brace in a warning is no JSON: the object may start at any later one.
                rest = &rest[1..];
                continue;
            };
            rest = &rest[objects.byte_offset()..];
            if let Ok(object) = serde_json::from_str(object.get()) {
                return Some(object);
            }
        }
    })
}

/// The last object with `actions`, or one that says that there is nothing to do.
fn of_conda(output: &str) -> Option<Vec<PackageChange>> {
    #[derive(Deserialize)]
    struct Plan {
        success: Option<bool>,
        message: Option<String>,
        actions: Option<Actions>,
    }
    #[derive(Deserialize, Default)]
    #[serde(default, rename_all = "UPPERCASE")]
    struct Actions {
        link: Vec<Package>,
        unlink: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
    }
    // All members are optional, so that a report of a step, `{"fetch": "six"}`, would be read as an empty plan.
    let is_plan = |plan: &Plan| plan.actions.is_some() || plan.success.is_some() || plan.message.is_some();
    let actions = objects_of_conda::<Plan>(output).filter(is_plan).last()?.actions.unwrap_or_default();
    let mut changes = Changes::default();
    for Package { name, version } in actions.link {
        changes.of(&name).new = Some(version);
    }
    for Package { name, version } in actions.unlink {
        changes.of(&name).old = Some(version);
    }
    Some(changes.0)
}

/// Changes in the order in which they are first named.
#[derive(Default)]
struct Changes(Vec<PackageChange>);

impl Changes {
    fn of(&mut self, name: &str) -> &mut PackageChange {
        // An update has two lines or objects, and `Nest_Asyncio` and `nest-asyncio` are one package.
        let index =
            self.0.iter().position(|change| normalized(&change.name) == normalized(name)).unwrap_or_else(
                || {
                    self.0.push(PackageChange { name: name.to_owned(), old: None, new: None });
                    self.0.len() - 1
                },
            );
        &mut self.0[index]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(changes: Option<Vec<PackageChange>>) -> Vec<String> {
        changes.unwrap().iter().map(PackageChange::to_string).collect()
    }

    #[test]
    fn a_plan_of_uv_names_what_comes_and_goes() {
        let uv = Installer::Uv { uv: "uv".to_owned() };
        let output = "Resolved 3 packages in 120ms\nWould download 2 packages\nWould uninstall 1 package\nWould install 2 packages\n \
                      - ipykernel==7.4.0\n + ipykernel==6.30.1\n + Nest_Asyncio==1.6.0\n ~ x==1 (from file:///x)\n - gone==2\n";
        assert_eq!(
            shown(read(&uv, output, &BTreeMap::new())),
            ["ipykernel 7.4.0 → 6.30.1", "Nest_Asyncio 1.6.0", "x 1 → 1", "gone 2 is removed"]
        );
        let nothing = "Resolved 1 package in 3ms\nChecked 1 package in 0.05ms\nWould make no changes\n";
        assert_eq!(read(&uv, nothing, &BTreeMap::new()), Some(Vec::new()));
    }

    #[test]
    fn a_plan_of_pip_is_completed_by_what_is_installed() {
        let pip = Installer::Pip { needs_pip: false };
        let output = "Collecting numpy\n  Using cached numpy.whl\nWould install numpy-2.2.0 python-dateutil-2.9.0.post0\n";
        let versions = BTreeMap::from([("numpy".to_owned(), "1.26.4".to_owned())]);
        assert_eq!(
            shown(read(&pip, output, &versions)),
            ["numpy 1.26.4 → 2.2.0", "python-dateutil 2.9.0.post0"]
        );
        assert_eq!(names_of_pip(output), ["numpy", "python-dateutil"]);
        let nothing = "Requirement already satisfied: six in /e/lib/python3.12/site-packages (1.17.0)\n";
        assert_eq!(read(&pip, nothing, &versions), Some(Vec::new()));
    }

    #[test]
    fn a_plan_of_conda_is_json_behind_other_lines() {
        let conda = Installer::Conda { conda: "conda".to_owned(), channels: Vec::new() };
        let output = r#"warning: x
{"actions": {"FETCH": [], "LINK": [{"name": "numpy", "version": "2.0", "channel": "c"}, {"name": "six", "version": "1"}],
 "PREFIX": "/e", "UNLINK": [{"name": "numpy", "version": "1.26"}]}, "dry_run": true, "success": true}
done"#;
        assert_eq!(shown(read(&conda, output, &BTreeMap::new())), ["numpy 1.26 → 2.0", "six 1"]);
        assert_eq!(
            read(&conda, r#"{"message": "All requested packages already installed."}"#, &BTreeMap::new()),
            Some(vec![])
        );
        assert_eq!(read(&conda, "no JSON {", &BTreeMap::new()), None);
        // conda 26 reports steps before the plan.
        let steps =
            r#"{"fetch": "six"}{"actions": {"LINK": [{"name": "six", "version": "1"}]}, "success": true}"#;
        assert_eq!(shown(read(&conda, steps, &BTreeMap::new())), ["six 1"]);
    }

    #[test]
    fn a_failure_of_conda_is_its_message() {
        let output = r#"{"steps": {}}{"error": "E: absent", "message": "Not available:\n - absent\n", "hints": ["a", "b"]}"#;
        assert_eq!(message_of_conda(output).as_deref(), Some("Not available:\n - absent"));
        let unsatisfiable =
            r#"{"message": "", "exception_name": "UnsatisfiableError", "guidance": {"hints": []}}"#;
        assert_eq!(message_of_conda(unsatisfiable).as_deref(), Some("UnsatisfiableError"));
        assert_eq!(message_of_conda("PackagesNotFoundError"), None);
    }
}
