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
        let output_type = match output {
            Output::Other(json) => return self.read_output(json),
            Output::Stream { .. } => "stream",
            Output::Display(_) => "display_data",
            Output::Result { .. } => "execute_result",
            Output::Error { .. } => "error",
        };
        self.open("{")?;
        match output {
            Output::Stream { name, .. } => self.text_member("name", name)?,
            Output::Display(MimeBundle { data, .. })
            | Output::Result { bundle: MimeBundle { data, .. }, .. } => {
                self.key("data")?;
                self.bundle(data)?;
            }
            Output::Error { name, value, .. } => {
                self.text_member("ename", name)?;
                self.text_member("evalue", value)?;
            }
            Output::Other(_) => {}
        }
        if let Output::Result { execution_count, .. } = output {
            self.key("execution_count")?;
            self.count(&Json::from_static("null"), *execution_count)?;
        }
        if let Output::Display(bundle) | Output::Result { bundle, .. } = output {
            self.key("metadata")?;
            self.value(&bundle.metadata)?;
        }
        self.text_member("output_type", output_type)?;
        match output {
            Output::Stream { text, .. } => {
                self.key("text")?;
                let mut lines = Lines::start(self)?;
                text.pieces().try_for_each(|piece| lines.push(piece))?;
                lines.end()?;
            }
            Output::Error { traceback, .. } => {
                self.key("traceback")?;
                self.open("[")?;
                for line in traceback {
                    self.element()?;
                    self.string(line)?;
                }
                self.close("]")?;
            }
            _ => {}
        }
        self.close("}")
    }

    fn text_member(&mut self, name: &str, text: &str) -> io::Result<()> {
        self.key(name)?;
        self.string(text)
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
