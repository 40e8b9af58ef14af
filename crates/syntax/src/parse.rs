//! Parses source, within bounds of length, depth and stack.

use std::panic::{AssertUnwindSafe, catch_unwind};

use ruff_python_ast::visitor::{self, Visitor};
use ruff_python_ast::{Expr, Mod, Pattern, Stmt, Suite};
use ruff_python_parser::{Mode, ParseOptions, parse_unchecked};

use crate::magics;
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
    let parsed = parse_unchecked(source, ParseOptions::from(Mode::Ipython));
    if !parsed.errors().is_empty() {
        return Err(Unknown::SyntaxError);
    }
    let Mod::Module(module) = parsed.syntax() else { return Err(Unknown::SyntaxError) };
    let mut depth = Depth::default();
    depth.visit_body(&module.body);
    if depth.is_exceeded {
        return Err(Unknown::TooDeep);
    }
    walk(&module.body);
    Ok(())
}

/// The first part of a cell that is no Python.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxError {
    /// The line of the cell, from 1.
    pub line: usize,
    pub cause: String,
}

/// The reason why a cell of `IPython` cannot run at all, if that is certain.
pub fn syntax_error(source: &str) -> Option<SyntaxError> {
    let magics::Cell::Python { body, .. } = magics::split(source) else { return None };
    let first = body.lines().find(|line| !line.trim().is_empty())?;
    // IPython removes the indentation of the first line from all, and the prompts of sessions that were copied.
    let indent = first.len() - first.trim_start().len();
    let has_prompt = [">>>", "In [", "...:"].iter().any(|prompt| first.trim_start().starts_with(prompt));
    let lines = body.lines().map(|line| match line.get(..indent) {
        Some(start) if start.trim().is_empty() => &line[indent..],
        _ => line,
    });
    let body_lines: Vec<&str> = lines.collect();
    let text = body_lines.join("\n");
    let parsed = || {
        let parsed = parse_unchecked(&text, ParseOptions::from(Mode::Ipython));
        let error = parsed.errors().first()?;
        Some((text[..error.location.start().to_usize()].matches('\n').count(), error.error.to_string()))
    };
    let (line, cause) = bounded(&text, parsed).ok().flatten()?;
    let is_magic = |line: &str| magics::is_automagic(line);
    let is_python =
        !has_prompt && !is_magic(first) && !body_lines.get(line).is_some_and(|line| is_magic(line));
    let above = source[..source.len() - body.len()].matches('\n').count();
    is_python.then_some(SyntaxError { line: above + line + 1, cause })
}

/// Finds out whether a tree is deeper than [`MAX_DEPTH`], without going deeper itself.
#[derive(Default)]
struct Depth {
    depth: usize,
    is_exceeded: bool,
}

impl Depth {
    fn below(&mut self, visit: impl FnOnce(&mut Self)) {
        if self.depth == MAX_DEPTH {
            self.is_exceeded = true;
        }
        if !self.is_exceeded {
            self.depth += 1;
            visit(self);
            self.depth -= 1;
        }
    }
}

impl<'a> Visitor<'a> for Depth {
    fn visit_stmt(&mut self, statement: &'a Stmt) {
        self.below(|depth| visitor::walk_stmt(depth, statement));
    }

    fn visit_expr(&mut self, expression: &'a Expr) {
        self.below(|depth| visitor::walk_expr(depth, expression));
    }

    fn visit_pattern(&mut self, pattern: &'a Pattern) {
        self.below(|depth| visitor::walk_pattern(depth, pattern));
    }
}
