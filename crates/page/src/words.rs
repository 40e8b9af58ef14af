//! Times, sizes and states in the words of a page, and its buttons.

use std::time::{SystemTime, UNIX_EPOCH};

use html::Fragment;
use place::{Death, RunState};

/// Milliseconds since 1970.
pub(crate) fn millis(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// An element whose text the script keeps: how long ago that was.
pub(crate) fn ago(millis: u64, html: &mut Fragment) {
    html.raw("<time data-ago=\"").number(millis).raw("\"></time>");
}

/// The same with seconds: how long something has taken so far.
pub(crate) fn elapsed(since: SystemTime, html: &mut Fragment) {
    html.raw("<time class=\"v-elapsed\" data-since=\"").number(millis(since)).raw("\"></time>");
}

/// A button with what its action needs to know.
pub(crate) fn button(action: &str, label: &str, data: &[(&'static str, &str)], html: &mut Fragment) {
    html.raw("<button type=\"button\"").attribute("data-do", action);
    for (name, value) in data {
        html.attribute(name, value);
    }
    html.raw(">").text(label).raw("</button>");
}

/// A size in its largest unit.
pub(crate) fn size(bytes: u64) -> String {
    match bytes {
        0..1_000_000 => format!("{} kB", bytes / 1000),
        1_000_000..10_000_000_000 => format!("{} MB", bytes / 1_000_000),
        _ => format!("{} GB", bytes / 1_000_000_000),
    }
}

/// What a run does or how it ended.
pub(crate) fn run_state(state: &RunState) -> &'static str {
    match state {
        RunState::Queued => "waits for its turn",
        RunState::Running => "running",
        RunState::WaitingForInput { .. } => "waits for input",
        RunState::Done => "done",
        RunState::Error { .. } => "failed",
        RunState::Interrupted => "interrupted",
        RunState::Lost { .. } => "lost",
        RunState::KernelDied { how: Death::Restarted } => "its kernel was restarted",
        RunState::KernelDied { .. } => "its kernel died",
        RunState::Failed(_) => "could not run",
        RunState::Skipped { .. } => "skipped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_in_their_largest_unit() {
        assert_eq!([999_999, 1_000_000, 12_345_678_901].map(size), ["999 kB", "1 MB", "12 GB"]);
    }
}
