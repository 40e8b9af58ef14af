//! A cell as a record of changes keeps it: its content without outputs, and the outputs apart.

use std::borrow::Cow;
use std::io;

use sha2::{Digest as _, Sha256};

use crate::cell::Outputs;
use crate::json::{Printer, Style, canonical};
use crate::{Cell, Json};

/// Members that a record of the content leaves out: outputs are kept apart, and the id is the key.
const APART: [&str; 3] = ["id", "outputs", "execution_count"];

/// The members of a cell, an object, that nbformat does not know.
pub fn other_members(cell: &Json) -> Option<Json> {
    let is_known = |name: &str| {
        APART.contains(&name) || ["cell_type", "source", "metadata", "attachments"].contains(&name)
    };
    let others: Vec<_> = cell.members().filter(|(name, _)| !is_known(name)).collect();
    (!others.is_empty()).then(|| Json::object(&others))
}

impl Cell {
    /// The members that nbformat does not know.
    pub fn others(&self) -> Option<Json> {
        other_members(&self.0.text)
    }

    /// All that the cell has but its id, outputs and execution count, as one object. Cells with the same content give the
    /// same text, wherever they were read from.
    pub fn content_json(&self) -> Json {
        let is_own = |name: &str| ["cell_type", "source", "metadata"].contains(&name);
        let mut members: Vec<(Cow<'_, str>, Json)> =
            self.0.text.members().filter(|(name, _)| !is_own(name) && !APART.contains(&&**name)).collect();
        members.push(("cell_type".into(), Json::string(self.cell_type().name())));
        members.push(("source".into(), Json::string(&self.source())));
        members.push(("metadata".into(), self.lasting_metadata()));
        printed(&Json::object(&members))
    }

    /// Writes the outputs as a list, in the form in which Jupyter writes them but without whitespace. Equal outputs give the
    /// same text, wherever they were read from. Fails only if `out` does.
    pub fn write_outputs(&self, out: &mut dyn io::Write) -> io::Result<()> {
        // A cell of another type has none.
        if !self.is_code()
            || matches!(&self.0.outputs, Outputs::Read(list) if list.elements().next().is_none())
        {
            return out.write_all(b"[]");
        }
        Printer::new(out, &Style::canonical(), 0).outputs(&self.0.outputs)
    }

    /// Sixteen digits that tell what the cell shows, its outputs and the number in `In[n]`, from what it showed before.
    pub fn shown_revision(&self) -> String {
        let mut hash = Hashing(Sha256::new_with_prefix(format!("{:?}", self.execution_count())));
        // Hashing does not fail.
        let _ = self.write_outputs(&mut hash);
        const_hex::encode(&hash.0.finalize()[..8])
    }
}

impl Cell {
    /// A number that tells the outputs from others.
    pub fn outputs_digest(&self) -> u64 {
        let mut hash = Hashing(Sha256::new());
        // Hashing does not fail.
        let _ = self.write_outputs(&mut hash);
        hash.0.finalize()[..8].iter().fold(0, |digest, byte| digest << 8 | u64::from(*byte))
    }
}

struct Hashing(Sha256);

impl io::Write for Hashing {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn printed(json: &Json) -> Json {
    Json::parse(canonical(json).into()).unwrap_or_else(|_| json.clone())
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use crate::{Cell, Edit, Json, Notebook, Output};

    fn outputs(cell: &Cell) -> Json {
        let mut text = Vec::new();
        cell.write_outputs(&mut text).unwrap();
        Json::parse(text.into()).unwrap()
    }

    fn notebook(text: &'static str) -> Notebook {
        Notebook::parse(Bytes::from_static(text.as_bytes())).unwrap()
    }

    #[test]
    fn the_same_cell_gives_the_same_text_however_it_is_written() {
        let one = notebook(
            r#"{"cells": [{"cell_type": "code", "id": "a", "metadata": {"b": 1.50, "a": [ ]}, "execution_count": 2,
            "source": ["x\n", "y"], "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n", "2"]}]}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#,
        );
        let other = notebook(
            r#"{"cells": [{"source": "x\ny", "outputs": [{"text": "1\n2", "name": "stdout", "output_type": "stream"}],
            "id": "b", "cell_type": "code", "metadata": {"a": [], "b": 1.50}, "execution_count": null}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#,
        );
        let (one, other) = (&one.cells()[0], &other.cells()[0]);
        assert_eq!(one.content_json(), other.content_json());
        assert_eq!(
            one.content_json().as_str(),
            r#"{"cell_type":"code","metadata":{"a":[],"b":1.50},"source":"x\ny"}"#
        );
        assert_eq!(outputs(one), outputs(other));
    }

    #[test]
    fn outputs_are_read_back_as_they_were() {
        let mut notebook = notebook(
            r#"{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 2, "source": "", "outputs": [
            {"output_type": "execute_result", "execution_count": 2, "metadata": {}, "data": {"text/plain": ["1\n", "2"]}},
            {"output_type": "error", "ename": "E", "evalue": "v", "traceback": ["a", "b"]}]}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#,
        );
        let record = outputs(&notebook.cells()[0]);
        let items: Vec<Output> = record.elements().map(|output| Output::from_json(&output)).collect();
        let clear = Edit::SetOutputs { id: "a".into(), outputs: [].into(), execution_count: None };
        notebook.apply(&clear).unwrap();
        assert_eq!(outputs(&notebook.cells()[0]).as_str(), "[]");
        let back = Edit::SetOutputs { id: "a".into(), outputs: items.into(), execution_count: Some(2) };
        notebook.apply(&back).unwrap();
        assert_eq!(outputs(&notebook.cells()[0]), record);
    }
}
