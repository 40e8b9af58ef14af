//! The generated parts of `docs`: of `tools.md` what the program answers to `tools/list`, of `install.md` the table of
//! clients.

mod clients;
mod listing;
mod page;

use std::path::Path;

use anyhow::{Context as _, Result, bail, ensure};

use crate::project::Project;

/// Everything below this line is generated.
const MARK: &str = "<!-- Everything below is generated: run `cargo xtask docs`. -->\n";

/// A page, and what makes its generated part.
type Page = (&'static str, fn(&Project) -> Result<String>);

const PAGES: [Page; 2] = [
    ("docs/tools.md", |project| Ok(page::render(&listing::sections(project)?))),
    ("docs/install.md", |_| Ok(clients::render())),
];

/// Builds the program and writes the generated parts.
pub(crate) fn write() -> Result<()> {
    let project = Project::find()?;
    project.build(&["--bin", "cellbridge"])?;
    for page in PAGES {
        let (current, generated) = (read(&project.root, page.0)?, generated(&project, page)?);
        if current != generated {
            let file = project.root.join(page.0);
            std::fs::write(&file, generated)
                .with_context(|| format!("{} can't be written", file.display()))?;
            println!("xtask: {} is written", page.0);
        }
    }
    Ok(())
}

/// Fails if a page is not what the built program would make it.
pub(crate) fn check(project: &Project) -> Result<()> {
    for page in PAGES {
        let is_current = read(&project.root, page.0)? == generated(project, page)?;
        ensure!(is_current, "{} is out of date: run `cargo xtask docs`", page.0);
    }
    Ok(())
}

fn read(root: &Path, name: &str) -> Result<String> {
    std::fs::read_to_string(root.join(name)).with_context(|| format!("{name} can't be read"))
}

/// The page with what is written by hand as it is.
fn generated(project: &Project, (name, generate): Page) -> Result<String> {
    let page = read(&project.root, name)?;
    let Some((by_hand, _)) = page.split_once(MARK) else { bail!("{name} has lost the line {MARK:?}") };
    Ok(format!("{by_hand}{MARK}{}", generate(project)?))
}
