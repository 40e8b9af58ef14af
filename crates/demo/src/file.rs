//! The notebook file: removes that of an earlier demo, and checks the new one.

use std::collections::HashSet;
use std::io::ErrorKind;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};
use serde_json::Value;

use crate::cells;

/// Every PNG begins like this, in base64.
const PNG: &str = "iVBORw0KGgo";

/// Removes the notebook of an earlier demo. Fails if the file is anything else.
pub(crate) fn remove_earlier(path: &Path) -> anyhow::Result<()> {
    let text = match std::fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{} cannot be read", path.display())),
    };
    ensure!(
        serde_json::from_slice(&text).is_ok_and(|notebook| is_ours(&notebook)),
        "{} was not written by this demo and was not changed. Name another folder: cellbridge demo DIR",
        path.display()
    );
    std::fs::remove_file(path).with_context(|| format!("{} cannot be replaced", path.display()))
}

/// Whether an earlier demo made the notebook. A demo that is interrupted early leaves an empty one.
fn is_ours(notebook: &Value) -> bool {
    let Some(cells) = notebook["cells"].as_array() else { return false };
    cells.first().is_none_or(|first| {
        first["cell_type"] == "markdown" && joined(&first["source"]).contains(cells::MARK)
    })
}

/// Reads the file as any other program would, and sums it up.
pub(crate) fn check(path: &Path) -> anyhow::Result<String> {
    let text = std::fs::read(path).with_context(|| format!("{} was not written", path.display()))?;
    let notebook =
        serde_json::from_slice(&text).with_context(|| format!("{} is not JSON", path.display()))?;
    complete(&notebook).with_context(|| format!("{} is not as it should be", path.display()))
}

fn complete(notebook: &Value) -> anyhow::Result<String> {
    let format = (notebook["nbformat"].as_u64(), notebook["nbformat_minor"].as_u64());
    ensure!(format == (Some(4), Some(5)), "its format is {format:?}, not 4.5");
    ensure!(notebook["metadata"]["kernelspec"]["name"].is_string(), "it names no kernel");
    let cells = notebook["cells"].as_array().context("it has no cells")?;
    let mut ids = HashSet::new();
    for (index, cell) in cells.iter().enumerate() {
        valid(cell).with_context(|| format!("cell {index}"))?;
        ensure!(ids.insert(cell["id"].as_str()), "cell {index} has the id of another");
    }
    ensure!(is_ours(notebook) && !cells.is_empty(), "its first cell is not the demo's");
    printed(cells, cells::WALKS, "500 walks of 1000 steps")?;
    printed(cells, &cells::DISTANCE.replace(cells::WRONG_LOOP, cells::RIGHT_LOOP), cells::FIXED_OUTPUT)?;
    for part in 1..=cells::HOME_PARTS {
        printed(cells, cells::HOME, &format!("part {part} of {}:", cells::HOME_PARTS))?;
    }
    let plot = outputs(cells, cells::PLOT)?.iter().find_map(|output| output["data"].get("image/png"));
    ensure!(joined(plot.context("the plot is missing")?).starts_with(PNG), "the plot is not a PNG");
    let runs = cells.iter().filter(|cell| cell["execution_count"].is_u64()).count();
    Ok(format!("{} cells, {runs} of them executed, and a plot", cells.len()))
}

/// Checks what nbformat 4.5 requires of a cell, and that its run succeeded.
fn valid(cell: &Value) -> anyhow::Result<()> {
    let fits = |it: char| it.is_ascii_alphanumeric() || matches!(it, '-' | '_');
    let id = cell["id"].as_str().context("no id")?;
    ensure!((1..=64).contains(&id.len()) && id.chars().all(fits), "{id:?} is not an id");
    ensure!(cell["metadata"].is_object(), "no metadata");
    ensure!(cell["source"].is_string() || cell["source"].is_array(), "no source");
    match cell["cell_type"].as_str() {
        Some("markdown") => Ok(()),
        Some("code") => {
            ensure!(cell["execution_count"].is_u64(), "it was not executed");
            let outputs = cell["outputs"].as_array().context("no outputs")?;
            ensure!(outputs.iter().all(|output| output["output_type"] != "error"), "it still holds an error");
            Ok(())
        }
        other => bail!("its type is {other:?}"),
    }
}

/// Fails unless the cell with that source has printed `text`.
fn printed(cells: &[Value], source: &str, text: &str) -> anyhow::Result<()> {
    let streams = outputs(cells, source)?.iter().filter(|output| output["output_type"] == "stream");
    let all: String = streams.map(|output| joined(&output["text"])).collect();
    ensure!(all.contains(text), "{text:?} was not printed, but {all:?}");
    Ok(())
}

fn outputs<'a>(cells: &'a [Value], source: &str) -> anyhow::Result<&'a [Value]> {
    let found = cells.iter().find(|cell| joined(&cell["source"]) == source);
    let found = found.with_context(|| format!("there is no cell with the source\n{source}"))?;
    Ok(found["outputs"].as_array().context("no outputs")?)
}

/// nbformat stores a text whole or as lines.
fn joined(text: &Value) -> String {
    match text {
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn code(id: &str, source: &str, outputs: &Value) -> Value {
        json!({ "cell_type": "code", "id": id, "metadata": {}, "source": source, "execution_count": 1, "outputs": outputs })
    }

    fn stream(text: &str) -> Value {
        json!([{ "output_type": "stream", "name": "stdout", "text": [text] }])
    }

    fn good() -> Value {
        let title = json!({ "cell_type": "markdown", "id": "a", "metadata": {}, "source": [cells::TITLE] });
        let parts = (1..=8).map(|part| format!("part {part} of 8: …\n")).collect::<Vec<_>>().concat();
        let plot = json!([{ "output_type": "display_data", "metadata": {}, "data": { "image/png": PNG } }]);
        let fixed = cells::DISTANCE.replace(cells::WRONG_LOOP, cells::RIGHT_LOOP);
        let cells = [
            title,
            code("b", cells::WALKS, &stream("500 walks of 1000 steps; …")),
            code("c", cells::PLOT, &plot),
            code("d", &fixed, &stream("after  1000 steps: 25.10 away")),
            code("e", cells::HOME, &stream(&parts)),
        ];
        let metadata = json!({ "kernelspec": { "name": "python3", "display_name": "Python 3" } });
        json!({ "nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells })
    }

    #[test]
    fn a_complete_notebook_is_summed_up() {
        assert_eq!(complete(&good()).unwrap(), "5 cells, 4 of them executed, and a plot");
    }

    #[test]
    fn each_defect_is_named() {
        let broken = |pointer: &str, value: Value| {
            let mut notebook = good();
            *notebook.pointer_mut(pointer).unwrap() = value;
            format!("{:#}", complete(&notebook).unwrap_err())
        };
        assert_eq!(broken("/nbformat_minor", json!(4)), "its format is (Some(4), Some(4)), not 4.5");
        assert_eq!(broken("/cells/1/id", json!("a")), "cell 1 has the id of another");
        assert_eq!(broken("/cells/1/id", json!("a b")), "cell 1: \"a b\" is not an id");
        assert_eq!(broken("/cells/1/execution_count", Value::Null), "cell 1: it was not executed");
        assert_eq!(broken("/cells/2/outputs", json!([])), "the plot is missing");
        assert_eq!(
            broken("/cells/4/outputs/0/text", json!("part 1 of 8:")),
            "\"part 2 of 8:\" was not printed, but \"part 1 of 8:\""
        );
        assert_eq!(
            broken("/cells/3/outputs", json!([{ "output_type": "error" }])),
            "cell 3: it still holds an error"
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
