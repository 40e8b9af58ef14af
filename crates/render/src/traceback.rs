//! Renders an error.

use crate::terminal::render;

/// A message that is not longer can occur in a traceback by accident.
const MIN_DISTINCT_MESSAGE: usize = 8;

/// The traceback as a terminal would show it, without decoration. It always names the error.
pub(crate) fn traceback(name: &str, value: &str, entries: &[String]) -> String {
    let mut lines: Vec<String> = Vec::new();
    let (mut last, mut repeated) = (String::new(), 0_usize);
    for entry in entries {
        let entry = render(entry);
        if entry == last && !entry.is_empty() {
            repeated += 1;
            continue;
        }
        lines.extend(repeats(&last, std::mem::take(&mut repeated)));
        if !is_rule(&entry) {
            lines.push(without_padding(&entry));
        }
        last = entry;
    }
    lines.extend(repeats(&last, repeated));
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

fn is_rule(entry: &str) -> bool {
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
