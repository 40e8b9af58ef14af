//! Notebooks, cells, outputs, runs and kernels as resources.
//!
//! `notebook://{name}`, `notebook://{name}/cells/{cell_id}`, `notebook://{name}/cells/{cell_id}/outputs/{index}`,
//! `run://{run_id}`, `kernel://{kernel_id}`; a name is percent-encoded, so that a path is one segment.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use notebook::{CellRef, MimeBundle, Output};
use place::{Error, ErrorKind, KernelDescription, KernelState, RunId};
use render::Part;
use rmcp::model::{ListResourcesResult, Resource, ResourceContents, ResourceTemplate};
use workspace::Session;

use crate::subscriptions::Watched;
use calls::replies::run_report::report_since;

const SCHEME: &str = "notebook://";
const RUN: &str = "run://";
const KERNEL: &str = "kernel://";
const NOTEBOOK: &str = "application/x-ipynb+json";
/// The length of the longest address that is watched, in bytes.
const MAX_WATCHED: usize = 4096;

/// The parts of a resource's address.
#[derive(Debug, PartialEq, Eq)]
struct Address {
    notebook: String,
    cell: Option<String>,
    output: Option<usize>,
}

impl Address {
    fn parse(uri: &str) -> Option<Self> {
        let rest = uri.strip_prefix(SCHEME)?;
        let decode = |part: &str| {
            let bytes = percent_encoding::percent_decode_str(part);
            bytes.decode_utf8().ok().map(std::borrow::Cow::into_owned).filter(|text| !text.is_empty())
        };
        // A path that was not encoded ends where the cells begin.
        let (name, cell) = match rest.split_once("/cells/") {
            Some((name, cell)) => (name, Some(cell)),
            None => (rest.trim_end_matches('/'), None),
        };
        let (cell, output) = match cell.map(|cell| cell.split_once("/outputs/").ok_or(cell)) {
            None => (None, None),
            Some(Err(cell)) => (Some(decode(cell)?), None),
            Some(Ok((cell, output))) => (Some(decode(cell)?), Some(output.parse().ok()?)),
        };
        Some(Self { notebook: decode(name)?, cell, output })
    }
}

/// The address of a notebook.
fn address(name: &str) -> String {
    let name = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC).to_string();
    // Readable where nothing is ambiguous.
    format!("{SCHEME}{}", name.replace("%2E", ".").replace("%5F", "_").replace("%2D", "-"))
}

/// The notebooks that this session has opened.
pub(crate) fn list(session: &Session) -> ListResourcesResult {
    let resources = session.names().into_iter().map(|(name, path)| {
        Resource::new(address(&name), name).with_mime_type(NOTEBOOK).with_description(&*path)
    });
    ListResourcesResult::with_all_items(resources.collect())
}

/// The addresses of a notebook's parts.
pub(crate) fn templates() -> Vec<ResourceTemplate> {
    let template = |uri: &str, name: &str, mime: &str, description: &str| {
        ResourceTemplate::new(uri, name).with_mime_type(mime).with_description(description)
    };
    vec![
        template("notebook://{name}", "notebook", NOTEBOOK, "A notebook as .ipynb; name or path"),
        template("notebook://{name}/cells/{cell_id}", "cell", "text/plain", "The source of a cell"),
        ResourceTemplate::new("notebook://{name}/cells/{cell_id}/outputs/{index}", "output")
            .with_description("An output in its own MIME type"),
        template("run://{run_id}", "run", "text/plain", "What get_run shows of a run, as text"),
        template("kernel://{kernel_id}", "kernel", "application/json", "A kernel, and whether it is busy"),
    ]
}

/// The tools that show the content of a resource, or of another request about notebooks.
pub(crate) fn shown_by(uri: &str) -> &'static [&'static str] {
    match uri.split_once("://").map(|(scheme, _)| scheme) {
        Some("run") => &["get_run"],
        Some("kernel") => &["list_kernels"],
        _ => &["read_notebook", "read_cell"],
    }
}

/// Whether a resource of this kind can be watched.
pub(crate) fn is_watchable(uri: &str) -> bool {
    uri.len() <= MAX_WATCHED && (uri.starts_with(RUN) || Address::parse(uri).is_some())
}

/// A subscription to changes of a resource's notebook by others, or to those of a run; `None` if there is no such resource.
pub(crate) async fn changes(session: &Session, uri: &str) -> Result<Option<Watched>, Error> {
    if let Some(id) = uri.strip_prefix(RUN) {
        return Ok(Some(Watched::run(session.workspace().journal().run(&id.into())?)));
    }
    let Some(Address { notebook, .. }) = Address::parse(uri) else { return Ok(None) };
    let opened = session.notebook(Some(&notebook)).await?;
    Ok(Some(Watched::Notebook(session.changes(&opened))))
}

