//! The limits of what is kept: of each notebook, and in all.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::{LOG, blobs, operations, sessions};
use crate::line_file::LockedLines;
use crate::{BlobId, Operation, id_record};

/// The maximum number of calls of a notebook whose operations are kept: a run of many cells is one call.
const MAX_CALLS: usize = 2000;
/// The maximum number of their operations.
const MAX_OPERATIONS: usize = 5000;
/// Operations above the limit that are tolerated, before the oldest are removed together.
const SLACK: usize = 100;
/// The maximum size of the contents that are kept for a notebook, in bytes.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// The maximum size of everything, in bytes.
const MAX_TOTAL: u64 = 1024 * 1024 * 1024;
const MAX_AGE: Duration = Duration::from_secs(90 * 24 * 3600);

/// Whether a log must be trimmed that has grown to this size since it was trimmed to `kept` operations.
pub(super) fn is_exceeded(count: usize, bytes: u64, kept: usize) -> bool {
    count > kept.max(MAX_CALLS) + SLACK || bytes > MAX_BYTES
}

/// Removes the oldest operations of a log, and the contents that no other names. Returns how many operations are left.
pub(super) fn trim(folder: &Path, lines: LockedLines, now: u64) -> io::Result<usize> {
    let text = fs::read(folder.join(LOG))?;
    let all: Vec<Operation> = operations(&text).collect();
    let sizes: HashMap<String, u64> = blobs::sizes(folder).into_iter().collect();
    let first = first_retained(&all, &sizes, now);
    let kept = &all[first..];
    let mut new = text.split(|byte| *byte == b'\n').next().unwrap_or_default().to_vec();
    new.push(b'\n');
    for operation in kept {
        serde_json::to_writer(&mut new, operation)?;
        new.push(b'\n');
    }
    lines.replace(&new)?;
    let named: HashSet<&str> = kept.iter().flat_map(contents).collect();
    for name in sizes.keys().filter(|name| !named.contains(name.as_str())) {
        blobs::remove(folder, name);
    }
    Ok(kept.len())
}

/// The index of the oldest operation that stays: one of the newest calls, as young as is allowed, with contents that fit. Of a call, all
/// operations stay or none, but for the newest call.
fn first_retained(all: &[Operation], sizes: &HashMap<String, u64>, now: u64) -> usize {
    let oldest = now.saturating_sub(u64::try_from(MAX_AGE.as_millis()).unwrap_or(u64::MAX));
    // Below the limit, so that not every operation exceeds it again.
    let room = MAX_BYTES / 4 * 3;
    let (mut bytes, mut counted) = (0, HashSet::new());
    let (mut calls, mut named) = (0, HashSet::new());
    let mut first = all.len();
    for (index, operation) in all.iter().enumerate().rev().take(MAX_OPERATIONS) {
        let is_new = operation.call.is_empty() || named.insert(operation.call.as_str());
        calls += usize::from(is_new);
        if calls > MAX_CALLS {
            break;
        }
        for name in contents(operation) {
            if counted.insert(name) {
                bytes += sizes.get(name).copied().unwrap_or_default();
            }
        }
        let is_last = index + 1 == all.len();
        if !is_last && (bytes > room || operation.time < oldest) {
            break;
        }
        first = index;
    }
    without_parts(all, first)
}

/// The same index, or a later one from which no operation belongs to a call that began before it.
fn without_parts(all: &[Operation], first: usize) -> usize {
    let newest = all.last().map(|operation| operation.call.as_str());
    let cut: HashSet<&str> = all[..first].iter().map(|operation| operation.call.as_str()).collect();
    let is_cut = |operation: &Operation| {
        let call = operation.call.as_str();
        !call.is_empty() && Some(call) != newest && cut.contains(call)
    };
    all[first..].iter().rposition(is_cut).map_or(first, |last| first + last + 1)
}

/// The contents that an operation names.
fn contents(operation: &Operation) -> impl Iterator<Item = &str> {
    let states = operation.cells.iter().flat_map(|change| [&change.before, &change.after]).flatten();
    let of_cells = states.flat_map(|state| {
        let outputs = state.outputs.as_ref().filter(|outputs| outputs.is_retained);
        [Some(state.content.as_str()), outputs.map(|outputs| outputs.digest.as_str())].into_iter().flatten()
    });
    of_cells.chain(operation.widgets.as_ref().map(BlobId::as_str))
}

