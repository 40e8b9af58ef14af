//! A difference as lines with a sign.

use notebook::visible;

use crate::Fragment;

/// Shows a unified diff, with colours beside the signs.
pub fn difference(diff: &str) -> Fragment {
    let mut html = Fragment::default();
    html.raw("<pre class=\"cb-diff\" tabindex=\"0\">");
    for line in diff.trim_end().lines() {
        let (start, end) = match line.as_bytes().first() {
            Some(b'+') => ("<ins>", "</ins>\n"),
            Some(b'-') => ("<del>", "</del>\n"),
            _ => ("<span>", "</span>\n"),
        };
        html.raw(start).text(&visible(line)).raw(end);
    }
    html.raw("</pre>");
    html
}
