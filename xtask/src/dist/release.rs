//! What is released: the version, and who publishes it.

use anyhow::{Context as _, Result, bail, ensure};
use cargo_metadata::MetadataCommand;
use serde_json::Value;

use crate::command;
use crate::project::Project;

/// Stands for the publisher until there is one.
const PLACEHOLDER: &str = "OWNER";
/// Who reads these accepts no comments or variables, so the version is written out.
const PLUGINS: [&str; 2] =
    ["plugins/cellbridge/.claude-plugin/plugin.json", "plugins/cellbridge/.codex-plugin/plugin.json"];
/// How clients of the plugins start the program.
const SERVERS: &str = "plugins/cellbridge/.mcp.json";

pub(super) struct Release {
    pub(super) version: String,
    /// The account on GitHub that has the repository.
    pub(super) owner: String,
}

impl Release {
    /// Reads the manifest of the program.
    pub(super) fn read(project: &Project) -> Result<Self> {
        let metadata = MetadataCommand::new().current_dir(&project.root).no_deps().exec()?;
        let program = metadata.packages.iter().find(|package| package.name.as_str() == "cli");
        let program = program.context("the workspace has no crate named cli")?;
        let repository = program.repository.as_deref().context("the crate cli names no repository")?;
        let owner = repository
            .strip_prefix("https://github.com/")
            .and_then(|rest| rest.strip_suffix("/cellbridge"))
            .with_context(|| format!("{repository} is not https://github.com/NAME/cellbridge"))?;
        Ok(Self { version: program.version.to_string(), owner: owner.to_owned() })
    }

    pub(super) fn has_owner(&self) -> bool {
        self.owner != PLACEHOLDER
    }

    pub(super) fn repository(&self) -> String {
        format!("https://github.com/{}/cellbridge", self.owner)
    }

    /// Where the files of this release will be.
    pub(super) fn downloads(&self) -> String {
        format!("{}/releases/download/v{}", self.repository(), self.version)
    }

    /// The name in the registry of MCP servers.
    pub(super) fn server_name(&self) -> String {
        format!("io.github.{}/cellbridge", self.owner)
    }

    /// Fails unless all files name the same publisher and version.
    pub(super) fn check_agreement(&self, project: &Project) -> Result<()> {
        let pattern = r"(github\.com/|io\.github\.|ghcr\.io/|marketplace add )[A-Za-z0-9_-]+/cellbridge";
        let mut git = project.command("git");
        git.args(["grep", "--untracked", "-I", "-o", "-E", pattern, "--", ":!xtask"]);
        let found = command::read(&mut git)?;
        let others: Vec<&str> = found.lines().filter(|line| !names_owner(line, &self.owner)).collect();
        ensure!(
            others.is_empty(),
            "the root manifest says that {} publishes, but others disagree:\n{}",
            self.owner,
            others.join("\n")
        );
        // The registry of MCP servers looks for it in what PyPI shows.
        let proof = format!("mcp-name: {}", self.server_name());
        let readme = std::fs::read_to_string(project.root.join("README.md"))?;
        ensure!(readme.contains(&proof), "README.md lacks the line `{proof}`");
        for file in PLUGINS {
            let manifest = read_json(project, file)?;
            ensure!(
                manifest["version"] == self.version,
                "{file} has the version {}, the root manifest {}",
                manifest["version"],
                self.version
            );
        }
        let unpinned = self.unpinned(&read_json(project, SERVERS)?);
        ensure!(
            unpinned.is_empty(),
            "{SERVERS} does not start cellbridge=={}, whose tools the plugin's skill describes: {}",
            self.version,
            unpinned.join(", ")
        );
        Ok(())
    }

