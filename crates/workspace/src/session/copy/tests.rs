use super::*;

const FULL: &str = r##"{"cells": [
    {"cell_type": "code", "id": "a", "metadata": {"tags": ["x"], "own": {"deep": 1.50}}, "execution_count": 3, "source": "1 + 1",
     "outputs": [{"output_type": "execute_result", "execution_count": 3, "metadata": {}, "data": {"text/plain": "2"}}]},
    {"cell_type": "markdown", "id": "b", "metadata": {}, "source": "# Title", "attachments": {"i.png": {"image/png": "AA=="}}},
    {"cell_type": "raw", "id": "c", "metadata": {}, "source": "raw"}],
    "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}, "language_info": {"name": "python"}},
    "nbformat": 4, "nbformat_minor": 5}"##;

fn notebook(text: &'static str) -> Notebook {
    Notebook::parse(Bytes::from_static(text.as_bytes())).unwrap()
}

fn replaced(before: &Notebook, is_reduced: bool) -> Notebook {
    let mut after = before.clone();
    for edit in replacing(before, &notebook(FULL), is_reduced) {
        after.apply(&edit).unwrap();
    }
    after
}

/// All that a cell has but its id.
fn parts(notebook: &Notebook) -> Vec<impl PartialEq + std::fmt::Debug + use<>> {
    let of = |cell: &notebook::Cell| {
        let source = cell.source().into_owned();
        let attachments = cell.attachments().map(|attachments| attachments.to_value());
        (
            cell.cell_type().clone(),
            source,
            cell.metadata().to_value(),
            attachments,
            cell.outputs(),
            cell.execution_count(),
        )
    };
    notebook.cells().iter().map(of).collect()
}

#[test]
fn cells_are_replaced_with_outputs_metadata_and_attachments() {
    // Also by a notebook with the same ids.
    for before in [Notebook::new(), notebook(FULL)] {
        let after = replaced(&before, false);
        assert_eq!(parts(&after), parts(&notebook(FULL)));
        let ids = |of: &Notebook| of.cells().iter().map(|cell| cell.id().clone()).collect::<Vec<_>>();
        assert!(ids(&before).iter().all(|id| !ids(&after).contains(id)));
        assert_eq!(after.kernelspec(), notebook(FULL).kernelspec());
    }
}

#[test]
fn an_application_that_stores_its_outputs_gets_the_sources() {
    let after = replaced(&Notebook::new(), true);
    let cells: Vec<_> =
        after.cells().iter().map(|cell| (cell.source().into_owned(), cell.output_count())).collect();
    assert_eq!(cells, [("1 + 1".to_owned(), 0), ("# Title".to_owned(), 0), ("raw".to_owned(), 0)]);
    assert_eq!(after.cells()[0].metadata().as_str(), "{}");
}

#[test]
fn only_a_notebook_without_text_and_outputs_is_blank() {
    let one_cell = |source: &str| {
        let mut notebook = Notebook::new();
        let cell = NewCell::new(notebook::CellType::Markdown, source);
        notebook.apply(&Edit::Insert { index: 0, cell }).unwrap();
        notebook
    };
    assert!(is_blank(&Notebook::new()) && is_blank(&one_cell(" \n")));
    assert!(!is_blank(&one_cell("# Title")) && !is_blank(&notebook(FULL)));
}

#[test]
fn words_before_a_colon_may_name_places() {
    for (path, scheme) in [
        ("colab:", Some("colab")),
        ("http://h:8888/a.csv", Some("http")),
        ("C:a.csv", None),
        ("./x:a.csv", None),
        ("a/b:c", None),
        ("a.csv", None),
    ] {
        assert_eq!(scheme_of(path), scheme, "{path}");
    }
}

#[test]
fn a_copy_in_a_folder_has_the_name_of_the_file() {
    assert_eq!(&*in_folder("x/", "y/a.csv"), "x/a.csv");
    assert_eq!(&*in_folder("local:", "a.csv"), "local:a.csv");
    assert_eq!(&*in_folder("b.csv", "a.csv"), "b.csv");
    for (path, name) in [
        ("a.csv", "a.csv"),
        ("x/y/a.csv", "a.csv"),
        ("local:a.csv", "a.csv"),
        ("http://h:8888/a.csv", "a.csv"),
    ] {
        assert_eq!(file_name(path), name);
    }
}