/// Removes the logs below `root` that nobody has written for long, unless the ids beside them are in use, and the oldest ones if all
/// together are too large.
pub fn prune(root: &Path, now: SystemTime) {
    sessions::prune(root, now);
    crate::runs::prune(root, now);
    let mut logs = Vec::new();
    for entry in fs::read_dir(root).into_iter().flatten().flatten() {
        let folder = entry.path();
        let files: Vec<_> =
            [LOG, id_record::FILE].iter().filter_map(|name| fs::metadata(folder.join(name)).ok()).collect();
        if files.is_empty() {
            continue;
        }
        let modified = files.iter().filter_map(|file| file.modified().ok()).max().unwrap_or(now);
        let size = files.iter().map(fs::Metadata::len).sum::<u64>() + blobs::size(&folder);
        logs.push((modified, size, folder));
    }
    logs.sort();
    let mut total: u64 = logs.iter().map(|(_, size, _)| size).sum();
    for (modified, size, folder) in logs {
        let is_old = now.duration_since(modified).is_ok_and(|age| age > MAX_AGE);
        if !is_old && total <= MAX_TOTAL {
            continue;
        }
        total -= size;
        // A file that stays is removed another time.
        let _ = fs::remove_dir_all(folder);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{CellChange, CellState};
    use crate::{Blobs, OperationId};

    fn operation(id: u64, time: u64) -> Operation {
        let mut blobs = Blobs::default();
        let content = blobs.add(&id.to_string().into_bytes().into());
        let state = CellState {
            index: 0,
            previous: None,
            next: None,
            revision: String::new(),
            content,
            outputs: None,
        };
        let change = CellChange { id: "a".into(), before: None, after: Some(state), moved: false };
        Operation { id: OperationId::new(id), time, cells: vec![change], ..Operation::default() }
    }

    #[test]
    fn the_oldest_go_first() {
        let all: Vec<_> = (0..2101).map(|id| operation(id, id)).collect();
        assert_eq!(first_retained(&all, &HashMap::new(), 2200), 101);
        let late = MAX_AGE.as_secs() * 1000 + 2050;
        assert_eq!(first_retained(&all, &HashMap::new(), late), 2050);
        assert_eq!(first_retained(&all, &HashMap::new(), late * 2), 2100, "the newest stays");
        let size = |id: u64| (BlobId::of(id.to_string().as_bytes()).as_str().to_owned(), MAX_BYTES / 4);
        let sizes = (0..2101).map(size).collect();
        assert_eq!(first_retained(&all, &sizes, 2200), 2098);
    }

    #[test]
    fn a_call_is_kept_whole_and_counts_once() {
        let of_call = |id: u64, call: &str| Operation { call: call.to_owned(), ..operation(id, id) };
        let run: Vec<_> = (0..800).map(|id| of_call(id, if id < 3 { "" } else { "run" })).collect();
        assert_eq!(first_retained(&run, &HashMap::new(), 900), 0, "four operations for the agent");
        let calls = |of_each: u64| (0..6000).map(move |id| of_call(id, &format!("c{}", id / of_each)));
        assert_eq!(first_retained(&calls(2).collect::<Vec<_>>(), &HashMap::new(), 6000), 2000);
        let all: Vec<_> = calls(700).collect();
        assert_eq!(first_retained(&all, &HashMap::new(), 6000), 1400, "the rest of the one that is cut goes");
        let all: Vec<_> = calls(6000).collect();
        assert_eq!(first_retained(&all, &HashMap::new(), 6000), 1000, "but not of the newest");
    }

    #[test]
    fn a_log_that_nobody_writes_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("x");
        fs::create_dir(&folder).unwrap();
        fs::write(folder.join(LOG), "{}").unwrap();
        prune(root.path(), SystemTime::now());
        assert!(folder.exists());
        prune(root.path(), SystemTime::now() + MAX_AGE * 2);
        assert!(!folder.exists());
    }

    #[test]
    fn ids_are_removed_once_nobody_has_needed_them_for_long() {
        let root = tempfile::tempdir().unwrap();
        let (alone, beside) = (root.path().join("alone"), root.path().join("beside"));
        let now = SystemTime::now();
        for folder in [&alone, &beside] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join(id_record::FILE), "{}").unwrap();
        }
        fs::write(beside.join(LOG), "{}").unwrap();
        fs::File::options()
            .write(true)
            .open(beside.join(LOG))
            .unwrap()
            .set_modified(now - MAX_AGE * 2)
            .unwrap();
        prune(root.path(), now);
        assert!(alone.exists() && beside.exists());
        prune(root.path(), now + MAX_AGE * 2);
        assert!(!alone.exists() && !beside.exists());
    }
}
