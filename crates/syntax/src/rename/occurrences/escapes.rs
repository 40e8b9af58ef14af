//! Names in what only `IPython` understands: magics and commands.

use ruff_python_ast::IpyEscapeKind;
use ruff_text_size::{TextRange, TextSize};

use super::{Finder, Role, offset};
use crate::magics::{self, CellMagic, LineMagic};
use crate::rename::text::words;
use crate::unknown::Unknown;

impl Finder<'_> {
    /// The lines of the magics above the body.
    pub(super) fn header(&mut self, end: usize, magics: &[CellMagic]) {
        let header = self.source[..end].to_owned();
        for magic in magics {
            if let CellMagic::Capture(name) = magic
                && let Some(start) = words(&header, name).last()
            {
                let start = TextSize::try_from(start).unwrap_or_default();
                self.name(name, TextRange::at(start, TextSize::of(&**name)), Role::Binding);
            }
        }
        let magic = header.split_whitespace().next().unwrap_or_default().to_owned();
        self.check_read(&header, &Unknown::CellMagic { magic });
    }

    /// A cell whose body is not Python as far as we know.
    pub(super) fn foreign_cell(&mut self) {
        let source = self.source.clone();
        let line = source.trim_start().lines().next().unwrap_or_default();
        let (magic, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        let unknown = Unknown::CellMagic { magic: magic.to_owned() };
        let body = offset(&source, line) + line.len();
        self.expand(rest, body - rest.len());
        if magics::is_text(magic.trim_start_matches('%')) {
            self.check_read(&source[..body], &unknown);
        } else {
            self.check_read(&source, &unknown);
            self.found.may_bind.get_or_insert(unknown);
        }
    }

    /// Notes that the text at the start of the cell has the old name as a word that the search has not read.
    fn check_read(&mut self, text: &str, why: &Unknown) {
        let places = self.found.places.iter().map(|place| place.range.start);
        let read: Vec<usize> = places.chain(self.found.locals.iter().copied()).collect();
        if words(text, self.old).any(|start| !read.contains(&start)) {
            self.found.unread.get_or_insert_with(|| why.clone());
        }
    }

    /// A line for `IPython`, at a place of the present source.
    pub(super) fn escape(&mut self, kind: IpyEscapeKind, value: &str, place: TextRange) {
        let raw = self.source.get(place.to_std_range()).unwrap_or_default().to_owned();
        let start = raw.rfind(value).map(|at| place.start().to_usize() + at);
        match (kind, start) {
            (IpyEscapeKind::Help | IpyEscapeKind::Help2, Some(start)) => self.expression(value, start),
            (IpyEscapeKind::Magic | IpyEscapeKind::Magic2, Some(start)) => self.line_magic(value, start),
            (IpyEscapeKind::Shell | IpyEscapeKind::ShCap, Some(start)) => self.expand(value, start),
            // One that it calls, or several lines, which the parser joins where they end with a backslash.
            _ => self.cannot_read(&raw, Unknown::DynamicCode { by: "a line for IPython".to_owned() }),
        }
    }

    fn line_magic(&mut self, text: &str, start: usize) {
        match magics::line(text) {
            LineMagic::Python(source) => {
                self.nested(source, start + offset(text, source), false);
            }
            LineMagic::Function(source) => {
                // `-f function`, as line profilers take it.
                for option in text[..text.len() - source.len()].split_whitespace().skip(1) {
                    if !option.starts_with('-') {
                        self.expression(option, start + offset(text, option));
                    }
                }
                self.nested(source, start + offset(text, source), true);
            }
            LineMagic::Unknown(why) => self.cannot_read(text, why),
            LineMagic::Text => self.expand(text, start),
        }
    }

    /// What `IPython` replaces in a text.
    fn expand(&mut self, text: &str, start: usize) {
        for found in magics::expansions(text) {
            self.expression(&text[found.clone()], start + found.start);
        }
    }
}
