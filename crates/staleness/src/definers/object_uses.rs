//! Which uses of an object change it, by what its class says and by what the object was given.

use std::collections::BTreeSet;

use names::{Content, FIGURE, ObjectUse, is_pattern_maker};

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
            self.changing.extend(uses.filter(|(_, effect)| effect.changes).map(|(method, _)| *method));
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

    /// See [`Surroundings::is_changed_by`].
    pub(super) fn is_changed_by(&self, name: &str, how: ObjectUse, position: usize) -> bool {
        let maker = self.has_known_objects.then(|| self.maker_of(name, position)).flatten();
        match (maker, how) {
            (None, _) => how.may_change(),
            (Some((maker, _)), _) if is_pattern_maker(maker) => false,
            (Some((maker, _)), ObjectUse::Draw) => maker == FIGURE,
            (Some((class, at)), ObjectUse::Method(method) | ObjectUse::Reading(method)) => {
                let object = self.object(name, position).1;
                self.replaced.contains(&(object, method))
                    || self
                        .is_changed_by_class(class, at, method, self.given.contains(object))
                        .unwrap_or(how.may_change())
            }
        }
    }

    /// The function or class that has made the object of a name, and the cell that called it.
    fn maker_of(&self, name: &str, position: usize) -> Option<(&'a str, usize)> {
        let (Some(at), name) = self.object(name, position) else { return None };
        self.facts.cells[at].names.made_by.get(name).map(|maker| (maker.as_str(), at))
    }

    /// Whether a method of a class, as seen from the cell at `at`, changes its object, if a class of the notebook has it: perhaps a base.
    fn is_changed_by_class(
        &self,
        class: &'a str,
        at: usize,
        method: u32,
        mut is_given: bool,
    ) -> Option<bool> {
        let (mut classes, mut known) = (vec![(class, at)], BTreeSet::new());
        let (mut has_changing, mut drains, mut is_known) = (false, false, false);
        while let Some((class, at)) = classes.pop().filter(|class| known.insert(*class)) {
            let own = self.facts.cells[at].names.functions.contains_key(class).then_some(at);
            let Some(at) = own.or_else(|| self.definer_above(class, at)) else { continue };
            let names = &self.facts.cells[at].names;
            is_given |= self.given.contains(class);
            if self.replaced.contains(&(class, method)) {
                return Some(true);
            }
            if let Some(effects) = names.functions.get(class).filter(|_| !is_known) {
                if let Some(effect) = effects.methods.get(&method) {
                    is_known = true;
                    drains |= effect.drains;
                    // The method of a base may call what a class below it has in place of the base's.
                    let asks = effect.asks.iter().any(|method| self.changing.contains(method));
                    if effect.changes || has_changing || asks {
                        return Some(true);
                    }
                }
                // What it makes itself is known where it is used.
                is_given |= !is_known && self.making.contains(class);
                has_changing |= effects.methods.values().any(|effect| effect.changes);
                drains |= !is_known && effects.methods.values().any(|effect| effect.drains);
            } else {
                is_given |= self.making.contains(class);
            }
            let bases = names.holds.get(class).into_iter().flatten();
            classes.extend(bases.map(|base| (base.as_str(), at)));
        }
        is_known.then_some(drains && is_given)
    }
}
