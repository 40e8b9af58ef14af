//! A member's manifest, read with the lines on which things stand.

use anyhow::Result;
use toml_edit::{Document, Table, TableLike};

use super::model::Kind;

/// What the rules want from a manifest.
pub(crate) struct Manifest {
    pub(crate) declarations: Vec<Declaration>,
    pub(crate) lints_inherited: bool,
}

/// One line of a dependency table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Declaration {
    /// What the manifest calls it.
    pub(crate) key: String,
    pub(crate) kind: Kind,
    pub(crate) line: usize,
    pub(crate) inherited: bool,
}

const SECTIONS: [(&str, Kind); 3] =
    [("dependencies", Kind::Normal), ("build-dependencies", Kind::Build), ("dev-dependencies", Kind::Dev)];

impl Manifest {
    /// Reads a manifest's text.
    pub(crate) fn parse(text: &str) -> Result<Self> {
        let document = Document::parse(text)?;
        let root = document.as_table();
        let mut declarations = declarations(text, root);
        let targets = root.get("target").and_then(|targets| targets.as_table_like());
        for (_, target) in targets.into_iter().flat_map(TableLike::iter) {
            if let Some(target) = target.as_table() {
                declarations.extend(self::declarations(text, target));
            }
        }
        let lints_inherited = root.get("lints").is_some_and(is_inherited);
        Ok(Self { declarations, lints_inherited })
    }
}

fn declarations(text: &str, parent: &Table) -> Vec<Declaration> {
    let mut found = Vec::new();
    for (section, kind) in SECTIONS {
        let Some(table) = parent.get(section).and_then(|item| item.as_table_like()) else { continue };
        for (name, item) in table.iter() {
            let position = table.key(name).and_then(toml_edit::Key::span).map_or(0, |span| span.start);
            let line = text[..position].matches('\n').count() + 1;
            found.push(Declaration { key: name.to_owned(), kind, line, inherited: is_inherited(item) });
        }
    }
    found
}

fn is_inherited(item: &toml_edit::Item) -> bool {
    let table = item.as_table_like();
    table.and_then(|table| table.get("workspace")).and_then(toml_edit::Item::as_bool) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_way_to_write_a_dependency_is_seen_with_its_line() {
        let manifest = Manifest::parse(
            r#"[package]
name = "x"

[dependencies]
serde.workspace = true
tokio = { workspace = true, optional = true }
rmcp = "3"

[dev-dependencies.insta]
version = "1"

[target.'cfg(unix)'.build-dependencies]
cc = { workspace = false, version = "1" }
"#,
        )
        .unwrap();
        let seen: Vec<_> = manifest
            .declarations
            .iter()
            .map(|it| (it.key.as_str(), it.kind, it.line, it.inherited))
            .collect();
        assert_eq!(
            seen,
            [
                ("serde", Kind::Normal, 5, true),
                ("tokio", Kind::Normal, 6, true),
                ("rmcp", Kind::Normal, 7, false),
                ("insta", Kind::Dev, 9, false),
                ("cc", Kind::Build, 13, false),
            ]
        );
        assert!(!manifest.lints_inherited);
    }

    #[test]
    fn inherited_lints_are_seen() {
        assert!(Manifest::parse("[lints]\nworkspace = true\n").unwrap().lints_inherited);
        assert!(Manifest::parse("lints.workspace = true\n").unwrap().lints_inherited);
        assert!(!Manifest::parse("[lints.rust]\nunsafe_code = \"deny\"\n").unwrap().lints_inherited);
    }
}
