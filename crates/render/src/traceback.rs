//! Renders an error.

use crate::terminal::render;

/// A message that is not longer can occur in a traceback by accident.
const MIN_DISTINCT_MESSAGE: usize = 8;

/// The folders of installed packages, and the start of the standard library's.
const LIBRARIES: [&str; 3] = ["/site-packages/", "/dist-packages/", "/lib/python"];

/// The traceback as a terminal would show it, without decoration. It always names the error. Of adjacent frames in libraries, whose code
/// nobody edits, only the last is named; the others are counted.
pub(crate) fn traceback(name: &str, value: &str, entries: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let entries: Vec<String> = entries.iter().map(|entry| render(entry)).collect();
    for same in entries.chunk_by(|one, next| one == next && !one.is_empty() || are_of_libraries(one, next)) {
        let (Some(first), Some(last)) = (same.first(), same.last()) else { continue };
        match (library_frame(last), same.len() - 1) {
            (Some(frame), 0) => lines.push(frame),
            (Some(frame), others) => lines.push(format!("{frame} (after {others} library frames)")),
            (None, _) if is_rule(first) => {}
            (None, repeated) => {
                lines.push(without_padding(first));
                lines.extend(repeats(last, repeated));
            }
        }
    }
    let mut text = lines.join("\n");
    text.truncate(text.trim_end().len());
    if !names_error(&text, name, value) {
        if !text.is_empty() {
            text.push('\n');
        }
        text.push_str(&render(&headline(name, value)));
    }
    text
}

fn are_of_libraries(one: &str, next: &str) -> bool {
    library_frame(one).is_some() && library_frame(next).is_some()
}

/// A frame in a library in a line, with its path from the package on: `File pandas/core/frame.py:13788, in DataFrame.groupby`. `None` for
/// other entries.
fn library_frame(entry: &str) -> Option<String> {
    let first = entry.trim_start().lines().next()?;
    // Before version 8, `IPython` wrote no `File`, and no comma.
    let (path, function) = first.split_once(", in ").or_else(|| first.split_once(" in "))?;
    let path = path.strip_prefix("File ").unwrap_or(path);
    let function = function.split('(').next().unwrap_or_default();
    let is_compiled = path.starts_with('<') && !path.starts_with("<ipython-input")
        || [".pyx:", ".pxi:"].iter().any(|source| path.contains(source));
    let package = LIBRARIES.iter().find_map(|folder| Some(path.rsplit_once(folder)?.1));
    let path = package.or(is_compiled.then_some(path))?;
    Some(format!("File {path}, in {function}"))
}

/// Whether `text` contains the name or the message of the error; kernels of some languages print only the message.
fn names_error(text: &str, name: &str, value: &str) -> bool {
    let value = value.trim();
    !name.is_empty() && text.contains(name) || value.len() > MIN_DISTINCT_MESSAGE && text.contains(value)
}

/// `ValueError: message`.
pub(crate) fn headline(name: &str, value: &str) -> String {
    match (name, value) {
        ("", value) => value.to_owned(),
        (name, "") => name.to_owned(),
        (name, value) => format!("{name}: {value}"),
    }
}

/// Equal frames of a recursion, counted.
fn repeats(frame: &str, repeated: usize) -> Option<String> {
    match repeated {
        0 => None,
        1 => Some(frame.to_owned()),
        _ => Some(format!("… (frame repeated {repeated} more times)")),
    }
}

/// Whether an entry of a traceback is a line that separates.
pub fn is_rule(entry: &str) -> bool {
    entry.len() > 20 && entry.bytes().all(|byte| byte == b'-')
}

