//! Outputs with scripts, each in a frame of its own.
//!
//! A frame is sandboxed: its scripts have an origin of their own, and reach neither the page nor its file. It inherits the policy of
//! the page, which allows no request, no navigation, and only the scripts whose hashes the page names. A frame gets its library from
//! the page in a message, so that the page holds each library once.

use std::collections::BTreeSet;

use notebook::markup::{Part, raw_text, read};
use notebook::{MimeBundle, MimeKind};
use render::Chart;
use serde_json::Value;

use crate::fragment::{Fragment, allowed, script_hash};
use crate::sanitize;
use crate::{Libraries, Library};

const BOOTSTRAP: &str = include_str!("frame/bootstrap.js");
const PLOTLY: &str = include_str!("frame/plotly.js");
const VEGA: &str = include_str!("frame/vega.js");
const BOKEH: &str = include_str!("frame/bokeh.js");

/// The head of each frame. Its own policy repeats what the page's forbids, for pages that serve a frame by itself.
const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><title>Output</title>\
    <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src 'unsafe-inline' 'unsafe-eval' blob:; \
    style-src 'unsafe-inline'; img-src data: blob:; font-src data:; worker-src blob:; form-action 'none'; base-uri 'none'\">\
    <meta http-equiv=\"x-dns-prefetch-control\" content=\"off\">\
    <style>html{color-scheme:light;background:#fff;color:#111}body{margin:0;font:14px/1.4 system-ui,sans-serif}</style>";

/// An output that a script draws.
#[derive(Debug)]
pub(crate) enum Interactive {
    Chart(Chart),
    /// The element, and the script that draws into it.
    Bokeh(String, String),
    /// HTML with scripts of its own.
    Html(String),
}

impl Interactive {
    pub(crate) fn of(bundle: &MimeBundle) -> Option<Self> {
        let kinds = || bundle.data.members().map(|(mime, content)| (MimeKind::of(&mime), content));
        if let Some(chart) = kinds().find_map(|(kind, content)| Chart::of(kind, &content)) {
            return Some(Self::Chart(chart));
        }
        let html = bundle.text("text/html").unwrap_or_default();
        if kinds().any(|(kind, _)| kind == MimeKind::Bokeh) {
            return Some(Self::Bokeh(html, bundle.text("application/javascript").unwrap_or_default()));
        }
        // Colab adds buttons to its tables, whose scripts need Colab.
        if !has_script(&html) || html.contains("class=\"dataframe\"") {
            return None;
        }
        Some(Chart::in_html(&html).map_or(Self::Html(html), Self::Chart))
    }

    /// Whether it only loads scripts for other outputs.
    pub(crate) fn shows_nothing(&self) -> bool {
        matches!(self, Self::Html(html) if sanitize::output(html).html.as_str().trim().is_empty())
    }

    /// Whether scripts are requested from elsewhere, which no frame can do.
    pub(crate) fn needs_network(&self) -> bool {
        let Self::Html(html) = self else { return false };
        html.split("://").skip(1).any(|rest| {
            let address = rest.split(['"', '\'', '`', ' ', '\n', '<', ')', '?']).next().unwrap_or_default();
            let is_script = [".js", ".mjs"].iter().any(|end| address.ends_with(end));
            is_script || ["/npm/", "unpkg.com/", "esm.sh/"].iter().any(|part| address.contains(part))
        })
    }
}

/// Writes the frame. Fails if its library is not there.
pub(crate) fn write(output: &Interactive, libraries: &Libraries, html: &mut Fragment) -> Result<(), Library> {
    let (library, script, body) = match output {
        Interactive::Chart(Chart::Plotly(figure)) => (Some(Library::Plotly), PLOTLY, data(figure.as_str())),
        Interactive::Chart(Chart::Vega(chart)) => (Some(Library::Vega), VEGA, data(chart.as_str())),
        Interactive::Bokeh(element, script) => {
            let script = Value::from(script.as_str()).to_string();
            (Some(Library::Bokeh), BOKEH, format!("{element}{}", data(&script)))
        }
        // Its script waits for the library.
        Interactive::Html(body) => (body.contains("root.Bokeh").then_some(Library::Bokeh), "", body.clone()),
    };
    if let Some(library) = library {
        libraries.get(library).ok_or(library)?;
        html.libraries.insert(library);
    }
    let mut document = format!("{HEAD}<script>{BOOTSTRAP}</script>");
    if !script.is_empty() {
        document.push_str(&format!("<script>{script}</script>"));
    }
    document.push_str("</head><body>");
    document.push_str(&normalized(&body));
    html.scripts.extend(hashes(&document));
    html.raw("<iframe class=\"cb-frame\" sandbox=\"allow-scripts\" loading=\"lazy\"");
    html.attribute("title", library.map_or("Interactive output", |_| "Interactive chart"));
    if let Some(library) = library {
        html.attribute("data-library", &library.element());
    }
    html.attribute("srcdoc", &document).raw("></iframe>");
    Ok(())
}

/// JSON in a block that no script can end: `<` occurs only in its strings.
fn data(json: &str) -> String {
    format!(
        "<div id=\"chart\"></div><script type=\"application/json\" id=\"data\">{}</script>",
        embedded_json(json)
    )
}

pub(crate) fn embedded_json(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The text as a browser reads it from an attribute of the page: so that the hashes are those of the scripts that it sees.
fn normalized(html: &str) -> String {
    let html = html.replace("\r\n", "\n").replace('\r', "\n");
    html.chars().map(allowed).collect()
}

fn has_script(html: &str) -> bool {
    // Most outputs have none.
    if !html.contains("<script") && !html.contains("<SCRIPT") {
        return false;
    }
    let mut found = false;
    scripts(html, |_| found = true);
    found
}

/// The hashes of the scripts and the event handlers in a document.
fn hashes(document: &str) -> BTreeSet<String> {
    let mut hashes = BTreeSet::new();
    scripts(document, |script| {
        hashes.insert(script_hash(script));
    });
    hashes
}

fn scripts(html: &str, mut take: impl FnMut(&str)) {
    let mut script: Option<String> = None;
    read(html, |part| {
        match part {
            Part::Tag(tag) if tag.is_start => {
                let handlers = tag.attributes().filter(|(name, _)| name.starts_with("on"));
                handlers.for_each(|(_, value)| take(&value));
                if tag.name == "script" {
                    let kind = tag.attribute("type").unwrap_or_default();
                    let is_script = kind.is_empty() || kind.contains("javascript") || kind == "module";
                    script = is_script.then(String::new);
                }
                return raw_text(&tag.name);
            }
            Part::Tag(_) => script.take().iter().for_each(|script| take(script)),
            Part::Text(text) => script.iter_mut().for_each(|script| script.push_str(&text)),
            Part::Comment(_) => {}
        }
        None
    });
}

#[cfg(test)]
mod tests;
