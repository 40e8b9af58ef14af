//! Errors: the message, and the frames, of which the last is open.

use render::{is_rule, terminal_text};

use crate::fragment::Fragment;
use crate::terminal;

/// Writes an error. `entries` are those of nbformat: with `IPython`, a rule, a headline, each frame, and the message.
pub(crate) fn write(name: &str, value: &str, entries: &[String], html: &mut Fragment) {
    html.raw("<div class=\"cb-error\">");
    let entries: Vec<&str> =
        entries.iter().map(String::as_str).filter(|entry| !is_rule(&terminal_text(entry))).collect();
    let is_of_ipython =
        entries.first().is_some_and(|first| first.contains("Traceback (most recent call last)"))
            && !entries[0].trim_end().contains('\n');
    headline(name, value, html);
    match &entries[..] {
        [_, frames @ .., message] if is_of_ipython && !frames.is_empty() => {
            let (last, earlier) = (frames[frames.len() - 1], &frames[..frames.len() - 1]);
            if !earlier.is_empty() {
                let count = u64::try_from(earlier.len()).unwrap_or(u64::MAX);
                html.raw("<details><summary>Earlier frames: ").number(count).raw("</summary>");
                pre(&earlier.join("\n"), html);
                html.raw("</details>");
            }
            pre(&format!("{last}\n{message}"), html);
        }
        [] => {}
        entries => pre(&entries.join("\n"), html),
    }
    html.raw("</div>");
}

fn headline(name: &str, value: &str, html: &mut Fragment) {
    html.raw("<p class=\"cb-error-name\"><strong>");
    terminal::write([name], html);
    html.raw("</strong>");
    let first = value.lines().next().unwrap_or_default();
    if !first.is_empty() {
        html.raw(": ");
        terminal::write([first], html);
    }
    html.raw("</p>");
}

fn pre(text: &str, html: &mut Fragment) {
    html.raw("<pre tabindex=\"0\">");
    terminal::write([text], html);
    html.raw("</pre>");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(entries: &[&str]) -> String {
        let mut html = Fragment::default();
        let entries: Vec<String> = entries.iter().map(ToString::to_string).collect();
        write("ValueError", "bad\nmore", &entries, &mut html);
        html.as_str().to_owned()
    }

    #[test]
    fn the_last_frame_is_open() {
        let rule = format!("\x1b[31m{}\x1b[39m", "-".repeat(75));
        let header = "\x1b[31mValueError\x1b[39m    Traceback (most recent call last)";
        let html = written(&[&rule, header, "frame 1", "frame 2", "frame <3>", "ValueError: bad"]);
        assert_eq!(
            html,
            "<div class=\"cb-error\"><p class=\"cb-error-name\"><strong>ValueError</strong>: bad</p>\
             <details><summary>Earlier frames: 2</summary><pre tabindex=\"0\">frame 1\nframe 2</pre></details>\
             <pre tabindex=\"0\">frame &lt;3&gt;\nValueError: bad</pre></div>"
        );
    }

    #[test]
    fn other_tracebacks_are_whole() {
        assert!(
            written(&["Error in f(): x", "Traceback:"])
                .contains("<pre tabindex=\"0\">Error in f(): x\nTraceback:</pre>")
        );
        assert!(!written(&[]).contains("<pre"));
    }
}
