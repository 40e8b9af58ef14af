//! What the table says about a client.

use std::path::PathBuf;

use crate::location::joined;
use crate::{Base, Location, Machine, Scope};

/// A program that an agent runs in, with its configuration.
#[derive(Debug, Clone, Copy)]
pub struct Client {
    /// How people name it at the command line.
    pub id: &'static str,
    pub name: &'static str,
    /// The user's configuration. The first that exists is used, otherwise the first whose base exists; a variable
    /// that is set decides. A client is taken to be installed if the folder of one of these exists, or one of its programs is on `PATH`.
    pub user_files: &'static [Location],
    /// The configuration in a project's folder.
    pub project_file: Option<&'static str>,
    pub format: Format,
    /// The keys that lead to the map of servers.
    pub keys: &'static [&'static str],
    pub stdio: Stdio,
    /// `None` if its file has no servers over HTTP.
    pub http: Option<Http>,
    pub secrets: Secrets,
    /// JSON, whose members are written if they are missing, and never changed.
    pub extras: &'static str,
    pub working_folder: WorkingFolder,
    pub programs: &'static [&'static str],
    /// What the person does after the user's configuration has changed.
    pub then: &'static str,
    /// What the person does after a project's configuration has changed.
    pub then_in_project: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Comments and trailing commas are kept, also where the client does not accept them.
    Json,
    Toml,
    Yaml,
}

/// The entry of a server that the client starts.
#[derive(Debug, Clone, Copy)]
pub struct Stdio {
    pub command: Command,
    /// The key of the variables that the client sets for the server.
    pub env: &'static str,
    /// JSON, whose members each entry has.
    pub constants: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum Command {
    /// The program under one key, its arguments under another.
    Split { program: &'static str, arguments: &'static str },
    /// Both in one list.
    Joined(&'static str),
}

/// The entry of a server that is running.
#[derive(Debug, Clone, Copy)]
pub struct Http {
    pub url: &'static str,
    /// JSON, whose members each entry has.
    pub constants: &'static str,
    /// The `type` of an entry whose address is a WebSocket; `None` if there are none.
    pub socket: Option<&'static str>,
}

/// How an entry refers to a secret without containing it.
#[derive(Debug, Clone, Copy)]
pub enum Secrets {
    /// The client replaces a variable in values. `NAME` stands for its name. The optional form must be valid while the
    /// variable is not set.
    Template { required: &'static str, optional: &'static str },
    /// The client asks the person, through an element of its list `inputs`.
    Prompt,
    /// Own keys take the names of variables: the token of an HTTP server, and the variables that a started server gets.
    Keys { token: &'static str, inherited: &'static str },
    /// An entry cannot refer to a secret.
    None,
}

/// The folder in which the client starts a server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkingFolder {
    /// That of the project that the person works in.
    Project,
    /// Another one, but a value can name the project's folder like this, in a project's configuration or in both.
    Variable { name: &'static str, in_user_file: bool },
    /// Another one; the entry has to name the folder.
    Unrelated,
}

impl Client {
    /// The client of that id.
    pub fn named(id: &str) -> Option<&'static Self> {
        crate::CLIENTS.iter().find(|client| client.id == id)
    }

    /// The configuration to read and edit, whether or not it exists.
    pub fn file(&self, machine: &Machine, scope: Scope) -> Option<PathBuf> {
        match scope {
            Scope::User => self.user_file(machine),
            Scope::Project(folder) => Some(joined(folder.to_owned(), self.project_file?)),
        }
    }

    fn user_file(&self, machine: &Machine) -> Option<PathBuf> {
        let resolved = || self.user_files.iter().filter_map(|it| Some((it, it.resolve(machine)?)));
        let by_variable = resolved().find(|(it, _)| matches!(it.base, Base::Variable(_)));
        let existing = || resolved().find(|(_, file)| file.exists());
        by_variable.or_else(existing).or_else(|| resolved().next()).map(|(_, file)| file)
    }

    /// What shows that the client is installed, if it is.
    pub fn detected(&self, machine: &Machine) -> Option<PathBuf> {
        let folder = self.user_files.iter().filter_map(|it| it.folder(machine)).find(|it| it.exists());
        folder.or_else(|| self.programs.iter().find_map(|it| machine.find_program(it)))
    }

    /// What the person does after a configuration has changed.
    pub fn next_step(&self, scope: Scope) -> &'static str {
        if scope == Scope::User { self.then } else { self.then_in_project }
    }
}
