//! Prints a modified cell as Jupyter does, and repairs what would make the file invalid.

use std::collections::BTreeMap;
use std::io;

use super::lines::Lines;
use crate::cell::{CellData, CellType, Outputs, Source};
use crate::json::{Json, Printer};
use crate::required::{self, is_valid_count};

impl Printer<'_> {
    /// Writes a cell, with its id if the file's version has ids.
    pub(crate) fn cell(&mut self, cell: &CellData, has_ids: bool) -> io::Result<()> {
        let mut members: BTreeMap<_, _> = cell.text.members().collect();
        for (name, default) in required::of_cell(&cell.cell_type) {
            if required::is_missing(members.get(*name), default) {
                members.insert((*name).into(), Json::from_static(default));
            }
        }
        let cell_type = cell.cell_type.name();
        members.extend((!cell_type.is_empty()).then(|| ("cell_type".into(), Json::string(cell_type))));
        members.extend(has_ids.then(|| ("id".into(), Json::string(&cell.id))));
        // An `id` that was in a file of an older format stays there; a cell from elsewhere must not add one.
        if !has_ids && cell.slot.is_none() {
            members.remove("id");
        }
        self.open("{")?;
        for (name, value) in &members {
            self.key(name)?;
            match &**name {
                "source" => self.source(&cell.source)?,
                "attachments" => self.attachments(value)?,
                "execution_count" if cell.cell_type == CellType::Code => {
                    self.count(value, cell.execution_count)?;
                }
                "outputs" if cell.cell_type == CellType::Code => self.outputs(&cell.outputs)?,
                _ => self.value(value)?,
            }
        }
        self.close("}")
    }

    fn source(&mut self, source: &Source) -> io::Result<()> {
        match source {
            Source::Read(json) if json.is_null() => self.raw("[]"),
            Source::Read(json) => self.lines(json),
            Source::Set(text) => {
                let mut lines = Lines::start(self)?;
                lines.push(text)?;
                lines.end()
            }
        }
    }

    /// Writes an execution count; the digits in the file (`read`) stay if the count is the same.
    pub(crate) fn count(&mut self, read: &Json, now: Option<u64>) -> io::Result<()> {
        match now {
            _ if read.count() == now && is_valid_count(read) => self.value(read),
            Some(now) => self.raw(&now.to_string()),
            None => self.raw("null"),
        }
    }

    fn attachments(&mut self, attachments: &Json) -> io::Result<()> {
        if !attachments.is_object() {
            return self.value(attachments);
        }
        self.open("{")?;
        for (name, bundle) in attachments.members().collect::<BTreeMap<_, _>>() {
            self.key(&name)?;
            self.bundle(&bundle)?;
        }
        self.close("}")
    }

    pub(crate) fn outputs(&mut self, outputs: &Outputs) -> io::Result<()> {
        match outputs {
            Outputs::Read(list) if list.is_null() => self.raw("[]"),
            Outputs::Read(list) if !list.bytes().starts_with(b"[") => self.value(list),
            Outputs::Read(list) => {
                self.open("[")?;
                for output in list.elements() {
                    self.element()?;
                    self.read_output(&output)?;
                }
                self.close("]")
            }
            Outputs::Set(outputs) => {
                self.open("[")?;
                for output in outputs.iter() {
                    self.element()?;
                    self.output(output)?;
                }
                self.close("]")
            }
        }
    }
}
