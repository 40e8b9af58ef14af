//! The elements of a shared list.

use yrs::branch::BranchPtr;
use yrs::{Array, ArrayRef, GetString, Out, ReadTxn, TextRef};

/// All elements in order. Empty if somebody has inserted text into the list itself: on characters beyond the basic plane,
/// the library's iterator would never end there (yrs 0.28.1, `BlockIter::slice`).
pub(crate) fn elements<T: ReadTxn>(array: &ArrayRef, txn: &T) -> Vec<Out> {
    let as_text = TextRef::from(BranchPtr::from(array.as_ref()));
    if as_text.get_string(txn).is_empty() { array.iter(txn).collect() } else { Vec::new() }
}
