//! A cell: its members, decoded when they are asked for.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::json::{canonical, join};
use crate::{CellId, Json, Output, RUN_TIMES, one_line};

/// One cell of a notebook; cheap to clone.
#[derive(Clone)]
pub struct Cell(pub(crate) Arc<CellData>);

/// The `cell_type` of nbformat.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellType {
    Code,
    Markdown,
    Raw,
    /// A type that nbformat 4 does not know; empty if the file names none.
    Other(String),
}

impl CellType {
    pub fn from_name(name: &str) -> Self {
        match name {
            "code" => Self::Code,
            "markdown" => Self::Markdown,
            "raw" => Self::Raw,
            other => Self::Other(other.to_owned()),
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
            Self::Other(name) => name,
        }
    }
}

/// In one line, whatever the file names.
impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&one_line(self.name()))
    }
}

#[derive(Clone)]
pub(crate) struct CellData {
    pub(crate) id: CellId,
    /// Whether the id is from the file, where no earlier cell has it.
    pub(crate) has_own_id: bool,
    pub(crate) cell_type: CellType,
    /// The cell as it was read; an empty object for a new one.
    pub(crate) text: Json,
    /// Its index among the cells of the file that it was read from.
    pub(crate) slot: Option<usize>,
    pub(crate) source: Source,
    pub(crate) metadata: Json,
    pub(crate) execution_count: Option<u64>,
    pub(crate) outputs: Outputs,
    pub(crate) is_modified: bool,
    /// Whether the file would be invalid if the cell were written as it was read.
    pub(crate) needs_repair: bool,
    pub(crate) revision: OnceLock<Box<str>>,
    pub(crate) outputs_digest: OnceLock<u64>,
}

#[derive(Clone)]
pub(crate) enum Source {
    Read(Json),
    Set(Arc<str>),
}

#[derive(Clone)]
pub(crate) enum Outputs {
    Read(Json),
    Set(Arc<[Output]>),
}

impl CellData {
    pub(crate) fn source(&self) -> Cow<'_, str> {
        match &self.source {
            Source::Read(json) => join(json.as_str()).unwrap_or_default(),
            Source::Set(text) => Cow::Borrowed(text),
        }
    }
}

impl Cell {
    /// The id. If the file has none, an invalid one, or that of an earlier cell, one was assigned when it was read.
    pub fn id(&self) -> &CellId {
        &self.0.id
    }

    pub fn cell_type(&self) -> &CellType {
        &self.0.cell_type
    }

    pub fn is_code(&self) -> bool {
        self.0.cell_type == CellType::Code
    }

    /// Whether it is the same reading of the same cell: then nothing about it differs. Costs nothing, and may be `false` of equal cells.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    /// Whether it has the type and the source of another cell. Costs little if both are written alike.
    pub fn has_source_of(&self, other: &Self) -> bool {
        let is_alike = match (&self.0.source, &other.0.source) {
            (Source::Read(own), Source::Read(other)) => own == other,
            (Source::Set(own), Source::Set(other)) => Arc::ptr_eq(own, other),
            _ => false,
        };
        self.0.cell_type == other.0.cell_type && (is_alike || self.source() == other.source())
    }

    /// The source. A lone surrogate reads as U+FFFD.
    pub fn source(&self) -> Cow<'_, str> {
        self.0.source()
    }

    /// The metadata, an object.
    pub fn metadata(&self) -> Json {
        self.0.metadata.clone()
    }

    /// The tags in the metadata.
    pub fn tags(&self) -> Vec<String> {
        let tags = self.0.metadata.member("tags");
        tags.iter().flat_map(Json::elements).filter_map(|tag| tag.text().map(String::from)).collect()
    }

    /// Files embedded in the cell: name → MIME bundle.
    pub fn attachments(&self) -> Option<Json> {
        self.0.text.member("attachments")
    }

    pub fn has_attachments(&self) -> bool {
        self.attachments().is_some_and(|files| files.members().next().is_some())
    }

    /// The number in `In[n]`.
    pub fn execution_count(&self) -> Option<u64> {
        self.0.execution_count
    }

    /// Reads the outputs; large parts share the file's buffer.
    pub fn outputs(&self) -> Vec<Output> {
        match &self.0.outputs {
            Outputs::Read(list) => list.elements().map(|output| Output::from_json(&output)).collect(),
            Outputs::Set(outputs) => outputs.to_vec(),
        }
    }

    /// The JSON text of the outputs, unless an edit has set them.
    pub fn outputs_text(&self) -> Option<&Json> {
        match &self.0.outputs {
            Outputs::Read(list) => Some(list),
            Outputs::Set(_) => None,
        }
    }

    /// Whether the outputs and the execution count mean the same as these.
    pub fn has_outputs(&self, outputs: &[Output], execution_count: Option<u64>) -> bool {
        let own = self.outputs();
        self.execution_count() == execution_count
            && own.len() == outputs.len()
            && own.iter().zip(outputs).all(|(own, other)| own.is_equivalent(other))
    }

    /// Whether what the outputs show is so. `is` gets texts as they are or as JSON writes them: nothing is decoded.
    pub fn shows(&self, is: impl Fn(&str) -> bool) -> bool {
        let is_so = |output: &Output| match output {
            Output::Display(bundle) | Output::Result { bundle, .. } => is(bundle.data.as_str()),
            Output::Stream { text, .. } => text.pieces().any(&is),
            Output::Error { .. } | Output::Other(_) => false,
        };
        match &self.0.outputs {
            Outputs::Read(list) => is(list.as_str()),
            Outputs::Set(outputs) => outputs.iter().any(is_so),
        }
    }

    pub fn output_count(&self) -> usize {
        match &self.0.outputs {
            Outputs::Read(list) => list.elements().count(),
            Outputs::Set(outputs) => outputs.len(),
        }
    }

    /// The metadata that a run leaves alone.
    pub(crate) fn lasting_metadata(&self) -> Json {
        let metadata = &self.0.metadata;
        if metadata.member(RUN_TIMES).is_some() { metadata.without(RUN_TIMES) } else { metadata.clone() }
    }

    /// Eight digits that depend on the type, the source and the metadata, but not on outputs or the order of keys.
    pub fn revision(&self) -> &str {
        self.0.revision.get_or_init(|| {
            let mut hash = Sha256::new();
            hash.update(self.0.cell_type.name());
            hash.update([0]);
            hash.update(&*self.source());
            hash.update([0]);
            hash.update(canonical(&self.lasting_metadata()));
            const_hex::encode(&hash.finalize()[..4]).into()
        })
    }

    /// The first line that is not blank, without trailing whitespace; empty if there is none.
    pub fn first_line(&self) -> String {
        self.first_of_lines().0
    }

    /// The same, and how many lines there are.
    pub fn first_of_lines(&self) -> (String, usize) {
        let source = self.source();
        let first = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let has_rest = !source.is_empty() && !source.ends_with('\n');
        let count = memchr::memchr_iter(b'\n', source.as_bytes()).count() + usize::from(has_rest);
        (first.trim_end().to_owned(), count)
    }
}

impl fmt::Debug for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cell")
            .field("id", &self.id())
            .field("cell_type", &self.0.cell_type)
            .finish_non_exhaustive()
    }
}