/// The content of a resource; `None` if there is no such resource.
pub(crate) async fn read(session: &Session, uri: &str) -> Result<Option<ResourceContents>, Error> {
    if let Some(id) = uri.strip_prefix(RUN) {
        return run(session, uri, &id.into()).await.map(Some);
    }
    if let Some(id) = uri.strip_prefix(KERNEL) {
        let kernel = session.kernel(id).await?;
        let KernelDescription { name, display_name, language, state, .. } = kernel.description();
        let is_busy = state == KernelState::Busy;
        let described = serde_json::json!({
            "id": kernel.id(), "name": name, "display_name": display_name, "language": language, "is_busy": is_busy,
        });
        return Ok(Some(text_of(uri, "application/json", described.to_string())));
    }
    let Some(Address { notebook: name, cell, output }) = Address::parse(uri) else { return Ok(None) };
    let opened = session.notebook(Some(&name)).await?;
    let notebook = opened.document().snapshot().await?;
    let Some(cell) = cell else {
        let text = String::from_utf8_lossy(&notebook.to_bytes()).into_owned();
        return Ok(Some(text_of(uri, NOTEBOOK, text)));
    };
    let index = session.find(opened.path(), &notebook, &CellRef::parse(&cell))?;
    let cell = &notebook.cells()[index];
    let Some(number) = output else {
        let mime = if cell.cell_type().to_string() == "markdown" { "text/markdown" } else { "text/plain" };
        return Ok(Some(text_of(uri, mime, cell.source().into_owned())));
    };
    match cell.outputs().get(number) {
        Some(output) => Ok(Some(content(uri, output))),
        None => Err(Error::new(
            ErrorKind::NotFound,
            format!("Cell {index} has no output {number}."),
            format!("It has {} outputs, counted from 0.", cell.output_count()),
        )),
    }
}

async fn run(session: &Session, uri: &str, id: &RunId) -> Result<ResourceContents, Error> {
    let workspace = session.workspace();
    let run = workspace.journal().run(id)?;
    let shown = report_since(session, &run, workspace.settings().budget, None).await;
    let texts = shown.into_parts().0.into_iter().filter_map(|part| match part {
        Part::Text(text) => Some(text),
        Part::Image { .. } => None,
    });
    Ok(text_of(uri, "text/plain", texts.collect::<Vec<_>>().join("\n")))
}

fn content(uri: &str, output: &Output) -> ResourceContents {
    match output {
        Output::Stream { text, .. } => text_of(uri, "text/plain", text.as_str().into_owned()),
        Output::Display(bundle) | Output::Result { bundle, .. } => richest(uri, bundle),
        Output::Error { traceback, .. } => text_of(uri, "text/plain", traceback.join("\n")),
        Output::Other(json) => text_of(uri, "application/json", json.as_str().to_owned()),
    }
}

/// The content in its richest type: an image as bytes, else HTML, JSON or text.
fn richest(uri: &str, bundle: &MimeBundle) -> ResourceContents {
    let members: Vec<_> = bundle.data.members().collect();
    let rank = |mime: &str| match mime {
        "image/png" | "image/jpeg" | "image/gif" | "image/webp" => 0,
        "image/svg+xml" => 1,
        "text/html" => 2,
        "text/plain" => 9,
        _ if mime.starts_with("application/") => 3,
        _ => 4,
    };
    let Some((mime, content)) = members.iter().min_by_key(|(mime, _)| rank(mime)) else {
        return text_of(uri, "text/plain", String::new());
    };
    let text = content.multiline_text();
    if rank(mime) == 0 {
        let encoded: String = text.unwrap_or_default().split_ascii_whitespace().collect();
        if STANDARD.decode(&encoded).is_ok() {
            return ResourceContents::blob(encoded, uri).with_mime_type(&**mime);
        }
        return text_of(uri, "text/plain", format!("The {mime} data of this output cannot be read."));
    }
    text_of(uri, mime, text.map_or_else(|| content.as_str().to_owned(), Cow::into_owned))
}

fn text_of(uri: &str, mime: &str, text: String) -> ResourceContents {
    ResourceContents::text(text, uri).with_mime_type(mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_name_notebooks_cells_and_outputs() {
        let of = |notebook: &str, cell: Option<&str>, output| {
            Some(Address { notebook: notebook.into(), cell: cell.map(Into::into), output })
        };
        assert_eq!(Address::parse("notebook://plots"), of("plots", None, None));
        assert_eq!(Address::parse("notebook://a%2Fb%20c.ipynb"), of("a/b c.ipynb", None, None));
        assert_eq!(Address::parse("notebook://a/b.ipynb/cells/x1"), of("a/b.ipynb", Some("x1"), None));
        assert_eq!(Address::parse("notebook://a/cells/x1/outputs/2"), of("a", Some("x1"), Some(2)));
        for wrong in ["notebook://", "notebook://a/cells/x/outputs/two", "file:///a", "notebook://a/cells/"] {
            assert_eq!(Address::parse(wrong), None, "{wrong}");
        }
        assert_eq!(Address::parse(&address("a/b c.ipynb")), of("a/b c.ipynb", None, None));
    }
}
