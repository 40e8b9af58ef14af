//! The announcement of a run for later servers, from its request until it is sent or over: at its kernel, or at its place as long as no
//! kernel takes it.

use std::sync::Arc;

use place::{Kernel, Place};

use super::Run;

/// The place of a run's announcement.
#[derive(Default)]
pub(crate) enum Announced {
    #[default]
    Nowhere,
    Place(Arc<dyn Place>),
    Kernel(Arc<dyn Kernel>),
    /// This program ends: what is announced stays for the next server.
    Left,
}

impl Run {
    /// Announces it at its kernel, if that is there and takes it, otherwise at its place.
    pub(crate) fn announce(&self, place: &Arc<dyn Place>, kernel: Option<&Arc<dyn Kernel>>) {
        let is_announced =
            || self.with(|it| matches!(it.announced, Announced::Place(_) | Announced::Kernel(_)));
        if kernel.is_some_and(|kernel| self.announce_at(kernel)) || is_announced() {
            return;
        }
        if let Some(runs) = place.earlier_runs() {
            runs.announce(&self.details());
            self.set_announced(Announced::Place(place.clone()));
        }
    }

    /// Announces it at the kernel on which it waits for its turn, if that takes it.
    pub(crate) fn announce_at(&self, kernel: &Arc<dyn Kernel>) -> bool {
        let is_taken = kernel.earlier_runs().is_some_and(|runs| runs.announce(&self.details()));
        if is_taken {
            self.set_announced(Announced::Kernel(kernel.clone()));
        }
        is_taken
    }

    fn set_announced(&self, announced: Announced) {
        let before = self.take_announced(announced);
        if let Announced::Place(_) = before {
            self.retract_at(&before);
        }
        if self.state().is_over() {
            self.retract();
        }
    }

    /// Whether its kernel did not take it.
    pub(crate) fn is_announced_at_place(&self) -> bool {
        self.with(|it| matches!(it.announced, Announced::Place(_)))
    }

    /// Its request is being sent, which its kernel announces.
    pub(crate) fn sent(&self) {
        let before = self.take_announced(Announced::Nowhere);
        if let Announced::Place(_) = before {
            self.retract_at(&before);
        }
    }

    /// It does not run.
    pub(super) fn retract(&self) {
        self.retract_at(&self.take_announced(Announced::Nowhere));
    }

    /// Leaves its announcement to the next server.
    pub(crate) fn leave_announced(&self) {
        self.with(|it| it.announced = Announced::Left);
    }

    fn take_announced(&self, now: Announced) -> Announced {
        self.with(|it| match it.announced {
            Announced::Left => Announced::Left,
            _ => std::mem::replace(&mut it.announced, now),
        })
    }

    fn retract_at(&self, announced: &Announced) {
        match announced {
            Announced::Place(place) => place.earlier_runs().map(|runs| runs.retract(self.id())),
            Announced::Kernel(kernel) => kernel.earlier_runs().map(|runs| runs.retract(self.id())),
            Announced::Nowhere | Announced::Left => None,
        };
    }
}
