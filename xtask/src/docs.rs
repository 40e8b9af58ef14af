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
