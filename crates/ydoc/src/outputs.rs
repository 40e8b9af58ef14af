//! Replaces the outputs of a cell by as little as possible: others see them while they grow.

use notebook::{Output, Text as OutputText};
use yrs::{Array, ArrayPrelim, ArrayRef, Map, MapRef, Out, Text, TransactionMut};

use crate::{change, shape};

/// Sets the outputs of `cell`, which are `old` as the notebook shows them.
pub(crate) fn set(cell: &MapRef, old: &[Output], new: &[Output], txn: &mut TransactionMut<'_>) {
    let Some(Out::YArray(outputs)) = cell.get(txn, "outputs") else {
        let new: Vec<_> = new.iter().map(shape::output).collect();
        cell.insert(txn, "outputs", ArrayPrelim::from(new));
        return;
    };
    let length = outputs.len(txn);
    // Something stands there that is no output: then nothing is where it seems to be.
    let old = if usize::try_from(length) == Ok(old.len()) { old } else { &[] };
    if old.is_empty() && length > 0 {
        outputs.remove_range(txn, 0, length);
    }
    for (place, (index, wanted)) in (0..).zip(new.iter().enumerate()) {
        match old.get(index) {
            Some(there) if there.is_equivalent(wanted) || set_stream(&outputs, place, there, wanted, txn) => {
            }
            there => {
                if there.is_some() {
                    outputs.remove(txn, place);
                }
                outputs.insert(txn, place, shape::output(wanted));
            }
        }
    }
    let surplus = outputs.len(txn).saturating_sub(u32::try_from(new.len()).unwrap_or(u32::MAX));
    if surplus > 0 {
        let kept = outputs.len(txn) - surplus;
        outputs.remove_range(txn, kept, surplus);
    }
}

/// Changes the text of a stream where it stands. Refuses anything but a stream with shared text.
fn set_stream(
    outputs: &ArrayRef,
    place: u32,
    old: &Output,
    new: &Output,
    txn: &mut TransactionMut<'_>,
) -> bool {
    let (Output::Stream { name, text: old }, Output::Stream { name: new_name, text: new }) = (old, new)
    else {
        return false;
    };
    let Some(Out::YMap(stream)) = outputs.get(txn, place).filter(|_| name == new_name) else { return false };
    let Some(Out::YText(text)) = stream.get(txn, "text") else { return false };
    if is_prefix(old, new) && change::is_length(&text, old.pieces(), txn) {
        let mut skipped = old.len();
        for piece in new.pieces() {
            let rest = piece.get(skipped.min(piece.len())..).unwrap_or_default();
            skipped = skipped.saturating_sub(piece.len());
            if !rest.is_empty() {
                text.push(txn, rest);
            }
        }
    } else {
        let (old, new) = (old.as_str(), new.as_str());
        change::make(&text, &old, &new, &change::around(&old, &new), txn);
    }
    true
}

/// Whether `new` goes on where `old` ends. Compares piece by piece, for long outputs that grow.
fn is_prefix(old: &OutputText, new: &OutputText) -> bool {
    if old.len() > new.len() {
        return false;
    }
    let mut rest: &[u8] = &[];
    let mut pieces = new.pieces();
    for piece in old.pieces() {
        let mut piece = piece.as_bytes();
        while !piece.is_empty() {
            if rest.is_empty() {
                let Some(next) = pieces.next() else { return false };
                rest = next.as_bytes();
                continue;
            }
            let length = rest.len().min(piece.len());
            if rest[..length] != piece[..length] {
                return false;
            }
            (rest, piece) = (&rest[length..], &piece[length..]);
        }
    }
    true
}

#[cfg(test)]
mod tests;
