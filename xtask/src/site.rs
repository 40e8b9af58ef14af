//! `cargo xtask site`: the pages in `docs/` as a site, made by Sphinx.

use anyhow::Result;

use crate::project::Project;
use crate::{command, docs, provision};

pub(crate) fn run() -> Result<()> {
    let project = Project::find()?;
    docs::check_links(&project)?;
    build(&project)
}

/// Builds the site; every warning is an error: a broken link, a page that the navigation lacks.
pub(crate) fn build(project: &Project) -> Result<()> {
    let environment = provision::site(project)?;
    let folder = project.target.join("site");
    let html = folder.join("html");
    let sphinx = ["-W", "--keep-going", "--nitpicky", "--fresh-env", "--quiet", "--builder", "html"];
    command::run(
        environment
            .module(project, "sphinx")?
            .args(sphinx)
            .arg("--doctree-dir")
            .arg(folder.join("doctrees"))
            .arg("docs")
            .arg(&html),
    )?;
    println!("xtask: the site is in {}", html.display());
    Ok(())
}
