//! The notebooks of the corpus, and an independent view of notebook files.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use bytes::Bytes;
use notebook::Notebook;
use serde_json::value::RawValue;

/// A file of the corpus; its name says what is special about it.
pub(crate) struct Corpus {
    pub(crate) name: String,
    pub(crate) text: Bytes,
}

impl Corpus {
    pub(crate) fn notebook(&self) -> Notebook {
        parse(self.text.clone()).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }
}

pub(crate) fn corpus() -> Vec<Corpus> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/corpus");
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ipynb"));
    paths.sort();
    let name = |path: &Path| path.file_stem().unwrap().to_str().unwrap().to_owned();
    paths.iter().map(|path| Corpus { name: name(path), text: Bytes::from(fs::read(path).unwrap()) }).collect()
}

pub(crate) fn of_corpus(name: &str) -> Notebook {
    corpus().into_iter().find(|file| file.name == name).unwrap_or_else(|| panic!("no {name}")).notebook()
}

pub(crate) fn parse(text: impl Into<Bytes>) -> Result<Notebook, notebook::ParseError> {
    Notebook::parse(text.into())
}

/// The texts of the cells as they stand in a file, found without the crate under test.
pub(crate) fn cells_of(text: &str) -> Vec<&str> {
    let text = text.trim_start_matches('\u{feff}');
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).unwrap();
    let cells = members.get("cells").map_or("[]", |cells| cells.get());
    let cells: Option<Vec<&RawValue>> = serde_json::from_str(cells).unwrap();
    cells.unwrap_or_default().into_iter().map(RawValue::get).collect()
}

/// All that a user sees of a notebook.
pub(crate) fn seen(notebook: &Notebook) -> Vec<String> {
    let cell = |cell: &notebook::Cell| {
        format!(
            "{} {} {:?} {} {:?} {:?}",
            cell.id(),
            cell.cell_type(),
            cell.source(),
            cell.revision(),
            cell.execution_count(),
            cell.outputs().iter().map(output).collect::<Vec<_>>(),
        )
    };
    let head =
        format!("{} {:?} {:?}", notebook.metadata().to_value(), notebook.kernelspec(), notebook.language());
    std::iter::once(head).chain(notebook.cells().iter().map(cell)).collect()
}

/// An output without the differences that nbformat makes nothing of.
fn output(output: &notebook::Output) -> String {
    use notebook::Output::{Display, Result};
    match output {
        Display(bundle) | Result { bundle, .. } => {
            let contents = bundle.data.members().map(|(mime, content)| {
                let is_json = mime.ends_with("json");
                let text = content.multiline_text().filter(|_| !is_json);
                (mime, text.map_or_else(|| content.to_value().to_string(), Cow::into_owned))
            });
            format!("{:?} {}", contents.collect::<BTreeMap<_, _>>(), bundle.metadata.to_value())
        }
        notebook::Output::Other(json) => json.to_value().to_string(),
        other => format!("{other:?}"),
    }
}