/// `IPython` fills the first line with blanks; this shortens them.
fn without_padding(entry: &str) -> String {
    let Some((name, rest)) = entry.split_once("   ") else { return entry.to_owned() };
    let rest = rest.trim_start();
    if rest.starts_with("Traceback (") && !name.contains('\n') {
        return format!("{name}  {rest}");
    }
    entry.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(name: &str, value: &str, entries: &[&str]) -> String {
        traceback(name, value, &entries.iter().map(ToString::to_string).collect::<Vec<_>>())
    }

    #[test]
    fn decoration_is_removed() {
        let entries = [
            &"-".repeat(75),
            "\x1b[31mKeyError\x1b[39m           Traceback (most recent call last)",
            "Cell In[1], line 1\n----> 1 {}['a']\n",
            "\x1b[31mKeyError\x1b[39m: 'a'",
        ];
        assert_eq!(
            text("KeyError", "'a'", &entries),
            "KeyError  Traceback (most recent call last)\nCell In[1], line 1\n----> 1 {}['a']\nKeyError: 'a'"
        );
    }

    #[test]
    fn the_error_is_named_if_the_traceback_does_not() {
        assert_eq!(text("Error", "no", &[]), "Error: no");
        assert_eq!(text("Error", "", &["somewhere"]), "somewhere\nError");
        assert_eq!(text("", "died", &[]), "died");
        let r = "Error in eval(expr): object 'x' not found\nTraceback:\n";
        assert_eq!(text("ERROR", "Error in eval(expr): object 'x' not found\n", &[r]), r.trim_end());
        assert_eq!(text("KeyError", "0", &["line 10"]), "line 10\nKeyError: 0");
        assert_eq!(text("", "", &[]), "");
    }

    #[test]
    fn of_frames_in_libraries_the_last_is_named() {
        let library = |path: &str, function: &str| format!("File {path}, in {function}\n    1 a\n--> 2 b\n");
        let own = "Cell In[6], line 1\n----> 1 df.a()\n";
        let helper = "File /work/shop/helper.py:3, in load(path)\n      2 x\n----> 3 y\n";
        let entries = [
            "KeyError  Traceback (most recent call last)",
            own,
            &library(
                "~/.venv/lib/python3.11/site-packages/pandas/core/frame.py:13788",
                "DataFrame.groupby(self, by)",
            ),
            &library(
                "/usr/lib/python3.11/contextlib.py:81",
                "ContextDecorator.__call__.<locals>.inner(*args)",
            ),
            "File pandas/_libs/tslib.pyx:364, in pandas._libs.tslib.array_to_datetime()\n--> 364 'No source'\n",
            helper,
            "~/anaconda3/lib/python3.7/site-packages/pandas/io/common.py in get_handle(path)\n    640 x\n",
            "KeyError: 'a'",
        ];
        let expected = "KeyError  Traceback (most recent call last)\nCell In[6], line 1\n----> 1 df.a()\n\
                        File pandas/_libs/tslib.pyx:364, in pandas._libs.tslib.array_to_datetime (after 2 library frames)\n\
                        File /work/shop/helper.py:3, in load(path)\n      2 x\n----> 3 y\n\
                        File pandas/io/common.py, in get_handle\nKeyError: 'a'";
        let shown = text("KeyError", "'a'", &entries);
        assert_eq!(shown.replace("\n\n", "\n"), expected);
        // Code of a syntax error and cells of older versions are no frames of libraries.
        let syntax = "  File ~/lib/python3.11/site-packages/a.py:2\n    print 1\n    ^\nSyntaxError: no";
        assert_eq!(text("SyntaxError", "no", &[syntax]), syntax);
        let old = "<ipython-input-3-aa> in <module>\n----> 1 f()";
        assert_eq!(text("E", "", &[old, "E"]), format!("{old}\nE"));
    }

    #[test]
    fn frames_of_a_recursion_are_counted() {
        let mut entries = vec!["first"];
        entries.extend(["f(n)\n-> f(n + 1)"; 99]);
        entries.push("RecursionError: too deep");
        assert_eq!(
            text("RecursionError", "too deep", &entries),
            "first\nf(n)\n-> f(n + 1)\n… (frame repeated 98 more times)\nRecursionError: too deep"
        );
        assert_eq!(text("E", "", &["a", "a", "E"]), "a\na\nE");
    }
}
