//! Announcements of a run for later servers, from its request until the kernel has it or it is over.

use std::sync::Arc;

use place::{Kernel, Place};

use super::Run;
use crate::runner::knows_queue;

/// Where a run is announced.
#[derive(Default)]
pub(crate) struct Announced {
    /// As long as the kernel does not know of it.
    place: Option<Arc<dyn Place>>,
    /// As long as its request is not sent.
    kernel: Option<Arc<dyn Kernel>>,
    /// This program ends: the next server reports the run.
    is_left: bool,
}

impl Run {
    /// Announces it at its place, for which a kernel is being chosen or started.
    pub(crate) fn announce(&self, place: &Arc<dyn Place>) {
        if let Some(runs) = place.earlier_runs() {
            runs.announce(&self.details());
            self.announced(|it| it.place = Some(place.clone()));
        }
    }

    /// Announces it at the kernel on which it waits for its turn: the kernel's keeper or server learns of it now or when the kernel is
    /// ready.
    pub(crate) fn announce_at(&self, kernel: &Arc<dyn Kernel>) {
        if let Some(runs) = kernel.earlier_runs() {
            runs.announce(&self.details());
            self.announced(|it| it.kernel = Some(kernel.clone()));
        }
    }

    /// Announces it at the kernel; at the place, too, as long as the kernel is not ready.
    pub(crate) fn wait_for(&self, kernel: &Arc<dyn Kernel>, place: &Arc<dyn Place>) {
        self.announce_at(kernel);
        if knows_queue(&**kernel) {
            self.handed_over();
        } else {
            self.announce(place);
        }
    }

    /// The keeper or server of its kernel knows of it.
    pub(crate) fn handed_over(&self) {
        let place = self.with(|it| if it.announced.is_left { None } else { it.announced.place.take() });
        if let Some(runs) = place.as_ref().and_then(|place| place.earlier_runs()) {
            runs.retract(self.id());
        }
    }

    fn announced(&self, set: impl FnOnce(&mut Announced)) {
        let is_over = self.with(|it| {
            set(&mut it.announced);
            it.state.is_over()
        });
        if is_over {
            self.retract();
        }
    }

    /// Its request is being sent.
    pub(crate) fn sent(&self) {
        self.with(|it| it.announced.kernel = None);
        self.handed_over();
    }

    /// It does not run.
    pub(super) fn retract(&self) {
        self.handed_over();
        let kernel = self.with(|it| if it.announced.is_left { None } else { it.announced.kernel.take() });
        if let Some(runs) = kernel.as_ref().and_then(|kernel| kernel.earlier_runs()) {
            runs.retract(self.id());
        }
    }

    /// Leaves its announcements to the next server: this program ends.
    pub(crate) fn leave_announced(&self) {
        self.with(|it| it.announced.is_left = true);
    }
}
