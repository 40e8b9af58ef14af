//! The crates as they are published. Their short names are taken on crates.io, so a copy of the workspace calls them
//! `cellbridge-NAME`, and the program `cellbridge`; the code still uses the short names.

use anyhow::{Context as _, Result, bail};

use super::Workshop;
use crate::command;

/// What only this workspace needs. Cargo leaves test dependencies without a version out of what it publishes.
const UNPUBLISHED: [&str; 2] = ["python", "testkit"];
const PROGRAM: &str = "cli";
const MEMBERS: &str = "members = [\"crates/*\", \"bench\", \"xtask\", \"fuzz\"]";

/// Writes the copy, where `cargo publish --workspace` works, and packs every crate.
pub(super) fn pack(workshop: &Workshop) -> Result<()> {
    let folder = workshop.project.target.join("packaging/crates");
    if folder.exists() {
        std::fs::remove_dir_all(&folder).with_context(|| format!("{} can't be removed", folder.display()))?;
    }
    let mut prefix = folder.clone().into_os_string();
    prefix.push("/");
    let mut git = workshop.project.command("git");
    command::run(git.args(["checkout-index", "--all", "--prefix"]).arg(prefix))?;

    let root = folder.join("Cargo.toml");
    let manifest = std::fs::read_to_string(&root)?;
    std::fs::write(&root, workspace_manifest(&manifest, &workshop.release.version)?)?;
    for entry in std::fs::read_dir(folder.join("crates"))? {
        let entry = entry?;
        let (name, file) = (entry.file_name(), entry.path().join("Cargo.toml"));
        let manifest = std::fs::read_to_string(&file)?;
        std::fs::write(file, member_manifest(&manifest, &name.to_string_lossy())?)?;
        for licence in ["LICENSE-APACHE", "LICENSE-MIT"] {
            std::fs::copy(folder.join(licence), entry.path().join(licence))?;
        }
    }
    let mut cargo = workshop.project.cargo();
    // The lock changes, for the names do. Our patches are not published, so Cargo asks the registry for what they replace.
    cargo.args(["package", "--quiet", "--workspace", "--exclude", "cellbridge-python", "--no-verify"]);
    cargo.arg("--allow-dirty").current_dir(&folder).env_remove("CARGO_TARGET_DIR");
    command::run(&mut cargo)
}

fn published(name: &str) -> String {
    if name == PROGRAM { "cellbridge".to_owned() } else { format!("cellbridge-{name}") }
}

/// The root manifest with the published names, and a version for each, which crates.io demands.
fn workspace_manifest(manifest: &str, version: &str) -> Result<String> {
    if !manifest.contains(MEMBERS) {
        bail!("the root manifest lacks the line {MEMBERS}; correct xtask/src/dist/crates.rs");
    }
    let manifest = manifest.replace(MEMBERS, "members = [\"crates/*\"]");
    let lines = manifest.lines().map(|line| {
        let Some((name, _)) = line.split_once(" = { path = \"crates/") else { return line.to_owned() };
        let version =
            if UNPUBLISHED.contains(&name) { String::new() } else { format!(", version = \"={version}\"") };
        format!("{name} = {{ path = \"crates/{name}\", package = \"{}\"{version} }}", published(name))
    });
    Ok(lines.collect::<Vec<_>>().join("\n") + "\n")
}

fn member_manifest(manifest: &str, name: &str) -> Result<String> {
    let own = format!("name = \"{name}\"\n");
    if !manifest.starts_with(&format!("[package]\n{own}")) {
        bail!("the manifest of the crate {name} does not start with its name");
    }
    let mut manifest = manifest.replacen(&own, &format!("name = \"{}\"\n", published(name)), 1);
    if !UNPUBLISHED.contains(&name) {
        manifest = manifest.replace("publish.workspace = true\n", "");
    }
    if !manifest.contains("\nrepository") {
        manifest = manifest.replacen("\nlicense", "\nrepository.workspace = true\nlicense", 1);
    }
    if name != PROGRAM && !manifest.contains("\n[lib]") {
        manifest.push_str(&format!("\n[lib]\nname = \"{name}\"\n"));
    }
    Ok(manifest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_get_published_names_and_versions() {
        let manifest = format!(
            "[workspace]\n{MEMBERS}\n\n[workspace.dependencies]\nkernel = {{ path = \"crates/kernel\" }}\n\
             testkit = {{ path = \"crates/testkit\" }}\nbytes = \"1\"\n"
        );
        let expected = "[workspace]\nmembers = [\"crates/*\"]\n\n[workspace.dependencies]\n\
                        kernel = { path = \"crates/kernel\", package = \"cellbridge-kernel\", version = \"=1.2.3\" }\n\
                        testkit = { path = \"crates/testkit\", package = \"cellbridge-testkit\" }\nbytes = \"1\"\n";
        assert_eq!(workspace_manifest(&manifest, "1.2.3").unwrap(), expected);
        assert!(workspace_manifest("[workspace]\n", "1.2.3").is_err());
    }

    #[test]
    fn a_library_keeps_its_name_in_code() {
        let manifest = "[package]\nname = \"kernel\"\nlicense.workspace = true\npublish.workspace = true\n";
        let expected = "[package]\nname = \"cellbridge-kernel\"\nrepository.workspace = true\n\
                        license.workspace = true\n\n[lib]\nname = \"kernel\"\n";
        assert_eq!(member_manifest(manifest, "kernel").unwrap(), expected);
        let program = member_manifest(&manifest.replace("kernel", "cli"), "cli").unwrap();
        assert!(
            program.starts_with("[package]\nname = \"cellbridge\"\n") && !program.contains("[lib]"),
            "{program}"
        );
        assert!(member_manifest(manifest, "render").is_err());
    }

    #[test]
    fn what_only_the_workspace_needs_is_not_published() {
        let manifest = "[package]\nname = \"testkit\"\nlicense.workspace = true\npublish.workspace = true\n";
        assert!(member_manifest(manifest, "testkit").unwrap().contains("publish.workspace = true"));
    }
}
