//! Functions that keep their results, as with `@cache`: what these were made of may have changed since.

use crate::book::{Book, Event};
use crate::facts::{Run, StaleState};
use crate::input::{Finding, Used};

impl Book<'_> {
    /// What has changed a name that a function uses, after the function was called and before the cell ran.
    pub(crate) fn cached(&self, used: Used<'_>, definer: usize) -> Option<Finding> {
        let names = self.now[used.position].caches.get(used.name)?;
        let defined_at = self.present_run(definer)?.last_before(used.order)?;
        // What the cell changes itself counts, too.
        let until = used.order.saturating_add(1);
        let calls: Vec<(u64, Option<usize>)> = self
            .using(used.name)
            .filter_map(|(run, position)| {
                let order = run.orders().find(|order| *order > defined_at)?;
                (order < used.order).then_some((order, position))
            })
            .collect();
        let changed = |name: &str, event: &Event<'_>| {
            let Some(order) = event.run.last_before(until).filter(|_| !event.write.is_weak()) else {
                return false;
            };
            let is_changed = |(called, caller): &(u64, Option<usize>)| {
                // A run from top to bottom changes it after this call, too.
                let is_above = caller.is_none_or(|caller| event.position.is_some_and(|it| it <= caller));
                *called < order && is_above && !self.is_same_again(event, name, *called)
            };
            calls.iter().any(is_changed)
        };
        let (name, event) = names.iter().find_map(|name| {
            let event = self.events(name).iter().find(|event| changed(name, event))?;
            Some((*name, event))
        })?;
        let clause = format!("it keeps results from before {} changed {name}", self.source_of(event));
        Some(used.finding(StaleState::OutOfOrder, &clause))
    }

    /// Whether the cell of an event has run before as well, and has given the name the same value.
    fn is_same_again(&self, event: &Event<'_>, name: &str, before: u64) -> bool {
        let Some(position) = event.position else { return false };
        let Some((seen, _, saw)) = self.ran_before(position, before) else { return false };
        let is_same = |run: &Run| run.source == seen.source;
        let flow = saw.flows.get(name);
        is_same(event.run) && flow.is_some_and(|flow| flow.inputs.is_empty() && !flow.varies)
    }
}
