//! A change as a unified diff of the entry.

use clients::FileChange;
use similar::TextDiff;

pub(super) fn of(change: &FileChange) -> String {
    let name = change.file.display().to_string();
    let side = |text: &Option<String>| if text.is_some() { name.clone() } else { "/dev/null".to_owned() };
    let [before, after] = change.shown();
    let diff = TextDiff::from_lines(&before, &after);
    diff.unified_diff().header(&side(&change.before), &side(&change.after)).to_string()
}
