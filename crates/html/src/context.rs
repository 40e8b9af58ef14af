//! What the cells of a page have in common.

use std::cell::RefCell;
use std::collections::{BTreeMap, HashSet};

use notebook::Notebook;

/// The longest id of a notebook's content, in bytes.
const MAX_ID: usize = 200;

/// How cells are shown.
pub struct Context<'a> {
    /// The language of code cells.
    pub language: Option<String>,
    /// Whether the sources of code cells are shown.
    pub shows_sources: bool,
    /// What a person sees of a widget, by the id of its model.
    pub widget_text: &'a dyn Fn(&str) -> Option<String>,
    /// If present, outputs with scripts are shown in frames, with these libraries.
    pub libraries: Option<&'a Libraries>,
    /// Of a longer printed text, in bytes, only the end is shown.
    pub longest_text: usize,
    /// Which notebook of its page it is, from 0.
    pub(crate) position: usize,
    pub(crate) ids: Ids,
}

impl<'a> Context<'a> {
    /// For the cells of a notebook, without scripts.
    pub fn new(notebook: &Notebook, widget_text: &'a dyn Fn(&str) -> Option<String>) -> Self {
        let (language, ids) = (notebook.language(), Ids::default());
        Self {
            language,
            shows_sources: true,
            widget_text,
            libraries: None,
            longest_text: usize::MAX,
            position: 0,
            ids,
        }
    }

    /// The same after another notebook on one page.
    #[must_use]
    pub fn after(mut self, other: Context<'_>) -> Self {
        self.position = other.position + 1;
        self.ids = other.ids;
        self
    }

    /// The id of a cell in the page.
    pub(crate) fn cell_id(&self, index: usize) -> String {
        match self.position {
            0 => format!("cell-{index}"),
            position => format!("notebook-{position}-cell-{index}"),
        }
    }
}

/// A library that draws charts in a browser.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Library {
    Plotly,
    Vega,
    Bokeh,
}

impl Library {
    pub const ALL: [Self; 3] = [Self::Plotly, Self::Vega, Self::Bokeh];

    pub fn name(self) -> &'static str {
        match self {
            Self::Plotly => "Plotly",
            Self::Vega => "Vega",
            Self::Bokeh => "Bokeh",
        }
    }

    /// The id of the element that holds its scripts.
    pub fn element(self) -> String {
        format!("cb-library-{}", self.name().to_lowercase())
    }
}

/// The scripts of libraries, in the order in which they run.
#[derive(Debug, Default)]
pub struct Libraries(BTreeMap<Library, Vec<String>>);

impl Libraries {
    pub fn insert(&mut self, library: Library, scripts: Vec<String>) {
        self.0.insert(library, scripts);
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The scripts of a library, if there are any.
    pub fn get(&self, library: Library) -> Option<&[String]> {
        self.0.get(&library).map(Vec::as_slice).filter(|scripts| !scripts.is_empty())
    }
}

/// The ids of a notebook's content that the page has.
#[derive(Debug, Default)]
pub(crate) struct Ids(RefCell<HashSet<String>>);

impl Ids {
    /// An id of the content as it is in the page: never one of the page's own.
    pub(crate) fn prefixed(id: &str) -> String {
        let id = id.trim().replace("%20", "-");
        let id = id.strip_prefix("content-").unwrap_or(&id);
        let id: String = id.chars().map(|c| if c.is_whitespace() { '-' } else { c }).collect();
        format!("content-{id}")
    }

    pub(crate) fn all(self) -> impl Iterator<Item = String> {
        self.0.into_inner().into_iter()
    }

    /// The same, if the page does not have it yet.
    pub(crate) fn first_of(&self, id: &str) -> Option<String> {
        let is_usable = !id.trim().is_empty() && id.len() <= MAX_ID && !id.contains(char::is_control);
        let id = is_usable.then(|| Self::prefixed(id))?;
        self.0.borrow_mut().insert(id.clone()).then_some(id)
    }
}
