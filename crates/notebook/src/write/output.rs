//! Prints outputs as Jupyter does.

use std::collections::BTreeMap;
use std::io;

use super::lines::Lines;
use crate::json::{Printer, is_multiline, strings};
use crate::{Json, MimeBundle, Output, required};

impl Printer<'_> {
    /// Writes an output that was read, with the members that nbformat does not know.
    pub(crate) fn read_output(&mut self, output: &Json) -> io::Result<()> {
        let mut members: BTreeMap<_, _> = output.members().collect();
        let output_type = members.get("output_type").and_then(Json::text).unwrap_or_default().into_owned();
        if !output.is_object() {
            return self.value(output);
        }
        for (name, default) in required::of_output(&output_type) {
            if required::is_missing(members.get(*name), default) {
                members.insert((*name).into(), Json::from_static(default));
            }
        }
        let is_result = output_type == "execute_result";
        let has_bundle = is_result || output_type == "display_data";
        self.open("{")?;
        for (name, value) in &members {
            self.key(name)?;
            match &**name {
                "data" if has_bundle => self.bundle(value)?,
                "execution_count" if is_result => self.count(value, value.count())?,
                "text" if output_type == "stream" => self.lines(value)?,
                _ => self.value(value)?,
            }
        }
        self.close("}")
    }

    /// Writes an output that an edit has set.
    pub(crate) fn output(&mut self, output: &Output) -> io::Result<()> {
        match output {
            Output::Other(json) => return self.read_output(json),
            Output::Stream { name, text } => {
                self.open("{")?;
                self.key("name")?;
                self.string(name)?;
                self.output_type("stream")?;
                self.key("text")?;
                let mut lines = Lines::start(self)?;
                for piece in text.pieces() {
                    lines.push(piece)?;
                }
                lines.end()?;
            }
            Output::Display(bundle) => {
                self.open("{")?;
                self.data_and_metadata(bundle, |_| Ok(()))?;
                self.output_type("display_data")?;
            }
            Output::Result { execution_count, bundle } => {
                self.open("{")?;
                self.data_and_metadata(bundle, |printer| {
                    printer.key("execution_count")?;
                    printer.raw(&execution_count.map_or("null".to_owned(), |count| count.to_string()))
                })?;
                self.output_type("execute_result")?;
            }
            Output::Error { name, value, traceback } => {
                self.open("{")?;
                self.key("ename")?;
                self.string(name)?;
                self.key("evalue")?;
                self.string(value)?;
                self.output_type("error")?;
                self.key("traceback")?;
                self.open("[")?;
                for line in traceback {
                    self.element()?;
                    self.string(line)?;
                }
                self.close("]")?;
            }
        }
        self.close("}")
    }

    fn output_type(&mut self, name: &str) -> io::Result<()> {
        self.key("output_type")?;
        self.string(name)
    }

    fn data_and_metadata(
        &mut self,
        bundle: &MimeBundle,
        between: impl FnOnce(&mut Self) -> io::Result<()>,
    ) -> io::Result<()> {
        self.key("data")?;
        self.bundle(&bundle.data)?;
        between(self)?;
        self.key("metadata")?;
        self.value(&bundle.metadata)
    }

    /// Writes a MIME bundle: text as lines, other strings whole, JSON unchanged.
    pub(crate) fn bundle(&mut self, bundle: &Json) -> io::Result<()> {
        if !bundle.is_object() {
            return self.value(bundle);
        }
        self.open("{")?;
        for (mime, content) in bundle.members().collect::<BTreeMap<_, _>>() {
            self.key(&mime)?;
            if is_json(&mime) || !is_multiline(content.as_str()) {
                self.value(&content)?;
            } else if is_split(&mime) {
                self.lines(&content)?;
            } else {
                self.strings(strings(content.as_str()))?;
            }
        }
        self.close("}")
    }
}

fn is_json(mime: &str) -> bool {
    mime == "application/json" || (mime.starts_with("application/") && mime.ends_with("+json"))
}

fn is_split(mime: &str) -> bool {
    mime.starts_with("text/") || mime == "application/javascript" || mime == "image/svg+xml"
}
