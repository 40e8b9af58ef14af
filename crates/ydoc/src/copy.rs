//! Copies values of the document, to insert them again elsewhere.

use std::sync::Arc;

use yrs::types::AsPrelim;
use yrs::{Any, ArrayPrelim, In, Map, MapPrelim, Out, ReadTxn};

use crate::elements::elements;
use crate::read::MAX_DEPTH;

/// A deep copy in which shared types stay shared types. Values nested deeper than in any notebook are left out.
pub(crate) fn of<T: ReadTxn>(value: &Out, txn: &T, depth: usize) -> In {
    match value {
        Out::Any(value) => In::Any(value.clone()),
        // With its formatting, if it has any.
        Out::YText(text) => In::Text(text.as_prelim(txn)),
        Out::YArray(array) if depth < MAX_DEPTH => {
            let elements: Vec<In> =
                elements(array, txn).iter().map(|element| of(element, txn, depth + 1)).collect();
            In::Array(ArrayPrelim::from(elements))
        }
        Out::YMap(map) if depth < MAX_DEPTH => {
            let members = map.iter(txn);
            let members = members.map(|(name, member)| (Arc::<str>::from(name), of(&member, txn, depth + 1)));
            In::Map(members.collect::<MapPrelim>())
        }
        _ => In::Any(Any::Null),
    }
}
