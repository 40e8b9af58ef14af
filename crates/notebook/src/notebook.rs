//! A notebook: a file as it was read, and what has been changed since.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::cell::Inner;
use crate::file::File;
use crate::read_cell::{count, read_cell};
use crate::{Cell, Json, ParseError, ids, upgrade};

const EMPTY: &[u8] =
    b"{\n \"cells\": [],\n \"metadata\": {},\n \"nbformat\": 4,\n \"nbformat_minor\": 5\n}\n";
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A notebook; cheap to clone.
///
/// It keeps the file that it was read from. [`Notebook::write`] copies what was not touched from there.
#[derive(Clone)]
pub struct Notebook {
    pub(crate) file: Arc<File>,
    /// What is written while nothing is touched, if that is not the text of `file`.
    pub(crate) original: Option<Arc<Original>>,
    pub(crate) minor: u64,
    pub(crate) cells: Arc<Vec<Cell>>,
    /// The metadata, if it was changed.
    pub(crate) metadata: Option<Json>,
    pub(crate) is_modified: bool,
    /// Whether it never was a file: all of it is written as Jupyter writes it.
    pub(crate) is_assembled: bool,
}

/// A file that changes its form as a whole when it is touched.
pub(crate) struct Original {
    pub(crate) text: Bytes,
    pub(crate) version: Option<(u64, u64)>,
}

/// What a notebook's kernel is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernelspec {
    /// The name of the kernelspec.
    pub name: String,
    /// The name for people.
    pub display_name: Option<String>,
    /// The language that it runs.
    pub language: Option<String>,
}

impl Default for Notebook {
    fn default() -> Self {
        Self::new()
    }
}

impl Notebook {
    /// nbformat 4.5 without cells.
    pub fn new() -> Self {
        Self::read(File::new(Bytes::from_static(EMPTY)), 5)
    }

    /// Reads nbformat 3 and 4, and keeps what it does not understand.
    pub fn parse(text: Bytes) -> Result<Self, ParseError> {
        let body = if text.starts_with(BYTE_ORDER_MARK) {
            text.slice(BYTE_ORDER_MARK.len()..)
        } else {
            text.clone()
        };
        let object = Json::parse(body.clone()).map_err(|error| ParseError::of(&body, &error))?;
        if !object.is_object() {
            return Err(ParseError::unexpected("the text", &object, "an object"));
        }
        let file = File::new(body);
        let (major, minor) = version(&file)?;
        if major == 3 {
            let upgraded = File::new(upgrade::upgrade(&object)?.into());
            let original = Original { text, version: Some((3, minor)) };
            return Ok(Self { original: Some(Arc::new(original)), ..Self::read(upgraded, 5) });
        }
        check_cells(&file)?;
        let original = (file.text.len() < text.len()).then(|| Arc::new(Original { text, version: None }));
        Ok(Self { original, ..Self::read(file, minor) })
    }

    fn read(file: File, minor: u64) -> Self {
        let has_ids = minor >= 5;
        let cells = 0..file.slots.len();
        let mut cells: Vec<_> = cells.map(|slot| read_cell(file.cell(slot), slot, has_ids)).collect();
        ids::make_up(&mut cells, has_ids);
        let cells = cells.into_iter().map(|cell| Cell(Arc::new(cell))).collect();
        Self {
            file: Arc::new(file),
            original: None,
            minor,
            cells: Arc::new(cells),
            metadata: None,
            is_modified: false,
            is_assembled: false,
        }
    }

    /// A notebook of nbformat 4 made of cells: the state of a live document. Nothing in it counts as changed.
    ///
    /// A cell whose id an earlier one has gets one made up. Metadata that is no object reads as none.
    pub fn from_cells(metadata: Json, minor: u64, mut cells: Vec<Cell>) -> Self {
        let mut used = HashSet::with_capacity(cells.len());
        if !cells.iter().all(|cell| used.insert(cell.id())) {
            let mut inner: Vec<_> = cells.iter().map(|cell| Inner::clone(&cell.0)).collect();
            ids::make_up(&mut inner, true);
            for (cell, inner) in cells.iter_mut().zip(inner).filter(|(cell, inner)| cell.0.id != inner.id) {
                *cell = Cell(Arc::new(inner));
            }
        }
        let head = format!(
            "{{\n \"cells\": [],\n \"metadata\": {{}},\n \"nbformat\": 4,\n \"nbformat_minor\": {minor}\n}}\n"
        );
        Self {
            file: Arc::new(File::new(head.into())),
            original: None,
            minor,
            cells: Arc::new(cells),
            metadata: Some(metadata),
            is_modified: false,
            is_assembled: true,
        }
    }

