//! Tells whether a form of a content shows nothing, so that another one is better.

use notebook::is_hidden;

use crate::html;

/// Parts of LaTeX that show nothing by themselves.
const LAYOUT: [&str; 12] =
    ["\\displaystyle", "\\mathrm", "\\text", "\\[", "\\]", "\\(", "\\)", "\\,", "$", "{", "}", "~"];

pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_hidden(character))
}

/// `$\displaystyle $`, `$$`.
pub(super) fn is_blank_latex(latex: &str) -> bool {
    is_blank(&LAYOUT.iter().fold(latex.to_owned(), |rest, part| rest.replace(part, "")))
}

/// Markdown of nothing but empty elements, comments, references to spaces or an empty formula.
pub(super) fn is_blank_markdown(markdown: &str) -> bool {
    let is_empty_page = || {
        let page = html::readable(markdown);
        is_blank(&page.text) && page.images.is_empty()
    };
    let is_html = markdown.starts_with(['<', '&']) && markdown.trim_end().ends_with(['>', ';']);
    is_blank(markdown) || is_blank_latex(markdown) || is_html && is_empty_page()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latex_without_content_is_blank() {
        for blank in [
            "$$",
            "$ $",
            "$\\displaystyle $",
            "$$\\displaystyle \\mathrm{}$$",
            "\\[\\]",
            "\\( \\, \\)",
            "\\text{}",
            "~\u{200b}",
            "",
        ] {
            assert!(is_blank_latex(blank), "{blank}");
        }
        for filled in
            ["$x$", "$\\displaystyle 0$", "\\alpha", "\\text{a}", "\\left(\\right)", "\\$", "\\", "\\{\\}"]
        {
            assert!(!is_blank_latex(filled), "{filled}");
        }
    }

    #[test]
    fn markdown_without_content_is_blank() {
        for blank in ["<div></div>", "&nbsp;\n", "<!-- a -->", "<br/>", "$$ $$", " \n"] {
            assert!(is_blank_markdown(blank), "{blank}");
        }
        for filled in ["a", "<b>a</b>", "<img src='data:image/png;base64,AAAA'>", "&amp;", "---", "<x", "$x$"]
        {
            assert!(!is_blank_markdown(filled), "{filled}");
        }
    }
}
