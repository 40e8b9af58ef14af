//! Counts lines that repeat the previous line instead of passing them on.

/// Passes lines on as pieces of text with line breaks between them.
pub(super) struct Repeats<S> {
    sink: S,
    last: String,
    repeated: usize,
    /// Blank lines, passed on only if text follows.
    blank: usize,
    state: State,
    /// Whether repeats are counted. Otherwise every line is passed on.
    counts: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Nothing,
    /// The next text starts a line.
    Line,
    /// The next text continues a line that is too long to hold.
    Part,
}

impl<S> std::fmt::Debug for Repeats<S> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Repeats").field("last", &self.last).finish_non_exhaustive()
    }
}

impl<S: FnMut(&str)> Repeats<S> {
    pub(super) fn new(sink: S) -> Self {
        Self { sink, last: String::new(), repeated: 0, blank: 0, state: State::Nothing, counts: true }
    }

    /// Every line as it is.
    pub(super) fn uncounted(sink: S) -> Self {
        Self { counts: false, ..Self::new(sink) }
    }

    /// Takes a line, or the rest of one.
    pub(super) fn line(&mut self, line: &str) {
        let line = line.trim_end_matches([' ', '\t']);
        if self.state == State::Part {
            (self.sink)(line);
            self.state = State::Line;
            self.last.clear();
        } else if line.is_empty() {
            self.count_repeats();
            self.blank += 1;
        } else if self.counts && self.blank == 0 && line == self.last {
            self.repeated += 1;
        } else {
            self.begin_line();
            (self.sink)(line);
            self.state = State::Line;
            self.last.clear();
            self.last.push_str(line);
        }
    }

    /// Takes a part of a line that goes on.
    pub(super) fn part(&mut self, part: &str) {
        if self.state != State::Part {
            self.begin_line();
            self.state = State::Part;
        }
        (self.sink)(part);
    }

    pub(super) fn finish(&mut self) {
        self.count_repeats();
    }

    fn begin_line(&mut self) {
        self.count_repeats();
        if self.state != State::Nothing {
            (self.sink)("\n");
        }
        let blank = std::mem::take(&mut self.blank);
        let note = format!("… ({blank} blank lines)\n");
        if self.counts && blank > note.len() {
            (self.sink)(&note);
        } else {
            (0..blank).for_each(|_| (self.sink)("\n"));
        }
    }

    /// Passes on the number of repeats, or the lines if they are shorter.
    fn count_repeats(&mut self) {
        let repeated = std::mem::take(&mut self.repeated);
        if repeated == 0 {
            return;
        }
        let note = format!("\n… (line repeated {repeated} more times)");
        if repeated > 1 && repeated * (self.last.len() + 1) > note.len() {
            (self.sink)(&note);
        } else {
            for _ in 0..repeated {
                (self.sink)("\n");
                (self.sink)(&self.last);
            }
        }
    }
}
