//! `docs/`: the parts of it that are generated, and its links.

mod links;
mod listing;
mod page;

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::command;
use crate::project::Project;

/// Its generated part is what the program answers to `tools/list`.
const PAGE: &str = "docs/tools.md";
/// Everything below this line is generated.
const MARK: &str = "<!-- Everything below is generated: run `cargo xtask docs`. -->\n";

/// Builds the program and writes what is generated.
pub(crate) fn write() -> Result<()> {
    let project = Project::find()?;
    project.build(&["--bin", "cellbridge"])?;
    let (current, generated) = (read(&project.root)?, generated(&project)?);
    if current != generated {
        let file = project.root.join(PAGE);
        std::fs::write(&file, generated).with_context(|| format!("{} can't be written", file.display()))?;
        println!("xtask: {PAGE} is written");
    }
    write_by_tests(&project)?;
    check_links(&project)
}

/// The settings come from the command line's definition, which only the tests of its crate can reach. These tests compare
/// otherwise.
fn write_by_tests(project: &Project) -> Result<()> {
    let tests = ["test", "--quiet", "--locked", "--workspace", "--exclude", "bench", "--bin", "cellbridge"];
    command::run(project.cargo().args(tests).args(["--", "pages::"]).env("CELLBRIDGE_PAGES", "write"))
}

/// Fails if the page is not what the built program would make it, or if a link is broken.
pub(crate) fn check(project: &Project) -> Result<()> {
    ensure!(read(&project.root)? == generated(project)?, "{PAGE} is out of date: run `cargo xtask docs`");
    check_links(project)
}

/// Fails if a link leads to no file or heading.
pub(crate) fn check_links(project: &Project) -> Result<()> {
    links::check(&project.root)
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
