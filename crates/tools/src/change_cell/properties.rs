//! Sets a cell's type, tags, metadata and collapsed state.

use calls::prelude::*;
use notebook::{Cell, CellType, Edit, HiddenParts, Json};
use serde_json::{Map, Value};

pub(super) struct Properties {
    pub(super) cell_type: Option<CellType>,
    pub(super) tags: Option<Vec<String>>,
    /// A JSON merge patch.
    pub(super) metadata: Option<Map<String, Value>>,
    pub(super) collapsed: Option<HiddenParts>,
}

pub(super) const NOTHING_HIDDEN: HiddenParts = HiddenParts { source: false, outputs: false };

impl Properties {
    pub(super) fn is_any(&self) -> bool {
        self.cell_type.is_some() || self.tags.is_some() || self.metadata.is_some() || self.collapsed.is_some()
    }

    /// The edits that set them.
    pub(super) fn edits(&self, index: usize, cell: &Cell) -> Result<Vec<Edit>, Error> {
        let id = cell.id();
        let cell_type = self.cell_type.as_ref().unwrap_or(cell.cell_type());
        if self.collapsed.is_some_and(|hidden| hidden.outputs) && *cell_type != CellType::Code {
            return Err(refused(format!(
                "Cell {index} is a {cell_type} cell; only code cells have outputs."
            )));
        }
        let mut edits = Vec::new();
        if *cell_type == CellType::Code && *cell.cell_type() != CellType::Code && cell.has_attachments() {
            return Err(refused(format!(
                "Cell {index} has attachments, which a code cell cannot have; they would be lost."
            )));
        }
        if let Some(cell_type) = &self.cell_type {
            edits.push(Edit::SetType { id: id.clone(), cell_type: cell_type.clone() });
        }
        let patch = self.patch(&cell.metadata());
        if !patch.is_empty() {
            edits.push(Edit::MergeMetadata { id: id.clone(), patch: Json::from_value(&patch.into()) });
        }
        Ok(edits)
    }

    /// Fails unless an agent may set this metadata.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.metadata.as_ref().is_some_and(|metadata| metadata.contains_key("trusted")) {
            return Err(refused("Only the server sets metadata.trusted."));
        }
        check_tags(self.given().get("tags").unwrap_or(&Value::Null))
    }

    /// The metadata with the tags.
    fn given(&self) -> Map<String, Value> {
        let mut patch = self.metadata.clone().unwrap_or_default();
        if let Some(tags) = &self.tags {
            let tags = if tags.is_empty() { Value::Null } else { tags.as_slice().into() };
            patch.insert("tags".to_owned(), tags);
        }
        patch
    }

    /// The changes of the metadata as a JSON merge patch.
    fn patch(&self, metadata: &Json) -> Map<String, Value> {
        let mut patch = self.given();
        if let Some(hidden) = self.collapsed {
            let changed = metadata.merged(&Json::from_value(&patch.clone().into()));
            for (name, value) in hidden.patch(&changed).members() {
                let value = value.to_value();
                if let (Some(Value::Object(members)), Value::Object(more)) = (patch.get_mut(&*name), &value) {
                    members.extend(more.clone());
                } else {
                    patch.insert(name.into_owned(), value);
                }
            }
        }
        patch
    }
}

/// Fails unless nbformat allows these tags.
fn check_tags(tags: &Value) -> Result<(), Error> {
    let is_tag = |tag: &Value| tag.as_str().is_some_and(|tag| !tag.is_empty() && !tag.contains(','));
    let is_valid = match tags {
        Value::Null => true,
        Value::Array(tags) => {
            let is_new = |(index, tag): (usize, &Value)| is_tag(tag) && !tags[..index].contains(tag);
            tags.iter().enumerate().all(is_new)
        }
        _ => false,
    };
    if is_valid { Ok(()) } else { Err(refused("tags must be different texts without commas.")) }
}

#[cfg(test)]
mod tests {
    use notebook::{NewCell, Notebook};
    use serde_json::json;

    use super::*;
    use crate::tests::given;

