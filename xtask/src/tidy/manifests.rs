//! Members look alike: named after their folder, not published, with the workspace's lints and versions.

use super::Finding;

const RULE: &str = "manifests";

/// `location` is the manifest's path relative to the root.
pub(super) fn check(location: &str, name: &str, manifest: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let folder = location.rsplit('/').nth(1).unwrap_or_default();
    if folder != name {
        let advice = format!("the crate {name} is in the folder {folder}; give both the same name");
        findings.push(Finding::new(location, RULE, advice));
    }
    let mut section = "";
    let mut inherits_lints = false;
    let mut inherits_publish = false;
    for (line, number) in manifest.lines().zip(1..) {
        let line = line.trim();
        if line.starts_with('[') {
            section = line.trim_matches(['[', ']']);
        }
        let is_inherited = line.replace(' ', "").contains("workspace=true");
        inherits_lints |= section == "lints" && is_inherited;
        inherits_publish |= section == "package" && line.starts_with("publish") && is_inherited;
        let is_dependency =
            section.ends_with("dependencies") && !line.starts_with(['[', '#']) && !line.is_empty();
        // `[dependencies.NAME]` spreads one dependency over several lines.
        let is_spread = line.starts_with('[') && section.contains("dependencies.");
        if (is_dependency && !is_inherited) || is_spread {
            let advice = "name the dependency in [workspace.dependencies] of the root manifest and write \
                          NAME.workspace = true here";
            findings.push(Finding::new(format!("{location}:{number}"), RULE, advice));
        }
    }
    if !inherits_lints {
        findings.push(Finding::new(location, RULE, "write workspace = true under [lints]"));
    }
    if !inherits_publish {
        findings.push(Finding::new(location, RULE, "write publish.workspace = true under [package]"));
    }
    findings
}

#[cfg(test)]
mod tests {
    use super::check;

    const GOOD: &str = "[package]\nname = \"x\"\npublish.workspace = true\n\n[lints]\nworkspace = true\n\n\
                        [dependencies]\n# Why.\nserde.workspace = true\ntokio = { workspace = true, optional = true }\n";

    fn locations(manifest: &str) -> Vec<String> {
        let findings = check("crates/x/Cargo.toml", "x", manifest);
        findings.into_iter().map(|finding| finding.location).collect()
    }

    #[test]
    fn a_good_manifest_is_fine() {
        assert_eq!(locations(GOOD), [""; 0]);
    }

    #[test]
    fn each_violation_is_found() {
        assert_eq!(locations(&GOOD.replace("publish.workspace = true", "")), ["crates/x/Cargo.toml"]);
        assert_eq!(locations(&GOOD.replace("[lints]", "[lints.rust]")), ["crates/x/Cargo.toml"]);
        for bad in [
            "rmcp = \"3\"",
            "rmcp = { version = \"3\" }",
            "rmcp.version = \"3\"",
            "[dev-dependencies.rmcp]",
            "[target.'cfg(unix)'.build-dependencies.rmcp]",
        ] {
            assert_eq!(locations(&format!("{GOOD}{bad}\n")), ["crates/x/Cargo.toml:12"], "{bad}");
        }
        assert_eq!(
            locations(&format!("{GOOD}[dev-dependencies]\ninsta = \"1\"\n")),
            ["crates/x/Cargo.toml:13"]
        );
        assert_eq!(check("crates/x/Cargo.toml", "y", GOOD).len(), 1);
    }
}
