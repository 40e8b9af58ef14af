//! Paths of the contents API as parts of a URL.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{Kind, RestError, Result};

/// The characters that are not encoded: RFC 3986's "unreserved" ones.
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Encodes one part of a path, such as a kernel's id or a user's name.
pub(crate) fn part(text: &str) -> Result<String> {
    // A URL resolves these parts, encoded or not (WHATWG URL, "double-dot URL path segment"): `api/kernels/..` would be
    // `api/`.
    if text.is_empty() || text == "." || text == ".." {
        return Err(RestError::new(
            Kind::Address,
            format!("\"{text}\" cannot be part of an address."),
            "Give the name or id as the server lists it.",
        ));
    }
    Ok(utf8_percent_encode(text, PART).to_string())
}

/// Encodes a file's path except for its slashes. Leading and trailing slashes are removed.
pub(crate) fn file(path: &str) -> Result<String> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts: Result<Vec<String>> = parts
        .map(|name| {
            part(name).map_err(|_| {
                RestError::new(
                    Kind::Address,
                    format!("The path {path:?} contains \"{name}\"."),
                    "Give the path from the server's root folder, as list_files shows it.",
                )
            })
        })
        .collect();
    Ok(parts?.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_but_slashes_of_a_file_s_path_is_encoded() {
        let table = [
            ("x.ipynb", "x.ipynb"),
            ("/x.ipynb", "x.ipynb"),
            ("a/b c.ipynb/", "a/b%20c.ipynb"),
            ("a//b", "a/b"),
            ("100%.ipynb", "100%25.ipynb"),
            ("what?#.ipynb", "what%3F%23.ipynb"),
            ("ü/ß.ipynb", "%C3%BC/%C3%9F.ipynb"),
            ("a\\b", "a%5Cb"),
            ("%2e%2e/x", "%252e%252e/x"),
            ("...", "..."),
            ("", ""),
        ];
        for (path, encoded) in table {
            assert_eq!(file(path).as_deref(), Ok(encoded), "{path:?}");
        }
    }

    #[test]
    fn parts_that_a_url_would_resolve_are_refused() {
        for path in ["..", "../kernels", "a/./b", "a/../../kernels"] {
            assert_eq!(file(path).unwrap_err().kind, Kind::Address, "{path:?}");
        }
        assert!(part("").is_err());
    }
}
