//! `cellbridge export`: a notebook as one HTML file, which works without a network.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use files::{check_replaceable, replace_file};
use html::{About, Context, Libraries, Library, Page};
use notebook::Notebook;
use place::Mode;
use workspace::widget_text;

use crate::args::Export;
use crate::command_session::{self, Named};
use crate::process::process_env;
use terminal::{note, write_document};

/// Where the page goes.
enum Target {
    StandardOutput,
    File(PathBuf),
}

pub(crate) async fn run(options: &Export) -> anyhow::Result<()> {
    let source = Named::existing(&options.path)?;
    let target = target(&options.output, &source)?;
    let notebook = read(&source, options).await?;
    let libraries = match &source {
        Named::File(file) if options.interactive => page::libraries(file, &notebook, process_env()),
        // The files of a server are not here.
        _ => Libraries::default(),
    };
    let page = page(options, &notebook, &libraries);
    match &target {
        Target::StandardOutput => write_document(&page.html)?,
        Target::File(file) => {
            replace_file(file, page.html.as_bytes(), &source.file().into_iter().collect::<Vec<_>>())
                .with_context(|| format!("{} cannot be written", file.display()))?;
        }
    }
    for line in notes(&page) {
        note(&format!("cellbridge: {line}"));
    }
    Ok(())
}

/// Fails if the page cannot go there.
fn target(output: &Path, source: &Named) -> anyhow::Result<Target> {
    if output == Path::new("-") {
        return Ok(Target::StandardOutput);
    }
    let refused = |cause: &str| anyhow::anyhow!("{} cannot be written: {cause}", output.display());
    let named = Named::to_be_written(output)?;
    let Named::File(file) = &named else {
        return Err(refused("the page is written to this machine; give a path without a server"));
    };
    let is_notebook = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"));
    if named == *source || is_notebook {
        return Err(refused(
            "it is a notebook, which the page would replace; give a name that ends in .html",
        ));
    }
    check_replaceable(file).map_err(|error| refused(&error.to_string()))?;
    Ok(Target::File(file.clone()))
}

async fn read(source: &Named, options: &Export) -> anyhow::Result<Notebook> {
    let (session, paths) = command_session::session(&[source], &options.places, None)?;
    let Some(path) = paths.first() else { bail!("no notebook is named") };
    let opened = session.use_notebook("notebook", path, Mode::Connect).await?;
    let notebook = opened.document().snapshot().await;
    session.workspace().shutdown().await;
    Ok(notebook?)
}

fn page(options: &Export, notebook: &Notebook, libraries: &Libraries) -> Page {
    let widgets = notebook.metadata().member("widgets");
    let text_of = |model: &str| widget_text(widgets.as_ref()?, model);
    let mut context = Context::new(notebook, &text_of);
    context.shows_sources = !options.no_input;
    context.libraries = options.interactive.then_some(libraries);
    let title = terminal::path(Path::new(options.path.file_name().unwrap_or(options.path.as_os_str())));
    let kernel = notebook.kernelspec().map(|spec| spec.display_name.unwrap_or(spec.name));
    let cells = format!("Cells: {}", notebook.cells().len());
    let lines = vec![kernel.into_iter().chain([cells]).collect::<Vec<_>>().join(" · ")];
    html::page(&About { title: &title, lines }, notebook, &context)
}

/// What the person may want to do differently.
fn notes(page: &Page) -> Vec<String> {
    let mut notes = Vec::new();
    if page.interactive > 0 {
        notes.push(format!(
            "Outputs with scripts in their static form: {}. --interactive runs their scripts, in frames without a network.",
            page.interactive
        ));
    }
    notes.extend(page.missing.iter().map(|library| {
        let needed = match library {
            Library::Plotly => "install the package `plotly`",
            Library::Vega => "install the package `panel`, which has Vega's scripts",
            Library::Bokeh => "install the package `bokeh`",
        };
        format!(
            "{} charts are static: the library's scripts are not in the notebook's Python environment. To include them, {needed} there.",
            library.name()
        )
    }));
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_replaces_no_notebook() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let notebook = root.join("a.ipynb");
        std::fs::write(&notebook, "").unwrap();
        let source = Named::existing(&notebook).unwrap();
        for (output, cause) in [
            (notebook.clone(), "it is a notebook"),
            (root.join("b.IPYNB"), "it is a notebook"),
            (root.clone(), "it is a folder"),
            (PathBuf::from("jupyter:a.html"), "written to this machine"),
        ] {
            let error = target(&output, &source).err().unwrap().to_string();
            assert!(error.contains(cause), "{error}");
        }
        assert!(matches!(target(Path::new("-"), &source), Ok(Target::StandardOutput)));
        assert!(matches!(target(&root.join("a.html"), &source), Ok(Target::File(_))));
    }

    #[test]
    fn notes_name_what_would_help() {
        let page = Page { html: String::new(), interactive: 2, missing: [Library::Plotly].into() };
        let notes = notes(&page);
        assert!(
            notes[0].contains(": 2. --interactive") && notes[1].contains("install the package `plotly`"),
            "{notes:?}"
        );
        assert!(super::notes(&Page { html: String::new(), interactive: 0, missing: [].into() }).is_empty());
    }
}
