//! Running text, with whitespace collapsed and blocks on lines of their own.

/// The deepest indentation of lists.
const MAX_DEPTH: usize = 8;

#[derive(Debug, Default)]
pub(super) struct Flow {
    text: String,
    /// Whether whitespace was read, which counts only if text follows.
    space: bool,
    /// The number of open `<pre>` elements.
    preformatted: usize,
    /// The open lists, with the next number if the items are numbered.
    lists: Vec<Option<usize>>,
    /// Whether it is a table cell, which is one line.
    is_cell: bool,
}

impl Flow {
    pub(super) fn cell() -> Self {
        Self { is_cell: true, ..Self::default() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Forgets what follows the first `length` bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        if self.text.is_char_boundary(length) {
            self.text.truncate(length);
        }
    }

    /// The text without trailing whitespace.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }

    pub(super) fn push(&mut self, text: &str) {
        if self.preformatted > 0 && !self.is_cell {
            self.text.push_str(text);
            return;
        }
        let is_space = |character: char| character.is_ascii_whitespace();
        self.space |= text.starts_with(is_space);
        for word in text.split_ascii_whitespace() {
            if std::mem::replace(&mut self.space, true) && !self.text.is_empty() && !self.text.ends_with('\n')
            {
                self.text.push(' ');
            }
            self.text.push_str(word);
        }
        if text.contains(|character| !is_space(character)) {
            self.space = text.ends_with(is_space);
        }
    }

    /// Starts a new line.
    pub(super) fn line(&mut self) {
        self.space = self.is_cell;
        if !self.is_cell && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// Adds a line without collapsing its whitespace.
    pub(super) fn whole_line(&mut self, line: &str) {
        self.line();
        self.text.push_str(line);
        self.line();
    }

    /// Handles a tag that belongs neither to a table nor to media.
    pub(super) fn tag(&mut self, name: &str, is_start: bool) {
        match name {
            "br" | "p" | "div" | "section" | "article" | "header" | "footer" | "main" | "aside" | "nav"
            | "form" | "fieldset" | "details" | "summary" | "blockquote" | "figure" | "figcaption"
            | "address" | "dl" => {
                self.line();
            }
            "pre" => {
                self.line();
                self.preformatted =
                    if is_start { self.preformatted + 1 } else { self.preformatted.saturating_sub(1) };
            }
            "ul" | "ol" => {
                self.line();
                if is_start {
                    self.lists.push((name == "ol").then_some(1));
                } else {
                    self.lists.pop();
                }
            }
            "li" if is_start => self.item(),
            "li" => self.line(),
            "hr" => self.whole_line("---"),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                self.line();
                if is_start && !self.is_cell {
                    self.text.push_str(&"######"[..usize::from(name.as_bytes()[1] - b'0')]);
                    self.text.push(' ');
                }
            }
            _ => {}
        }
    }

    fn item(&mut self) {
        self.line();
        if self.is_cell {
            return;
        }
        let depth = self.lists.len().saturating_sub(1).min(MAX_DEPTH);
        self.text.extend(std::iter::repeat_n("  ", depth));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                self.text.push_str(&format!("{number}. "));
                *number += 1;
            }
            _ => self.text.push_str("- "),
        }
    }
}
