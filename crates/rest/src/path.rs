//! Paths of the contents API as parts of a URL.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::{Kind, RestError, Result};

/// What may stand in one part of a path as it is (RFC 3986, "unreserved").
const PART: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// One part of a path: a kernel's id, a user's name.
pub(crate) fn part(text: &str) -> Result<String> {
    // A URL drops such a part, encoded or not (WHATWG URL, "double-dot URL path segment"): the request would go elsewhere.
    if text.is_empty() || text == "." || text == ".." {
        return Err(RestError::new(
            Kind::Address,
            format!("\"{text}\" cannot be part of an address."),
            "Give the name or id as the server lists it.",
        ));
    }
    Ok(utf8_percent_encode(text, PART).to_string())
}

/// A file's path, whose parts keep their slashes. A slash before or behind it means nothing.
pub(crate) fn file(path: &str) -> Result<String> {
    let parts = path.split('/').filter(|part| !part.is_empty());
    let parts: Result<Vec<String>> = parts
        .map(|name| {
            part(name).map_err(|_| {
                RestError::new(
                    Kind::Address,
                    format!("The path {path:?} goes through \"{name}\"."),
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
    fn files_keep_their_slashes_and_nothing_else() {
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
    fn paths_that_a_url_would_shorten_are_refused() {
        for path in ["..", "../kernels", "a/./b", "a/../../kernels"] {
            assert_eq!(file(path).unwrap_err().kind, Kind::Address, "{path:?}");
        }
        assert!(part("").is_err());
    }
}
