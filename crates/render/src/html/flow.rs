//! Running text: white space as HTML collapses it, blocks on lines of their own.

/// How deep lists are indented at most.
const DEPTH: usize = 8;

/// Text that grows.
#[derive(Debug, Default)]
pub(super) struct Flow {
    text: String,
    /// White space was read that counts only if text follows.
    space: bool,
    /// How many `<pre>` are open.
    preformatted: usize,
    /// The lists that are open; a number if their items have one.
    lists: Vec<Option<usize>>,
    /// A cell of a table: one line.
    is_cell: bool,
}

impl Flow {
    pub(super) fn cell() -> Self {
        Self { is_cell: true, ..Self::default() }
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The text without white space at its end.
    pub(super) fn finish(mut self) -> String {
        self.text.truncate(self.text.trim_end().len());
        self.text
    }

    /// Adds text of the document.
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

    /// What follows begins a line.
    pub(super) fn line(&mut self) {
        self.space = self.is_cell;
        if !self.is_cell && !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// A line as it is, with the white space in it.
    pub(super) fn whole_line(&mut self, line: &str) {
        self.line();
        self.text.push_str(line);
        self.line();
    }

    /// The effect of a tag that is neither of a table nor of a medium.
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
        let depth = self.lists.len().saturating_sub(1).min(DEPTH);
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
