//! Arguments that several tools share.

use notebook::CellRef;
use serde_json::{Value, json};
use workspace::Error;

use super::arguments::{Argument, Schema, arguments};
use super::given::{Given, refused};

arguments! {
    /// The notebook that a tool works on; without it the current one, as the server's instructions say.
    pub(crate) struct NotebookArgument {
        notebook_name: Option<String>,
    }
}

arguments! {
    /// Whether the call only shows what it would do.
    pub(crate) struct PreviewArgument {
        preview: bool = false,
    }
}

arguments! {
    /// What a reply may hold.
    pub(crate) struct BudgetArguments {
        max_characters: Option<usize>,
        max_images: Option<usize>,
    }
}

arguments! {
    /// The cell that a tool works on.
    pub(crate) struct CellArguments {
        /// 0-based; or cell_id
        cell_index: Option<CellIndex>,
        /// Id, unique prefix of it, or In[n]
        cell_id: Option<String>,
    }
}

impl CellArguments {
    pub(crate) fn reference(&self) -> Result<CellRef, Error> {
        one_cell(("cell_index", self.cell_index.as_ref()), ("cell_id", self.cell_id.as_deref()))
    }
}

/// Where a client writes an index. Some write an id or `In[n]` there.
pub(crate) enum CellIndex {
    Number(i64),
    Reference(CellRef),
}

impl Argument for Option<CellIndex> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        schema.add(name, json!({ "type": "integer" }), description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        match given.given(name) {
            Some(Value::String(text)) if text.trim().parse::<f64>().is_err() => {
                Ok(Some(CellIndex::Reference(CellRef::parse(text))))
            }
            _ => Ok(given.integer(name)?.map(CellIndex::Number)),
        }
    }
}

/// The cell that is meant by an index or an id, exactly one of which must be given; each with its name.
pub(crate) fn one_cell(
    (index_name, index): (&str, Option<&CellIndex>),
    (id_name, id): (&str, Option<&str>),
) -> Result<CellRef, Error> {
    match (index, id) {
        (None, None) => Err(refused(format!("{index_name} or {id_name} is needed."))),
        (None, Some(id)) => Ok(CellRef::parse(id)),
        (Some(CellIndex::Reference(reference)), None) => Ok(reference.clone()),
        (Some(CellIndex::Number(index)), None) => usize::try_from(*index).map(CellRef::Index).map_err(|_| {
            refused(format!("{index_name} counts from 0, so {index} is not the index of a cell."))
        }),
        (Some(_), Some(_)) => Err(refused(format!("Give {index_name} or {id_name}, not both."))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::given::tests::given;
    use super::*;

    #[test]
    fn a_cell_is_named_once() {
        let cell = |values| given(&values).read::<CellArguments>()?.reference();
        assert_eq!(cell(json!({ "cell_index": "2" })).unwrap(), CellRef::Index(2));
        assert_eq!(cell(json!({ "cell_index": "In[2]" })).unwrap(), CellRef::Execution(2));
        assert_eq!(cell(json!({ "cell_id": "ab" })).unwrap(), CellRef::Id("ab".into()));
        assert_eq!(cell(json!({ "cell_id": "", "cell_index": 0 })).unwrap(), CellRef::Index(0));
        for wrong in [json!({}), json!({ "cell_index": 1, "cell_id": "a" }), json!({ "cell_index": -1 })] {
            assert!(cell(wrong).is_err());
        }
    }
}
