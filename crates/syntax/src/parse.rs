//! Parses source, within bounds of length, depth and stack.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ruff_python_ast::{AnyNodeRef, IpyEscapeKind, PySourceType, Suite};
use ruff_python_parser::parse_unchecked_source;

use crate::magics;
use crate::tree::look_through;
use crate::unknown::Unknown;

/// A longer source is data rather than code, in bytes.
const MAX_LENGTH: usize = 64 * 1024;
/// Deeper trees are not walked. Python's own parser refuses code that nests deeper than this.
const MAX_DEPTH: usize = 200;
/// How many sources may be nested in one another: `%time %time x` has three.
pub const MAX_NESTED: usize = 4;
/// What walks over nested trees of [`MAX_DEPTH`] need of the stack in a build without optimisation, in bytes.
const STACK_OF_WALK: usize = MAX_NESTED * 2 * 1024 * 1024;
/// What dropping a tree needs of the stack for each level, of which a source has at most one for each byte.
const STACK_OF_LEVEL: usize = 1024;

/// Calls `read`, which reads many sources, with enough stack for each: to get a stack takes as long as to read a short source.
pub fn with_stack<T>(read: impl FnOnce() -> T) -> T {
    // The first use of it leaves a little less.
    let stack = STACK_OF_WALK + STACK_OF_LEVEL * MAX_LENGTH + 64 * 1024;
    stacker::maybe_grow(stack, stack, read)
}

/// Calls `walk`, which walks through this source, with enough stack, if the source is within bounds.
pub fn bounded<T>(body: &str, walk: impl FnOnce() -> T) -> Result<T, Unknown> {
    if body.len() > MAX_LENGTH {
        return Err(Unknown::TooLong);
    }
    if is_deep(body) {
        return Err(Unknown::TooDeep);
    }
    let stack = STACK_OF_WALK + STACK_OF_LEVEL * body.len();
    let walk = || stacker::maybe_grow(stack, stack, walk);
    // A panic would be an error in the parser, which must not end the program.
    catch_unwind(AssertUnwindSafe(walk)).map_err(|_| Unknown::SyntaxError)
}

/// Whether more brackets are open at once than Python allows, strings and comments included. The parser takes quadratic time for
/// f-strings in one another.
fn is_deep(source: &str) -> bool {
    let mut open = 0_usize;
    source.bytes().any(|byte| {
        match byte {
            b'(' | b'[' | b'{' => open += 1,
            b')' | b']' | b'}' => open = open.saturating_sub(1),
            _ => {}
        }
        open > MAX_DEPTH
    })
}

/// Passes the statements of a source to `walk`, if it has any meaning.
///
/// The caller provides the stack, see [`bounded`].
pub fn with_statements(source: &str, walk: impl FnOnce(&Suite)) -> Result<(), Unknown> {
    let parsed = parse_unchecked_source(source, PySourceType::Ipynb);
    if !parsed.errors().is_empty() {
        return Err(Unknown::SyntaxError);
    }
    if is_too_deep(parsed.suite()) {
        return Err(Unknown::TooDeep);
    }
    walk(parsed.suite());
    Ok(())
}

/// The first part of a cell that is no Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line of the cell, from 1.
    pub line: usize,
    pub cause: String,
}

/// A cell of `IPython` as Python.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct PlainCell {
    /// Its body, in which commands are the calls that `IPython` makes of them; `None` if its lines may be no Python.
    pub python: Option<String>,
    /// The number of lines above the body.
    pub above: usize,
}

/// The same cell as Python alone; an error if it certainly cannot run.
pub fn plain_cell(source: &str) -> Result<PlainCell, SyntaxError> {
    let body = match magics::split(source) {
        magics::Cell::Python { body, .. } => body,
        magics::Cell::Blank => "",
        magics::Cell::Other { .. } => return Ok(PlainCell::default()),
    };
    let above = source[..source.len() - body.len()].matches('\n').count();
    // IPython removes the indentation of the first line from all, and the prompts of sessions that were copied.
    let first = body.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    let indent = first.len() - first.trim_start().len();
    let has_prompt = [">>>", "In [", "...:"].iter().any(|prompt| first.trim_start().starts_with(prompt));
    let unindented = |line| match str::get(line, ..indent) {
        Some(start) if start.trim().is_empty() => &line[indent..],
        _ => line,
    };
    let lines: Vec<&str> = body.lines().map(unindented).collect();
    let text = lines.join("\n");
    let parsed = || {
        let parsed = parse_unchecked_source(&text, PySourceType::Ipynb);
        match parsed.errors().first() {
            None if is_too_deep(parsed.suite()) => Ok(None),
            None => Ok(Some(with_calls(&text, parsed.suite()))),
            Some(error) => {
                let line = text[..error.location.start().to_usize()].matches('\n').count();
                Err((line, error.error.to_string()))
            }
        }
    };
    match bounded(&text, parsed).unwrap_or(Ok(None)) {
        Ok(python) => Ok(PlainCell { python, above }),
        Err((line, _))
            if has_prompt
                || magics::is_automagic(first)
                || lines.get(line).is_some_and(|line| magics::is_automagic(line)) =>
        {
            Ok(PlainCell::default())
        }
        Err((line, cause)) => Err(SyntaxError { line: above + line + 1, cause }),
    }
}

/// The text with calls in place of commands, in as many lines.
fn with_calls(text: &str, body: &Suite) -> String {
    let mut commands = Vec::new();
    look_through(body, &mut |node, _| {
        match node {
            AnyNodeRef::StmtIpyEscapeCommand(it) => commands.push((it.range, call_of(it.kind, &it.value))),
            AnyNodeRef::ExprIpyEscapeCommand(it) => commands.push((it.range, call_of(it.kind, &it.value))),
            _ => {}
        }
        true
    });
    let mut python = text.to_owned();
    for (range, call) in commands.into_iter().rev() {
        let lines = "\n".repeat(text[range].matches('\n').count());
        python.replace_range(range.to_std_range(), &(call + &lines));
    }
    python
}

/// The call that `IPython` makes of a command, if it runs something.
fn call_of(kind: IpyEscapeKind, value: &str) -> String {
    let quoted = |text: &str| {
        let text: String = text.chars().filter(|c| !c.is_control()).collect();
        format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
    };
    match kind {
        IpyEscapeKind::Shell | IpyEscapeKind::ShCap => format!("get_ipython().system({})", quoted(value)),
        IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => {
            let (name, rest) = value.split_once(' ').unwrap_or((value, ""));
            format!("get_ipython().run_line_magic({}, {})", quoted(name), quoted(rest))
        }
        _ => "None".to_owned(),
    }
}

/// Whether a tree is deeper than [`MAX_DEPTH`]; the search does not go deeper itself.
fn is_too_deep(body: &Suite) -> bool {
    let mut is_exceeded = false;
    look_through(body, &mut |_, depth| {
        is_exceeded |= depth > MAX_DEPTH;
        !is_exceeded
    });
    is_exceeded
}
