//! A cell as a record of changes keeps it: its content without outputs, and the outputs apart.

use std::borrow::Cow;
use std::io;

use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::cell::Outputs;
use crate::json::{Printer, Style, canonical};
use crate::{Cell, Json, Output, WIDGET_VIEW};

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
    /// A number that tells the outputs from others, though programs have written them again since: their numbers, their metadata and the
    /// models of widgets do not count, and a stream is what its terminal shows.
    pub fn outputs_digest(&self) -> u64 {
        *self.0.outputs_digest.get_or_init(|| {
            let mut hash = Sha256::new();
            let outputs = self.outputs();
            let stream = |output: &Output| match output {
                Output::Stream { name, .. } => Some(name.clone()),
                _ => None,
            };
            // Some programs join streams that follow one another.
            for same in outputs.chunk_by(|one, next| stream(one).is_some() && stream(one) == stream(next)) {
                add_output(&mut hash, same);
            }
            hash.finalize()[..8].iter().fold(0, |digest, byte| digest << 8 | u64::from(*byte))
        })
    }
}

/// Adds an output, or streams that are one.
fn add_output(hash: &mut Sha256, same: &[Output]) {
    match same {
        [Output::Stream { name, .. }, ..] => {
            let texts = same.iter().filter_map(|output| match output {
                Output::Stream { text, .. } => Some(text.as_str()),
                _ => None,
            });
            hash.update(name);
            add_text(hash, &texts.collect::<String>());
        }
        // Once it is updated, a result is a display.
        [Output::Display(bundle) | Output::Result { bundle, .. }, ..] => {
            let mut members: Vec<_> = bundle.data.members().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            for (mime, content) in members {
                hash.update(&*mime);
                // A reference to a model, which is another one in each run.
                if mime != WIDGET_VIEW {
                    match content.multiline_text() {
                        Some(text) => add_text(hash, &text),
                        None => add_value(hash, &content.to_value()),
                    }
                }
            }
        }
        [Output::Error { name, value, .. }, ..] => hash.update(format!("{name}: {}", value.trim_end())),
        _ => {}
    }
    hash.update([0]);
}

/// Adds a text as it is in the end, without blanks at the ends of lines. `JupyterLab` writes it so: `\r` goes back to the start of the
/// line, and `\u{8}` back by a character, over which the next one is written.
fn add_text(hash: &mut Sha256, text: &str) {
    let mut ends = 0;
    for line in text.split('\n') {
        let shown =
            if line.contains(['\r', '\u{8}']) { Cow::Owned(typed(line)) } else { Cow::Borrowed(line) };
        let shown = shown.trim_end();
        if !shown.is_empty() {
            hash.update("\n".repeat(ends));
            hash.update(shown);
            ends = 0;
        }
        ends += 1;
    }
}

fn typed(line: &str) -> String {
    let (mut shown, mut at) = (Vec::new(), 0_usize);
    for character in line.chars() {
        match character {
            '\r' => at = 0,
            '\u{8}' => at = at.saturating_sub(1),
            _ => {
                shown.splice(at..shown.len().min(at + 1), [character]);
                at += 1;
            }
        }
    }
    shown.into_iter().collect()
}

/// Numbers count by what they are, as JavaScript writes them in another way.
fn add_value(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by_key(|(name, _)| *name);
            for (name, value) in members {
                hash.update(name);
                add_value(hash, value);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| add_value(hash, item)),
        Value::Number(number) => hash.update(number.as_f64().unwrap_or_default().to_le_bytes()),
        other => hash.update(other.to_string()),
    }
    hash.update([0]);
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
    use serde_json::{Value, json};

    use crate::WIDGET_VIEW;
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

    /// The digest of the outputs of a cell in a file.
    fn digest(outputs: &Value) -> u64 {
        let cell = json!({ "cell_type": "code", "id": "a", "metadata": {}, "execution_count": 1, "source": "", "outputs": outputs });
        let text = json!({ "cells": [cell], "metadata": {}, "nbformat": 4, "nbformat_minor": 5 }).to_string();
        Notebook::parse(text.into()).unwrap().cells()[0].outputs_digest()
    }

    #[test]
    fn outputs_are_the_same_after_other_programs_have_written_them() {
        let stream = |text: Value| json!({ "output_type": "stream", "name": "stdout", "text": text });
        let shown = |kind: &str, data: Value| json!({ "output_type": kind, "metadata": {}, "data": data });
        let same = [
            (json!([stream(json!("a\nb\n"))]), json!([stream(json!(["a\n", "b\n"]))])),
            (json!([stream(json!("a\n")), stream(json!("b"))]), json!([stream(json!("a\nb"))])),
            // A bar, one that is gone at its end, one that writes over a longer one, and one of backspaces.
            (json!([stream(json!("\r 0%\r50%\r100%\n"))]), json!([stream(json!("100%\n"))])),
            (json!([stream(json!("\r100%|##|\r         \r"))]), json!([stream(json!("         "))])),
            (json!([stream(json!("50 of 100\rdone"))]), json!([stream(json!("donef 100"))])),
            (
                json!([stream(json!("1/3\u{8}\u{8}\u{8}2/3\u{8}\u{8}\u{8}3/3 \n"))]),
                json!([stream(json!("3/3 \n"))]),
            ),
            (
                json!([shown("execute_result", json!({ "text/plain": "1", "image/png": "aGk=\n" }))]),
                json!([shown("display_data", json!({ "image/png": "aGk=", "text/plain": ["1"] }))]),
            ),
            (
                json!([shown(
                    "display_data",
                    json!({ "application/x+json": { "a": [1.0, 1e-7], "b": "c" } })
                )]),
                json!([shown(
                    "display_data",
                    json!({ "application/x+json": { "b": "c", "a": [1, 0.000_000_1] } })
                )]),
            ),
            (
                json!([shown("display_data", json!({ WIDGET_VIEW: { "model_id": "1" } }))]),
                json!([shown("display_data", json!({ WIDGET_VIEW: { "model_id": "2" } }))]),
            ),
        ];
        for (one, other) in &same {
            assert_eq!(digest(one), digest(other), "{one} {other}");
        }
        let mut digests: Vec<u64> = same.iter().map(|(one, _)| digest(one)).collect();
        digests.extend([
            digest(&json!([])),
            digest(&json!([stream(json!("b\na"))])),
            digest(&json!([stream(json!("a\n\nb"))])),
        ]);
        digests.sort_unstable();
        let count = digests.len();
        digests.dedup();
        // A stream that is written in parts is the first one.
        assert_eq!(digests.len(), count - 1);
    }

    #[test]
    fn an_edit_of_the_outputs_changes_their_digest_and_another_edit_does_not() {
        let text = r#"{"cells": [{"cell_type": "code", "id": "a", "metadata": {}, "execution_count": 2, "source": "", "outputs": []}],
            "metadata": {}, "nbformat": 4, "nbformat_minor": 5}"#;
        let mut notebook = notebook(text);
        let before = notebook.cells()[0].outputs_digest();
        notebook.apply(&Edit::SetSource { id: "a".into(), source: "x".to_owned() }).unwrap();
        assert_eq!(notebook.cells()[0].outputs_digest(), before);
        let stream = Output::Stream { name: "stdout".to_owned(), text: "x".into() };
        let set = Edit::SetOutputs { id: "a".into(), outputs: [stream].into(), execution_count: Some(2) };
        notebook.apply(&set).unwrap();
        assert_ne!(notebook.cells()[0].outputs_digest(), before);
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
