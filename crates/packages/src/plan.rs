//! What an installation would change.

use std::collections::{BTreeMap, BTreeSet};
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

/// An installation as the person is shown it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Plan {
    /// `None`: known only after the installation.
    pub changes: Option<Vec<PackageChange>>,
    pub building: Building,
    /// Settings that choose indexes, versions or builds, other than the installer's defaults.
    pub settings: Vec<String>,
    /// The changed packages as requirements that only this version fulfils, with hashes if the installer reports any.
    pub(crate) pins: Vec<String>,
}

/// Packages that an installation would build, which runs their code. A plan builds nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Building {
    /// Nothing: everything is there as a wheel.
    #[default]
    Nothing,
    /// These have no wheel that fits, or do not exist. What they need in turn is not known before they are built.
    Packages(Vec<String>),
    /// A package that others need, which is not known.
    Dependencies,
}

/// The installed versions, by normalized names.
pub(crate) type Versions = BTreeMap<String, String>;

/// Reads the plan that an installer has printed. `before`: the versions that are installed now.
pub(crate) fn read(installer: &Installer, output: &str, before: &Versions) -> Plan {
    let (changes, pins) = match installer {
        Installer::Uv { .. } | Installer::UvProject { .. } => of_uv(output),
        Installer::Pip { .. } => return of_pip(output, before),
        Installer::Conda { .. } => return of_conda(output),
        Installer::Pixi { .. } => return Plan::default(),
    };
    Plan { changes: Some(changes), pins, ..Plan::default() }
}

/// The difference between two states of an environment.
pub(crate) fn difference(before: &Versions, after: &Versions) -> Vec<PackageChange> {
    let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
    let changes = names.into_iter().map(|name| PackageChange {
        name: name.clone(),
        old: before.get(name).cloned(),
        new: after.get(name).cloned(),
    });
    changes.filter(|change| change.old != change.new).collect()
}

impl Plan {
    /// The changed packages of which no hash is known: the index decides what it serves as their versions.
    pub fn without_hash(&self) -> Vec<&str> {
        let pins = self.pins.iter().filter(|pin| !pin.contains(" --hash="));
        pins.filter_map(|pin| Some(pin.split_once("==")?.0)).collect()
    }

    /// Whether an installation changed what was planned, as far as that was known.
    pub fn is_fulfilled_by(&self, installed: &[PackageChange]) -> bool {
        let outcome = |changes: &[PackageChange]| -> BTreeMap<String, Option<String>> {
            let replaced = changes.iter().filter(|change| change.old != change.new);
            replaced.map(|change| (normalized(&change.name), change.new.clone())).collect()
        };
        self.changes.as_ref().is_none_or(|planned| outcome(planned) == outcome(installed))
    }
}

/// Adds hashes to pins from the output of `uv pip compile`, whose lines below a pin hold them.
pub(crate) fn add_hashes(pins: &mut [String], output: &str) {
    let mut current = None;
    for line in output.lines() {
        let line = line.trim().trim_end_matches('\\').trim_end();
        if !line.starts_with("--hash=") {
            current = pins.iter().position(|pin| pin == line);
        } else if let Some(pin) = current.and_then(|index| pins.get_mut(index)) {
            *pin = format!("{pin} {line}");
        }
    }
}

/// Lines like ` + six==1.17.0`, ` - numpy==1.26.4` and ` ~ x==1` for one that is installed again.
fn of_uv(output: &str) -> (Vec<PackageChange>, Vec<String>) {
    let (mut changes, mut pins) = (Changes::default(), Vec::new());
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
            _ => continue,
        }
        if sign != "-" {
            pins.push(format!("{name}=={version}"));
        }
    }
    (changes.0, pins)
}

