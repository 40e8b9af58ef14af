//! What changed between two texts.

use std::time::Duration;

use similar::TextDiff;

/// After this long a coarser but correct comparison has to do.
const PATIENCE: Duration = Duration::from_millis(500);

/// A unified diff with three lines of context and without a header; empty if the texts are equal.
pub fn diff(old: &str, new: &str) -> String {
    if old == new {
        return String::new();
    }
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    // Sources rarely end with a line break; a hint at each end says nothing.
    diff.unified_diff().context_radius(3).missing_newline_hint(false).to_string()
}
