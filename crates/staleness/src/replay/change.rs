//! The changes that an execution makes to values.

use std::collections::BTreeMap;

use names::{Repeat, is_configuration, is_predefined};

use crate::facts::Run;
use crate::modules::{content, is_module};
use crate::value::{Change, Own, Write, hash};

use super::{Env, Execution};

/// The change that an execution makes to the value of a name.
pub(super) fn change<'a>(
    env: &Env<'a>,
    it: &Execution<'_, 'a>,
    name: &'a str,
    write: Write,
    parts: &BTreeMap<&'a str, Vec<u64>>,
) -> Change {
    let is_possible = write == Write::MayDefine;
    if write.is_weak() && it.past.is_some_and(|run| run.is_always_equal(name)) {
        return Change::Nothing;
    }
    let write = match it.ended {
        Some(run) => in_fact(run, name, write),
        None => Some(write),
    };
    if it.names.effects.deletes.contains(name) && write.is_some_and(|write| !write.binds()) {
        return Change::Delete;
    }
    let flow = &it.effective.flows[name];
    let order = it.same.map_or(it.order, |run| run.changed_at(name, it.order));
    let none = Vec::new();
    // Without a name that it needs, a statement fails before it makes anything, and so do those below it.
    let is_missing = |input: &str| {
        let is_needed = it.names.effects.needs.contains(input) && !is_predefined(input);
        is_needed && !env.get(input).is_some_and(|value| value.is_defined())
    };
    let may_have_failed = match it.ended {
        Some(run) => run.has_failed,
        None => it.past.is_some_and(|run| run.failed.contains(&it.order)),
    };
    if may_have_failed && flow.inputs.iter().any(|input| is_missing(input)) {
        return Change::Nothing;
    }
    let is_spoilt = flow.inputs.iter().any(|input| it.differing.contains(*input))
        || it.differing.iter().any(|name| is_missing(name))
        || it.cut.is_some_and(|run| !run.has_assigned(name));
    let binds = write.is_none_or(Write::binds);
    let reads_own = binds && (!is_possible || it.effective.uses.contains_key(name));
    // A name that the cell binds itself before is no input, nor one that a lambda uses that it binds below.
    let is_used = |input: &str| it.effective.uses.contains_key(input);
    let inputs = flow.inputs.iter().filter(|input| if **input == name { reads_own } else { is_used(input) });
    let inputs = inputs.map(|input| {
        let own =
            Own { caller: it.caller, parts: parts.get(input).unwrap_or(&none), replaces: false, calls: true };
        (*input, env.get(input).map(|value| value.version(own)))
    });
    let inputs: Vec<_> = inputs.collect();
    let is_unsure = write == Some(Write::Changes)
        && it.effective.repeats.get(name).is_none_or(|it| *it == Repeat::Unknown);
    // Calls that change nothing for sure have their order.
    let is_weak = write.is_some_and(Write::is_weak);
    let token =
        (flow.varies && !is_weak || is_unsure).then_some(it.tokens.get(name).copied().unwrap_or(it.token));
    let content = it.module(name).map_or(0, |path| content(path, it.loaded));
    let version = match it.names.imports.get(name) {
        Some(path) if is_module(path, it.loaded) => hash(&(Some(path.as_str()), content)),
        _ => hash(&(flow.code, name, inputs, token, content, is_spoilt.then_some(it.caller))),
    };
    if let Some(state) = it.past.and_then(|run| run.random_states.get(name)) {
        return Change::Define(hash(state));
    }
    let Some(write) = write else {
        // The same object again, which the memory does not show.
        let is_again = is_possible && env.get(name).is_some_and(|value| value.is_of(version));
        return if is_again { Change::Define(version) } else { Change::Nothing };
    };
    match write {
        Write::Defines if it.names.imports.contains_key(name) => Change::Import(version),
        Write::Defines => Change::Define(version),
        Write::MayDefine => Change::MayDefine(version),
        Write::Changes => match parts.get(name) {
            Some(parts) => Change::Set(parts.clone(), version),
            None => Change::Add(version),
        },
        Write::Fills => Change::Fill(version, parts.get(name).and_then(|parts| parts.first().copied())),
        Write::Calls | Write::Passes => match parts.get(name) {
            Some(parts) => Change::Set(parts.clone(), version),
            None if it.effective.seen.contains(name) => Change::CallChanging(version, order),
            None => Change::Call(version, order),
        },
    }
}

/// The parts that code sets, so that doing it again is no other change.
pub(super) fn parts<'a>(env: &Env<'a>, it: &Execution<'_, 'a>) -> BTreeMap<&'a str, Vec<u64>> {
    let mut all = BTreeMap::new();
    for (name, write) in &it.effective.writes {
        let repeat = it.effective.repeats.get(name).copied().unwrap_or(Repeat::Unknown);
        let named =
            it.names.effects.changes.get(*name).map(|change| &change.parts).filter(|parts| !parts.is_empty());
        // A change of a module counts as a call, but sets the same parts.
        let own_keys = it.effective.keys.get(name);
        let keeps = *write == Write::Fills && own_keys.is_some();
        let is_set = *write == Write::Changes || *write == Write::Calls && named.is_some();
        if !keeps && (!is_set || repeat == Repeat::Differs) {
            continue;
        }
        let keys = own_keys.into_iter().flatten();
        let own = Own { caller: it.caller, parts: &[], replaces: false, calls: true };
        let keys: Vec<_> = keys.map(|key| env.get(key).map(|value| value.version(own))).collect();
        let parts = match named {
            _ if keeps => vec![hash(&(name, &keys))],
            Some(parts) => parts.iter().map(|part| hash(&(part, &keys))).collect(),
            None if is_configuration(name) => vec![hash(&"")],
            None => vec![hash(&it.effective.flows[name].code)],
        };
        all.insert(*name, parts);
    }
    all
}

/// The write of a name by a run whose end is known. `None` if there was none.
fn in_fact(run: &Run, name: &str, write: Write) -> Option<Write> {
    if run.has_assigned(name) {
        return Some(if write == Write::MayDefine { Write::Defines } else { write });
    }
    match write {
        // It may have ended before.
        Write::Defines if run.has_failed && run.assigned.is_some() => None,
        Write::Defines if run.has_failed => Some(Write::MayDefine),
        Write::MayDefine if run.assigned.is_some() => None,
        _ => Some(write),
    }
}