/// pip's installation report (<https://pip.pypa.io/en/stable/reference/installation-report/>), as the kernel shortens it.
fn of_pip(output: &str, before: &Versions) -> Plan {
    #[derive(Deserialize)]
    struct Report {
        install: Vec<Package>,
    }
    #[derive(Deserialize)]
    struct Package {
        name: String,
        version: String,
        hashes: BTreeMap<String, String>,
    }
    let Some(Report { install }) = json_objects(output).last() else { return Plan::default() };
    let (mut changes, mut pins) = (Vec::new(), Vec::new());
    for Package { name, version, hashes } in install {
        let hashes = hashes.iter().map(|(algorithm, hash)| format!(" --hash={algorithm}:{hash}"));
        let hashes = hashes.collect::<Vec<_>>().concat();
        pins.push(format!("{name}=={version}{hashes}"));
        changes.push(PackageChange {
            old: before.get(&normalized(&name)).cloned(),
            name,
            new: Some(version),
        });
    }
    // pip wants a hash for each requirement or for none.
    if !pins.iter().all(|pin| pin.contains(" --hash=")) {
        for pin in &mut pins {
            pin.truncate(pin.find(' ').unwrap_or(pin.len()));
        }
    }
    Plan { changes: Some(changes), pins, ..Plan::default() }
}

/// What conda says of a failure: the last `message` of its objects, which the classic solver leaves empty.
pub(crate) fn message_of_conda(output: &str) -> Option<String> {
    #[derive(Deserialize)]
    struct Failure {
        message: String,
        exception_name: Option<String>,
    }
    let Failure { message, exception_name } = json_objects(output).last()?;
    [Some(message), exception_name]
        .into_iter()
        .flatten()
        .map(|it| it.trim().to_owned())
        .find(|it| !it.is_empty())
}

