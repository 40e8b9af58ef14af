//! Arguments whose value is one of a few words.

use notebook::{CellType, HiddenParts};
use packages::RecordIn;
use place::{Error, Mode};
use serde_json::{Value, json};

use crate::arguments::declare::{Argument, Schema, WithDefault};
use crate::arguments::given::Given;

/// One of a few words.
pub trait Choice: Clone + PartialEq + 'static {
    const CHOICES: &'static [(&'static str, Self)];

    fn schema() -> Value {
        let words: Vec<&str> = Self::CHOICES.iter().map(|(word, _)| *word).collect();
        json!({ "type": "string", "enum": words })
    }
}

impl Choice for CellType {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("code", Self::Code), ("markdown", Self::Markdown), ("raw", Self::Raw)];
}

impl Choice for HiddenParts {
    const CHOICES: &'static [(&'static str, Self)] = &[
        ("none", Self { source: false, outputs: false }),
        ("source", Self { source: true, outputs: false }),
        ("outputs", Self { source: false, outputs: true }),
        ("both", Self { source: true, outputs: true }),
    ];
}

impl Choice for RecordIn {
    const CHOICES: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("project", Self::Project), ("notebook", Self::Notebook), ("no", Self::No)];
}

impl Choice for Mode {
    const CHOICES: &'static [(&'static str, Self)] = &[("connect", Self::Connect), ("create", Self::Create)];
}

impl<T: Choice> Argument for T {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add_required(name, T::schema(), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        given.choice(name, T::CHOICES)?.ok_or_else(|| given.missing(name))
    }
}

impl<T: Choice> Argument for Option<T> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add(name, T::schema(), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        given.choice(name, T::CHOICES)
    }
}

impl<T: Choice> WithDefault for T {
    type Default = T;

    fn describe(schema: &mut Schema, name: &'static str, default: T, description: &str) {
        let mut choice = T::schema();
        let word = T::CHOICES.iter().find(|(_, value)| *value == default).map(|(word, _)| *word);
        choice["default"] = word.into();
        schema.add(name, choice, description);
    }

    fn read_or(given: &Given, name: &'static str, default: T) -> Result<Self, Error> {
        Ok(given.choice(name, T::CHOICES)?.unwrap_or(default))
    }
}
