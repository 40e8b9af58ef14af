//! Why text is refused as a notebook.

use crate::Json;
use crate::file::MAX_CELLS;

/// Why text is refused as a notebook.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ParseError {
    #[error("not JSON at line {line}, column {column}: {problem}")]
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted in bytes from 1.
        column: usize,
        problem: String,
    },
    #[error("encoded in {encoding}, but notebooks are UTF-8; save it as UTF-8")]
    Encoding { encoding: &'static str },
    /// It is JSON, but not a notebook.
    #[error("not a notebook: {problem}")]
    NotANotebook { problem: String },
    #[error("too large: it has more than {MAX_CELLS} cells")]
    TooManyCells,
    /// It is of a version other than nbformat 3 and 4.
    #[error("nbformat {major} is not supported, only 3 and 4; {hint}", hint = version_hint(*.major))]
    Version { major: u64 },
}

fn version_hint(major: u64) -> &'static str {
    if major < 3 {
        "`jupyter nbconvert --to notebook` converts the file"
    } else {
        "the file is newer than this program"
    }
}

impl ParseError {
    pub(crate) fn not_utf8(text: &[u8]) -> Self {
        let valid = str::from_utf8(text).map_or_else(|error| error.valid_up_to(), str::len);
        let before = &text[..valid];
        let line_start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        let problem = "the text is not UTF-8".to_owned();
        Self::Json { line, column: valid - line_start + 1, problem }
    }

    /// The encoding of a text that is not in UTF-8, if it is one that editors and PowerShell write: by its byte order mark, or by the
    /// zeros beside its first characters.
    pub(crate) fn encoding(text: &[u8]) -> Option<Self> {
        let encoding = match *text {
            [0xff, 0xfe, 0, 0, ..] | [0, 0, 0xfe, 0xff, ..] => "UTF-32",
            [0xff, 0xfe, ..] | [0xfe, 0xff, ..] => "UTF-16",
            [first, 0, second, 0, ..] | [0, first, 0, second, ..] if first != 0 && second != 0 => "UTF-16",
            _ => return None,
        };
        Some(Self::Encoding { encoding })
    }

    pub(crate) fn not_json(text: &str, error: &serde_json::Error) -> Self {
        if text.trim_ascii().is_empty() {
            return Self::Json { line: 1, column: 1, problem: "the text is empty".to_owned() };
        }
        let (line, column) = (error.line(), error.column().max(1));
        let line_text = text.lines().nth(line.saturating_sub(1)).unwrap_or_default();
        let place = line_text.get(column.saturating_sub(2)..).unwrap_or_default();
        let is_here = |constant: &&str| place.find(constant).is_some_and(|at| at <= 1);
        let constant = ["NaN", "Infinity"].into_iter().find(is_here);
        let conflict = ["<<<<<<<", "=======", ">>>>>>>"];
        let problem = if conflict.iter().any(|mark| line_text.starts_with(mark)) {
            "the file contains an unresolved merge conflict".to_owned()
        } else if let Some(constant) = constant {
            format!("Python writes {constant}, but it is not JSON; null is the usual replacement")
        } else {
            let problem = error.to_string();
            problem.rsplit_once(" at line").map_or(problem.clone(), |(problem, _)| problem.to_owned())
        };
        Self::Json { line, column, problem }
    }

    pub(crate) fn not_a_notebook(problem: impl Into<String>) -> Self {
        Self::NotANotebook { problem: problem.into() }
    }

    /// A value of the wrong type at `place`.
    pub(crate) fn unexpected(place: &str, value: &Json, wanted: &str) -> Self {
        let found = match value.bytes().first() {
            Some(b'{') => "an object",
            Some(b'[') => "a list",
            Some(b'"') => "a string",
            Some(b't' | b'f') => "a boolean",
            Some(b'n') => "null",
            _ => "a number",
        };
        Self::not_a_notebook(format!("{place} is {found} instead of {wanted}"))
    }
}
