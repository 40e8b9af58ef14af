//! What a client's configuration says about our server.

use std::path::PathBuf;

use serde_json::Value;

use crate::change::ChangeError;
use crate::client::Command;
use crate::{Client, Machine, Scope, edit, file};

/// Our entry in a client's configuration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configured {
    pub file: PathBuf,
    pub starts: Starts,
    /// The client leaves the entry out.
    pub is_disabled: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Starts {
    Command {
        program: String,
        arguments: Vec<String>,
    },
    Url(String),
    /// The entry has neither.
    Nothing,
}

impl Client {
    /// Our entry, if the configuration has one.
    pub fn configured(&self, machine: &Machine, scope: Scope) -> Result<Option<Configured>, ChangeError> {
        let file = match self.located(machine, scope) {
            Err(ChangeError::NotPossible(_)) => return Ok(None),
            file => file?,
        };
        let text = file::read(&file).map_err(|error| ChangeError::File { file: file.clone(), error })?;
        let entry = edit::read(&text.unwrap_or_default(), self.target());
        let entry =
            entry.map_err(|refusal| ChangeError::Refused { file: file.clone(), refusal, block: None })?;
        Ok(entry.map(|entry| Configured {
            starts: self.starts(&entry),
            is_disabled: entry["disabled"] == true || entry["enabled"] == false,
            file,
        }))
    }

    fn starts(&self, entry: &Value) -> Starts {
        let words = |value: &Value| {
            let words = value.as_array().into_iter().flatten();
            words.filter_map(|it| it.as_str().map(str::to_owned)).collect::<Vec<_>>()
        };
        let text = |key: &str| entry[key].as_str().map(str::to_owned);
        let command = match self.stdio.command {
            Command::Split { program, arguments } => {
                text(program).map(|program| (program, words(&entry[arguments])))
            }
            Command::Joined(key) => {
                let mut words = words(&entry[key]).into_iter();
                words.next().map(|program| (program, words.collect()))
            }
        };
        let url = self.http.and_then(|http| text(http.url));
        match (command, url) {
            (Some((program, arguments)), _) => Starts::Command { program, arguments },
            (None, Some(url)) => Starts::Url(url),
            (None, None) => Starts::Nothing,
        }
    }
}

/// The ids of the inputs that an entry refers to.
pub(crate) fn inputs_of(entry: &Value) -> Vec<String> {
    let text = entry.to_string();
    let references = text.split("${input:").skip(1).filter_map(|it| it.split('}').next());
    references.map(str::to_owned).collect()
}
