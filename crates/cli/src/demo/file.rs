//! The notebook file: removes that of an earlier demo, and checks the new one.

use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, ensure};
use notebook::{CellType, Notebook, Output};

use super::cells;

/// Removes the notebook of an earlier demo. Fails if the file is anything else.
pub(crate) fn remove_earlier(path: &Path) -> anyhow::Result<()> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    ensure!(
        Notebook::parse(text.into()).is_ok_and(|notebook| is_ours(&notebook)),
        "{} was not written by this demo and was not changed. Name another folder: cellbridge demo DIR",
        path.display()
    );
    std::fs::remove_file(path).with_context(|| format!("{} cannot be replaced", path.display()))
}

/// Whether an earlier demo made the notebook. A demo that is interrupted early leaves an empty one.
fn is_ours(notebook: &Notebook) -> bool {
    notebook
        .cells()
        .first()
        .is_none_or(|first| *first.cell_type() == CellType::Markdown && first.source().contains(cells::MARK))
}

/// Reads the file as any other program would, and sums it up.
pub(crate) fn check(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read(path).with_context(|| format!("{} was not written", path.display()))?;
    complete(text).with_context(|| format!("{} is not as it should be", path.display()))
}

fn complete(text: Vec<u8>) -> anyhow::Result<String> {
    let notebook = Notebook::parse(text.into())?;
    ensure!(is_ours(&notebook) && !notebook.cells().is_empty(), "its first cell is not the demo's");
    let (mut runs, mut has_plot) = (0, false);
    for cell in notebook.cells().iter().filter(|cell| cell.is_code()) {
        let outputs = cell.outputs();
        let has_error = outputs.iter().any(|output| matches!(output, Output::Error { .. }));
        ensure!(!has_error, "cell {} still holds an error", cell.id());
        ensure!(!outputs.is_empty(), "cell {} has no output", cell.id());
        let is_plot =
            |output: &Output| matches!(output, Output::Display(it) if it.get("image/png").is_some());
        has_plot |= outputs.iter().any(is_plot);
        runs += 1;
    }
    ensure!(has_plot, "the plot is missing");
    Ok(format!("{} cells, {runs} of them executed, and a plot", notebook.cells().len()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn code(id: &str, source: &str, outputs: &Value) -> Value {
        json!({ "cell_type": "code", "id": id, "metadata": {}, "source": source, "execution_count": 1, "outputs": outputs })
    }

    fn stream(text: &str) -> Value {
        json!([{ "output_type": "stream", "name": "stdout", "text": [text] }])
    }

    fn good() -> Value {
        let title = json!({ "cell_type": "markdown", "id": "a", "metadata": {}, "source": [cells::TITLE] });
        let plot = json!([{ "output_type": "display_data", "metadata": {}, "data": { "image/png": "iVBORw0KGgo" } }]);
        let fixed = cells::DISTANCE.replace(cells::WRONG_LOOP, cells::RIGHT_LOOP);
        let cells = [
            title,
            code("b", cells::WALKS, &stream("500 walks of 1000 steps; …")),
            code("c", cells::PLOT, &plot),
            code("d", &fixed, &stream("after  1000 steps: 25.10 away")),
            code("e", cells::HOME, &stream("part 8 of 8: …")),
        ];
        let metadata = json!({ "kernelspec": { "name": "python3", "display_name": "Python 3" } });
        json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells })
    }

    #[test]
    fn a_complete_notebook_is_summed_up() {
        assert_eq!(complete(good().to_string().into()).unwrap(), "5 cells, 4 of them executed, and a plot");
    }

    #[test]
    fn each_defect_is_named() {
        let broken = |pointer: &str, value: Value| {
            let mut notebook = good();
            *notebook.pointer_mut(pointer).unwrap() = value;
            format!("{:#}", complete(notebook.to_string().into()).unwrap_err())
        };
        assert_eq!(broken("/cells/2/outputs", json!([])), "cell c has no output");
        assert_eq!(broken("/cells/2/outputs", stream("no picture")), "the plot is missing");
        assert_eq!(
            broken("/cells/3/outputs", json!([{ "output_type": "error" }])),
            "cell d still holds an error"
        );
    }

    #[test]
    fn only_a_notebook_of_the_demo_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("cellbridge-demo.ipynb");
        remove_earlier(&path).unwrap();
        let write = |notebook: &Value| std::fs::write(&path, notebook.to_string()).unwrap();

        write(&good());
        remove_earlier(&path).unwrap();
        assert!(!path.exists());

        let foreign = json!({ "cells": [{ "cell_type": "markdown", "source": "# Mine" }] });
        write(&foreign);
        let error = remove_earlier(&path).unwrap_err().to_string();
        assert!(error.contains("Name another folder"), "{error}");
        std::fs::write(&path, "not even JSON").unwrap();
        remove_earlier(&path).unwrap_err();
        assert!(path.exists());
    }
}
