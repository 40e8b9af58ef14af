//! Which uses of an object change it, by what its class says and by what the object was given.

use std::collections::BTreeSet;

use names::{Content, FIGURE, ObjectUse, Repeat, is_pattern_maker};

use super::{Definers, From};
use crate::effective::Surroundings;

impl<'a> Definers<'a> {
    pub(super) fn add_given(&mut self) {
        for (at, cell) in self.facts.cells.iter().enumerate() {
            for (name, given) in &cell.names.contents {
                match given {
                    Content::Made => drop(self.making.insert(name)),
                    Content::Method(method) => drop(self.replaced.insert((name, *method))),
                    given if self.may_be_stream(given, at) => drop(self.given.insert(name)),
                    _ => {}
                }
            }
            let uses = cell.names.functions.values().flat_map(|function| &function.methods);
            self.changing.extend(uses.filter_map(|(how, change)| match how {
                ObjectUse::Method(method) if change.is_some() => Some(*method),
                _ => None,
            }));
        }
    }

    /// Whether something that a cell gives an object may be a stream.
    fn may_be_stream(&self, given: &Content, at: usize) -> bool {
        let yields = |name: &str| self.function_at(name, at).map(|function| function.yields);
        match given {
            Content::Stream | Content::Made => true,
            Content::Method(_) => false,
            Content::Object(name) => {
                let cell = From { definers: self, position: at + 1 };
                cell.is_stream(name) || yields(name) == Some(true)
            }
            Content::Result(name) => yields(name).unwrap_or_else(|| !name.starts_with(char::is_uppercase)),
        }
    }

    /// See [`Surroundings::changed_by`].
    pub(super) fn changed_by(&self, name: &str, how: ObjectUse, position: usize) -> Option<Repeat> {
        let (how, otherwise) = match how {
            ObjectUse::Reading(method) => (ObjectUse::Method(method), None),
            ObjectUse::Method(_) => (how, Some(Repeat::Unknown)),
            _ => (how, None),
        };
        let maker = self.has_known_objects.then(|| self.maker_of(name, position)).flatten();
        match maker {
            None => otherwise,
            Some((FIGURE, _)) if how == ObjectUse::Draw => Some(Repeat::Unknown),
            Some((maker, _)) if is_pattern_maker(maker) => None,
            Some((class, at)) => {
                let object = self.object(name, position).1;
                if self.is_replaced(object, how) {
                    return Some(Repeat::Unknown);
                }
                self.changed_by_class(class, at, how, otherwise, self.given.contains(object))
            }
        }
    }

    /// Whether an object or a class got another function in place of a method.
    fn is_replaced(&self, name: &'a str, how: ObjectUse) -> bool {
        matches!(how, ObjectUse::Method(method) if self.replaced.contains(&(name, method)))
    }

    /// The function or class that has made the object of a name, and the cell that called it.
    fn maker_of(&self, name: &str, position: usize) -> Option<(&'a str, usize)> {
        let (Some(at), name) = self.object(name, position) else { return None };
        self.facts.cells[at].names.made_by.get(name).map(|maker| (maker.as_str(), at))
    }

    /// What a class, as seen from the cell at `at`, says of a use of its objects. It may have the method from a base.
    fn changed_by_class(
        &self,
        class: &'a str,
        at: usize,
        how: ObjectUse,
        otherwise: Option<Repeat>,
        mut is_given: bool,
    ) -> Option<Repeat> {
        let (mut classes, mut known) = (vec![(class, at)], BTreeSet::new());
        let (mut has_changing, mut has_draining) = (false, false);
        let mut is_known = false;
        while let Some((class, at)) = classes.pop().filter(|class| known.insert(*class)) {
            let own = self.facts.cells[at].names.functions.contains_key(class).then_some(at);
            let Some(at) = own.or_else(|| self.definer_above(class, at)) else { continue };
            let names = &self.facts.cells[at].names;
            is_given |= self.given.contains(class);
            if self.is_replaced(class, how) {
                return Some(Repeat::Unknown);
            }
            let effects = names.functions.get(class);
            if let Some(effects) = effects.filter(|_| !is_known) {
                // The method of a base may call what a class below it has in place of the base's.
                let is_method = matches!(how, ObjectUse::Method(_));
                if let Some(change) = effects.methods.get(&how) {
                    if change.is_some() || (has_changing && is_method) {
                        return change.or(Some(Repeat::Unknown));
                    }
                    let mut asks = effects.asks.iter().filter(|(by, _)| *by == how);
                    if asks.any(|(_, method)| self.changing.contains(method)) {
                        return Some(Repeat::Unknown);
                    }
                    if !(effects.drains.contains(&how) || has_draining && is_method) {
                        return None;
                    }
                    is_known = true;
                    // What it makes itself is known where it is used.
                } else {
                    is_given |= self.making.contains(class);
                }
                has_changing |= effects.methods.values().any(Option::is_some);
                has_draining |= !effects.drains.is_empty();
            } else {
                is_given |= self.making.contains(class);
            }
            let bases = names.holds.get(class).into_iter().flatten();
            classes.extend(bases.map(|base| (base.as_str(), at)));
        }
        if is_known { is_given.then_some(Repeat::Unknown) } else { otherwise }
    }
}
