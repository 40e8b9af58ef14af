//! Writes a notebook: the bytes that were read, with the modified parts replaced.

mod cell;
mod lines;
mod metadata;
mod output;

use std::io::{self, BufWriter, Write};

use crate::file::{File, Member};
use crate::json::Printer;
use crate::{Cell, Notebook};

/// The top-level members of every valid notebook.
const REQUIRED: [&str; 4] = ["cells", "metadata", "nbformat", "nbformat_minor"];

impl Notebook {
    /// Writes the file: as it was read if nothing was modified, otherwise with the modified parts as Jupyter prints
    /// them. Large outputs are streamed. Fails only if `out` fails.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.original {
            _ if self.is_modified || self.is_assembled => {
                let mut out = BufWriter::new(out);
                self.write_modified(&mut out)?;
                out.flush()
            }
            Some(original) => out.write_all(&original.text),
            None => out.write_all(self.file.text.as_bytes()),
        }
    }

    /// What [`Notebook::write`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.file.text.len() + 1024);
        // Writing to a vector does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write_modified(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = &*self.file;
        let mut missing = REQUIRED.into_iter().filter(|name| file.member(name).is_none()).peekable();
        let mut copied = 0;
        for member in &file.members {
            out.write_all(&file.bytes()[copied..member.key.start])?;
            copied = member.key.start;
            while let Some(name) = missing.next_if(|name| **name < *member.name) {
                write!(out, "\"{name}\": ")?;
                self.write_member(name, None, out)?;
                out.write_all(b",")?;
                out.write_all(file.style.line_break(1).as_bytes())?;
            }
            let is_known = REQUIRED.contains(&&*member.name);
            // Of members with the same name the last counts, as in Python; the others stay as they are.
            if is_known && file.member(&member.name).is_some_and(|last| last.key == member.key) {
                out.write_all(&file.bytes()[copied..member.value.start])?;
                self.write_member(&member.name, Some(member), out)?;
            } else {
                out.write_all(&file.bytes()[copied..member.value.end])?;
            }
            copied = member.value.end;
        }
        for name in missing {
            out.write_all(b",")?;
            out.write_all(file.style.line_break(1).as_bytes())?;
            write!(out, "\"{name}\": ")?;
            self.write_member(name, None, out)?;
        }
        out.write_all(&file.bytes()[copied..])
    }

    /// Writes the value of a member, which is in the file or missing there.
    fn write_member(&self, name: &str, member: Option<&Member>, out: &mut dyn Write) -> io::Result<()> {
        let text = member.map(|member| &self.file.bytes()[member.value.clone()]);
        let is_number = text.is_some_and(|text| text.iter().all(u8::is_ascii_digit));
        match (name, text) {
            ("cells", _) => self.write_cells(member, out),
            ("metadata", text) => match (self.repaired_metadata(), text) {
                (None, Some(text)) => out.write_all(text),
                (repaired, _) => {
                    let metadata = repaired.unwrap_or_else(|| self.metadata());
                    Printer::new(out, &self.file.style, 1).value(&metadata)
                }
            },
            ("nbformat", _) if !is_number => out.write_all(b"4"),
            ("nbformat_minor", _) if !is_number => write!(out, "{}", self.minor),
            (_, text) => out.write_all(text.unwrap_or_default()),
        }
    }

    /// Writes the list of cells; `member` is its position in the file.
    fn write_cells(&self, member: Option<&Member>, out: &mut dyn Write) -> io::Result<()> {
        let file = &*self.file;
        out.write_all(b"[")?;
        for (index, cell) in self.cells.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            out.write_all(&lead(file, index, cell))?;
            self.write_cell(cell, out)?;
            // The space after the last cell belongs to the bracket, whichever cell is last.
            let is_last = |slot: &usize| slot + 1 == file.slots.len() || index + 1 == self.cells.len();
            if let Some(slot) = cell.0.slot.filter(|slot| !is_last(slot)) {
                out.write_all(file.trail(slot))?;
            }
        }
        let (read, now) = (file.slots.len(), self.cells.len());
        match member.map(|member| &file.bytes()[member.value.clone()]) {
            Some(list) if read == 0 && now == 0 && list.starts_with(b"[") => {
                out.write_all(&list[1..list.len() - 1])?;
            }
            _ if now == 0 => {}
            _ if read == 0 => out.write_all(file.style.line_break(1).as_bytes())?,
            _ => out.write_all(file.trail(read - 1))?,
        }
        out.write_all(b"]")
    }

    fn write_cell(&self, cell: &Cell, out: &mut dyn Write) -> io::Result<()> {
        if cell.0.is_modified || cell.0.needs_repair {
            Printer::new(out, &self.file.style, 2).cell(&cell.0, self.has_ids())
        } else {
            out.write_all(cell.0.text.bytes())
        }
    }
}

/// The whitespace before a cell: its own, or that of a neighbour if the cell is new in the file or at its start.
///
/// In `[ A,\n  B,\n  C]` the first cell is preceded by one blank and all others by a line break. If B moves to the front,
/// it gets the blank of A, and A gets the line break that is usual from index 1 on: `[ B,\n  A,\n  C]`.
fn lead<'a>(file: &'a File, index: usize, cell: &Cell) -> std::borrow::Cow<'a, [u8]> {
    let own = cell.0.slot.filter(|slot| (*slot == 0) == (index == 0));
    let usual = || match file.slots.len() {
        0 => None,
        1 => Some(0),
        _ => Some(index.min(1)),
    };
    match own.or_else(usual) {
        Some(slot) => file.lead(slot).into(),
        None => file.style.line_break(2).into_bytes().into(),
    }
}
