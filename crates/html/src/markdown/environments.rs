//! Environments of LaTeX that stand in Markdown without dollars, which `MathJax` draws in Jupyter, too.

use std::borrow::Cow;

/// The environments that are formulas by themselves, also with a star.
const NAMES: [&str; 6] = ["align", "alignat", "eqnarray", "equation", "gather", "multline"];

/// `source` with dollars around each environment that starts a line outside code: `\begin{align}…\end{align}` becomes
/// `$$\begin{align}…\end{align}$$`.
pub(super) fn delimited(source: &str) -> Cow<'_, str> {
    if !source.contains("\\begin{") {
        return Cow::Borrowed(source);
    }
    let mut written = String::with_capacity(source.len() + 16);
    let mut rest = source;
    let (mut is_code, mut is_formula) = (false, false);
    while !rest.is_empty() {
        let end = rest.find('\n').map_or(rest.len(), |end| end + 1);
        let line = &rest[..end];
        let start = line.trim_start();
        if start.starts_with("```") || start.starts_with("~~~") {
            is_code = !is_code;
        }
        if let Some(length) = environment(rest).filter(|_| !is_code && !is_formula) {
            // A blank line would end the paragraph, and the formula with it.
            let lines = rest[..length].lines().filter(|line| !line.trim().is_empty());
            written.push_str(&format!("$${}$$", lines.collect::<Vec<_>>().join("\n")));
            rest = &rest[length..];
            continue;
        }
        is_formula ^= !is_code && line.matches("$$").count() % 2 == 1;
        written.push_str(line);
        rest = &rest[end..];
    }
    Cow::Owned(written)
}

/// The length of the environment that the text starts with.
fn environment(text: &str) -> Option<usize> {
    let indented = text.trim_start_matches(' ');
    let indent = text.len() - indented.len();
    let (name, _) = indented.strip_prefix("\\begin{").filter(|_| indent < 4)?.split_once('}')?;
    let end = format!("\\end{{{name}}}");
    let at = NAMES.contains(&name.strip_suffix('*').unwrap_or(name)).then(|| text.find(&end))??;
    Some(at + end.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_get_dollars() {
        for (source, expected) in [
            ("a\n\\begin{align}\nx\n\n&y\n\\end{align}\nb", "a\n$$\\begin{align}\nx\n&y\n\\end{align}$$\nb"),
            ("$$\n\\begin{align}x\\end{align}\n$$", "$$\n\\begin{align}x\\end{align}\n$$"),
            ("```\n\\begin{align}x\\end{align}\n```", "```\n\\begin{align}x\\end{align}\n```"),
            ("\\begin{tikzpicture}x\\end{tikzpicture}", "\\begin{tikzpicture}x\\end{tikzpicture}"),
            ("\\begin{align}", "\\begin{align}"),
        ] {
            assert_eq!(delimited(source), expected, "{source}");
        }
    }
}
