//! What a comparison finds.

/// The most lines about one difference that are kept.
const MAX_LINES: usize = 24;
/// The most characters of a text on each side of a difference.
const BEFORE: usize = 30;
const SHOWN: usize = 90;

/// The result of comparing the outputs of two runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Comparison {
    /// Nothing differs, or only what differs from run to run: ids, addresses, times and the like.
    Same,
    /// Pictures differ slightly, as the same picture does that is drawn by another version of a library. Nothing else differs.
    Close { pictures: usize },
    /// The lines show differences that the readable text of the outputs may not show.
    Different { lines: Vec<String> },
}

/// What has been found so far.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    pictures: usize,
    is_different: bool,
    lines: Vec<String>,
}

impl Findings {
    /// A picture is not the same, but close.
    pub(crate) fn close_picture(&mut self) {
        self.pictures += 1;
    }

    /// Something differs that the readable text of the outputs shows.
    pub(crate) fn differs(&mut self) {
        self.is_different = true;
    }

    /// Something differs.
    pub(crate) fn difference(&mut self, line: String) {
        self.is_different = true;
        if self.lines.len() < MAX_LINES {
            self.lines.push(line);
        }
    }

    /// A part of the content named `place` is not the same text: both are shown from a little before the first difference on.
    pub(crate) fn change(&mut self, place: &str, before: &str, after: &str) {
        let (before, after) = around_change(before, after);
        let space = if place.is_empty() { "" } else { " " };
        self.difference(format!("-{place}{space}{before}"));
        self.difference(format!("+{place}{space}{after}"));
    }

    /// Adds what a part has, whose lines get `title` before them.
    pub(crate) fn add(&mut self, part: Self, title: &str) {
        self.pictures += part.pictures;
        self.is_different |= part.is_different;
        if !part.lines.is_empty() {
            self.lines.push(format!(" {title}:"));
            self.lines.extend(part.lines);
        }
    }

    pub(crate) fn into_comparison(self) -> Comparison {
        match (self.is_different, self.pictures) {
            (true, _) => Comparison::Different { lines: self.lines },
            (false, 0) => Comparison::Same,
            (false, pictures) => Comparison::Close { pictures },
        }
    }
}

fn around_change(before: &str, after: &str) -> (String, String) {
    let same = before.chars().zip(after.chars()).take_while(|(one, other)| one == other).count();
    let start = same.saturating_sub(BEFORE);
    let part = |text: &str| {
        let mut part = if start > 0 { "…" } else { "" }.to_owned();
        let mut rest = text.chars().skip(start);
        part.extend(rest.by_ref().take(SHOWN).map(|c| if c.is_control() { ' ' } else { c }));
        if rest.next().is_some() {
            part.push('…');
        }
        part
    };
    (part(before), part(after))
}