/// The JSON objects of a kind, among whatever else was printed. One may follow the other on the same line.
fn json_objects<'o, O: Deserialize<'o>>(output: &'o str) -> impl Iterator<Item = O> {
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
fn of_conda(output: &str) -> Plan {
    #[derive(Deserialize)]
    struct Report {
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
        #[serde(alias = "build")]
        build_string: Option<String>,
    }
    // All members are optional, so that a report of a step, `{"fetch": "six"}`, would be read as an empty plan.
    let is_plan =
        |report: &Report| report.actions.is_some() || report.success.is_some() || report.message.is_some();
    let Some(report) = json_objects::<Report>(output).filter(is_plan).last() else { return Plan::default() };
    let actions = report.actions.unwrap_or_default();
    let (mut changes, mut pins) = (Changes::default(), Vec::new());
    for Package { name, version, build_string } in actions.link {
        pins.push(match build_string {
            Some(build) => format!("{name}={version}={build}"),
            None => format!("{name}={version}"),
        });
        changes.of(&name).new = Some(version);
    }
    for Package { name, version, .. } in actions.unlink {
        changes.of(&name).old = Some(version);
    }
    Plan { changes: Some(changes.0), pins, ..Plan::default() }
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

    fn shown(plan: &Plan) -> Vec<String> {
        plan.changes.iter().flatten().map(PackageChange::to_string).collect()
    }

    fn versions(pairs: &[(&str, &str)]) -> Versions {
        pairs.iter().map(|(name, version)| ((*name).to_owned(), (*version).to_owned())).collect()
    }

    #[test]
    fn a_plan_of_uv_names_what_comes_and_goes() {
        let uv = Installer::Uv { uv: "uv".to_owned() };
        let output = "Resolved 3 packages in 120ms\nWould download 2 packages\nWould uninstall 1 package\nWould install 2 packages\n \
                      - ipykernel==7.4.0\n + ipykernel==6.30.1\n + Nest_Asyncio==1.6.0\n ~ x==1 (from file:///x)\n - gone==2\n";
        let plan = read(&uv, output, &Versions::new());
        assert_eq!(
            shown(&plan),
            ["ipykernel 7.4.0 → 6.30.1", "Nest_Asyncio 1.6.0", "x 1 → 1", "gone 2 is removed"]
        );
        assert_eq!(plan.pins, ["ipykernel==6.30.1", "Nest_Asyncio==1.6.0", "x==1"]);
        let nothing = "Resolved 1 package in 3ms\nChecked 1 package in 0.05ms\nWould make no changes\n";
        assert_eq!(read(&uv, nothing, &Versions::new()).changes, Some(Vec::new()));
    }

    #[test]
    fn hashes_of_uv_belong_to_the_pin_above_them() {
        let mut pins = vec!["six==1.17.0".to_owned(), "x==1".to_owned()];
        add_hashes(
            &mut pins,
            "six==1.17.0 \\\n    --hash=sha256:a \\\n    --hash=sha256:b\nother==1 \\\n    --hash=sha256:c\nx==1\n",
        );
        assert_eq!(pins, ["six==1.17.0 --hash=sha256:a --hash=sha256:b", "x==1"]);
        let plan = Plan { pins, ..Plan::default() };
        assert_eq!(plan.without_hash(), ["x"]);
    }

    #[test]
    fn a_plan_of_pip_has_versions_and_hashes() {
        let pip = Installer::Pip { needs_pip: false };
        let item = |name: &str, version: &str, hashes: &str| {
            format!(r#"{{"hashes": {{{hashes}}}, "name": "{name}", "version": "{version}"}}"#)
        };
        let hashed = r#""sha256": "ab""#;
        let (numpy, date) = (item("NumPy", "2.2.0", hashed), item("python-dateutil", "2.9.0.post0", hashed));
        let before = versions(&[("numpy", "1.26.4")]);
        let plan = read(&pip, &format!("warning {{\n{{\"install\": [{numpy}, {date}]}}"), &before);
        assert_eq!(shown(&plan), ["NumPy 1.26.4 → 2.2.0", "python-dateutil 2.9.0.post0"]);
        assert_eq!(
            plan.pins,
            ["NumPy==2.2.0 --hash=sha256:ab", "python-dateutil==2.9.0.post0 --hash=sha256:ab"]
        );
        let without = item("x", "1", "");
        let plan = read(&pip, &format!("{{\"install\": [{numpy}, {without}]}}"), &before);
        assert_eq!(plan.pins, ["NumPy==2.2.0", "x==1"]);
        assert_eq!(read(&pip, r#"{"install": []}"#, &before).changes, Some(Vec::new()));
        assert_eq!(read(&pip, "", &before).changes, None);
    }

    #[test]
    fn a_plan_of_conda_is_json_behind_other_lines() {
        let conda = Installer::Conda { conda: "conda".to_owned(), channels: Vec::new() };
        let output = r#"warning: x
{"actions": {"FETCH": [], "LINK": [{"name": "numpy", "version": "2.0", "build": "py_0"}, {"name": "six", "version": "1"}],
 "PREFIX": "/e", "UNLINK": [{"name": "numpy", "version": "1.26"}]}, "dry_run": true, "success": true}
done"#;
        let plan = read(&conda, output, &Versions::new());
        assert_eq!(shown(&plan), ["numpy 1.26 → 2.0", "six 1"]);
        assert_eq!(plan.pins, ["numpy=2.0=py_0", "six=1"]);
        let nothing = r#"{"message": "All requested packages already installed."}"#;
        assert_eq!(read(&conda, nothing, &Versions::new()).changes, Some(vec![]));
        assert_eq!(read(&conda, "no JSON {", &Versions::new()).changes, None);
        // conda 26 reports steps before the plan.
        let steps =
            r#"{"fetch": "six"}{"actions": {"LINK": [{"name": "six", "version": "1"}]}, "success": true}"#;
        assert_eq!(shown(&read(&conda, steps, &Versions::new())), ["six 1"]);
    }

    #[test]
    fn an_installation_is_compared_with_its_plan_by_outcome() {
        let before = versions(&[("colours", "1.0"), ("kept", "1")]);
        let after = versions(&[("colours", "2.0"), ("kept", "1"), ("more", "3")]);
        let installed = difference(&before, &after);
        assert_eq!(
            installed.iter().map(PackageChange::to_string).collect::<Vec<_>>(),
            ["colours 1.0 → 2.0", "more 3"]
        );
        let change = |name: &str, old: Option<&str>, new: &str| PackageChange {
            name: name.to_owned(),
            old: old.map(str::to_owned),
            new: Some(new.to_owned()),
        };
        let is_fulfilled = |planned: &[PackageChange], installed: &[PackageChange]| {
            Plan { changes: Some(planned.to_vec()), ..Plan::default() }.is_fulfilled_by(installed)
        };
        let planned = [change("Colours", None, "2.0"), change("more", None, "3")];
        assert!(is_fulfilled(&planned, &installed) && !is_fulfilled(&planned[..1], &installed));
        let another = [change("colours", None, "6.6.6"), change("more", None, "3")];
        assert!(!is_fulfilled(&another, &installed) && Plan::default().is_fulfilled_by(&installed));
        assert!(is_fulfilled(&[change("again", Some("1"), "1")], &[]));
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
