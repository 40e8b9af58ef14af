//! Inline script metadata (PEP 723) in a notebook: a cell with a commented TOML block that names the packages it needs, as juv,
//! uvkernel and marimo read it.
//!
//! ```text
//! # /// script
//! # dependencies = ["pandas"]
//! # ///
//! ```

use std::ops::Range;

use notebook::{Cell, CellId, CellType, Edit, NewCell, Notebook};
use place::{Error, ErrorKind, Expected};
use toml_edit::{Array, DocumentMut, Item, Value};

use crate::installer::RecordIn;
use crate::requirement::{Requirement, name_of, normalized};

const START: &str = "# /// script";
const END: &str = "# ///";

/// How packages come into the inline metadata of a notebook.
pub struct ScriptEdit {
    /// The cell with the block. `None`: a new one is inserted at the top.
    pub cell: Option<CellId>,
    pub edits: Vec<Edit>,
    /// The edits fit this state of the cell only.
    pub expected: Vec<Expected>,
}

/// What records `packages` in the notebook. `None`: nothing has to change, or nothing is wanted there. `python` is the version for a
/// new block, as in `3.12.4`. Fails if the block that is there cannot be read.
pub fn record_in_notebook(
    notebook: &Notebook,
    packages: &[Requirement],
    record: RecordIn,
    python: &str,
) -> Result<Option<ScriptEdit>, Error> {
    if !matches!(record, RecordIn::Auto | RecordIn::Notebook) {
        return Ok(None);
    }
    let Some((cell, source, block)) = notebook.cells().iter().find_map(with_block) else {
        return Ok((record == RecordIn::Notebook).then(|| new_cell(packages, python)));
    };
    let changed = with_packages(&source[block.clone()], packages).map_err(|cause| {
        Error::new(
            ErrorKind::InvalidArgument,
            format!("The inline script metadata of the cell {} cannot be changed: {cause}.", cell.id()),
            "Nothing was installed. Correct that cell, or call again with record=\"no\".",
        )
    })?;
    let changed = format!("{}{changed}{}", &source[..block.start], &source[block.end..]);
    let id = cell.id().clone();
    Ok((changed != source).then(|| ScriptEdit {
        expected: vec![Expected { id: id.clone(), revision: Some(cell.revision().to_owned()), read: None }],
        edits: vec![Edit::SetSource { id: id.clone(), source: changed }],
        cell: Some(id),
    }))
}

fn new_cell(packages: &[Requirement], python: &str) -> ScriptEdit {
    let minor: Vec<&str> = python.split('.').take(2).collect();
    let lines: Vec<String> = packages.iter().map(|package| format!("#     \"{package}\",")).collect();
    let (dependencies, python) = (lines.join("\n"), minor.join("."));
    let source = format!(
        "{START}\n# requires-python = \">={python}\"\n# dependencies = [\n{dependencies}\n# ]\n{END}"
    );
    let edits = vec![Edit::Insert { index: 0, cell: NewCell::new(CellType::Code, source) }];
    ScriptEdit { cell: None, edits, expected: Vec::new() }
}

/// A code cell with a block: the cell, its source, and the bytes between the first and the last line of the block.
fn with_block(cell: &Cell) -> Option<(&Cell, String, Range<usize>)> {
    let source = cell.is_code().then(|| cell.source().into_owned())?;
    let block = find(&source)?;
    Some((cell, source, block))
}

/// The content of the first block. It ends at the last line `# ///` that follows without a line of another kind between
/// (<https://packaging.python.org/en/latest/specifications/inline-script-metadata/>).
fn find(source: &str) -> Option<Range<usize>> {
    let (mut offset, mut start, mut end) = (0, None, None);
    for line in source.split_inclusive('\n') {
        let text = line.trim_end_matches(['\n', '\r']);
        if start.is_none() {
            start = (text == START).then_some(offset + line.len());
        } else if text == END {
            end = Some(offset);
        } else if text != "#" && !text.starts_with("# ") {
            break;
        }
        offset += line.len();
    }
    Some(start?..end?)
}

/// The content of a block with the packages among its dependencies. A dependency that is there stays, unless a version or
/// extras are asked for.
fn with_packages(content: &str, packages: &[Requirement]) -> Result<String, String> {
    let toml: String = content.lines().map(|line| uncommented(line).to_owned() + "\n").collect();
    let mut document: DocumentMut =
        toml.parse().map_err(|error: toml_edit::TomlError| error.message().to_owned())?;
    let dependencies = document.entry("dependencies").or_insert_with(|| Item::Value(Array::new().into()));
    let dependencies =
        dependencies.as_array_mut().ok_or_else(|| "its dependencies are not a list".to_owned())?;
    let mut is_changed = false;
    for package in packages {
        let name = normalized(package.name());
        let is_same = |value: &Value| value.as_str().is_some_and(|text| normalized(name_of(text)) == name);
        let index = dependencies.iter().position(is_same);
        match index {
            None => add(dependencies, package),
            Some(_) if package.is_bare() => continue,
            Some(index) => {
                let text = dependencies.get(index).and_then(Value::as_str).unwrap_or_default();
                if text.contains([';', '@']) {
                    return Err(format!("{text:?} has conditions or an address"));
                }
                if text == package.to_string() {
                    continue;
                }
                dependencies.replace(index, package.to_string());
            }
        }
        is_changed = true;
    }
    if !is_changed {
        return Ok(content.to_owned());
    }
    Ok(document.to_string().lines().map(commented).collect())
}

