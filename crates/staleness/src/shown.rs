//! On which options outputs depend, by what they look like.

use names::{ARRAYS, CONFIGURATION, FLOATS, FRAMES};
use notebook::Cell;

/// Prefix of the text of a figure of matplotlib.
const FIGURE: &str = "<Figure size ";

/// Of these options, the ones on which the outputs of a cell depend.
pub(crate) fn depends_on(cell: &Cell, options: &[&'static str]) -> Vec<&'static str> {
    let depends = |options: &&'static str| match *options {
        CONFIGURATION => cell.shows(|text| text.contains(FIGURE)),
        ARRAYS => cell.shows(has_array),
        FLOATS => cell.shows(has_float),
        FRAMES => cell.shows(has_frame),
        _ => false,
    };
    options.iter().copied().filter(depends).collect()
}

/// `array([1, 2])`, and numbers in brackets, as `print()` shows an array.
fn has_array(text: &str) -> bool {
    let is_number = |rest: &str| {
        rest.trim_start_matches(['[', ' ', '-', '.']).starts_with(|it: char| it.is_ascii_digit())
    };
    text.contains("array(") || text.split('[').skip(1).any(is_number)
}

/// A number that has a point.
fn has_float(text: &str) -> bool {
    text.split(|it: char| !it.is_ascii_digit() && it != '.').any(|word| {
        word.split_once('.').is_some_and(|(whole, rest)| !whole.is_empty() && !rest.contains('.'))
    })
}

/// A frame as HTML or as text, whose header starts with space, or a series.
fn has_frame(text: &str) -> bool {
    // JSON writes each line as an element of a list, with `\n` at its end.
    let is_line = |line: &&str| !matches!(line.trim(), "\"" | "\",");
    let lines = || text.split('\n').flat_map(|line| line.split("\\n")).filter(is_line).map(in_json);
    let is_header = |line: &str| line.starts_with("  ") && !line.trim().is_empty();
    let is_row = |line: &str| line.starts_with(|c: char| !c.is_whitespace()) && line.contains("  ");
    text.contains("dataframe")
        || text.contains("dtype: ")
        || lines().zip(lines().skip(1)).any(|(header, row)| is_header(header) && is_row(row))
}

fn in_json(line: &str) -> &str {
    line.trim_start().strip_prefix('"').unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrays_are_known_by_their_look() {
        for text in [
            "array([1, 2])",
            "[array([1])]",
            "[1. 2.]",
            "[0.5]",
            "x: [ 0.5 -1.5]",
            "[[1 2]\n [3 4]]",
            "    \"[[ 1.   2.5]\\n\",\n    \" [ 3.   4. ]]\\n\"\n",
        ] {
            assert!(has_array(text), "{text}");
        }
        for text in ["[a b]", "see [a] and 2", "{\"text\": [\n \"1 2\"]}", ""] {
            assert!(!has_array(text), "{text}");
        }
    }

    #[test]
    fn frames_are_known_by_their_look() {
        for text in [
            "{\"text/html\": \"<table border=\\\"1\\\" class=\\\"dataframe\\\">\"}",
            "0    1\n1    2\nName: a, dtype: int64\n",
            "   a    b\n0  1  2.0\n",
            "     \"       x\\n\",\n     \"count  3.0\\n\"\n",
        ] {
            assert!(has_frame(text), "{text}");
        }
        for text in
            ["a  b\n", "loss 0.5\nloss 0.4\n", "    \"a\\n\",\n    \"b\\n\"", "[{\"data\": {\n  \"a\": 1}}]"]
        {
            assert!(!has_frame(text), "{text}");
        }
    }
}
