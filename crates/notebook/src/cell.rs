//! A cell: what is known of it, and where the rest stands.

use std::borrow::Cow;
use std::fmt;
use std::sync::{Arc, OnceLock};

use sha2::{Digest, Sha256};

use crate::print::canonical;
use crate::read_cell::read_cell;
use crate::{Json, Output, ParseError, ids, string};

/// One cell of a notebook; cheap to clone.
#[derive(Clone)]
pub struct Cell(pub(crate) Arc<Inner>);

/// What a cell is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CellType {
    /// `code`.
    Code,
    /// `markdown`.
    Markdown,
    /// `raw`.
    Raw,
    /// A type that nbformat 4 does not know; empty if the file names none.
    Other(String),
}

impl CellType {
    /// The type of that name.
    pub fn from_name(name: &str) -> Self {
        match name {
            "code" => Self::Code,
            "markdown" => Self::Markdown,
            "raw" => Self::Raw,
            other => Self::Other(other.to_owned()),
        }
    }

    /// The name in files.
    pub fn name(&self) -> &str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
            Self::Raw => "raw",
            Self::Other(name) => name,
        }
    }
}

impl fmt::Display for CellType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Clone)]
pub(crate) struct Inner {
    pub(crate) id: Box<str>,
    /// Whether the id stands in the file, where no other cell before has it.
    pub(crate) has_own_id: bool,
    pub(crate) cell_type: CellType,
    /// The cell as it was read; an empty object for a new one.
    pub(crate) text: Json,
    /// The place in the file that it was read from.
    pub(crate) slot: Option<usize>,
    pub(crate) source: Source,
    pub(crate) metadata: Json,
    pub(crate) execution_count: Option<u64>,
    pub(crate) outputs: Outputs,
    pub(crate) is_modified: bool,
    /// Whether it lacks something without which a file is not valid.
    pub(crate) is_faulty: bool,
    pub(crate) revision: OnceLock<Box<str>>,
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

impl Inner {
    pub(crate) fn source(&self) -> Cow<'_, str> {
        match &self.source {
            Source::Read(json) => string::join(json.as_str()).unwrap_or_default(),
            Source::Set(text) => Cow::Borrowed(text),
        }
    }
}

impl Cell {
    /// Reads a cell object of nbformat 4.5 that stands in no file. It is written as Jupyter writes cells.
    pub fn from_json(text: Json) -> Result<Self, ParseError> {
        if !text.is_object() {
            return Err(ParseError::unexpected("a cell", &text, "an object"));
        }
        let mut cell = [Inner { slot: None, is_modified: true, ..read_cell(text, 0, true) }];
        ids::make_up(&mut cell, true);
        let [cell] = cell;
        Ok(Self(Arc::new(cell)))
    }

    /// The id. Where the file has none, no usable one, or that of an earlier cell: one made up when it was read.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// What it is.
    pub fn cell_type(&self) -> &CellType {
        &self.0.cell_type
    }

    /// Whether it is a code cell.
    pub fn is_code(&self) -> bool {
        self.0.cell_type == CellType::Code
    }

    /// The source. Half a surrogate pair reads as U+FFFD.
    pub fn source(&self) -> Cow<'_, str> {
        self.0.source()
    }

    /// The metadata, an object.
    pub fn metadata(&self) -> Json {
        self.0.metadata.clone()
    }

    /// Files embedded in the cell: name → MIME bundle.
    pub fn attachments(&self) -> Option<Json> {
        self.0.text.member("attachments")
    }

    /// The number in `In[n]`.
    pub fn execution_count(&self) -> Option<u64> {
        self.0.execution_count
    }

    /// The outputs, read now; large parts share the file's buffer.
    pub fn outputs(&self) -> Vec<Output> {
        match &self.0.outputs {
            Outputs::Read(list) => list.elements().map(|output| Output::from_json(&output)).collect(),
            Outputs::Set(outputs) => outputs.to_vec(),
        }
    }

    /// How many outputs there are.
    pub fn output_count(&self) -> usize {
        match &self.0.outputs {
            Outputs::Read(list) => list.elements().count(),
            Outputs::Set(outputs) => outputs.len(),
        }
    }

    /// Eight digits that change with the type, the source and the metadata, but not with outputs or key order.
    pub fn revision(&self) -> &str {
        self.0.revision.get_or_init(|| {
            let mut hash = Sha256::new();
            hash.update(self.0.cell_type.name());
            hash.update([0]);
            hash.update(&*self.source());
            hash.update([0]);
            hash.update(canonical(&self.0.metadata));
            hex8(&hash.finalize()).into()
        })
    }

    /// The first line that is not blank, without the whitespace at its end; empty if there is none.
    pub fn first_line(&self) -> String {
        let source = self.source();
        let line = source.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        line.trim_end().to_owned()
    }

    /// How many lines the source has.
    pub fn line_count(&self) -> usize {
        self.source().lines().count()
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

/// The first 32 bits of a hash as hexadecimal digits.
pub(crate) fn hex8(hash: &[u8]) -> String {
    let first = hash.first_chunk().map_or(0, |first| u32::from_be_bytes(*first));
    format!("{first:08x}")
}