/// Adds it behind the last one, on a line of its own if that has one.
fn add(dependencies: &mut Array, package: &Requirement) {
    let last = dependencies.iter().last().and_then(|value| value.decor().prefix()?.as_str());
    let line = last.and_then(|prefix| prefix.rfind('\n').map(|at| prefix[at..].to_owned()));
    match line {
        Some(line) => {
            dependencies.push_formatted(Value::from(package.to_string()).decorated(line, ""));
        }
        None => dependencies.push(package.to_string()),
    }
}

fn uncommented(line: &str) -> &str {
    let line = line.trim_end_matches('\r');
    line.strip_prefix("# ").unwrap_or_else(|| line.trim_start_matches('#'))
}

fn commented(line: &str) -> String {
    if line.is_empty() { "#\n".to_owned() } else { format!("# {line}\n") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packages(texts: &[&str]) -> Vec<Requirement> {
        texts.iter().map(|text| text.parse().unwrap()).collect()
    }

    fn notebook(sources: &[&str]) -> Notebook {
        let mut notebook = Notebook::new();
        for (index, source) in sources.iter().enumerate() {
            let cell = NewCell::new(CellType::Code, *source);
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        notebook
    }

    /// The sources after `texts` were recorded.
    fn recorded(sources: &[&str], texts: &[&str], record: RecordIn) -> Result<Vec<String>, String> {
        let mut notebook = notebook(sources);
        let edit =
            record_in_notebook(&notebook, &packages(texts), record, "3.12.4").map_err(|error| error.cause)?;
        for edit in edit.iter().flat_map(|it| &it.edits) {
            notebook.apply(edit).unwrap();
        }
        Ok(notebook.cells().iter().map(|cell| cell.source().into_owned()).collect())
    }

    #[test]
    fn a_package_is_added_as_the_others_stand() {
        let lines = "x = 1\n# /// script\n# dependencies = [\n#     \"numpy\",  # numbers\n#     \"six\",\n# ]\n#\n# [tool.uv]\n# exclude-newer = \"2026-01-01\"\n# ///\ny = 2";
        assert_eq!(
            recorded(&["1", lines], &["pandas>=2"], RecordIn::Auto).unwrap()[1],
            lines.replace("#     \"six\",\n", "#     \"six\",\n#     \"pandas>=2\",\n")
        );
        let one = "# /// script\n# dependencies = [\"numpy\"]\n# ///";
        assert_eq!(
            recorded(&[one], &["six", "a"], RecordIn::Auto).unwrap(),
            ["# /// script\n# dependencies = [\"numpy\", \"six\", \"a\"]\n# ///"]
        );
        let none = "# /// script\n# requires-python = \">=3.11\"\n#\n# [tool.x]\n# y = 1\n# ///\n";
        assert_eq!(
            recorded(&[none], &["six"], RecordIn::Auto).unwrap(),
            [
                "# /// script\n# requires-python = \">=3.11\"\n# dependencies = [\"six\"]\n#\n# [tool.x]\n# y = 1\n# ///\n"
            ]
        );
    }

    #[test]
    fn what_is_there_is_replaced_only_by_another_version() {
        let source = "# /// script\n# dependencies=[ 'Py_YAML>=5' , \"numpy\" ]\n# ///";
        assert_eq!(recorded(&[source], &["py-yaml", "numpy"], RecordIn::Auto).unwrap(), [source]);
        assert_eq!(
            recorded(&[source], &["py-yaml>=6"], RecordIn::Auto).unwrap(),
            [source.replace("'Py_YAML>=5'", "\"py-yaml>=6\"")]
        );
        let condition = "# /// script\n# dependencies = [\"numpy; python_version < '3.13'\"]\n# ///";
        assert_eq!(recorded(&[condition], &["numpy"], RecordIn::Auto).unwrap(), [condition]);
        assert!(recorded(&[condition], &["numpy>=2"], RecordIn::Auto).unwrap_err().contains("conditions"));
    }

    #[test]
    fn a_new_block_is_made_only_on_request() {
        assert_eq!(recorded(&["1"], &["six"], RecordIn::Auto).unwrap(), ["1"]);
        assert_eq!(
            recorded(&["1"], &["six", "pandas>=2"], RecordIn::Notebook).unwrap(),
            [
                "# /// script\n# requires-python = \">=3.12\"\n# dependencies = [\n#     \"six\",\n#     \"pandas>=2\",\n# ]\n# ///",
                "1"
            ]
        );
        for record in [RecordIn::No, RecordIn::Project] {
            let block = "# /// script\n# dependencies = []\n# ///";
            assert_eq!(recorded(&[block], &["six"], record).unwrap(), [block]);
        }
    }

    #[test]
    fn a_block_that_cannot_be_read_is_left_alone() {
        for block in ["# dependencies = [", "# dependencies = \"six\"", "# x = 1 = 2"] {
            let source = format!("# /// script\n{block}\n# ///");
            assert!(recorded(&[&source], &["six"], RecordIn::Auto).is_err(), "{block}");
        }
        // None of these is a block.
        for source in
            ["# /// script\n# dependencies = []", "# /// script\nx = 1\n# ///", "# /// other\n# ///", "# ///"]
        {
            assert_eq!(recorded(&[source], &["six"], RecordIn::Auto).unwrap(), [source]);
        }
    }
}
