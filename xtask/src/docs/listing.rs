//! The tools, as the program lists them to an agent.

use std::process::Stdio;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::project::Project;

/// The names for `--tools`.
const GROUPS: [&str; 6] = ["read", "edit", "run", "files", "kernels", "colab"];

/// Tools that are listed together.
pub(super) struct Section {
    pub(super) title: &'static str,
    pub(super) introduction: &'static str,
    pub(super) tools: Vec<Tool>,
}

/// A tool of the reference.
pub(super) struct Tool {
    pub(super) definition: Value,
    /// All that must be offered.
    pub(super) groups: Vec<&'static str>,
    /// Whether `--read-only` offers it.
    pub(super) is_for_readers: bool,
}

/// The sections of the reference. `cellbridge jupyter` lists nothing that `cellbridge` does not.
pub(super) fn sections(project: &Project) -> Result<Vec<Section>> {
    let program = Program::of(project)?;
    let place: &[&str] = &["--no-browser"];
    let own = program.tools(place)?;
    let is_own = |tool: &Tool| own.iter().any(|other| other.definition == tool.definition);
    let jupyter: Vec<Tool> = program.tools(&["jupyter"])?.into_iter().filter(|tool| !is_own(tool)).collect();
    let colab: Vec<Tool> =
        program.tools(&["colab", "--no-browser"])?.into_iter().filter(|tool| !is_own(tool)).collect();
    let sections = [
        Section {
            title: "Tools of `cellbridge`",
            introduction: "`cellbridge jupyter` lists the same without those of the group `colab`. `add_packages` is listed where the person can be asked, or with `--allow-install`; `list_machines`, `start_machine` and `stop_machine` where somebody has signed in with `cellbridge colab login`.",
            tools: own,
        },
        Section {
            title: "Only in `cellbridge jupyter`",
            introduction: "These differ from the tools of the same name above.",
            tools: jupyter,
        },
        Section {
            title: "Only in `cellbridge colab`",
            introduction: "Besides the tools of the group `colab` above, the tab's own tools, passed on unchanged. A connected page brings its own definitions, which may differ.",
            tools: colab,
        },
    ];
    Ok(sections.into_iter().filter(|section| !section.tools.is_empty()).collect())
}

/// The built program, with an empty folder to work in.
struct Program<'a> {
    project: &'a Project,
    folder: std::path::PathBuf,
}

impl<'a> Program<'a> {
    fn of(project: &'a Project) -> Result<Self> {
        let folder = project.target.join("docs");
        // Tools that need a login are listed where there is one, whatever it holds.
        let login = folder.join("state/cellbridge/colab/login.json");
        let parent = login.parent().unwrap_or(&folder);
        std::fs::create_dir_all(parent).with_context(|| format!("{} can't be made", parent.display()))?;
        std::fs::write(&login, "{}").with_context(|| format!("{} can't be written", login.display()))?;
        Ok(Self { project, folder })
    }

    fn tools(&self, arguments: &[&str]) -> Result<Vec<Tool>> {
        let for_readers = self.list(&[arguments, &["--read-only"]].concat())?;
        let mut without = Vec::new();
        for group in GROUPS {
            let others = others(group);
            without.push((group, self.list(&[arguments, &["--tools", &others]].concat())?));
        }
        let has = |list: &[Value], tool: &Value| list.iter().any(|other| other["name"] == tool["name"]);
        let described = |definition: Value| Tool {
            groups: without
                .iter()
                .filter(|(_, list)| !has(list, &definition))
                .map(|(group, _)| *group)
                .collect(),
            is_for_readers: has(&for_readers, &definition),
            definition,
        };
        Ok(self.list(arguments)?.into_iter().map(described).collect())
    }

    fn list(&self, arguments: &[&str]) -> Result<Vec<Value>> {
        let list = self.ask(arguments, "tools/list", &json!({}))?;
        Ok(list["tools"].as_array().context("an answer without tools")?.clone())
    }

    /// The result of one request to a program of its own.
    fn ask(&self, arguments: &[&str], method: &str, params: &Value) -> Result<Value> {
        let mut command = self.project.command(self.project.built("cellbridge"));
        // Neither the person's settings nor an installed Python change what is listed.
        command
            .current_dir(&self.folder)
            .env_clear()
            .env("HOME", &self.folder)
            .env("XDG_STATE_HOME", self.folder.join("state"))
            .env("CELLBRIDGE_ALLOW_INSTALL", "true")
            .args(arguments);
        let mut ask = || -> Result<Value> {
            let mut agent = Agent::start(command.stderr(Stdio::null()))?;
            let result = agent.request(method, params)?;
            agent.leave()?;
            Ok(result)
        };
        ask().with_context(|| format!("cellbridge {arguments:?}"))
    }
}

/// All groups but one, for `--tools`.
fn others(group: &str) -> String {
    GROUPS.into_iter().filter(|other| *other != group).collect::<Vec<_>>().join(",")
}
