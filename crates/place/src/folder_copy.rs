//! A copy of a notebook's folder, for code whose effects on files are not wanted.

use std::any::Any;
use std::path::{Path, PathBuf};

use notebook::{Json, MimeBundle, Output, Text};

/// A copy of a folder. It is removed when this is dropped.
pub struct FolderCopy {
    original: PathBuf,
    copy: PathBuf,
    left_out: Vec<String>,
    _removal: Box<dyn Any + Send + Sync>,
}

impl FolderCopy {
    /// `copy` is a copy of `original` until `removal` is dropped. The links `left_out` of the original, by their paths in it, lead out of
    /// it and are not in the copy.
    pub fn new(
        original: PathBuf,
        copy: PathBuf,
        left_out: Vec<String>,
        removal: impl Any + Send + Sync,
    ) -> Self {
        Self { original, copy, left_out, _removal: Box::new(removal) }
    }

    pub fn left_out(&self) -> &[String] {
        &self.left_out
    }

    pub fn path(&self) -> &Path {
        &self.copy
    }

    /// The outputs of code that ran in the copy, as it would have named the original.
    pub fn restore(&self, outputs: &mut [Output]) {
        let (copy, original) = (self.copy.display().to_string(), self.original.display().to_string());
        let in_text = |text: &mut String| {
            if text.contains(&copy) {
                *text = text.replace(&copy, &original);
            }
        };
        for output in outputs {
            match output {
                Output::Stream { text, .. } => {
                    if text.as_str().contains(&copy) {
                        *text = Text::from(text.as_str().replace(&copy, &original).as_str());
                    }
                }
                Output::Display(bundle) | Output::Result { bundle, .. } => {
                    restore_bundle(bundle, &copy, &original);
                }
                Output::Error { value, traceback, .. } => {
                    in_text(value);
                    traceback.iter_mut().for_each(in_text);
                }
                Output::Other(_) => {}
            }
        }
    }
}

fn restore_bundle(bundle: &mut MimeBundle, copy: &str, original: &str) {
    let (copy, original) = (quoted(copy), quoted(original));
    if bundle.data.as_str().contains(&copy)
        && let Ok(data) = Json::parse(bundle.data.as_str().replace(&copy, &original).into())
    {
        bundle.data = data;
    }
}

/// A text as it stands within a JSON string.
fn quoted(text: &str) -> String {
    let json = serde_json::Value::from(text).to_string();
    json[1..json.len() - 1].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outputs_name_the_original() {
        let copy = FolderCopy::new("/home/ada/\"x\"".into(), "/tmp/copy/x".into(), Vec::new(), ());
        let bundle = |text: &str| {
            let json = |value: serde_json::Value| Json::from_value(&value);
            MimeBundle {
                data: json(serde_json::json!({"text/plain": text})),
                metadata: json(serde_json::json!({})),
            }
        };
        let outputs = |folder: &str| {
            let traceback = vec![format!("in {folder}/a.py"), "line 1".to_owned()];
            [
                Output::Stream {
                    name: "stdout".to_owned(),
                    text: format!("{folder}/b\n{folder}").as_str().into(),
                },
                Output::Display(bundle(&format!("at {folder}/c"))),
                Output::Error { name: "E".to_owned(), value: format!("no {folder}"), traceback },
            ]
        };
        let mut made = outputs("/tmp/copy/x");
        copy.restore(&mut made);
        assert_eq!(made, outputs("/home/ada/\"x\""));
    }
}
