//! Reads from the message of an error which names of columns or labels were not found.

/// Of a message, only so many bytes are read.
const MAX_READ: usize = 2000;
const MAX_NAME: usize = 200;
const MAX_NAMES: usize = 20;

/// What surrounds a name without quotes.
const UNQUOTED: [(&str, &str); 4] = [
    ("Column not found: ", ""),
    ("Index ", " invalid"),
    ("level name ", " is not the name of the index"),
    ("Level ", " not found"),
];

/// The names that an error with this message, of this type, has not found.
pub(super) fn missing_names(kind: &str, value: &str) -> Vec<String> {
    let value = value.lines().next().unwrap_or_default();
    let end = (0..=MAX_READ.min(value.len())).rev().find(|at| value.is_char_boundary(*at)).unwrap_or(0);
    let value = value[..end].trim();
    let message = match kind {
        "AttributeError" => {
            value.strip_prefix("'DataFrame").and_then(|rest| Some(rest.split_once(" attribute ")?.1))
        }
        "ValueError" => is_about_names(value).then_some(value),
        // polars names those that there are.
        "ColumnNotFoundError" | "UndefinedVariableError" => value.split("; valid columns").next(),
        // The message of a `KeyError` is its key, as Python writes it.
        "KeyError" => Some(value),
        _ => None,
    };
    let Some(message) = message else { return Vec::new() };
    let inner = if kind == "KeyError" { literal(message) } else { None };
    let message = inner.as_deref().unwrap_or(message);
    let unquoted =
        UNQUOTED.iter().find_map(|(before, after)| message.strip_prefix(before)?.strip_suffix(after));
    let mut names = match unquoted {
        Some(name) => vec![name.to_owned()],
        None => quoted(message),
    };
    if names.is_empty() && kind != "ValueError" {
        names.push(message.to_owned());
    }
    // pandas joins several that are missing.
    let joined = names.iter().filter(|_| message.contains("'parse_dates'"));
    let parts: Vec<String> = joined
        .flat_map(|name| name.split(", "))
        .map(str::to_owned)
        .filter(|part| !names.contains(part))
        .collect();
    names.extend(parts);
    names.retain(|name| !name.is_empty() && name.len() <= MAX_NAME);
    names.truncate(MAX_NAMES);
    names
}

/// The path that an error of this type, with this message, has not found.
pub(super) fn missing_path(kind: &str, value: &str) -> Option<String> {
    let is_about_folder = kind == "OSError" && value.contains("non-existent directory");
    if kind != "FileNotFoundError" && !is_about_folder {
        return None;
    }
    let line = value.lines().next().unwrap_or_default().trim();
    let unquoted = || {
        let message = line.rsplit_once(": ").map_or(line, |(_, path)| path);
        message.strip_suffix(" not found.").unwrap_or(message).to_owned()
    };
    // Between quotes as Python writes it.
    let path = quoted(line).into_iter().next().map_or_else(unquoted, |path| path.replace("\\\\", "\\"));
    (!path.is_empty() && path.len() <= MAX_READ).then_some(path)
}

fn is_about_names(message: &str) -> bool {
    let words = ["column", "Usecols", "level name ", "Could not interpret value"];
    words.iter().any(|word| message.contains(word))
        || message.starts_with("Index ") && message.ends_with(" invalid")
}

/// What the text is, if it is one literal of Python.
fn literal(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let inner = text[1..].strip_suffix(quote)?;
    let mut plain = String::new();
    let mut characters = inner.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => plain.push(characters.next()?),
            // There are several.
            _ if character == quote => return None,
            _ => plain.push(character),
        }
    }
    Some(plain)
}

