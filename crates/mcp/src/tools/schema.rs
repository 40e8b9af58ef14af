//! Builds the JSON schemas of the tools' arguments, in few words: a model reads them all.

use serde_json::{Map, Value, json};

/// A schema that is being built.
pub(crate) struct Schema {
    properties: Map<String, Value>,
    required: Vec<&'static str>,
}

impl Schema {
    pub(crate) fn new() -> Self {
        Self { properties: Map::new(), required: Vec::new() }
    }

    /// `cell_index` and `cell_id`.
    pub(crate) fn cell(self) -> Self {
        self.with("cell_index", json!({ "type": "integer" }), "0-based; or cell_id").with(
            "cell_id",
            json!({ "type": "string" }),
            "Id, unique prefix of it, or In[n]",
        )
    }

    /// `notebook_name`.
    pub(crate) fn notebook(self) -> Self {
        self.with("notebook_name", json!({ "type": "string" }), "Name or path; default: the current one")
    }

    /// `max_characters` and `max_images`.
    pub(crate) fn budget(self) -> Self {
        self.with("max_characters", json!({ "type": "integer" }), "Budget of the reply").with(
            "max_images",
            json!({ "type": "integer" }),
            "",
        )
    }

    pub(crate) fn text(self, name: &'static str, description: &str) -> Self {
        self.with(name, json!({ "type": "string" }), description)
    }

    pub(crate) fn text_or(self, name: &'static str, default: &str, description: &str) -> Self {
        self.with(name, json!({ "type": "string", "default": default }), description)
    }

    pub(crate) fn choice(self, name: &'static str, choices: &[&str], default: Option<&str>) -> Self {
        let mut schema = json!({ "type": "string", "enum": choices });
        if let Some(default) = default {
            schema["default"] = default.into();
        }
        self.with(name, schema, "")
    }

    pub(crate) fn integer(self, name: &'static str, description: &str) -> Self {
        self.with(name, json!({ "type": "integer" }), description)
    }

    pub(crate) fn integer_or(self, name: &'static str, default: i64, description: &str) -> Self {
        self.with(name, json!({ "type": "integer", "default": default }), description)
    }

    pub(crate) fn seconds_or(self, name: &'static str, default: i64, description: &str) -> Self {
        self.with(name, json!({ "type": "number", "default": default }), description)
    }

    pub(crate) fn flag(self, name: &'static str, default: bool, description: &str) -> Self {
        self.with(name, json!({ "type": "boolean", "default": default }), description)
    }

    pub(crate) fn list(self, name: &'static str, of: &str, description: &str) -> Self {
        self.with(name, json!({ "type": "array", "items": { "type": of } }), description)
    }

    /// Says which of the arguments must be given.
    pub(crate) fn require(mut self, names: &[&'static str]) -> Self {
        self.required.extend(names);
        self
    }

    pub(crate) fn build(self) -> Value {
        let mut schema = json!({ "type": "object", "properties": self.properties });
        if !self.required.is_empty() {
            schema["required"] = self.required.into();
        }
        schema
    }

    fn with(mut self, name: &str, mut schema: Value, description: &str) -> Self {
        if !description.is_empty() {
            schema["description"] = description.into();
        }
        self.properties.insert(name.to_owned(), schema);
        self
    }
}
