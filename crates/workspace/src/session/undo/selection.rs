//! Selects the operations that an undo takes back.
//!
//! Example: agent A changes cells in o1, o2 and o4, agent B in o3; o5 undoes o4. Then o1, o2 and o3 are live.
//!
//! ```text
//!      o1    o2    o3    o4    o5
//!      A     A     B     A     A: undoes o4
//!      |-----|-----|     x-----|
//!      live  live  live
//! ```
//!
//! | target | from A | why |
//! |---|---|---|
//! | the last one | o2 | an agent takes back what it did itself; that B was later does not change that |
//! | the last one of all | o3 | it was asked for |
//! | o4 | refused | it is undone already; to undo it once more would do it again |
//! | o5 | o5 | an undo that nobody has undone is undone by its id alone, which does o4 again |
//! | since o2 | o3, o2 | also those of others: a state is meant, and not an author |
//!
//! What one call did, as to insert a cell and to run it, is taken back together. The last call is the one that arrived last: a run that
//! started before an edit is recorded after it.

use std::cmp::Reverse;
use std::collections::HashSet;

use operations::{Operation, OperationId, OperationKind, Since, live, of_same_call};
use place::Error;

use super::UndoTarget;
use super::conflicts::{nothing, unknown};

/// The operations that are meant, newest first. `own` is the name of the agent that asks, and the other sessions of that name which are
/// connected.
pub(super) fn chosen(
    all: &[Operation],
    target: &UndoTarget,
    own: (&str, &HashSet<String>),
) -> Result<Vec<Operation>, Error> {
    let live = live(all);
    let chosen = match target {
        UndoTarget::Last(count) => own_last(&live, *count, own)?,
        UndoTarget::LastOfAll(count) => last_calls(live.iter(), *count),
        UndoTarget::Operation(id) => by_id(all, live, *id)?,
        UndoTarget::Since(since) => {
            // Among all, because the start may be a checkpoint or an operation that is undone, which `live` omits.
            let part = since.of(all).ok_or_else(|| unknown(since))?;
            let is_meant = |operation: &Operation| part.iter().any(|meant| meant.id == operation.id);
            live.into_iter().filter(is_meant).collect()
        }
    };
    if chosen.is_empty() {
        // An agent that has undone everything may expect the creation to be next.
        let made = all.iter().rfind(|operation| is_creation(operation));
        let made = made
            .map(|made| format!(": {} created this notebook; undo never deletes a notebook", made.name()));
        return Err(nothing(format!("There is nothing to undo{}.", made.unwrap_or_default())));
    }
    Ok(chosen)
}

fn is_creation(operation: &Operation) -> bool {
    matches!(operation.kind, OperationKind::Creation { .. })
}

/// The last ones of this agent. Sessions of its name that have ended are those before a restart, and so its own.
fn own_last(
    live: &[Operation],
    count: usize,
    (agent, others): (&str, &HashSet<String>),
) -> Result<Vec<Operation>, Error> {
    let is_own = |operation: &&Operation| operation.agent == agent && !others.contains(&operation.session);
    let own = last_calls(live.iter().filter(is_own), count);
    // By arrival, as `last_calls` selects: a long run that is recorded last is not the latest.
    let last = live.iter().max_by_key(|operation| operation.arrival());
    let (true, Some(last)) = (own.is_empty(), last) else { return Ok(own) };
    let whose = match last.agent.as_str() {
        "" => "somebody else".to_owned(),
        name if others.contains(&last.session) => format!("another connected session of `{name}`"),
        name => format!("`{name}`"),
    };
    Err(nothing(format!("You have nothing left to undo. The latest operation is {}, by {whose}.", last.id)))
}

fn by_id(all: &[Operation], live: Vec<Operation>, id: OperationId) -> Result<Vec<Operation>, Error> {
    // Among all, to tell an operation that is undone from an unknown one.
    let operation = all.iter().find(|operation| operation.id == id);
    let operation = operation.ok_or_else(|| unknown(&Since::Operation(id)))?;
    if matches!(operation.kind, OperationKind::Checkpoint { .. }) {
        return Err(nothing(format!("{id} is a checkpoint, which changed nothing.")));
    }
    // Operations before the file was made are about another notebook, whose cells are gone.
    if let Some(made) = all.iter().rfind(|it| is_creation(it) && it.id >= id) {
        let cause = if made.id == id {
            format!("{id} created this notebook; undo never deletes a notebook.")
        } else {
            format!("{id} belongs to an earlier notebook at this path; {} created this one.", made.name())
        };
        return Err(nothing(cause));
    }
    // From `live`: an undo with `only` may have undone some of the cells, which must not be undone twice.
    let of_call: Vec<_> = live.into_iter().filter(|live| of_same_call(live, operation)).collect();
    match &of_call[..] {
        // `live` has no undos. If this one was undone itself, the plan finds cells that differ from what it left.
        [] if operation.is_undo() => Ok(vec![operation.clone()]),
        [] => Err(nothing(format!("{id} is already undone."))),
        _ => Ok(of_call),
    }
}

/// The operations of the `count` calls that arrived last; `live` has them newest first.
fn last_calls<'o>(live: impl Iterator<Item = &'o Operation> + Clone, count: usize) -> Vec<Operation> {
    let mut calls: Vec<&Operation> = Vec::new();
    for operation in live.clone() {
        if !calls.iter().any(|call| of_same_call(call, operation)) {
            calls.push(operation);
        }
    }
    // Not by the order of the record: a long run that started first is recorded last, and is not what the agent did last.
    calls.sort_by_key(|operation| Reverse(operation.arrival()));
    // Undoing nothing would be an empty success.
    calls.truncate(count.max(1));
    let is_meant = |operation: &&Operation| calls.iter().any(|call| of_same_call(call, operation));
    // In the order of `live`, newest first, whatever arrived when: the plan compares each with what it left.
    live.filter(is_meant).cloned().collect()
}