/// The texts between quotes.
fn quoted(message: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut rest = message;
    let is_start = |before: Option<char>| before.is_none_or(|before| matches!(before, ' ' | '[' | '(' | '{'));
    let is_end = |after: Option<char>| {
        after.is_none_or(|after| matches!(after, ' ' | ',' | ']' | ')' | '}' | '.' | ':' | ';'))
    };
    while let Some(at) = rest.find(['\'', '"', '`']) {
        let (before, after) = (rest[..at].chars().next_back(), &rest[at + 1..]);
        let quote = &rest[at..=at];
        let ends = after.match_indices(quote).map(|(end, _)| end);
        let end = ends.into_iter().find(|end| is_end(after[end + 1..].chars().next()));
        match end.filter(|_| is_start(before)) {
            Some(end) => {
                found.push(after[..end].to_owned());
                rest = &after[end + 1..];
            }
            None => rest = after,
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_path_is_read_from_the_messages_of_libraries() {
        for (kind, value, path) in [
            (
                "FileNotFoundError",
                "[Errno 2] No such file or directory: 'data/smal.csv'",
                Some("data/smal.csv"),
            ),
            (
                "FileNotFoundError",
                r"[Errno 2] No such file or directory: 'data\\smal.csv'",
                Some(r"data\smal.csv"),
            ),
            ("FileNotFoundError", "[Errno 2] No such file or directory: 'a' -> 'b'", Some("a")),
            (
                "FileNotFoundError",
                "No such file or directory (os error 2): data/smal.csv",
                Some("data/smal.csv"),
            ),
            ("FileNotFoundError", "data/smal.txt not found.", Some("data/smal.txt")),
            ("OSError", "Cannot save file into a non-existent directory: 'outt'", Some("outt")),
            ("OSError", "[Errno 28] No space left on device: 'x'", None),
            ("FileNotFoundError", "", None),
            ("KeyError", "'x'", None),
        ] {
            assert_eq!(missing_path(kind, value).as_deref(), path, "{value}");
        }
    }

    /// The messages of pandas 3 and polars 2.
    #[test]
    fn missing_names_are_read_from_messages() {
        for (kind, value, names) in [
            ("KeyError", "'Order Date'", &["Order Date"][..]),
            ("KeyError", "\"it's\"", &["it's"]),
            ("KeyError", r"'it\'s'", &["it's"]),
            ("KeyError", "('u', 'x')", &["u", "x"]),
            ("KeyError", "\"['a', 'b'] not in index\"", &["a", "b"]),
            (
                "KeyError",
                "\"None of [Index(['x', 'y z'], dtype='str')] are in the [columns]\"",
                &["x", "y z"],
            ),
            ("KeyError", "\"None of ['x y'] are in the columns\"", &["x y"]),
            ("KeyError", "Index(['Region'], dtype='str')", &["Region"]),
            ("KeyError", "['Region']", &["Region"]),
            ("KeyError", "'Column not found: x y'", &["x y"]),
            ("KeyError", "\"Columns not found: 'x y'\"", &["x y"]),
            ("KeyError", "\"Column(s) ['SOUTH'] do not exist\"", &["SOUTH"]),
            ("KeyError", "\"Label(s) ['SOUTH'] do not exist\"", &["SOUTH"]),
            (
                "KeyError",
                "\"The following id_vars or value_vars are not present in the DataFrame: ['Region']\"",
                &["Region"],
            ),
            (
                "KeyError",
                "\"Only a column name can be used for the key in a dtype mappings argument. 'SOUTH' not found in columns.\"",
                &["SOUTH"],
            ),
            ("KeyError", "\"['SOUTH'] not found in axis\"", &["SOUTH"]),
            (
                "ValueError",
                "Usecols do not match columns, columns expected but not found: ['a', 'b']",
                &["a", "b"],
            ),
            (
                "ValueError",
                "Missing column provided to 'parse_dates': 'a b, c'",
                &["parse_dates", "a b, c", "a b", "c"],
            ),
            ("ValueError", "Index Region invalid", &["Region"]),
            ("ValueError", "level name Region is not the name of the index", &["Region"]),
            ("ValueError", "Could not interpret value `Region` for `x`.", &["Region", "x"]),
            ("ValueError", "could not convert string to float: 'x'", &[]),
            ("ValueError", "columns overlap but no suffix specified: Index(['x'])", &["x"]),
            ("AttributeError", "'DataFrame' object has no attribute 'SOUTH'", &["SOUTH"]),
            ("AttributeError", "'DataFrameGroupBy' object has no attribute 'SOUTH'", &["SOUTH"]),
            ("AttributeError", "'str' object has no attribute 'x'", &[]),
            ("UndefinedVariableError", "name 'x' is not defined", &["x"]),
            ("ColumnNotFoundError", "unable to find column \"x\"; valid columns: [\" x\"]", &["x"]),
            ("ColumnNotFoundError", "\"x\" not found", &["x"]),
            ("ColumnNotFoundError", "x", &["x"]),
            ("TypeError", "'x'", &[]),
            ("KeyError", "", &[]),
            ("KeyError", "'", &["'"]),
        ] {
            assert_eq!(missing_names(kind, value), names, "{value}");
        }
    }
}
