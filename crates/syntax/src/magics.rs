//! Magics of `IPython`: which have Python in them, and which names they touch.

use std::ops::Range;

use crate::unknown::Unknown;

/// A cell without the magics that stand before its body.
pub enum Cell<'s> {
    /// It has no code.
    Blank,
    Python {
        body: &'s str,
        magics: Vec<CellMagic>,
    },
    /// The body is something else.
    Other {
        magic: String,
    },
}

/// A cell magic whose body is Python.
#[derive(Debug, PartialEq, Eq)]
pub enum CellMagic {
    /// The body runs as if the magic were not there.
    Plain,
    /// The output goes into this name.
    Capture(String),
    /// The body runs as a function, and what it binds is lost.
    Timeit,
}

pub fn split(source: &str) -> Cell<'_> {
    let mut body = source;
    let mut magics = Vec::new();
    // IPython ignores blank lines before the magic.
    while let Some(rest) = body.trim_start().strip_prefix("%%") {
        let (line, below) = rest.split_once('\n').unwrap_or((rest, ""));
        let mut words = line.split_whitespace();
        let magic = words.next().unwrap_or_default();
        magics.push(match magic {
            "time" | "prun" | "debug" => CellMagic::Plain,
            "timeit" => CellMagic::Timeit,
            "capture" => words
                .find(|word| is_identifier(word))
                .map_or(CellMagic::Plain, |name| CellMagic::Capture(name.to_owned())),
            _ => return Cell::Other { magic: format!("%%{magic}") },
        });
        body = below;
    }
    if magics.is_empty() && is_blank(body) { Cell::Blank } else { Cell::Python { body, magics } }
}

/// Magics and extensions, by what they do with names.
const MAGICS: &str = include_str!("magics.txt");

fn is_one(name: &str, kind: &str) -> bool {
    let lines = MAGICS.lines().filter_map(|line| line.strip_prefix(kind)?.strip_prefix(' '));
    lines.flat_map(|names| names.split(' ')).any(|known| known == name)
}

/// Whether the body under this cell magic is text for something else than the kernel.
pub fn is_text(magic: &str) -> bool {
    magic.starts_with('!') || is_one(magic, "text")
}

/// Whether a cell with a magic binds no name: its body is text, and no output of it goes into a variable.
pub fn binds_nothing(source: &str) -> bool {
    let line = source.trim_start().trim_start_matches('%').lines().next().unwrap_or_default();
    let mut words = line.split_whitespace();
    words.next().is_some_and(is_text) && !words.any(|word| word.starts_with("--"))
}

/// The words of a text that may be names.
pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c| !is_part(c)).filter(|word| !word.is_empty() && is_identifier(word))
}

/// Whether a line magic, `name rest` without the `%`, may bind a name that is in its text.
pub fn may_bind(text: &str) -> bool {
    !is_one(text.split_whitespace().next().unwrap_or_default(), "quiet")
}

/// Whether `IPython` may run a line that is no Python as a magic without its `%`, or as a call without brackets.
pub(crate) fn is_automagic(line: &str) -> bool {
    let name = line.split_whitespace().next().unwrap_or_default();
    line.trim_start().starts_with(['/', ',', ';'])
        || !may_bind(name)
        || !matches!(self::line(name), LineMagic::Text)
        || ["pip", "conda", "mamba", "micromamba", "uv"].contains(&name)
}

/// Whether a line magic loads code that may bind any name: an extension that is not known.
pub fn may_bind_anything(text: &str) -> bool {
    let mut words = text.split_whitespace();
    matches!(words.next(), Some("load_ext" | "reload_ext"))
        && words.next().is_some_and(|extension| !is_one(extension, "extension"))
}

/// Whether a cell has no code, only blank lines and comments.
pub fn is_blank(source: &str) -> bool {
    source.lines().map(str::trim_start).all(|line| line.is_empty() || line.starts_with('#'))
}

