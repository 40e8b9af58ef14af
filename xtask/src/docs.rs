//! `docs/`: the parts of it that are generated, and its links.

mod clients;
mod links;
mod listing;
mod page;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::command;
use crate::project::Project;

/// Everything below this line is generated.
const MARK: &str = "<!-- Everything below is generated: run `cargo xtask docs`. -->\n";

/// The reference of the tools.
const TOOLS: &str = "docs/tools.md";

/// The skill that the program serves, and the plugins' copy of it.
const SKILL: &str = "crates/mcp/src/skills/working-in-notebooks/SKILL.md";
const PLUGIN_SKILL: &str = "plugins/cellbridge/skills/working-in-notebooks/SKILL.md";

/// A page, and what makes the part below the mark.
type Page = (&'static str, fn(&Project) -> Result<String>);

const PAGES: [Page; 2] = [
    (TOOLS, |project| Ok(page::render(&listing::sections(project)?))),
    ("docs/install.md", |_| Ok(clients::table())),
];

/// Builds the program and writes what is generated.
pub(crate) fn write() -> Result<()> {
    let project = Project::find()?;
    project.build(&["--bin", "cellbridge"])?;
    for (path, change) in changes(&project)? {
        let file = project.root.join(&path);
        let result = match change {
            Some(text) => std::fs::write(&file, text),
            None => std::fs::remove_file(&file),
        };
        result.with_context(|| format!("{} can't be written", file.display()))?;
        println!("xtask: {path} is written");
    }
    write_by_tests(&project)?;
    check_links(&project)
}

/// The settings come from the command line's definition, which only the tests of its crate can reach. These tests compare
/// otherwise.
fn write_by_tests(project: &Project) -> Result<()> {
    let tests = ["test", "--quiet", "--locked", "--workspace", "--exclude", "bench", "--bin", "cellbridge"];
    command::run(
        project
            .cargo()
            .args(tests)
            .args(["--", "tests::migration::", "tests::settings::"])
            .env("CELLBRIDGE_PAGES", "write"),
    )
}

/// Fails if a page is not what the built program would make it, or if a link is broken.
pub(crate) fn check(project: &Project) -> Result<()> {
    let outdated: Vec<String> = changes(project)?.into_keys().collect();
    ensure!(outdated.is_empty(), "out of date: {}; run `cargo xtask docs`", outdated.join(", "));
    check_links(project)
}

/// Fails if a link leads to no file or heading.
pub(crate) fn check_links(project: &Project) -> Result<()> {
    links::check(&project.root)
}

/// The pages that are not what they would be if they were generated now; `None` if there is no such page any longer.
fn changes(project: &Project) -> Result<BTreeMap<String, Option<String>>> {
    let mut pages: BTreeMap<String, Option<String>> = written(&project.root)?;
    pages.extend(clients::pages().map(|(path, text)| (path, Some(text))));
    for page in PAGES {
        pages.insert(page.0.to_owned(), Some(generated(project, page)?));
    }
    pages.insert(PLUGIN_SKILL.to_owned(), Some(std::fs::read_to_string(project.root.join(SKILL))?));
    pages.retain(|path, text| std::fs::read_to_string(project.root.join(path)).ok() != *text);
    Ok(pages)
}

/// The pages about clients that exist.
fn written(root: &Path) -> Result<BTreeMap<String, Option<String>>> {
    let folder = root.join(clients::FOLDER);
    std::fs::create_dir_all(&folder).with_context(|| format!("{} can't be made", folder.display()))?;
    let files = std::fs::read_dir(&folder)?.map(|entry| Ok(entry?.file_name().into_string().ok()));
    let names: Vec<Option<String>> = files.collect::<Result<_>>()?;
    Ok(names.into_iter().flatten().map(|name| (format!("{}/{name}", clients::FOLDER), None)).collect())
}

/// The names and titles of the tools of `cellbridge`, from the page.
pub(crate) fn tools(project: &Project) -> Result<Vec<(String, String)>> {
    let file = project.root.join(TOOLS);
    let page = std::fs::read_to_string(&file).with_context(|| format!("{} can't be read", file.display()))?;
    let sections: Vec<&str> = page.split("\n## ").collect();
    let own = sections.iter().find(|section| section.starts_with("Tools of `cellbridge`\n"));
    let tools = titles(own.with_context(|| format!("{TOOLS} has no section about the tools"))?);
    ensure!(!tools.is_empty(), "{TOOLS} lists no tools");
    Ok(tools)
}

/// The headings of a section, each with the title that follows.
fn titles(section: &str) -> Vec<(String, String)> {
    let mut tools: Vec<(String, String)> = Vec::new();
    for part in section.split("\n### `").skip(1) {
        let mut lines = part.lines().filter(|line| !line.is_empty());
        let name = lines.next().unwrap_or_default().trim_end_matches('`');
        let title = lines.next().unwrap_or_default().trim_matches('*');
        if tools.iter().all(|(other, _)| other != name) {
            tools.push((name.to_owned(), title.to_owned()));
        }
    }
    tools
}

/// The page with what is written by hand as it is.
fn generated(project: &Project, (path, generate): Page) -> Result<String> {
    let page =
        std::fs::read_to_string(project.root.join(path)).with_context(|| format!("{path} can't be read"))?;
    let Some((by_hand, _)) = page.split_once(MARK) else { bail!("{path} has lost the line {MARK:?}") };
    Ok(format!("{by_hand}{MARK}{}", generate(project)?))
}

#[cfg(test)]
mod tests {
    use super::titles;

    #[test]
    fn each_heading_is_a_tool_with_its_title_once() {
        let section = "Tools\n\n| x |\n\n### `one`\n\n*First*\n\nText.\n\n### `two`\n\n*Second*\n\n### `one`\n\n*Again*\n";
        let expected =
            [("one", "First"), ("two", "Second")].map(|(name, title)| (name.to_owned(), title.to_owned()));
        assert_eq!(titles(section), expected);
    }
}
