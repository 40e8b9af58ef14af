//! A whole page: one file that works without a network.

use std::collections::BTreeSet;

use notebook::{Notebook, one_line, outline};

use crate::fragment::{Fragment, script_hash};
use crate::frame::embedded_json;
use crate::{Context, Libraries, Library, cell};

/// The style sheet of all fragments.
pub const STYLE: &str = include_str!("page/style.css");
const LOADER: &str = include_str!("page/loader.js");

/// A page, and what its reader may want to know.
#[derive(Debug)]
pub struct Page {
    pub html: String,
    /// How many outputs have a static form and would be interactive in frames.
    pub interactive: usize,
    /// The libraries that charts lack, which therefore have their static form.
    pub missing: BTreeSet<Library>,
}

/// What a page says of its notebook.
#[derive(Debug, Default)]
pub struct About<'a> {
    pub title: &'a str,
    /// Lines below the title.
    pub lines: Vec<String>,
}

/// The page of a notebook.
pub fn page(about: &About<'_>, notebook: &Notebook, context: &Context<'_>) -> Page {
    let mut body = Fragment::default();
    contents(notebook, &mut body);
    body.raw("<main>\n");
    for (index, it) in notebook.cells().iter().enumerate() {
        body.append(cell(index, it, context));
    }
    body.raw("</main>\n");
    let (interactive, missing) = (body.interactive, std::mem::take(&mut body.missing));
    Page { html: document(about, body, context.libraries), interactive, missing }
}

/// The headings, as links to their cells.
fn contents(notebook: &Notebook, html: &mut Fragment) {
    let headings = outline(notebook);
    if headings.len() < 2 {
        return;
    }
    html.raw("<nav aria-label=\"Contents\"><details><summary>Contents</summary><ul>");
    for heading in headings {
        html.raw("<li").attribute("class", &format!("cb-level{}", heading.level));
        html.raw("><a").attribute("href", &format!("#cell-{}", heading.cell_index));
        html.raw(">").text(&one_line(&heading.title)).raw("</a></li>");
    }
    html.raw("</ul></details></nav>\n");
}

/// A document around the fragments of a page.
pub fn document(about: &About<'_>, body: Fragment, libraries: Option<&Libraries>) -> String {
    let mut html = Fragment::default();
    html.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"Content-Security-Policy\"");
    html.attribute("content", &policy(&body.scripts)).raw(">\n");
    html.raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
    html.raw("<meta name=\"referrer\" content=\"no-referrer\">\n<meta name=\"color-scheme\" content=\"light dark\">\n");
    html.raw("<title>")
        .text(&one_line(about.title))
        .raw("</title>\n<style>")
        .raw(STYLE)
        .raw("</style>\n</head>\n<body>\n");
    html.raw("<header class=\"cb-page\"><h1>").text(&one_line(about.title)).raw("</h1>");
    for line in &about.lines {
        html.raw("<p>").text(&one_line(line)).raw("</p>");
    }
    html.raw("</header>\n");
    let used: Vec<Library> = body.libraries.iter().copied().collect();
    let has_frames = !body.scripts.is_empty();
    html.append(body);
    for library in used {
        if let Some(scripts) = libraries.and_then(|libraries| libraries.get(library)) {
            let scripts = serde_json::Value::from(scripts.to_vec()).to_string();
            html.raw("<script type=\"application/json\"").attribute("id", &library.element()).raw(">");
            html.trusted(&embedded_json(&scripts)).raw("</script>\n");
        }
    }
    if has_frames {
        html.raw("<script>").raw(LOADER).raw("</script>\n");
    }
    html.raw("</body>\n</html>\n").as_str().to_owned()
}

/// What the page may load and run: nothing from elsewhere, and of scripts only these. Its frames inherit it.
fn policy(scripts: &BTreeSet<String>) -> String {
    let common =
        "default-src 'none'; style-src 'unsafe-inline'; media-src data:; base-uri 'none'; form-action 'none'";
    if scripts.is_empty() {
        return format!("{common}; img-src data:");
    }
    let hashes: Vec<&str> = scripts.iter().map(String::as_str).collect();
    let loader = script_hash(LOADER);
    format!(
        "{common}; img-src data: blob:; font-src data:; worker-src blob:; script-src 'unsafe-eval' 'unsafe-hashes' {loader} {}",
        hashes.join(" ")
    )
}

#[cfg(test)]
mod tests;
