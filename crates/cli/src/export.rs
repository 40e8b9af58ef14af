//! `cellbridge export`: a notebook as one HTML file, which works without a network.

use std::path::Path;

use anyhow::Context as _;
use files::replace_file;
use html::{About, Context, Libraries, Library, Page};
use notebook::Notebook;
use workspace::widget_text;

use crate::args::Export;
use crate::command_session::{self, Named, report_file};
use crate::process::process_env;
use terminal::{note, write_document};

pub(crate) async fn run(options: &Export) -> anyhow::Result<()> {
    let source = Named::existing(&options.path)?;
    let sources = [source];
    let is_printed = options.output == Path::new("-");
    let target = (!is_printed).then(|| report_file(&options.output, &sources, ".html")).transpose()?;
    let [source] = sources;
    let notebook = read(&source, options).await?;
    let libraries = match &source {
        Named::File(file) if options.interactive => page::libraries(file, &notebook, process_env()),
        // The files of a server are not here.
        _ => Libraries::default(),
    };
    let page = page(options, &notebook, &libraries);
    match &target {
        None => write_document(&page.html)?,
        Some(file) => {
            replace_file(file, page.html.as_bytes(), &source.file().into_iter().collect::<Vec<_>>())
                .with_context(|| format!("{} cannot be written", file.display()))?;
        }
    }
    for line in notes(&page) {
        note(&format!("cellbridge: {line}"));
    }
    Ok(())
}

async fn read(source: &Named, options: &Export) -> anyhow::Result<Notebook> {
    let (session, opened) = command_session::opened(source, &options.places, None).await?;
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
