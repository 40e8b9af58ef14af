//! What the rules look at, and what they say.

use std::fmt;

use super::code::Code;

/// A place in the project that breaks a rule.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Finding {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) rule: &'static str,
    pub(crate) advice: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}: {}: {}", self.path, self.line, self.rule, self.advice)
    }
}

/// Everything that the rules know.
pub(crate) struct House {
    /// The crates of this workspace.
    pub(crate) members: Vec<Member>,
    /// Every package of the dependency tree on every platform, members included.
    pub(crate) packages: Vec<Package>,
}

/// A crate of this workspace.
pub(crate) struct Member {
    pub(crate) name: String,
    /// Its folder, relative to the root, with forward slashes.
    pub(crate) folder: String,
    pub(crate) publishable: bool,
    pub(crate) lints_inherited: bool,
    pub(crate) dependencies: Vec<Dependency>,
    pub(crate) sources: Vec<Source>,
}

impl Member {
    pub(crate) fn manifest(&self) -> String {
        format!("{}/Cargo.toml", self.folder)
    }

    /// Whether it is a part of the program, not one of the tools beside it.
    pub(crate) fn is_crate(&self) -> bool {
        self.folder.starts_with("crates/")
    }
}

/// One line of a member's manifest.
pub(crate) struct Dependency {
    /// The package's own name, whatever the manifest calls it.
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    /// Whether the line says `workspace = true`.
    pub(crate) inherited: bool,
}

/// When a dependency is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Normal,
    Build,
    Dev,
}

/// One file of a member's `src` folder, without its test code.
pub(crate) struct Source {
    pub(crate) path: String,
    pub(crate) code: Code,
}

/// One package of the dependency tree.
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    pub(crate) licence: Option<String>,
    pub(crate) origin: Origin,
    /// Its line in `Cargo.lock`.
    pub(crate) line: usize,
}

/// Where a package comes from.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A folder of this repository.
    Inside,
    /// The registry crates.io.
    CratesIo,
    /// Anything else, as Cargo names it.
    Elsewhere(String),
}

#[cfg(test)]
pub(crate) mod samples {
    //! Small houses for the rules' tests.

    use super::{Code, Dependency, House, Kind, Member, Source};

    /// A well-kept crate without dependencies.
    pub(crate) fn member(name: &str) -> Member {
        Member {
            name: name.to_owned(),
            folder: format!("crates/{name}"),
            publishable: false,
            lints_inherited: true,
            dependencies: Vec::new(),
            sources: Vec::new(),
        }
    }

    impl Member {
        pub(crate) fn needs(mut self, name: &str, kind: Kind) -> Self {
            let line = self.dependencies.len() + 1;
            self.dependencies.push(Dependency { name: name.to_owned(), kind, line, inherited: true });
            self
        }

        pub(crate) fn with_source(mut self, text: &str) -> Self {
            let path = format!("{}/src/lib.rs", self.folder);
            let code = Code::parse(text).expect("the sample is Rust");
            self.sources.push(Source { path, code });
            self
        }
    }

    /// A house of these members.
    pub(crate) fn house(members: impl IntoIterator<Item = Member>) -> House {
        House { members: members.into_iter().collect(), packages: Vec::new() }
    }

    /// Where a rule finds something: `path:line`.
    pub(crate) fn places(findings: &[super::Finding]) -> Vec<String> {
        findings.iter().map(|finding| format!("{}:{}", finding.path, finding.line)).collect()
    }
}
