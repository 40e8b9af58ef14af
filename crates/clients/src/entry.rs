//! What a client is to start or to connect to, and the block that says so in its configuration.

use serde_json::{Map, Value, json};

use crate::client::{Command, Secrets, WorkingFolder};
use crate::{Client, Scope};

/// Our server, as a client is to reach it.
#[derive(Debug, Clone)]
pub struct ServerEntry {
    pub start: Start,
    /// Names of variables that hold secrets. The entry refers to them, each in its client's way.
    pub secret_variables: Vec<String>,
}

#[derive(Debug, Clone)]
pub enum Start {
    Command {
        program: String,
        arguments: Vec<String>,
        /// The folder to work in, for clients that start servers elsewhere; with the option that names it.
        folder: Option<(String, String)>,
    },
    /// The one secret variable, if any, holds the bearer token.
    Url(String),
}

/// An entry in a client's form.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Block {
    /// Replace what stands there.
    pub fields: Map<String, Value>,
    /// Written if they are missing.
    pub defaults: Map<String, Value>,
    /// Keys of the other way to reach a server, which would contradict these.
    pub obsolete: Vec<String>,
    /// Elements of the client's list `inputs`.
    pub inputs: Vec<Value>,
}

/// A feature that a client's configuration lacks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}{1}")]
pub struct NotPossible(pub(crate) &'static str, pub(crate) &'static str);

impl Client {
    /// The entry in this client's form.
    pub fn block(&self, entry: &ServerEntry, scope: Scope) -> Result<Block, NotPossible> {
        let fields = match &entry.start {
            Start::Command { program, arguments, folder } => {
                let folder =
                    folder.as_ref().and_then(|(option, folder)| self.folder_arguments(option, folder, scope));
                let arguments: Vec<_> =
                    arguments.iter().cloned().chain(folder.into_iter().flatten()).collect();
                self.stdio_fields(program, &arguments, &entry.secret_variables)
            }
            Start::Url(url) => self.http_fields(url, entry.secret_variables.first())?,
        };
        let inputs = if matches!(self.secrets, Secrets::Prompt) {
            entry.secret_variables.iter().map(|name| input(name)).collect()
        } else {
            Vec::new()
        };
        let (other, extra) = self.other_way(&entry.start);
        let keys = other.keys().map(String::as_str).chain([extra]);
        let obsolete = keys.filter(|key| !fields.contains_key(*key)).map(str::to_owned).collect();
        Ok(Block { fields, defaults: constants(self.extras), obsolete, inputs })
    }

    fn stdio_fields(&self, program: &str, arguments: &[String], variables: &[String]) -> Map<String, Value> {
        let mut fields = constants(self.stdio.constants);
        match self.stdio.command {
            Command::Split { program: key, arguments: list } => {
                fields.insert(key.to_owned(), program.into());
                fields.insert(list.to_owned(), arguments.into());
            }
            Command::Joined(key) => {
                let words = std::iter::once(program).chain(arguments.iter().map(String::as_str));
                fields.insert(key.to_owned(), words.collect::<Value>());
            }
        }
        let referred = |refer: &dyn Fn(&str) -> String| {
            let pairs = variables.iter().map(|name| (name.clone(), Value::from(refer(name))));
            pairs.collect::<Map<_, _>>()
        };
        match self.secrets {
            _ if variables.is_empty() => {}
            Secrets::Template { optional, .. } => {
                let env = referred(&|name| optional.replace("NAME", name));
                fields.insert(self.stdio.env.to_owned(), env.into());
            }
            Secrets::Prompt => {
                let env = referred(&|name| format!("${{input:{}}}", input_id(name)));
                fields.insert(self.stdio.env.to_owned(), env.into());
            }
            Secrets::Keys { inherited, .. } => {
                fields.insert(inherited.to_owned(), variables.into());
            }
            // The server gets what the client lets it inherit.
            Secrets::None => {}
        }
        fields
    }

    fn http_fields(&self, url: &str, variable: Option<&String>) -> Result<Map<String, Value>, NotPossible> {
        let http = self.http.ok_or(NotPossible(self.name, "'s configuration has no servers over HTTP"))?;
        let mut fields = constants(http.constants);
        fields.insert(http.url.to_owned(), url.into());
        if url.starts_with("ws") {
            fields.insert(
                "type".to_owned(),
                http.socket
                    .ok_or(NotPossible(self.name, "'s configuration has no servers over WebSocket"))?
                    .into(),
            );
        }
        let Some(name) = variable else { return Ok(fields) };
        let reference = match self.secrets {
            Secrets::Template { required, .. } => required.replace("NAME", name),
            Secrets::Prompt => format!("${{input:{}}}", input_id(name)),
            Secrets::Keys { token, .. } => {
                fields.insert(token.to_owned(), name.as_str().into());
                return Ok(fields);
            }
            Secrets::None => {
                return Err(NotPossible(self.name, "'s configuration cannot refer to a token in a variable"));
            }
        };
        fields.insert("headers".to_owned(), json!({ "Authorization": format!("Bearer {reference}") }));
        Ok(fields)
    }

    fn folder_arguments(&self, option: &str, folder: &str, scope: Scope) -> Option<[String; 2]> {
        let folder = match (self.working_folder, scope) {
            (WorkingFolder::Variable { name, in_user_file }, scope)
                if in_user_file || scope != Scope::User =>
            {
                name
            }
            (WorkingFolder::Project, _) | (_, Scope::Project(_)) => return None,
            _ => folder,
        };
        Some([option.to_owned(), folder.to_owned()])
    }

    /// An entry that reaches a server in the other way, and one more key that such an entry may have.
    fn other_way(&self, start: &Start) -> (Map<String, Value>, &'static str) {
        let variable = String::new();
        match start {
            Start::Command { .. } => {
                let with_token =
                    self.http_fields("", Some(&variable)).or_else(|_| self.http_fields("", None));
                (with_token.unwrap_or_default(), "headers")
            }
            Start::Url(_) => (self.stdio_fields("", &[], &[variable]), self.stdio.env),
        }
    }
}

/// Members of the table, which a test reads.
fn constants(json: &str) -> Map<String, Value> {
    serde_json::from_str(json).unwrap_or_default()
}

fn input_id(variable: &str) -> String {
    variable.to_ascii_lowercase().replace('_', "-")
}

fn input(variable: &str) -> Value {
    json!({
        "type": "promptString",
        "id": input_id(variable),
        "description": format!("{variable} for Cellbridge"),
        "password": true,
    })
}