    /// Whether anything was changed since it was read.
    pub fn is_modified(&self) -> bool {
        self.is_modified
    }

    /// Major and minor version of nbformat as it would be written.
    pub fn version(&self) -> (u64, u64) {
        let original = self.original.as_ref().filter(|_| !self.is_modified);
        original.and_then(|original| original.version).unwrap_or((4, self.minor))
    }

    pub(crate) fn has_ids(&self) -> bool {
        self.minor >= 5
    }

    /// The notebook's metadata, an object.
    pub fn metadata(&self) -> Json {
        let metadata = self.metadata.clone().or_else(|| self.file.value("metadata"));
        metadata.filter(Json::is_object).unwrap_or(Json::empty_object())
    }

    /// The kernel that the notebook asks for. `None` if it names none.
    pub fn kernelspec(&self) -> Option<Kernelspec> {
        let spec = self.metadata().member("kernelspec")?;
        let text = |name| spec.member(name).as_ref().and_then(Json::text).map(String::from);
        let name = text("name").filter(|name| !name.is_empty())?;
        Some(Kernelspec { name, display_name: text("display_name"), language: text("language") })
    }

    /// The language of the code cells, as the last kernel or the kernelspec says.
    pub fn language(&self) -> Option<String> {
        let metadata = self.metadata();
        let text = |object, name| metadata.member(object)?.member(name)?.text().map(String::from);
        text("language_info", "name")
            .or_else(|| text("kernelspec", "language"))
            .filter(|name| !name.is_empty())
    }

    /// The cells, in order.
    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// The cell with exactly this id, and its index.
    pub fn cell(&self, id: &str) -> Option<(usize, &Cell)> {
        self.cells.iter().enumerate().find(|(_, cell)| cell.id() == id)
    }
}

impl fmt::Debug for Notebook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let version = self.version();
        f.debug_struct("Notebook")
            .field("version", &version)
            .field("cells", &self.cells)
            .finish_non_exhaustive()
    }
}

/// Finds out the version, also where a file says it oddly.
fn version(file: &File) -> Result<(u64, u64), ParseError> {
    let number = |name| file.value(name).as_ref().and_then(count);
    let major = match (file.value("nbformat"), number("nbformat")) {
        (_, Some(major)) => major,
        (None, _) if file.member("cells").is_some() => 4,
        (None, _) if file.member("worksheets").is_some() => 3,
        (None, _) => return Err(ParseError::not_a_notebook("it has neither `nbformat` nor `cells`")),
        (Some(found), None) => return Err(ParseError::unexpected("`nbformat`", &found, "3 or 4")),
    };
    match (major, number("nbformat_minor")) {
        (3 | 4, Some(minor)) => Ok((major, minor)),
        (3, None) => Ok((3, 0)),
        // Ids came with 4.5; without them, 4.4 asks for nothing that 4.0 does not.
        (4, None) => {
            let has_ids = (0..file.slots.len()).any(|slot| file.cell(slot).member("id").is_some());
            Ok((4, if has_ids { 5 } else { 4 }))
        }
        _ => Err(ParseError::Version { major }),
    }
}

fn check_cells(file: &File) -> Result<(), ParseError> {
    match file.value("cells") {
        Some(cells) if !cells.is_null() && !cells.bytes().starts_with(b"[") => {
            return Err(ParseError::unexpected("`cells`", &cells, "a list"));
        }
        _ => {}
    }
    match (0..file.slots.len()).map(|slot| (slot, file.cell(slot))).find(|(_, cell)| !cell.is_object()) {
        Some((slot, cell)) => Err(ParseError::unexpected(&format!("cell {slot}"), &cell, "an object")),
        None => Ok(()),
    }
}
