//! Which addresses a page may hold.

/// An address that a person may follow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Link {
    /// Of another site, or of a mail.
    Remote(String),
    /// A part of this page, without `#`.
    Here(String),
    /// A file beside this one.
    File(String),
}

/// The address of a link; `None` if following it could run a script, or its scheme is not known.
pub(crate) fn link(address: &str) -> Option<Link> {
    let address = cleaned(address);
    if let Some(part) = address.strip_prefix('#') {
        return Some(Link::Here(part.to_owned()));
    }
    match scheme(&address).as_deref() {
        Some("http" | "https" | "mailto") => Some(Link::Remote(address)),
        None if has_host(&address) => Some(Link::Remote(format!("https:{}", address.replace('\\', "/")))),
        None if !address.is_empty() => Some(Link::File(address)),
        _ => None,
    }
}

/// Whether an address without a scheme names another machine. Browsers read `\` as `/`.
fn has_host(address: &str) -> bool {
    address.starts_with(['/', '\\']) && address[1..].starts_with(['/', '\\'])
}

/// What the address of an image means.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Picture {
    /// The image itself.
    Data(String),
    /// A request to another machine, which no page may make.
    Remote(String),
    /// A file beside the notebook.
    File(String),
}

pub(crate) fn picture(address: &str) -> Option<Picture> {
    let address = cleaned(address);
    match scheme(&address).as_deref() {
        Some("data") => data(&address, &["image/"]).map(Picture::Data),
        Some("http" | "https") => Some(Picture::Remote(address)),
        None if has_host(&address) => Some(Picture::Remote(format!("https:{}", address.replace('\\', "/")))),
        None if !address.is_empty() => Some(Picture::File(address)),
        _ => None,
    }
}

/// A sound or a film, if it is in the address itself.
pub(crate) fn media(address: &str) -> Option<String> {
    data(&cleaned(address), &["audio/", "video/"])
}

/// A `data:` address of one of these types.
fn data(address: &str, types: &[&str]) -> Option<String> {
    let (head, content) = address
        .get(..5)
        .filter(|scheme| scheme.eq_ignore_ascii_case("data:"))
        .and_then(|_| address[5..].split_once(','))?;
    let head = head.to_ascii_lowercase();
    let is_plain = head.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/+-.;=".contains(&byte));
    (is_plain && types.iter().any(|prefix| head.starts_with(prefix)))
        .then(|| format!("data:{head},{}", valid(content)))
}

/// The content of a `data:` address without characters that no address may have. Browsers read both alike.
fn valid(content: &str) -> String {
    let mut valid = String::with_capacity(content.len());
    for character in content.chars() {
        match character {
            ' ' => valid.push_str("%20"),
            '"' => valid.push_str("%22"),
            '<' => valid.push_str("%3C"),
            '>' => valid.push_str("%3E"),
            other => valid.push(other),
        }
    }
    valid
}

/// The address as a browser reads it: without line breaks and tabs anywhere, and without blanks around it
/// (<https://url.spec.whatwg.org/#concept-basic-url-parser>).
fn cleaned(address: &str) -> String {
    let address = address.trim_matches(|character: char| character <= ' ');
    address
        .chars()
        .filter(|character| !matches!(character, '\t' | '\n' | '\r') && !character.is_control())
        .collect()
}

/// The scheme, in lower case.
fn scheme(address: &str) -> Option<String> {
    let (scheme, _) = address.split_once(':')?;
    let is_scheme = scheme.starts_with(|first: char| first.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte));
    is_scheme.then(|| scheme.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_run_no_scripts() {
        let remote = |address: &str| Some(Link::Remote(address.to_owned()));
        let file = |address: &str| Some(Link::File(address.to_owned()));
        for (address, expected) in [
            ("https://example.org/a", remote("https://example.org/a")),
            (" HTTP://x ", remote("HTTP://x")),
            ("mailto:a@example.org", remote("mailto:a@example.org")),
            ("other.ipynb", file("other.ipynb")),
            ("/view#token=x", file("/view#token=x")),
            ("//example.org/a", remote("https://example.org/a")),
            ("/\\example.org/a", remote("https://example.org/a")),
            ("\\/\t/example.org", remote("https:///example.org")),
            ("a b:c", file("a b:c")),
            ("#part", Some(Link::Here("part".to_owned()))),
            ("", None),
            ("javascript:alert(1)", None),
            ("JaVaScRiPt:alert(1)", None),
            ("java\nscript:alert(1)", None),
            ("\u{1}javascript:alert(1)", None),
            ("java\u{0}script:alert(1)", None),
            ("vbscript:x", None),
            ("data:text/html,<script>", None),
            ("blob:x", None),
            ("file:///etc/passwd", None),
        ] {
            assert_eq!(link(address), expected, "{address:?}");
        }
    }

    #[test]
    fn pictures_are_in_the_page() {
        let data = |address: &str| Some(Picture::Data(address.to_owned()));
        for (address, expected) in [
            ("data:image/png;base64,AA==", data("data:image/png;base64,AA==")),
            ("DATA:IMAGE/PNG;base64,AA==", data("data:image/png;base64,AA==")),
            ("data:image/svg+xml,%3Csvg/%3E", data("data:image/svg+xml,%3Csvg/%3E")),
            ("data:image/svg+xml,<svg a=\"b\"/>", data("data:image/svg+xml,%3Csvg%20a=%22b%22/%3E")),
            ("data:text/html,x", None),
            ("data:image/png\"onerror=x,", None),
            ("https://x/a.png", Some(Picture::Remote("https://x/a.png".to_owned()))),
            ("//x/a.png", Some(Picture::Remote("https://x/a.png".to_owned()))),
            ("a/b.png", Some(Picture::File("a/b.png".to_owned()))),
            ("javascript:x", None),
        ] {
            assert_eq!(picture(address), expected, "{address:?}");
        }
        assert_eq!(media("data:audio/wav;base64,AA").as_deref(), Some("data:audio/wav;base64,AA"));
        assert_eq!(media("https://x/a.wav"), None);
    }
}
