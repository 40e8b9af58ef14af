//! Lays a reply out within its budget: notes first, then what was left out, and content in the rest.
//!
//! The last step of a `Reply`, which it takes apart.

use super::content::{Content, Shown};
use super::item::Item;
use super::sections::{Entry, Kind, Section, cost, gap, quiet, shown};
use super::{Part, Reply};
use crate::budget::{Claim, shares};
use crate::chars::first_chars;
use crate::shown_outputs::Digest;

/// The characters around the hint in the last line: ` · ` before it, or brackets and a line break.
const AROUND_HINT: usize = 3;

pub(super) fn parts(reply: Reply) -> Vec<Part> {
    let Reply { budget, sections, first, last, more_sections, earlier, .. } = reply;
    let (first, last) = (first.join("\n"), last.join("\n"));
    // There is no line break after the last line.
    let total = budget.characters + 1;
    let whole = cost(&first) + cost(&last) + sections.iter().map(Section::size).sum::<usize>();
    let is_complete = sections.iter().flat_map(Section::contents).all(Content::is_complete);
    let hint = if is_complete && whole <= total {
        0
    } else {
        let last_cell = sections.iter().filter_map(Section::cells).map(|(_, last)| last).max();
        let ways = sections.iter().flat_map(Section::contents).map(Content::longest_more);
        hint_size(ways.chain(last_cell.map(|cell| more_sections.call(cell, 0))), &last, total)
    };
    let last = last_lines(&last, total - hint);
    let mut writer = Writer::new(total - hint - cost(&last));
    writer.add(&first);
    let is_shown = shown(&sections, writer.remaining, &more_sections);
    let blocks = blocks(&sections, &is_shown);
    let gap = |Block { left_out: (first, last), .. }: &Block<'_>| gap(*first, *last, &more_sections);
    let notes = |block: &Block<'_>| block.section.map_or_else(|| cost(&gap(block)), Section::notes);
    let available = writer.remaining.saturating_sub(blocks.iter().map(notes).sum());
    for (block, share) in blocks.iter().zip(block_shares(&blocks, available)) {
        if let Some(section) = block.section {
            writer.section(section, share);
        } else {
            writer.left_out(|| more_sections.call(block.left_out.0, 0));
            writer.add(&gap(block));
        }
    }
    writer.whole.iter().for_each(|(digest, place)| earlier.remember(*digest, place));
    writer.finish(&last, hint)
}

/// What each block gets of the available characters: at least what makes it of use, if there is enough for that.
fn block_shares(blocks: &[Block<'_>], available: usize) -> Vec<usize> {
    let least = |block: &Block<'_>| block.section.map_or(0, Section::least_content);
    let mut least: Vec<usize> = blocks.iter().map(least).collect();
    let left = available.checked_sub(least.iter().sum()).unwrap_or_else(|| {
        least.fill(0);
        available
    });
    let claim = |(block, least): (&Block<'_>, &usize)| {
        let claim = block.section.map_or(Claim { size: 0, weight: 1 }, Section::claim);
        Claim { size: claim.size - least, ..claim }
    };
    let claims: Vec<Claim> = blocks.iter().zip(&least).map(claim).collect();
    shares(left, &claims).into_iter().zip(least).map(|(share, least)| share + least).collect()
}

/// What stands in a reply: a section, or a line in place of adjacent ones about these cells.
struct Block<'a> {
    section: Option<&'a Section>,
    left_out: (usize, usize),
}

fn blocks<'a>(sections: &'a [Section], is_shown: &[bool]) -> Vec<Block<'a>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    for (section, is_shown) in sections.iter().zip(is_shown) {
        match (section.cells().filter(|_| !is_shown), blocks.last_mut()) {
            (None, _) => blocks.push(Block { section: Some(section), left_out: (0, 0) }),
            (Some((_, end)), Some(Block { section: None, left_out: (_, last) })) => *last = end,
            (Some(left_out), _) => blocks.push(Block { section: None, left_out }),
        }
    }
    blocks
}

/// The last line about something that was left out; `way` is empty if there is no other than a larger budget.
fn hint(way: &str) -> String {
    if way.is_empty() {
        "part of the text above was left out".to_owned()
    } else {
        format!("left out above: {way} shows it")
    }
}

/// The characters that are kept free for the longest of the hints that these calls make, if the last line of `last` stays
/// whole; else for one without a call; else none.
fn hint_size(ways: impl Iterator<Item = String>, last: &str, total: usize) -> usize {
    let size = |way: &str| hint(way).chars().count() + AROUND_HINT;
    let short = size("");
    let longest = ways.map(|way| size(&way)).max().unwrap_or_default().max(short);
    let last_line = cost(last.rsplit('\n').next().unwrap_or_default());
    [longest, short].into_iter().find(|size| last_line + size <= total).unwrap_or_default()
}

