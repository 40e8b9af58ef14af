//! Parameters of a notebook, as papermill sets them
//! (<https://papermill.readthedocs.io/en/latest/usage-parameterize.html>).

use std::collections::BTreeMap;
use std::ops::Range;

use anyhow::bail;
use names::{Effects, NameSet, Names};
use notebook::{Cell, CellType, Edit, Json, NewCell, Notebook};
use place::nearest;
use runs::CellTags;
use serde_json::json;

/// The tag of the cell that holds the defaults.
const DEFAULTS: &str = "parameters";
/// The tag of the cell that sets others.
const INJECTED: &str = "injected-parameters";

/// Sets variables in a cell behind that of the defaults, or in the first cell. The cell of an earlier run is replaced.
pub(super) fn edits(notebook: &Notebook, parameters: &[(String, String)]) -> anyhow::Result<Vec<Edit>> {
    if let Some(language) = notebook.language().filter(|language| !language.eq_ignore_ascii_case("python")) {
        bail!("parameters can be set only in Python notebooks; this one is in {language}");
    }
    let lines: Vec<String> =
        parameters.iter().map(|(name, value)| format!("{name} = {}", literal(value))).collect();
    let source = format!("# Parameters\n{}", lines.join("\n"));
    if let Some((_, cell)) = tagged(notebook, INJECTED) {
        return Ok(vec![Edit::SetSource { id: cell.id().clone(), source }]);
    }
    let mut cell = NewCell::new(CellType::Code, source);
    cell.metadata = Some(Json::from_value(&json!({ "tags": [INJECTED] })));
    Ok(vec![Edit::Insert { index: tagged(notebook, DEFAULTS).map_or(0, |(index, _)| index + 1), cell }])
}

/// Whether a cell is the one that sets them.
pub(super) fn are_set_in(cell: &Cell) -> bool {
    has_tag(cell, INJECTED)
}

fn has_tag(cell: &Cell, tag: &str) -> bool {
    cell.is_code() && cell.tags().iter().any(|known| known == tag)
}

/// The first cell with the tag.
fn tagged<'n>(notebook: &'n Notebook, tag: &str) -> Option<(usize, &'n Cell)> {
    notebook.cells().iter().enumerate().find(|(_, cell)| has_tag(cell, tag))
}

/// Why parameters may not have the effect that the person expects, a sentence each. `range` are the cells that run.
pub(super) fn warnings(
    notebook: &Notebook,
    parameters: &[(String, String)],
    range: &Range<usize>,
) -> Vec<String> {
    let defaults = tagged(notebook, DEFAULTS);
    let mut warnings = Vec::new();
    if defaults.is_none() && !parameters.is_empty() {
        warnings.push(format!(
            "no cell has the tag `{DEFAULTS}`, so the parameters are set before all cells; if a cell sets one of \
             them again, the cell's value is used"
        ));
    }
    let effects: BTreeMap<usize, Effects> = notebook
        .cells()
        .iter()
        .enumerate()
        .filter(|(_, cell)| cell.is_code() && !are_set_in(cell) && !CellTags::of(cell).is_skipped)
        .map(|(index, cell)| (index, Names::of_cell(&cell.source()).effects))
        .collect();
    let used: NameSet = effects.values().flat_map(Effects::mentioned).cloned().collect();
    let set_at = tagged(notebook, INJECTED).or(defaults).map(|(index, _)| index);
    for (name, _) in parameters {
        match defaults.and_then(|(index, _)| Some((index, effects.get(&index)?))) {
            Some((index, known)) if known.unknown.is_none() && !known.defines.contains(name) => {
                warnings.push(format!(
                    "the cell with the tag `{DEFAULTS}` (cell {index}) does not set {name}{}",
                    meant(name, &known.defines)
                ));
            }
            None if effects.values().all(|cell| cell.unknown.is_none()) && !used.contains(name) => {
                warnings.push(format!("no cell uses {name}{}", meant(name, &used)));
            }
            _ => {}
        }
        let runs_later = |index: &usize| range.contains(index) && set_at.is_none_or(|set_at| *index > set_at);
        // `N = N or 5` begins with the value that was given.
        let sets = |cell: &Effects| cell.defines.contains(name) && !cell.uses.contains(name);
        if let Some((index, _)) = effects.iter().find(|(index, cell)| runs_later(index) && sets(cell)) {
            warnings.push(format!(
                "cell {index} sets {name} again: from that cell on, the value of -p {name} is not used"
            ));
        }
    }
    warnings
}

/// The end of a sentence about a name that nothing has: which one may be meant.
fn meant(name: &str, known: &NameSet) -> String {
    match nearest(name, known.iter().map(String::as_str)) {
        Some(near) => format!(".{}", near.sentence()),
        None => "; is the name right?".to_owned(),
    }
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

    fn warned(cells: &[(&str, &str)], names: &[&str]) -> Vec<String> {
        let parameters: Vec<_> = names.iter().map(|name| ((*name).to_owned(), "5".to_owned())).collect();
        warnings(&notebook(cells), &parameters, &(0..cells.len()))
    }

    #[test]
    fn parameters_without_effect_are_named() {
        let no_tag = "no cell has the tag `parameters`, so the parameters are set before all cells; if a cell sets \
         one of them again, the cell's value is used";
        let again = "cell 1 sets N again: from that cell on, the value of -p N is not used";
        assert_eq!(warned(&[("import x", "a"), ("N = 1", "b"), ("N", "c")], &["N"]), [no_tag, again]);
        assert_eq!(warned(&[("print(N)", "a")], &["N", "M"]), [no_tag, "no cell uses M; is the name right?"]);
        let fine = [("N = 1", "parameters"), ("N += 1\nM = N", "a"), ("N = int(N)", "b")];
        assert_eq!(warned(&fine, &["N"]), [""; 0]);
        assert_eq!(
            warned(&fine, &["n"]),
            ["the cell with the tag `parameters` (cell 0) does not set n. The nearest is \"N\"."]
        );
        assert_eq!(warned(&[("print(N.real)", "a")], &["N"]), [no_tag], "as if it were a class");
        assert_eq!(warned(&[("print(N)", "a")], &["n"]), [no_tag, "no cell uses n. The nearest is \"N\"."]);
        for later in ["N = 2", "for N in range(3): pass", "import numpy as N", "if True:\n    N = 3"] {
            assert_eq!(warned(&[("N = 1", "parameters"), (later, "a")], &["N"]), [again], "{later}");
        }
        // What is not Python is not known, and what runs before sets nothing again.
        assert_eq!(warned(&[("N = 9", "a"), ("from x import *", "parameters")], &["N"]), [""; 0]);
        let injected = [("N = 1", "parameters"), ("N = 7", "injected-parameters"), ("N", "a")];
        assert_eq!(warned(&injected, &["N"]), [""; 0]);
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
