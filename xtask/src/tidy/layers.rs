//! A crate imports only from lower layers, never from its own, and some dependencies belong to one crate.

use cargo_metadata::{DependencyKind, Package};

use super::Finding;

const RULE: &str = "layers";

const LAYERS: [(u8, &[&str]); 11] = [
    (1, &["connection", "front_door", "notebook", "state", "syntax", "windows"]),
    (2, &["clients", "kernel", "names", "operations", "render", "rest", "terminal", "ydoc"]),
    (3, &["html", "place", "staleness", "transports"]),
    (4, &["colab", "files", "keeper", "packages", "recorder", "run_logs"]),
    (5, &["environments", "jupyter", "runs"]),
    (6, &["colab_machines", "local", "verify"]),
    (7, &["doctor", "workspace"]),
    (8, &["calls", "telemetry"]),
    (9, &["page", "tools"]),
    (10, &["mcp"]),
    (11, &["cli", "python"]),
];

const TOP: u8 = LAYERS[LAYERS.len() - 1].0;

/// Members outside the program, in no layer. The program never needs them; tests may use `testkit`.
const TOOLS: [&str; 4] = ["bench", "fuzz", "testkit", "xtask"];

/// Third-party crates that only one member may use.
const CONFINED: [(&str, &str); 4] =
    [("rmcp", "mcp"), ("pyo3", "python"), ("ruff_python_parser", "syntax"), ("windows-sys", "windows")];

/// Members that only compute: they take bytes and do not wait.
pub(super) const PURE: [&str; 9] =
    ["connection", "html", "names", "notebook", "operations", "render", "staleness", "syntax", "ydoc"];

pub(super) fn check(members: &[&Package]) -> Vec<Finding> {
    let mut findings = Vec::new();
    for member in members {
        let location = format!("crate {}", member.name);
        if layer(&member.name).is_none() && !TOOLS.contains(&member.name.as_str()) {
            findings.push(Finding::new(
                &location,
                RULE,
                "give the crate a layer in xtask/src/tidy/layers.rs",
            ));
        }
        let advice = member.dependencies.iter().filter_map(|it| advice(&member.name, &it.name, it.kind));
        findings.extend(advice.map(|advice| Finding::new(&location, RULE, advice)));
    }
    findings
}

/// The crates of the program.
pub(super) fn program() -> impl Iterator<Item = &'static str> {
    LAYERS.iter().flat_map(|(_, names)| names.iter().copied())
}

fn layer(name: &str) -> Option<u8> {
    LAYERS.iter().find(|(_, names)| names.contains(&name)).map(|(layer, _)| *layer)
}

/// What is wrong with a dependency of a member.
fn advice(member: &str, dependency: &str, kind: DependencyKind) -> Option<String> {
    let home = CONFINED.iter().find(|(confined, home)| *confined == dependency && *home != member);
    if let Some((_, home)) = home {
        return Some(format!("only {home} uses {dependency}; let {home} offer what {member} needs"));
    }
    if kind == DependencyKind::Development {
        return None;
    }
    if PURE.contains(&member) && dependency == "tokio" {
        return Some(format!("{member} does not use tokio; wait in a higher layer"));
    }
    let own = layer(member)?;
    match layer(dependency) {
        Some(other) if other < own => None,
        Some(other) => Some(format!(
            "{member} is in layer {own} and {dependency} in layer {other}; import only from lower layers, and \
             let layer {TOP} connect the two"
        )),
        None if TOOLS.contains(&dependency) => {
            Some(format!("{dependency} is not a part of the program; move it to [dev-dependencies]"))
        }
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NORMAL: DependencyKind = DependencyKind::Normal;
    const DEV: DependencyKind = DependencyKind::Development;

    #[test]
    fn lower_layers_and_other_packages_are_fine() {
        for (member, dependency, kind) in [
            ("workspace", "notebook", NORMAL),
            ("cli", "workspace", DependencyKind::Build),
            ("notebook", "testkit", DEV),
            ("notebook", "tokio", DEV),
            ("testkit", "workspace", NORMAL),
            ("xtask", "testkit", NORMAL),
            ("mcp", "rmcp", NORMAL),
            ("local", "tokio", NORMAL),
        ] {
            assert_eq!(advice(member, dependency, kind), None, "{member} {dependency}");
        }
    }

    #[test]
    fn each_violation_is_found() {
        for (member, dependency, kind, named) in [
            ("workspace", "cli", NORMAL, "layer 11"),
            ("colab", "jupyter", NORMAL, "layer 5"),
            ("local", "workspace", NORMAL, "layer 7"),
            ("jupyter", "runs", NORMAL, "layer 5"),
            ("colab", "mcp", DependencyKind::Build, "layer 10"),
            ("cli", "testkit", NORMAL, "dev-dependencies"),
            ("cli", "xtask", NORMAL, "not a part"),
            ("colab", "rmcp", DEV, "only mcp"),
            ("cli", "pyo3", NORMAL, "only python"),
            ("render", "tokio", NORMAL, "wait in a higher layer"),
        ] {
            let advice = advice(member, dependency, kind).unwrap_or_default();
            assert!(advice.contains(named), "{member} {dependency}: {advice:?}");
        }
    }
}
