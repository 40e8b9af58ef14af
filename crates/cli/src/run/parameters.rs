//! Parameters of a notebook, as papermill sets them
//! (<https://papermill.readthedocs.io/en/latest/usage-parameterize.html>).

use anyhow::bail;
use notebook::{Cell, CellType, Edit, Json, NewCell, Notebook};
use serde_json::json;

/// The tag of the cell that holds the defaults.
const DEFAULTS: &str = "parameters";
/// The tag of the cell that sets others.
const INJECTED: &str = "injected-parameters";

/// Sets variables in a cell behind that of the defaults, or in the first cell. The cell of an earlier run is replaced.
pub(super) fn edits(notebook: &Notebook, parameters: &[(String, String)]) -> anyhow::Result<Vec<Edit>> {
    if let Some(language) = notebook.language().filter(|language| language != "python") {
        bail!("parameters are set in notebooks of Python only; this one is in {language}");
    }
    let lines: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name} = {}", literal(value))).collect();
    let source = format!("# Parameters\n{}", lines.join("\n"));
    let tagged = |tag: &str| {
        notebook.cells().iter().enumerate().find(|(_, cell)| cell.tags().iter().any(|known| known == tag))
    };
    Ok(vec![match (tagged(INJECTED), tagged(DEFAULTS)) {
        (Some((_, cell)), _) => Edit::SetSource { id: cell.id().clone(), source },
        (None, defaults) => {
            let mut cell = NewCell::new(CellType::Code, source);
            cell.metadata = Some(Json::from_value(&json!({ "tags": [INJECTED] })));
            Edit::Insert { index: defaults.map_or(0, |(index, _)| index + 1), cell }
        }
    }])
}

/// Whether a cell is the one that sets them.
pub(super) fn are_set_in(cell: &Cell) -> bool {
    cell.tags().iter().any(|tag| tag == INJECTED)
}

/// A value as Python writes it: a number, `True`, `False` or `None` as such, `nan` and `inf` by `float`, anything else as a string.
fn literal(value: &str) -> String {
    match value {
        "True" | "False" | "None" => value.to_owned(),
        _ if is_number(value) => value.to_owned(),
        _ if is_not_finite(value) => format!("float({})", json!(value)),
        // Each string of JSON is one of Python.
        _ => json!(value).to_string(),
    }
}

/// Whether Python reads it as a number, too. Digits behind a leading zero are no number: they are a code or an id.
fn is_number(value: &str) -> bool {
    let digits = value.strip_prefix(['-', '+']).unwrap_or(value);
    let has_leading_zero =
        digits.len() > 1 && digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    let mut parts = digits.split('_');
    let is_separated = parts.clone().count() == 1
        || parts.all(|part| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit()));
    digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && !has_leading_zero
        && is_separated
        && digits.replace('_', "").parse::<f64>().is_ok()
}

/// Whether Python's `float` reads it as infinite, or as no number.
fn is_not_finite(value: &str) -> bool {
    let word = value.strip_prefix(['-', '+']).unwrap_or(value).to_ascii_lowercase();
    ["nan", "inf", "infinity"].contains(&word.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn notebook(cells: &[(&str, &str)]) -> Notebook {
        let mut notebook = Notebook::new();
        for (index, (source, tag)) in cells.iter().enumerate() {
            let mut cell = NewCell::new(CellType::Code, *source);
            cell.metadata = Some(Json::from_value(&json!({ "tags": [tag] })));
            notebook.apply(&Edit::Insert { index, cell }).unwrap();
        }
        notebook
    }

    fn sources(mut notebook: Notebook, parameters: &[(&str, &str)]) -> Vec<String> {
        let parameters: Vec<_> =
            parameters.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        for edit in edits(&notebook, &parameters).unwrap() {
            notebook.apply(&edit).unwrap();
        }
        notebook.cells().iter().map(|cell| cell.source().into_owned()).collect()
    }

    #[test]
    fn the_cell_stands_behind_the_defaults_and_is_replaced_by_the_next_run() {
        let with_defaults = notebook(&[("import x", "a"), ("n = 1", "parameters"), ("n", "b")]);
        assert_eq!(sources(with_defaults, &[("n", "5")]), ["import x", "n = 1", "# Parameters\nn = 5", "n"]);
        assert_eq!(
            sources(notebook(&[("n", "a")]), &[("n", "5"), ("m", "x y")]),
            ["# Parameters\nn = 5\nm = \"x y\"", "n"]
        );
        let earlier = notebook(&[("n = 1", "parameters"), ("n = 3", "injected-parameters")]);
        assert_eq!(sources(earlier, &[("n", "5")]), ["n = 1", "# Parameters\nn = 5"]);
    }

    #[test]
    fn values_are_literals_of_python() {
        for (given, expected) in [
            ("1", "1"),
            ("-2.5", "-2.5"),
            ("1e3", "1e3"),
            (".5", ".5"),
            ("+5", "+5"),
            ("1_000", "1_000"),
            ("0", "0"),
            ("nan", "float(\"nan\")"),
            ("-inf", "float(\"-inf\")"),
            ("True", "True"),
            ("None", "None"),
            ("true", "\"true\""),
            ("null", "\"null\""),
            ("007", "\"007\""),
            ("1__0", "\"1__0\""),
            ("1_", "\"1_\""),
            (".", "\".\""),
            ("it's \"ä\"\n", "\"it's \\\"ä\\\"\\n\""),
            ("[1]", "\"[1]\""),
        ] {
            assert_eq!(literal(given), expected);
        }
    }
}
