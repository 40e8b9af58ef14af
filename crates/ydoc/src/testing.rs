//! Notebooks for tests.

use notebook::{CellType, Edit, NewCell, Notebook};

/// A notebook with these sources, in cells `c0`, `c1`, …
pub(crate) fn notebook(sources: &[&str]) -> Notebook {
    let mut notebook = Notebook::new();
    for (index, source) in sources.iter().enumerate() {
        let cell = NewCell { id: format!("c{index}").into(), ..NewCell::new(CellType::Code, *source) };
        notebook.apply(&Edit::Insert { index, cell }).unwrap();
    }
    notebook
}

pub(crate) fn sources(notebook: &Notebook) -> Vec<String> {
    notebook.cells().iter().map(|cell| cell.source().to_string()).collect()
}
