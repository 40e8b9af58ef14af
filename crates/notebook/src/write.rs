//! Writes a notebook: the file's own bytes, with what was touched in its place.

use std::io::{self, BufWriter, Write};

use crate::file::{File, Member};
use crate::print::Printer;
use crate::{Cell, Json, Notebook};

/// Members that no valid notebook lacks.
const REQUIRED: [&str; 4] = ["cells", "metadata", "nbformat", "nbformat_minor"];

impl Notebook {
    /// Writes the file: as it was read while nothing was touched, otherwise with the touched parts as Jupyter writes
    /// them. Large outputs are streamed. Fails only if `out` does.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        match &self.original {
            _ if self.is_modified || self.is_assembled => {
                let mut out = BufWriter::new(out);
                self.write_touched(&mut out)?;
                out.flush()
            }
            Some(original) => out.write_all(&original.text),
            None => out.write_all(&self.file.text),
        }
    }

    /// What [`Notebook::write`] writes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut text = Vec::with_capacity(self.file.text.len() + 1024);
        // Writing to a vector does not fail.
        let _ = self.write(&mut text);
        text
    }

    fn write_touched(&self, out: &mut dyn Write) -> io::Result<()> {
        let file = &*self.file;
        let mut missing = REQUIRED.into_iter().filter(|name| file.member(name).is_none()).peekable();
        let mut copied = 0;
        for member in &file.members {
            out.write_all(&file.text[copied..member.key.start])?;
            copied = member.key.start;
            while let Some(name) = missing.next_if(|name| **name < *member.name) {
                self.write_missing(name, out)?;
                out.write_all(b",")?;
                out.write_all(file.style.line_break(1).as_bytes())?;
            }
            let is_known = REQUIRED.contains(&&*member.name);
            // Of members of the same name the last counts; the others stay as they are.
            if is_known && file.member(&member.name).is_some_and(|last| last.key == member.key) {
                out.write_all(&file.text[copied..member.value.start])?;
                self.write_member(member, out)?;
            } else {
                out.write_all(&file.text[copied..member.value.end])?;
            }
            copied = member.value.end;
        }
        for name in missing {
            out.write_all(b",")?;
            out.write_all(file.style.line_break(1).as_bytes())?;
            self.write_missing(name, out)?;
        }
        out.write_all(&file.text[copied..])
    }

    fn write_missing(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        write!(out, "\"{name}\": ")?;
        match name {
            "cells" => self.write_cells(None, out),
            // Never read, so always to be written anew.
            "metadata" => {
                self.write_metadata(&self.mended_metadata().unwrap_or_else(|| self.metadata()), out)
            }
            "nbformat" => out.write_all(b"4"),
            _ => write!(out, "{}", self.minor),
        }
    }

    fn write_member(&self, member: &Member, out: &mut dyn Write) -> io::Result<()> {
        let text = &self.file.text[member.value.clone()];
        let is_number = text.iter().all(u8::is_ascii_digit);
        match &*member.name {
            "cells" => self.write_cells(Some(member), out),
            "metadata" => match self.mended_metadata() {
                Some(metadata) => self.write_metadata(&metadata, out),
                None => out.write_all(text),
            },
            "nbformat" if !is_number => out.write_all(b"4"),
            "nbformat_minor" if !is_number => write!(out, "{}", self.minor),
            _ => out.write_all(text),
        }
    }

    fn write_metadata(&self, metadata: &Json, out: &mut dyn Write) -> io::Result<()> {
        Printer::new(out, &self.file.style, 1).value(metadata)
    }

    /// Writes the list of cells; `member` is where it stands in the file.
    fn write_cells(&self, member: Option<&Member>, out: &mut dyn Write) -> io::Result<()> {
        let file = &*self.file;
        out.write_all(b"[")?;
        for (index, cell) in self.cells.iter().enumerate() {
            if index > 0 {
                out.write_all(b",")?;
            }
            out.write_all(&lead(file, index, cell))?;
            self.write_cell(cell, out)?;
            // What follows the last cell is the space before the bracket, whichever cell is last.
            let is_last = |slot: &usize| slot + 1 == file.slots.len() || index + 1 == self.cells.len();
            if let Some(slot) = cell.0.slot.filter(|slot| !is_last(slot)) {
                out.write_all(file.trail(slot))?;
            }
        }
        let (read, now) = (file.slots.len(), self.cells.len());
        match member.map(|member| &file.text[member.value.clone()]) {
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
        if cell.0.is_modified || cell.0.is_faulty {
            Printer::new(out, &self.file.style, 2).cell(&cell.0, self.has_ids())
        } else {
            out.write_all(cell.0.text.bytes())
        }
    }
}

/// The whitespace before a cell: its own, or what is usual in the file where it is new at the head or in the rest.
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