/// What a line magic does with names.
#[derive(Debug, PartialEq, Eq)]
pub enum LineMagic<'s> {
    /// It runs this Python in the cell.
    Python(&'s str),
    /// It runs this Python as a function.
    Function(&'s str),
    Unknown(Unknown),
    /// Nothing, but what `$name` and `{name}` in its text use.
    Text,
}

/// `%name rest`, without the `%`.
pub fn line(text: &str) -> LineMagic<'_> {
    let text = text.trim_start();
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    match name {
        "time" => LineMagic::Python(rest.trim_start()),
        // It profiles the code in the cell, and `timeit` in a function.
        "prun" => LineMagic::Python(without_options(rest)),
        "timeit" | "memit" | "mprun" | "lprun" => LineMagic::Function(without_options(rest)),
        _ if is_one(name, "unknown") => LineMagic::Unknown(Unknown::DynamicCode { by: format!("%{name}") }),
        _ => LineMagic::Text,
    }
}

/// The text after options such as `-n 10 -r3 -q`.
fn without_options(text: &str) -> &str {
    let mut rest = text.trim_start();
    while rest.starts_with('-') {
        let (option, after) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        rest = after.trim_start();
        // Most take a value, which may stand apart from them.
        if option.len() == 2
            && !matches!(option, "-o" | "-q" | "-c" | "-t" | "-p" if !rest.starts_with(|c: char| c.is_ascii_digit()))
        {
            rest = rest.split_once(char::is_whitespace).map_or("", |(_, after)| after).trim_start();
        }
    }
    rest
}

/// The names at the start of what `IPython` replaces in the text of a magic or a command: `$name` and `{name…}`.
pub fn expanded(text: &str) -> impl Iterator<Item = &str> {
    let first = |range: Range<usize>| text[range].split(|c| !is_part(c)).next().unwrap_or_default();
    let names = expansions(text).into_iter().map(first);
    names.filter(|name| is_identifier(name))
}

/// The names that `IPython` replaces in the text of a magic or a command: the `x` of `$x` and `$x.y`, and the `x + 1` of `{x + 1}`.
pub(crate) fn expansions(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(at) = text[rest..].find(['$', '{']).map(|at| rest + at) {
        let (begin, is_brace) = (at + 1, text[at..].starts_with('{'));
        // A doubled one stands for itself.
        if text[begin..].starts_with(if is_brace { '{' } else { '$' }) {
            rest = begin + 1;
            continue;
        }
        let end = if is_brace {
            text[begin..].find('}').map(|length| begin + length)
        } else {
            let length = text[begin..].find(|c| !is_part(c)).unwrap_or(text.len() - begin);
            (length > 0).then_some(begin + length)
        };
        if let Some(end) = end {
            found.push(begin..end);
        }
        rest = end.unwrap_or(begin);
    }
    found
}

/// Whether a letter may be part of a name.
pub(crate) fn is_part(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_identifier(text: &str) -> bool {
    text.chars().all(is_part) && text.starts_with(|c: char| !c.is_numeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn magics_before_the_body_are_cut_off() {
        for (source, expected) in [
            ("", "blank"),
            ("\n # only a comment\n\n", "blank"),
            ("x", "x []"),
            ("\n\n%%time\nx", "x [Plain]"),
            ("%%capture --no-stderr out\n%%time\nx", "x [Capture(\"out\"), Plain]"),
            ("%%timeit -n 3\nx", "x [Timeit]"),
            ("%%time", " [Plain]"),
            ("%%bash\nls", "%%bash"),
            ("%%", "%%"),
            ("# first\n%%bash\nls", "# first\n%%bash\nls []"),
        ] {
            let found = match split(source) {
                Cell::Blank => "blank".to_owned(),
                Cell::Python { body, magics } => format!("{body} {magics:?}"),
                Cell::Other { magic } => magic,
            };
            assert_eq!(found, expected, "{source:?}");
        }
    }

    #[test]
    fn line_magics_are_python_text_or_unknown() {
        assert_eq!(line("time x = 1"), LineMagic::Python("x = 1"));
        assert_eq!(line("prun -q x = 1"), LineMagic::Python("x = 1"));
        for options in ["", "-n 10 -r3 ", "-q ", "-o -n1 "] {
            assert_eq!(line(&format!("timeit {options}f(x)")), LineMagic::Function("f(x)"), "{options}");
        }
        assert!(matches!(line("run other.py"), LineMagic::Unknown(_)));
        assert_eq!(line("matplotlib inline"), LineMagic::Text);
        let names: Vec<_> = expanded("ls {folder.name}/$file {} $ ${HOME} {1}").collect();
        assert_eq!(names, ["folder", "file", "HOME"]);
    }
}
