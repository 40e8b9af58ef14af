//! The order of one session's calls.
//!
//! Models send several calls in one turn and expect each to see what those before it did. `rmcp` starts a task for each
//! call, and these would interleave. So a call that changes something waits until the changes of earlier calls are made; a
//! call that only reads waits for them, too, but not for those that take long, and nothing waits for a reader.
//!
//! Example: `overwrite_cell_source` (A), `execute_cell` (B, runs for a minute), `insert_cell` (C), `read_cell` (D) arrive
//! together. B starts when A has written the file. C starts when B's run is in the kernel's queue, and does not wait for its
//! end. D starts when C is done.
//!
//! What ends a kernel or copies a file is different: it comes after the runs of the calls that were not answered yet when it
//! arrived, as far as these end soon. So each place knows those runs.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::Mutex;
use runs::Run;
use tokio::sync::Notify;
use tokio::time::timeout;

/// How long a call waits for the runs of earlier calls in all. A run that hangs must not keep a kernel from being restarted.
const EARLIER_LIMIT: Duration = Duration::from_secs(5);

/// The runs that a call has started.
type Runs = Mutex<Vec<Arc<Run>>>;

/// The calls of a session that change something, in the order in which they arrived.
#[derive(Default)]
pub struct CallOrder {
    pending: Mutex<Pending>,
    changed: Notify,
}

#[derive(Default)]
struct Pending {
    arrived: u64,
    changes: VecDeque<(u64, Pace)>,
    /// Of the calls that are not answered.
    unanswered: Vec<Weak<Runs>>,
}

/// How long it may take until a call has made its changes.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Pace {
    /// About as long as writing a file.
    Short,
    /// As long as a person or a download may take.
    Long,
}

/// What a call may overtake.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Ordering {
    /// Nothing: it changes something.
    Changes,
    /// Changes that take long: it interrupts or answers a run, and must not wait for a person.
    Signals,
    /// Changes that take long.
    Reads,
    /// Everything.
    Unordered,
}

impl CallOrder {
    /// The place of a call that arrives now.
    pub fn arrive(self: &Arc<Self>, ordering: Ordering) -> Turn {
        let mut pending = self.pending.lock();
        pending.arrived += 1;
        let number = pending.arrived;
        if matches!(ordering, Ordering::Changes | Ordering::Signals) {
            pending.changes.push_back((number, Pace::Short));
        }
        let runs = Arc::<Runs>::default();
        pending.unanswered.retain(|earlier| earlier.strong_count() > 0);
        let earlier = pending.unanswered.iter().filter_map(Weak::upgrade).collect();
        pending.unanswered.push(Arc::downgrade(&runs));
        Turn(Arc::new(Place { number, ordering, order: self.clone(), runs, earlier }))
    }

    fn update(&self, update: impl FnOnce(&mut VecDeque<(u64, Pace)>)) {
        update(&mut self.pending.lock().changes);
        self.changed.notify_waiters();
    }
}

/// A call's place in the order. Once all copies are dropped, later calls need not wait for it.
#[derive(Clone)]
pub struct Turn(Arc<Place>);

/// The turn of a call that shares its order with no other.
impl Default for Turn {
    fn default() -> Self {
        Arc::<CallOrder>::default().arrive(Ordering::Unordered)
    }
}

struct Place {
    number: u64,
    ordering: Ordering,
    order: Arc<CallOrder>,
    runs: Arc<Runs>,
    /// Of the calls that were not answered when this one arrived.
    earlier: Vec<Arc<Runs>>,
}

impl Turn {
    /// Waits until it is the call's turn.
    pub async fn wait(&self) {
        loop {
            let changed = self.0.order.changed.notified();
            if !self.is_blocked() {
                return;
            }
            changed.await;
        }
    }

    fn is_blocked(&self) -> bool {
        let Place { number, ordering, order, .. } = &*self.0;
        let pending = order.pending.lock();
        // The others wait for it.
        let first = pending.changes.front().filter(|(other, _)| other < number);
        first.is_some_and(|(_, pace)| match ordering {
            Ordering::Changes => true,
            Ordering::Signals | Ordering::Reads => *pace == Pace::Short,
            Ordering::Unordered => false,
        })
    }

    /// Lets readers overtake the call from now on: what it does next may take long.
    pub fn takes_long(&self) {
        self.0.order.update(|changes| {
            if let Some((_, pace)) = changes.iter_mut().find(|(number, _)| *number == self.0.number) {
                *pace = Pace::Long;
            }
        });
    }

    /// The call has started this run.
    pub fn started(&self, run: &Arc<Run>) {
        let mut runs = self.0.runs.lock();
        if !runs.iter().any(|known| Arc::ptr_eq(known, run)) {
            runs.push(run.clone());
            self.0.order.changed.notify_waiters();
        }
    }

