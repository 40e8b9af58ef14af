//! All notebooks of this repository.

use std::path::{Path, PathBuf};

use names::Names;
use notebook::Notebook;

#[test]
fn every_cell_of_every_notebook_has_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut notebooks = Vec::new();
    for folder in ["bench", "crates", "docs", "e2e", "packaging", "plugins", "python"] {
        find_notebooks(&root.join(folder), &mut notebooks);
    }
    assert!(notebooks.len() > 80, "only {} notebooks were found", notebooks.len());
    let (mut cells, mut known) = (0, 0);
    for path in notebooks {
        let Ok(notebook) = Notebook::parse(std::fs::read(&path).unwrap().into()) else { continue };
        for cell in notebook.cells() {
            // Text is no Python, and must do no harm either.
            let names = Names::of_cell(&cell.source());
            cells += usize::from(cell.is_code());
            known += usize::from(cell.is_code() && names.effects.unknown.is_none());
        }
    }
    assert!(cells > 100 && known * 10 > cells * 8, "{known} of {cells} cells are known");
}

fn find_notebooks(folder: &Path, notebooks: &mut Vec<PathBuf>) {
    for path in std::fs::read_dir(folder).into_iter().flatten().map(|entry| entry.unwrap().path()) {
        if path.is_dir() {
            find_notebooks(&path, notebooks);
        } else if path.extension().is_some_and(|extension| extension == "ipynb") {
            notebooks.push(path);
        }
    }
}
