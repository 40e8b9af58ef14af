//! Names in what only `IPython` understands: magics and commands.

use ruff_python_ast::{IpyEscapeKind, Stmt};
use ruff_text_size::{TextRange, TextSize};

use super::{Finder, Role, has_word, offset};
use crate::magics::{self, CellMagic, LineMagic};
use crate::rename::text::words;
use crate::unknown::Unknown;

/// Line magics that take an expression.
const EXPRESSION: &str = "pdef pdoc pfile pinfo pinfo2 psource";

impl Finder<'_> {
    /// The lines of the magics above the body.
    pub(super) fn header(&mut self, end: usize, magics: &[CellMagic]) {
        let header = self.source[..end].to_owned();
        if !has_word(&header, self.old) && !has_word(&header, self.new) {
            return;
        }
        for magic in magics {
            if let CellMagic::Capture(name) = magic
                && let Some(start) = words(&header, name).last()
            {
                self.name(name, range(start, name), Role::Binding);
            }
        }
        let is_known = self.found.known_starts().collect::<Vec<_>>();
        if words(&header, self.old).any(|start| !is_known.contains(&start)) {
            let by = header.split_whitespace().next().unwrap_or_default().to_owned();
            self.found.unread.get_or_insert(Unknown::CellMagic { magic: by });
        }
    }

    /// A cell whose body is not Python as far as we know.
    pub(super) fn foreign_cell(&mut self) {
        let source = self.source.clone();
        let line = source.trim_start().lines().next().unwrap_or_default();
        let (first, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let (magic, rest) = (first.trim_start_matches('%'), rest.to_owned());
        let unknown = Unknown::CellMagic { magic: first.to_owned() };
        let begin = offset(&source, line) + line.len() - rest.len();
        self.expand(&rest, begin);
        let known = self.found.known_starts().collect::<Vec<_>>();
        let body = offset(&source, line) + line.len();
        let is_text = magics::is_text(magic);
        let end = if is_text { body } else { source.len() };
        if words(&source[..end], self.old).any(|start| !known.contains(&start)) {
            self.found.unread.get_or_insert_with(|| unknown.clone());
        }
        if !is_text {
            self.found.may_bind.get_or_insert(unknown);
        }
    }

    /// A line for `IPython`, at a place of the present source.
    pub(super) fn escape(&mut self, kind: IpyEscapeKind, value: &str, place: TextRange) {
        let raw = self.source.get(place.to_std_range()).unwrap_or_default().to_owned();
        // The parser joins lines that end with a backslash.
        let Some(start) = raw.rfind(value).map(|at| place.start().to_usize() + at) else {
            let by = "a magic of several lines".to_owned();
            return self.cannot_read(&raw, Unknown::DynamicCode { by });
        };
        match kind {
            IpyEscapeKind::Help | IpyEscapeKind::Help2 => self.expression(value, start),
            IpyEscapeKind::Magic | IpyEscapeKind::Magic2 => self.line_magic(value, start),
            IpyEscapeKind::Shell | IpyEscapeKind::ShCap => self.expand(value, start),
            IpyEscapeKind::Quote | IpyEscapeKind::Quote2 | IpyEscapeKind::Paren => {
                self.cannot_read(value, Unknown::DynamicCode { by: "a line that IPython calls".to_owned() });
            }
        }
    }

    fn line_magic(&mut self, text: &str, start: usize) {
        let (name, rest) = text.trim_start().split_once(char::is_whitespace).unwrap_or((text.trim(), ""));
        match magics::line(text) {
            LineMagic::Python(source) => {
                let source = source.trim_start();
                let begin = start + offset(text, source);
                self.nested(source, begin, |finder, statements| finder.visit_all(statements));
            }
            LineMagic::Function(source) => {
                // `-f function`, as line profilers take it.
                for option in rest[..rest.len() - source.len()].split_whitespace() {
                    if !option.starts_with('-') {
                        self.expression(option, start + offset(text, option));
                    }
                }
                self.nested_function(source, start + offset(text, source));
            }
            LineMagic::Unknown(why) => self.cannot_read(text, why),
            LineMagic::Text if EXPRESSION.split(' ').any(|magic| magic == name) => {
                self.expression(rest, start + offset(text, rest));
            }
            LineMagic::Text => self.expand(text, start),
        }
    }

    fn visit_all(&mut self, statements: &[Stmt]) {
        use ruff_python_ast::visitor::Visitor;
        self.visit_body(statements);
    }

    /// What `IPython` replaces in a text.
    fn expand(&mut self, text: &str, start: usize) {
        for found in magics::expansions(text) {
            self.expression(&text[found.clone()], start + found.start);
        }
    }
}

fn range(start: usize, name: &str) -> TextRange {
    TextRange::at(TextSize::try_from(start).unwrap_or_default(), TextSize::of(name))
}