    /// The runs that the call has started; waits until it has started one.
    pub async fn runs(&self) -> Vec<Arc<Run>> {
        loop {
            let changed = self.0.order.changed.notified();
            let runs = self.0.runs.lock().clone();
            if !runs.is_empty() {
                return runs;
            }
            changed.await;
        }
    }

    /// The call is answered, though its runs go on: later calls do not wait for them.
    pub fn answered(&self) {
        self.finish();
        let runs = Arc::downgrade(&self.0.runs);
        self.0.order.pending.lock().unanswered.retain(|unanswered| !unanswered.ptr_eq(&runs));
    }

    /// Waits a short while for those runs of earlier calls for which `concerns` holds. Returns the ones that go on.
    pub async fn after_earlier_runs(&self, concerns: impl Fn(&Run) -> bool) -> Vec<Arc<Run>> {
        // One that is over may still have outputs to store.
        let goes_on = |run: &Arc<Run>| !run.is_closed() && concerns(run);
        let mut runs: Vec<_> = self.earlier_runs().filter(goes_on).collect();
        if runs.is_empty() {
            return runs;
        }
        self.takes_long();
        let all = async {
            for run in &runs {
                run.settled().await;
            }
        };
        let _ = timeout(EARLIER_LIMIT, all).await;
        runs.retain(|run| !run.state().is_over());
        runs
    }

    /// Waits a short while until those runs of earlier calls have begun for which `concerns` holds.
    pub async fn after_earlier_starts(&self, concerns: impl Fn(&Run) -> bool) {
        let runs: Vec<_> = self.earlier_runs().filter(|run| concerns(run)).collect();
        let all = async {
            for run in &runs {
                run.started().await;
            }
        };
        let _ = timeout(EARLIER_LIMIT, all).await;
    }

    /// The runs of calls that were not answered when this one arrived.
    fn earlier_runs(&self) -> impl Iterator<Item = Arc<Run>> {
        self.0.earlier.iter().flat_map(|runs| runs.lock().clone())
    }

    /// Lets all later calls start: the changes of this one are made, or are sure to come before theirs.
    pub fn finish(&self) {
        self.0.finish();
    }
}

impl Place {
    fn finish(&self) {
        self.order.update(|changes| changes.retain(|(number, _)| *number != self.number));
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        self.finish();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::Ordering::{Changes, Reads, Signals, Unordered};
    use super::*;

    fn arrive<const N: usize>(orderings: [Ordering; N]) -> [Turn; N] {
        let order: Arc<CallOrder> = Arc::default();
        orderings.map(|ordering| order.arrive(ordering))
    }

    /// Which of these calls may start now.
    fn started<const N: usize>(turns: &[Turn; N]) -> [bool; N] {
        std::array::from_fn(|index| turns[index].wait().now_or_never().is_some())
    }

    #[test]
    fn changes_are_made_one_after_the_other() {
        let turns = arrive([Changes, Changes, Reads, Changes]);
        assert_eq!(started(&turns), [true, false, false, false]);
        turns[0].finish();
        assert_eq!(started(&turns), [true, true, false, false]);
        turns[1].finish();
        // Nothing waits for a reader.
        assert_eq!(started(&turns), [true, true, true, true]);
    }

    #[test]
    fn readers_overtake_what_takes_long_and_what_waits_for_it() {
        let turns = arrive([Changes, Reads, Changes, Reads, Signals]);
        assert_eq!(started(&turns), [true, false, false, false, false]);
        turns[0].takes_long();
        assert_eq!(started(&turns), [true, true, false, true, true]);
    }

    #[test]
    fn a_change_comes_after_a_signal() {
        let turns = arrive([Signals, Changes]);
        assert_eq!(started(&turns), [true, false]);
        turns[0].finish();
        assert_eq!(started(&turns), [true, true]);
    }

    #[test]
    fn what_has_no_order_waits_for_nothing() {
        assert_eq!(started(&arrive([Changes, Unordered])), [true, true]);
    }

    #[test]
    fn a_call_that_ends_early_holds_up_nobody() {
        let [first, second] = arrive([Changes, Changes]);
        let copy = first.clone();
        drop(first);
        assert!(second.wait().now_or_never().is_none());
        drop(copy);
        assert!(second.wait().now_or_never().is_some());
    }

    #[tokio::test]
    async fn a_waiting_call_is_woken() {
        let [first, second] = arrive([Changes, Changes]);
        let waiting = tokio::spawn(async move { second.wait().await });
        tokio::task::yield_now().await;
        first.finish();
        waiting.await.unwrap();
    }
}