    /// The servers of a client's configuration that could start another version than this release.
    fn unpinned(&self, configuration: &Value) -> Vec<String> {
        let pinned = [format!("cellbridge=={}", self.version), format!("cellbridge@{}", self.version)];
        let servers = configuration["mcpServers"].as_object().into_iter().flatten();
        let is_pinned = |server: &Value| {
            let arguments = server["args"].as_array().into_iter().flatten();
            arguments.filter_map(Value::as_str).any(|argument| pinned.iter().any(|it| it == argument))
        };
        servers
            .filter(|(_, server)| !is_pinned(server))
            .map(|(name, server)| format!("{name}: {server}"))
            .collect()
    }

    /// Fails unless the checkout can be released under `tag`.
    pub(super) fn check_tag(&self, project: &Project, tag: &str) -> Result<()> {
        self.check_agreement(project)?;
        ensure!(
            self.has_owner(),
            "{PLACEHOLDER} still stands for the publisher; docs/releasing.md says how to replace it"
        );
        if let Ok(repository) = std::env::var("GITHUB_REPOSITORY") {
            let own = format!("{}/cellbridge", self.owner);
            ensure!(repository == own, "the root manifest names {own}, but this is {repository}");
        }
        if tag != format!("v{}", self.version) {
            bail!("the tag {tag} is not v{}, the version in the root manifest", self.version);
        }
        let changelog = std::fs::read_to_string(project.root.join("CHANGELOG.md"))?;
        ensure!(has_section(&changelog, &self.version), "CHANGELOG.md has no section `## {}`", self.version);
        Ok(())
    }
}

fn read_json(project: &Project, file: &str) -> Result<Value> {
    let text =
        std::fs::read_to_string(project.root.join(file)).with_context(|| format!("{file} can't be read"))?;
    serde_json::from_str(&text).with_context(|| file.to_owned())
}

/// Whether a line of `git grep -o` ends with the owner's repository.
fn names_owner(line: &str, owner: &str) -> bool {
    line.strip_suffix("/cellbridge")
        .and_then(|rest| rest.strip_suffix(owner))
        .is_some_and(|rest| rest.ends_with(['/', '.', ' ']))
}

fn has_section(changelog: &str, version: &str) -> bool {
    changelog.lines().filter_map(|line| line.strip_prefix("## ")).any(|heading| {
        heading.split_whitespace().next().is_some_and(|word| word.trim_matches(['[', ']']) == version)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_address_names_the_owner() {
        for line in [
            "README.md:https://github.com/ada/cellbridge",
            "README.md:io.github.ada/cellbridge",
            "plugins/README.md:marketplace add ada/cellbridge",
        ] {
            assert!(names_owner(line, "ada"), "{line}");
            assert!(!names_owner(line, "da"), "{line}");
            assert!(!names_owner(line, "grace"), "{line}");
        }
    }

    #[test]
    fn the_plugins_start_the_version_that_ships_them() {
        let release = Release { version: "1.2.3".to_owned(), owner: "ada".to_owned() };
        let unpinned = |argument: &str| {
            let server = json!({ "command": "uvx", "args": [argument] });
            release.unpinned(&json!({ "mcpServers": { "cellbridge": server } })).len()
        };
        assert_eq!([unpinned("cellbridge==1.2.3"), unpinned("cellbridge@1.2.3")], [0, 0]);
        for other in ["cellbridge", "cellbridge@latest", "cellbridge==1.2.30", "cellbridge>=1.2.3"] {
            assert_eq!(unpinned(other), 1, "{other}");
        }
        assert_eq!(release.unpinned(&json!({ "mcpServers": { "a": { "command": "uvx" } } })).len(), 1);
    }

    #[test]
    fn all_files_of_this_checkout_agree() -> Result<()> {
        let project = Project::find()?;
        Release::read(&project)?.check_agreement(&project)
    }

    #[test]
    fn the_changelog_has_a_section_for_the_version() {
        assert!(has_section("# Changelog\n\n## [1.2.3] - 2026-11-23\n", "1.2.3"));
        assert!(has_section("## 1.2.3\n", "1.2.3"));
        assert!(!has_section("## Unreleased\n1.2.3\n## 1.2.30\n", "1.2.3"));
    }
}
