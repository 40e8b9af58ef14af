//! Whether the search of a client finds the tool that a person means. Codex ranks tools by BM25 over their names and
//! descriptions, with English stemming.

use bm25::{Document, Language, SearchEngineBuilder};

use super::*;

/// How far up the tool must be.
const RANK: usize = 3;

/// Requests in people's words, each with the tools that serve it.
const REQUESTS: &[(&str, &[&str])] = &[
    ("plot data in a notebook", &["insert_execute_code_cell"]),
    ("load a csv file and analyse the data", &["insert_execute_code_cell"]),
    ("make a chart", &["insert_execute_code_cell"]),
    ("train a model", &["insert_execute_code_cell"]),
    ("add a code cell and run it", &["insert_execute_code_cell"]),
    ("why did cell 5 fail", &["read_cell"]),
    ("show me the plot of a cell", &["read_cell"]),
    ("show the outputs of a cell", &["read_cell"]),
    ("read the notebook", &["read_notebook"]),
    ("what is in this ipynb file", &["read_notebook", "use_notebook"]),
    ("open my notebook", &["use_notebook"]),
    ("create a new jupyter notebook", &["use_notebook"]),
    ("close the notebook", &["unuse_notebook"]),
    ("list my notebooks", &["list_notebooks"]),
    ("list the files in the folder", &["list_files"]),
    ("find text in a notebook", &["search_notebook"]),
    ("search for a variable name in all cells", &["search_notebook"]),
    ("edit cell source", &["edit_cell_source"]),
    ("fix the code of a cell", &["edit_cell_source"]),
    ("replace text in a cell", &["edit_cell_source"]),
    ("rename a variable in the whole notebook", &["edit_cells"]),
    ("edit several cells at once", &["edit_cells"]),
    ("rewrite this cell", &["overwrite_cell_source"]),
    ("add a markdown cell", &["insert_cell"]),
    ("delete a cell", &["delete_cell"]),
    ("remove cell 3", &["delete_cell"]),
    ("move a cell up", &["move_cell"]),
    ("change a code cell to markdown", &["change_cell"]),
    ("hide the output of a cell", &["change_cell"]),
    ("split a cell in two", &["change_cell"]),
    ("merge two cells", &["change_cell"]),
    ("clear all outputs", &["clear_cell_output"]),
    ("undo the last change", &["undo"]),
    ("revert the notebook to the checkpoint", &["undo"]),
    ("what did you change in the notebook", &["history"]),
    ("run a cell", &["execute_cell"]),
    ("run the whole notebook", &["run_cells"]),
    ("run everything from the top", &["run_cells", "verify_notebook"]),
    ("run all cells in order", &["run_cells"]),
    ("what variables are defined in the kernel", &["list_variables"]),
    ("show the columns of a dataframe", &["inspect_variable"]),
    ("what is the shape of the array", &["inspect_variable", "list_variables"]),
    ("which cells are stale", &["read_notebook", "run_cells"]),
    ("run the stale cells again", &["run_cells"]),
    ("does this notebook still run from a fresh kernel", &["verify_notebook"]),
    ("check that the notebook is reproducible", &["verify_notebook"]),
    ("pip install a package", &["add_packages", "execute_code"]),
    ("install pandas into the environment", &["add_packages"]),
    ("is the cell still running", &["get_run"]),
    ("stop a running cell", &["interrupt_kernel"]),
    ("restart the kernel", &["restart_notebook"]),
    ("which kernels are running", &["list_kernels"]),
    ("answer the input prompt", &["answer_input"]),
    ("show the notebook in the browser", &["open_in_browser"]),
    ("copy a notebook to colab", &["copy_notebook"]),
    ("upload a data file to the server", &["copy_file"]),
    ("download a file from jupyter", &["copy_file"]),
    ("connect to my jupyter server", &["connect_to_jupyter"]),
];

#[test]
fn requests_in_peoples_words_find_their_tool() {
    let documents = definitions().map(|definition| {
        let text = |member: &str| definition[member].as_str().unwrap().to_owned();
        // The words within a name are not found: they are one to the tokenizer.
        Document { id: text("name"), contents: format!("{} {}", text("name"), text("description")) }
    });
    let engine = SearchEngineBuilder::<String>::with_documents(Language::English, documents).build();
    let missed = REQUESTS.iter().filter_map(|(request, tools)| {
        let found: Vec<String> =
            engine.search(request, RANK).into_iter().map(|result| result.document.id).collect();
        let is_found = found.iter().any(|name| tools.contains(&name.as_str()));
        (!is_found).then(|| format!("{request}: {found:?}"))
    });
    let missed: Vec<String> = missed.collect();
    assert!(missed.is_empty(), "{missed:#?}");
}
