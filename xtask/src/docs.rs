//! `docs/tools.md`: its generated part is what the program answers to `tools/list`.

mod listing;
mod page;

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::project::Project;

const PAGE: &str = "docs/tools.md";
/// Everything below this line is generated.
const MARK: &str = "<!-- Everything below is generated: run `cargo xtask docs`. -->\n";

/// Builds the program and writes the generated part.
pub(crate) fn write() -> Result<()> {
    let project = Project::find()?;
    project.build(&["--bin", "cellbridge"])?;
    let (current, generated) = (read(&project.root)?, generated(&project)?);
    if current != generated {
        let file = project.root.join(PAGE);
        std::fs::write(&file, generated).with_context(|| format!("{} can't be written", file.display()))?;
        println!("xtask: {PAGE} is written");
    }
    Ok(())
}

/// Fails if the page is not what the built program would make it.
pub(crate) fn check(project: &Project) -> Result<()> {
    ensure!(read(&project.root)? == generated(project)?, "{PAGE} is out of date: run `cargo xtask docs`");
    Ok(())
}

/// The names and titles of the tools of `cellbridge`, from the page.
pub(crate) fn tools(project: &Project) -> Result<Vec<(String, String)>> {
    let page = read(&project.root)?;
    let sections: Vec<&str> = page.split("\n## ").collect();
    let own = sections.iter().find(|section| section.starts_with("Tools of `cellbridge`\n"));
    let tools = titles(own.with_context(|| format!("{PAGE} has no section about the tools"))?);
    ensure!(!tools.is_empty(), "{PAGE} lists no tools");
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

fn read(root: &Path) -> Result<String> {
    std::fs::read_to_string(root.join(PAGE)).with_context(|| format!("{PAGE} can't be read"))
}

/// The page with what is written by hand as it is.
fn generated(project: &Project) -> Result<String> {
    let page = read(&project.root)?;
    let Some((by_hand, _)) = page.split_once(MARK) else { bail!("{PAGE} has lost the line {MARK:?}") };
    let reference = page::render(&listing::sections(project)?);
    Ok(format!("{by_hand}{MARK}{reference}"))
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
