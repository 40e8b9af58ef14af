//! Tells whether a form of a content shows nothing, so that another one is better.

use notebook::is_hidden;

use crate::html;

/// Commands that only lay out, or that start what is empty without more.
const LAYOUT: &str = include_str!("blank/layout.txt");
/// Those of which the argument is shown nowhere.
const NAMING: [&str; 5] = ["begin", "color", "end", "hspace", "label"];

pub(super) fn is_blank(text: &str) -> bool {
    text.chars().all(|character| character.is_whitespace() || is_hidden(character))
}

/// `$\displaystyle $`, `$$`, `\begin{equation}\end{equation}`.
pub(super) fn is_blank_latex(latex: &str) -> bool {
    let mut rest = latex;
    while let Some(character) = rest.chars().next() {
        rest = &rest[character.len_utf8()..];
        if character == '\\' {
            let end = rest.find(|letter: char| !letter.is_ascii_alphabetic()).unwrap_or(rest.len());
            let (name, after) = rest.split_at(end);
            rest = match name {
                // Spaces, and the ends of formulas and lines.
                "" if after.starts_with(['[', ']', '(', ')', ',', ';', ':', '!', ' ', '\\']) => &after[1..],
                _ if NAMING.contains(&name) => after
                    .strip_prefix('{')
                    .and_then(|argument| argument.split_once('}'))
                    .map_or(after, |(_, after)| after),
                "left" | "right" => after.strip_prefix('.').unwrap_or(after),
                _ if LAYOUT.lines().any(|it| it == name) => after,
                _ => return false,
            };
        } else if !matches!(character, '$' | '{' | '}' | '~' | '&')
            && !is_blank(character.encode_utf8(&mut [0; 4]))
        {
            return false;
        }
    }
    true
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
            "\\begin{equation*}\n\\end{equation*}",
            "\\begin{array}{}\\end{array}",
            "\\left.\\right.",
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