/// The lines at the end of `text` that fit into `limit` characters. If not even one does, it is shortened.
fn last_lines(text: &str, limit: usize) -> String {
    let mut lines: Vec<&str> = Vec::new();
    let mut left = limit;
    for line in text.rsplit('\n') {
        let size = line.chars().count() + 1;
        if size > left {
            break;
        }
        left -= size;
        lines.push(line);
    }
    lines.reverse();
    if lines.is_empty() && !text.is_empty() {
        let line = text.rsplit('\n').next().unwrap_or_default();
        return format!("{}…", first_chars(line, limit.saturating_sub(2)));
    }
    lines.join("\n")
}

/// Takes the texts and images of a reply in their order.
struct Writer {
    parts: Vec<Part>,
    /// The characters that remain, with a line break after each text.
    remaining: usize,
    /// How to see the first thing that was left out.
    left_out: Option<String>,
    /// The outputs that are shown whole, with their places.
    whole: Vec<(Digest, String)>,
}

impl Writer {
    fn new(remaining: usize) -> Self {
        Self { parts: Vec::new(), remaining, left_out: None, whole: Vec::new() }
    }

    fn left_out(&mut self, way: impl FnOnce() -> String) {
        self.left_out.get_or_insert_with(way);
    }

    /// Adds a section whose contents share `share` characters.
    fn section(&mut self, section: &Section, share: usize) {
        if let Kind::Quiet { cells, what } = &section.kind {
            self.add(&quiet(cells, what));
        }
        let shown: Vec<Vec<Shown<'_>>> = section.contents().map(|content| content.shown(share)).collect();
        let claims: Vec<Claim> = shown.iter().flatten().map(Shown::claim).collect();
        let mut shares = shares(share, &claims).into_iter();
        let mut shown = shown.into_iter();
        for entry in &section.entries {
            match entry {
                Entry::Note(text) => self.add(text),
                Entry::Content(content) => {
                    for output in shown.next().unwrap_or_default() {
                        self.output(content, &output, shares.next().unwrap_or_default());
                    }
                }
            }
        }
    }

    fn output(&mut self, content: &Content, output: &Shown<'_>, share: usize) {
        let limit = share.saturating_sub(1);
        match output {
            Shown::Item(index, item) => {
                let (text, missing) = item.render(limit, &|offset| content.more(*index, offset));
                match [missing, content.missing(*index)].into_iter().flatten().min() {
                    Some(offset) => self.left_out(|| content.more(*index, offset)),
                    None if content.place.is_empty() || !item.is_worth_naming() => {}
                    None => self.whole.push((item.digest, content.place.clone())),
                }
                self.add(&text);
                for (mime, data) in &item.images {
                    self.parts.push(Part::Image { mime, data: data.clone() });
                }
            }
            Shown::Gap(first, note) => {
                self.left_out(|| content.more(*first, 0));
                let is_room = note.characters() <= limit;
                let text = if is_room { note.render(limit, &|_| String::new()).0 } else { "…".to_owned() };
                self.add(if limit > 0 { &text } else { "" });
            }
        }
    }

    /// Adds text on lines of its own: as many of its lines as fit.
    fn add(&mut self, text: &str) {
        let text = if cost(text) <= self.remaining { text } else { self.first_lines(text) };
        if text.is_empty() {
            return;
        }
        self.remaining -= cost(text);
        self.push(text);
    }

    fn first_lines<'a>(&mut self, text: &'a str) -> &'a str {
        self.left_out(String::new);
        let fitting = first_chars(text, self.remaining);
        fitting.rfind('\n').map_or("", |end| &text[..end])
    }

    fn push(&mut self, text: &str) {
        match self.parts.last_mut() {
            Some(Part::Text(last)) => {
                if !last.ends_with('\n') {
                    last.push('\n');
                }
                last.push_str(text);
            }
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    /// Adds the last lines, with what was left out in at most `size` characters.
    fn finish(mut self, last: &str, size: usize) -> Vec<Part> {
        let hints = self.left_out.take().map(|way| [hint(&way), hint("")]);
        let hint = hints.into_iter().flatten().find(|hint| hint.chars().count() + AROUND_HINT <= size);
        match hint {
            Some(hint) if last.is_empty() => self.push(&format!("[{hint}]")),
            Some(hint) => self.push(&format!("{last} · {hint}")),
            None if last.is_empty() => {}
            None => self.push(last),
        }
        self.parts
    }
}

impl Shown<'_> {
    fn claim(&self) -> Claim {
        let item: &Item = match self {
            Self::Item(_, item) => item,
            Self::Gap(_, note) => note,
        };
        Claim { size: item.size(), weight: item.weight }
    }
}
