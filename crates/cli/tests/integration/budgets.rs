//! No reply is longer than its budget, and its last line is whole, over the corpus of notebooks and a few larger ones.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};
use tempfile::TempDir;
use testkit::Agent;

use crate::bridge::{PROGRAM, WITHOUT_PYTHON};
use crate::colab_place::{Cells, ColabClient};

/// A smaller budget counts as this.
const MIN_CHARACTERS: usize = 300;
const BUDGETS: [usize; 6] = [1, 300, 400, 700, 3000, 20_000];

fn code(id: &str, source: &str, outputs: &Value) -> Value {
    json!({ "id": id, "cell_type": "code", "source": source, "metadata": {}, "execution_count": 1, "outputs": outputs })
}

fn stdout(text: &str) -> Value {
    json!([{ "output_type": "stream", "name": "stdout", "text": text }])
}

/// A folder with the corpus, and notebooks that do not fit.
fn folder() -> Result<TempDir> {
    let folder = tempfile::tempdir()?;
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../notebook/tests/corpus");
    for entry in fs::read_dir(corpus)? {
        let path = entry?.path();
        fs::copy(&path, folder.path().join(path.file_name().context("no name")?))?;
    }
    let error = json!([{ "output_type": "error", "ename": "E", "evalue": "v\n[NOTICE] x", "traceback": ["t".repeat(9000)] }]);
    let data = format!("![](data:image/png;base64,{})", "QUJD".repeat(9000));
    let long: Vec<Value> = [
        code("long", &"x = 1\n".repeat(10_000), &stdout(&"printed\n".repeat(20_000))),
        code("line", &"x".repeat(60_000), &stdout(&"y".repeat(60_000))),
        code("data", &data, &error),
    ]
    .into_iter()
    .chain(
        (0..20)
            .map(|cell| code(&format!("c{cell}"), &format!("print({cell})"), &stdout(&format!("{cell}\n")))),
    )
    .collect();
    let many: Vec<Value> =
        (0..800).map(|cell| code(&format!("m{cell}"), "print('x' * 90)", &stdout(&"x".repeat(90)))).collect();
    for (name, cells) in [("long.ipynb", long), ("many.ipynb", many)] {
        let notebook = json!({ "cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5 });
        fs::write(folder.path().join(name), notebook.to_string())?;
    }
    Ok(folder)
}

fn texts(result: &Value) -> Result<Vec<String>> {
    let content = result["content"].as_array().context("no content")?;
    Ok(content.iter().filter_map(|part| part["text"].as_str().map(str::to_owned)).collect())
}

/// Whether brackets are closed that a line of ours opens, as they are not if it was cut.
fn is_whole(line: &str) -> bool {
    let starts_label = line.starts_with('[') && !line.starts_with("[metadata]");
    let ends_label = line.contains(']');
    let calls = ["read_cell(", "read_notebook(", "get_run(", "list_files(", "history(", "undo("];
    let is_closed = |call: &str| line.rfind(call).is_none_or(|at| line[at..].contains(')'));
    (!starts_label || ends_label) && calls.into_iter().all(is_closed)
}

async fn check(agent: &mut Agent, tool: &str, arguments: &Value, budget: usize) -> Result<()> {
    let result = agent.call_tool(tool, arguments).await?;
    let texts = texts(&result)?;
    let length: usize = texts.iter().map(|text| text.chars().count()).sum();
    let shown = texts.join("\n---\n");
    // A file that is no notebook is refused, in a sentence.
    if result["isError"] == false {
        assert!(length <= budget.max(MIN_CHARACTERS), "{tool} {arguments}: {length} characters: {shown}");
    }
    let last = texts.last().and_then(|text| text.lines().last()).unwrap_or_default();
    assert!(is_whole(last), "{tool} {arguments} ends in {last:?}");
    Ok(())
}

#[tokio::test]
async fn no_reply_is_longer_than_its_budget_and_its_last_line_is_whole() -> Result<()> {
    let folder = folder()?;
    let root = folder.path().display().to_string();
    let mut agent = Agent::start_with(PROGRAM, &["--no-browser", "--root", &root], &WITHOUT_PYTHON)?;
    agent.initialize("2025-11-25").await?;
    let mut names: Vec<String> = fs::read_dir(&folder)?
        .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_>>()?;
    names.sort();
    for name in names {
        let cells = if name == "long.ipynb" { 4 } else { 2 };
        for budget in BUDGETS {
            let whole = json!({ "notebook_name": name, "max_characters": budget, "limit": 0 });
            check(&mut agent, "read_notebook", &whole, budget).await?;
            let outputs = json!({ "notebook_name": name, "max_characters": budget, "include_outputs": true, "limit": 0 });
            check(&mut agent, "read_notebook", &outputs, budget).await?;
            for cell in 0..cells {
                let cell = json!({ "notebook_name": name, "cell_index": cell, "max_characters": budget });
                check(&mut agent, "read_cell", &cell, budget).await?;
            }
        }
    }
    Ok(())
}

#[tokio::test]
async fn tools_without_a_budget_keep_to_that_of_the_server() -> Result<()> {
    let folder = folder()?;
    for name in 0..300 {
        fs::write(folder.path().join(format!("{name}-{}.txt", "n".repeat(60))), "")?;
    }
    let root = folder.path().display().to_string();
    let budget = 3000;
    let options = ["--no-browser", "--root", &root, "--max-characters", "3000"];
    let mut agent = Agent::start_with(PROGRAM, &options, &WITHOUT_PYTHON)?;
    agent.initialize("2025-11-25").await?;
    let many = "many.ipynb";
    for (tool, arguments) in [
        ("list_files", json!({ "limit": 0 })),
        ("list_notebooks", json!({})),
        ("use_notebook", json!({ "notebook_path": many })),
        ("read_notebook", json!({ "limit": 0 })),
        ("search_notebook", json!({ "query": "print", "limit": 1000 })),
        ("delete_cell", json!({ "cell_indices": (0..300).collect::<Vec<_>>() })),
        ("insert_cell", json!({ "cell_type": "markdown", "cell_source": "# h\n".repeat(2000) })),
        ("search_notebook", json!({})),
        ("overwrite_cell_source", json!({ "cell_index": 0, "cell_source": "y\n".repeat(9000) })),
        ("history", json!({ "limit": 100 })),
        ("undo", json!({ "last": 3 })),
        ("run_cells", json!({ "all": true, "preview": true })),
    ] {
        check(&mut agent, tool, &arguments, budget).await?;
    }
    Ok(())
}

#[tokio::test]
async fn many_runs_fit_into_one_budget() -> Result<()> {
    let cells = Cells::default();
    let long = "x".repeat(200);
    let sources = |quiet: usize, long_ones: usize| {
        std::iter::repeat_n("quiet", quiet).chain(std::iter::repeat_n(&*long, long_ones)).collect::<Vec<_>>()
    };
    cells.extend(sources(28, 40));
    cells.extend(["fail"]);
    cells.extend(sources(10, 1));
    let (mut client, _page) = ColabClient::with_page(&cells).await?;
    for budget in [1, 500, 3000, 20_000] {
        let all = json!({ "all": true, "on_error": "continue", "max_characters": budget });
        let result = client.agent.call_tool("run_cells", &all).await?;
        let shown = texts(&result)?.join("\n");
        assert!(shown.chars().count() <= budget.max(MIN_CHARACTERS), "{budget}: {shown}");
        let last = shown.lines().last().unwrap_or_default();
        assert!(
            last.starts_with("[80 cells run in colab:; failed: 68]") && is_whole(last),
            "{budget}: {last}"
        );
        if budget >= 3000 {
            assert!(shown.contains("Cells 0–27: no output\n"), "{shown}");
            assert!(
                shown.contains("=====Cell 68=====") && shown.contains("[ERROR NameError: fail]"),
                "{shown}"
            );
        }
    }
    Ok(())
}

#[tokio::test]
async fn a_long_cell_does_not_hide_those_after_it() -> Result<()> {
    let folder = folder()?;
    let root = folder.path().display().to_string();
    let mut agent = Agent::start_with(PROGRAM, &["--no-browser", "--root", &root], &WITHOUT_PYTHON)?;
    agent.initialize("2025-11-25").await?;
    let whole = json!({ "notebook_name": "long.ipynb", "response_format": "detailed", "limit": 0 });
    let read = texts(&agent.call_tool("read_notebook", &whole).await?)?.concat();
    for cell in 0..20 {
        assert!(read.contains(&format!("print({cell})\n")), "{cell}");
    }
    assert!(
        read.contains("read_cell(cell_id=\"long\", offset="),
        "{}",
        read.lines().last().unwrap_or_default()
    );
    let few = json!({ "notebook_name": "long.ipynb", "response_format": "detailed", "max_characters": 1000 });
    let read = texts(&agent.call_tool("read_notebook", &few).await?)?.concat();
    assert!(
        read.lines().last().is_some_and(|line| line.contains("more cells: read_notebook(start_index=")),
        "{read}"
    );
    // The source goes on where the reply says.
    let rest =
        json!({ "notebook_name": "long.ipynb", "cell_id": "line", "offset": 59_990, "max_characters": 400 });
    let read = texts(&agent.call_tool("read_cell", &rest).await?)?.concat();
    assert!(read.starts_with("xxxxxxxxxx\n"), "{read}");
    Ok(())
}
