//! The line about stale cells after a call that may have changed cells or values.

use workspace::Obstacle;

use crate::context::Context;
use crate::replies::cell_text::{cell_states, ranges};

/// The line that names the cells of the call's notebook which are stale now, though they have run. `None` if there are none.
pub(crate) async fn line(context: &Context<'_>) -> Option<String> {
    let opened = context.opened.get()?;
    let notebook = opened.document().snapshot().await.ok()?;
    let states = cell_states(context.session, opened, &notebook);
    let stale = states.stale_runs();
    if stale.is_empty() {
        return None;
    }
    let known = || stale.iter().filter_map(|index| states.get(*index));
    // A module must be loaded again before a run helps.
    let loaded = known().find(|known| known.obstacle == Some(Obstacle::LoadedModule));
    let next = match loaded {
        Some(known) => known.evidence,
        None if known().all(|known| known.obstacle.is_some()) => "execute_cell runs them again".to_owned(),
        None => format!("run_cells(stale=true{})", context.next_calls().notebook()),
    };
    Some(format!("[stale now: {}; {next}]", ranges(&stale)))
}
