//! Arguments that several tools share.

use notebook::CellRef;
use place::Error;
use serde_json::{Value, json};

use crate::arguments::declare::{Argument, Schema, arguments};
use crate::arguments::given::{Given, refused};

arguments! {
    /// The notebook that a tool works on; without it the current one, as the server's instructions say.
    pub struct NotebookArgument {
        notebook_name: Option<String>,
    }
}

impl NotebookArgument {
    /// As arguments of a further call: `, notebook_name="b"`.
    pub fn as_arguments(&self) -> String {
        self.notebook_name.as_ref().map(|name| format!(", notebook_name={name:?}")).unwrap_or_default()
    }
}

arguments! {
    /// Whether the call only shows what it would do.
    pub struct PreviewArgument {
        preview: bool = false,
    }
}

arguments! {
    /// What a reply may hold.
    pub struct BudgetArguments {
        max_characters: Option<usize>,
        max_images: Option<usize>,
    }
}

impl BudgetArguments {
    /// As arguments of a further call.
    pub fn as_arguments(&self) -> String {
        let argument = |name: &str, value: Option<usize>| {
            value.map(|value| format!(", {name}={value}")).unwrap_or_default()
        };
        argument("max_characters", self.max_characters) + &argument("max_images", self.max_images)
    }
}

/// The cell that a tool works on, by an index, an id, or both.
#[derive(Debug, PartialEq)]
pub struct NamedCell {
    reference: CellRef,
    /// The id beside an index, and the names of both arguments.
    beside: Option<(CellRef, String)>,
}

impl NamedCell {
    /// The index of the cell, as `find` finds it. Fails if an index and an id beside it mean two cells.
    pub fn index(&self, find: impl Fn(&CellRef) -> Result<usize, Error>) -> Result<usize, Error> {
        let index = find(&self.reference)?;
        match &self.beside {
            Some((id, names)) if find(id)? != index => Err(refused(format!("{names}: they name two cells."))),
            _ => Ok(index),
        }
    }
}

impl Argument for NamedCell {
    fn describe(schema: &mut Schema, _: &'static str, _: &str) {
        Option::<CellIndex>::describe(schema, "cell_index", "0-based; or cell_id");
        Option::<String>::describe(schema, "cell_id", "Id, unique prefix of it, or In[n]");
    }

    fn read(given: &Given, _: &'static str) -> Result<Self, Error> {
        named_cell(given, "cell_index", "cell_id")
    }
}

/// A cell that need not be named.
impl Argument for Option<NamedCell> {
    fn describe(schema: &mut Schema, name: &'static str, description: &str) {
        NamedCell::describe(schema, name, description);
    }

    fn read(given: &Given, name: &'static str) -> Result<Self, Error> {
        let is_named = given.has("cell_index") || given.has("cell_id");
        is_named.then(|| NamedCell::read(given, name)).transpose()
    }
}

/// Where a client writes an index. Some write an id or `In[n]` there.
pub enum CellIndex {
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

/// The cell that is meant by an index or an id under these names, at least one of which must be given.
pub fn named_cell(
    given: &Given,
    index_name: &'static str,
    id_name: &'static str,
) -> Result<NamedCell, Error> {
    let (index, id) = (Option::<CellIndex>::read(given, index_name)?, given.optional_text(id_name)?);
    let (reference, written) = match (&index, &id) {
        (None, None) => return Err(refused(format!("{index_name} or {id_name} is needed."))),
        (None, Some(id)) => return Ok(NamedCell { reference: CellRef::parse(id), beside: None }),
        (Some(CellIndex::Reference(reference)), _) => (reference.clone(), reference.to_string()),
        (Some(CellIndex::Number(index)), _) => match usize::try_from(*index) {
            Ok(index) => (CellRef::Index(index), index.to_string()),
            Err(_) => {
                return Err(refused(format!(
                    "{index_name} counts from 0, so {index} is not the index of a cell."
                )));
            }
        },
    };
    let beside =
        id.map(|id| (CellRef::parse(&id), format!("{index_name} is {written} and {id_name} is {id:?}")));
    Ok(NamedCell { reference, beside })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::arguments::given::tests::given;

    #[test]
    fn a_cell_is_named_by_an_index_an_id_or_both() {
        let cell = |values| given(&values).read::<NamedCell>();
        let of = |values| cell(values).map(|named| named.reference);
        assert_eq!(of(json!({ "cell_index": "2" })).unwrap(), CellRef::Index(2));
        assert_eq!(of(json!({ "cell_index": "In[2]" })).unwrap(), CellRef::Execution(2));
        assert_eq!(of(json!({ "cell_id": "ab" })).unwrap(), CellRef::Id("ab".into()));
        assert_eq!(of(json!({ "cell_id": "", "cell_index": 0 })).unwrap(), CellRef::Index(0));
        for wrong in [json!({}), json!({ "cell_index": -1 })] {
            assert!(cell(wrong).is_err());
        }
        let find = |reference: &CellRef| Ok(usize::from(*reference == CellRef::Id("b".into())));
        let index = |values| cell(values).and_then(|named| named.index(find));
        assert_eq!(index(json!({ "cell_index": 0, "cell_id": "a" })).unwrap(), 0);
        let cause = index(json!({ "cell_index": 0, "cell_id": "b" })).unwrap_err().cause;
        assert_eq!(cause, "cell_index is 0 and cell_id is \"b\": they name two cells.");
    }
}