    /// The metadata of a cell that had `metadata`, after the change.
    fn changed(metadata: &Value, values: &Value) -> Result<Value, String> {
        let mut notebook = Notebook::new();
        let cell_type = if metadata["is_text"] == true { CellType::Markdown } else { CellType::Code };
        let cell = NewCell { metadata: Some(Json::from_value(metadata)), ..NewCell::new(cell_type, "x") };
        notebook.apply(&Edit::Insert { index: 0, cell }).unwrap();
        let arguments = given(values);
        let properties = Properties {
            cell_type: arguments.choice("cell_type", CellType::CHOICES).unwrap(),
            tags: Option::read(&arguments, "tags").unwrap(),
            metadata: arguments.object("metadata").unwrap(),
            collapsed: arguments.choice("collapsed", HiddenParts::CHOICES).unwrap(),
        };
        properties.check().map_err(|error| error.cause)?;
        for edit in properties.edits(0, &notebook.cells()[0]).map_err(|error| error.cause)? {
            notebook.apply(&edit).unwrap();
        }
        Ok(notebook.cells()[0].metadata().to_value())
    }

    #[test]
    fn metadata_is_merged_and_tags_are_replaced() {
        let metadata = json!({ "tags": ["old"], "a": { "b": 1, "c": 2 }, "d": 3 });
        for (values, expected) in [
            (json!({ "tags": ["x", "y"] }), json!({ "tags": ["x", "y"], "a": { "b": 1, "c": 2 }, "d": 3 })),
            (json!({ "metadata": { "tags": null } }), json!({ "a": { "b": 1, "c": 2 }, "d": 3 })),
            (json!({ "tags": [], "cell_type": "raw" }), metadata.clone()),
            (
                json!({ "metadata": { "a": { "b": null }, "d": null, "e": 1 } }),
                json!({ "tags": ["old"], "a": { "c": 2 }, "e": 1 }),
            ),
            (
                json!({ "metadata": "{\"d\": 4}", "cell_type": "raw" }),
                json!({ "tags": ["old"], "a": { "b": 1, "c": 2 }, "d": 4 }),
            ),
        ] {
            assert_eq!(changed(&metadata, &values).unwrap(), expected, "{values}");
        }
    }

    #[test]
    fn a_cell_with_attachments_becomes_no_code_cell() {
        let attachments = Json::from_value(&json!({ "a.png": { "image/png": "aGk=" } }));
        let cell = NewCell { attachments: Some(attachments), ..NewCell::new(CellType::Markdown, "x") };
        let mut notebook = Notebook::new();
        notebook.apply(&Edit::Insert { index: 0, cell }).unwrap();
        let edits = |cell_type| {
            let properties =
                Properties { cell_type: Some(cell_type), tags: None, metadata: None, collapsed: None };
            properties.edits(0, &notebook.cells()[0])
        };
        assert!(edits(CellType::Code).unwrap_err().cause.contains("would be lost"));
        assert!(edits(CellType::Raw).is_ok());
    }

    #[test]
    fn what_is_hidden_is_set_after_the_metadata() {
        let values = json!({ "metadata": { "scrolled": true, "collapsed": false }, "collapsed": "outputs" });
        let after = changed(&json!({}), &values).unwrap();
        assert_eq!((&after["scrolled"], &after["collapsed"]), (&json!(true), &json!(true)));
        let shown = changed(&after, &json!({ "collapsed": "none" })).unwrap();
        assert_eq!(shown, json!({ "scrolled": true }));
    }

    #[test]
    fn invalid_metadata_is_refused() {
        for (metadata, values, expected) in [
            (json!({}), json!({ "tags": ["a,b"] }), "without commas"),
            (json!({}), json!({ "tags": ["a", "a"] }), "different"),
            (json!({}), json!({ "metadata": { "tags": "a" } }), "tags"),
            (json!({}), json!({ "metadata": { "trusted": true } }), "trusted"),
            (json!({ "is_text": true }), json!({ "collapsed": "outputs" }), "only code cells have outputs"),
            (json!({}), json!({ "collapsed": "both", "cell_type": "raw" }), "only code cells have outputs"),
        ] {
            let cause = changed(&metadata, &values).unwrap_err();
            assert!(cause.contains(expected), "{values}: {cause}");
        }
    }
}
