//! Replaces the outputs of a cell with minimal changes, because others see them while they grow.

use notebook::Output;
use yrs::{Array, ArrayPrelim, ArrayRef, Map, MapRef, Out, TransactionMut};

use crate::{change, shape};

/// Sets the outputs of `cell`, which are `old` in the notebook.
pub(crate) fn set(cell: &MapRef, old: &[Output], new: &[Output], txn: &mut TransactionMut<'_>) {
    let Some(Out::YArray(outputs)) = cell.get(txn, "outputs") else {
        let new: Vec<_> = new.iter().map(shape::output).collect();
        cell.insert(txn, "outputs", ArrayPrelim::from(new));
        return;
    };
    let length = outputs.len(txn);
    // If the list contains anything else than outputs, positions do not match, and all of it is replaced.
    let old = if usize::try_from(length) == Ok(old.len()) { old } else { &[] };
    if old.is_empty() && length > 0 {
        outputs.remove_range(txn, 0, length);
    }
    for (position, (index, wanted)) in (0..).zip(new.iter().enumerate()) {
        match old.get(index) {
            Some(current)
                if current.is_equivalent(wanted) || set_stream(&outputs, position, current, wanted, txn) => {}
            current => {
                if current.is_some() {
                    outputs.remove(txn, position);
                }
                outputs.insert(txn, position, shape::output(wanted));
            }
        }
    }
    let surplus = outputs.len(txn).saturating_sub(u32::try_from(new.len()).unwrap_or(u32::MAX));
    if surplus > 0 {
        let kept = outputs.len(txn) - surplus;
        outputs.remove_range(txn, kept, surplus);
    }
}

/// Changes the text of a stream in place. Returns false for anything but a stream with shared text.
fn set_stream(
    outputs: &ArrayRef,
    position: u32,
    old: &Output,
    new: &Output,
    txn: &mut TransactionMut<'_>,
) -> bool {
    let (Output::Stream { name, text: old }, Output::Stream { name: new_name, text: new }) = (old, new)
    else {
        return false;
    };
    let Some(Out::YMap(stream)) = outputs.get(txn, position).filter(|_| name == new_name) else {
        return false;
    };
    let Some(Out::YText(text)) = stream.get(txn, "text") else { return false };
    let (old, new) = (old.as_str(), new.as_str());
    change::apply(&text, &old, &new, &change::around(&old, &new), txn);
    true
}

#[cfg(test)]
mod tests;
