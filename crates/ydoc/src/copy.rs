//! Copies of what stands in the document, for another place in it.

use std::sync::Arc;

use yrs::types::AsPrelim;
use yrs::{Any, ArrayPrelim, In, Map, MapPrelim, Out, ReadTxn};

use crate::elements::elements;
use crate::read::DEEPEST;

/// A copy with all that it holds, shared types as shared types. What is nested deeper than a notebook is left out.
pub(crate) fn of<T: ReadTxn>(value: &Out, txn: &T, depth: usize) -> In {
    match value {
        Out::Any(value) => In::Any(value.clone()),
        // With its formats, if it has any.
        Out::YText(text) => In::Text(text.as_prelim(txn)),
        Out::YArray(array) if depth < DEEPEST => {
            let elements: Vec<In> =
                elements(array, txn).iter().map(|element| of(element, txn, depth + 1)).collect();
            In::Array(ArrayPrelim::from(elements))
        }
        Out::YMap(map) if depth < DEEPEST => {
            let members = map.iter(txn);
            let members = members.map(|(name, member)| (Arc::<str>::from(name), of(&member, txn, depth + 1)));
            In::Map(members.collect::<MapPrelim>())
        }
        _ => In::Any(Any::Null),
    }
}
