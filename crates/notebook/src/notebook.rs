//! A notebook: a file as it was read, and what has changed since.

use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::cell::CellData;
use crate::file::File;
use crate::{Cell, CellId, Json, ids};

/// A notebook; cheap to clone.
///
/// It keeps the file that it was read from, and [`Notebook::write`] copies what was not modified from there.
#[derive(Clone)]
pub struct Notebook {
    pub(crate) file: Arc<File>,
    /// What is written while nothing is modified, if that is not the text of `file`.
    pub(crate) original: Option<Arc<Original>>,
    pub(crate) minor: u64,
    pub(crate) cells: Arc<Vec<Cell>>,
    /// The metadata, if it was changed.
    pub(crate) metadata: Option<Json>,
    pub(crate) is_modified: bool,
    /// Whether it was never a file, so that all of it is written as Jupyter prints it.
    pub(crate) is_assembled: bool,
}

/// The original text of a file that was converted, or had a byte-order mark.
pub(crate) struct Original {
    pub(crate) text: Bytes,
    pub(crate) version: Option<(u64, u64)>,
}

/// The `kernelspec` in a notebook's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Kernelspec {
    pub name: String,
    pub display_name: Option<String>,
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
        Self { is_assembled: false, ..Self::from_cells(Json::empty_object(), 5, Vec::new()) }
    }

    /// A notebook of nbformat 4 made of cells: the state of a live document. It counts as unmodified.
    ///
    /// A cell whose id an earlier one has gets another one. Metadata that is not an object reads as empty.
    pub fn from_cells(metadata: Json, minor: u64, mut cells: Vec<Cell>) -> Self {
        let mut used = HashSet::with_capacity(cells.len());
        if !cells.iter().all(|cell| used.insert(cell.id())) {
            let mut inner: Vec<_> = cells.iter().map(|cell| CellData::clone(&cell.0)).collect();
            ids::assign_missing(&mut inner, true);
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

    /// Whether anything has changed since it was read.
    pub fn is_modified(&self) -> bool {
        self.is_modified
    }

    /// The major and minor version of nbformat that would be written.
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

    /// `None` if the notebook names no kernel.
    pub fn kernelspec(&self) -> Option<Kernelspec> {
        let spec = self.metadata().member("kernelspec")?;
        let text = |name| spec.member(name).as_ref().and_then(Json::text).map(String::from);
        let name = text("name").filter(|name| !name.is_empty())?;
        Some(Kernelspec { name, display_name: text("display_name"), language: text("language") })
    }

    /// The kernelspec for the code cells: the one that is named, with the language of the last kernel if it has none. Without a name,
    /// any one of that language will do, and its name is empty. `None` if nothing is known of it.
    pub fn wanted_kernelspec(&self) -> Option<Kernelspec> {
        match self.kernelspec() {
            Some(spec) if spec.language.as_ref().is_some_and(|language| !language.is_empty()) => Some(spec),
            Some(spec) => Some(Kernelspec { language: self.language(), ..spec }),
            None => {
                let language = Some(self.language()?);
                Some(Kernelspec { name: String::new(), display_name: None, language })
            }
        }
    }

    /// The language of the code cells according to the last kernel, else to the kernelspec.
    pub fn language(&self) -> Option<String> {
        let metadata = self.metadata();
        let text = |object, name| metadata.member(object)?.member(name)?.text().map(String::from);
        text("language_info", "name")
            .or_else(|| text("kernelspec", "language"))
            .filter(|name| !name.is_empty())
    }

    pub fn cells(&self) -> &[Cell] {
        &self.cells
    }

    /// Whether it has the same cells as another; see [`Cell::is_same`].
    pub fn has_cells_of(&self, other: &Self) -> bool {
        let (own, other) = (&self.cells, &other.cells);
        let are_same = || own.iter().zip(&***other).all(|(own, other)| own.is_same(other));
        Arc::ptr_eq(own, other) || (own.len() == other.len() && are_same())
    }

    /// The cell with exactly this id, and its index.
    pub fn cell(&self, id: &CellId) -> Option<(usize, &Cell)> {
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
