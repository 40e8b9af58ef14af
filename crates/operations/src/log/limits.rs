//! How much is kept: of each notebook, and in all. What leads back to a checkpoint that somebody has named is kept longest.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

use super::lines::{LOG, operations};
use super::{blobs, sessions};
use crate::line_file::LockedLines;
use crate::{BlobId, Operation, OperationKind, id_record};

/// How many calls' operations of a notebook are kept, and how many since a named checkpoint: a run of many cells is one call.
const MAX_CALLS: usize = 500;
const MAX_CALLS_SINCE_CHECKPOINT: usize = 2000;
/// How many operations these may have.
const MAX_OPERATIONS: usize = 5000;
/// How many operations there may be above the limit before the oldest are removed together.
const SLACK: usize = 100;
/// How many bytes of contents are kept for a notebook.
const MAX_BYTES: u64 = 64 * 1024 * 1024;
/// How many bytes are kept in all.
const MAX_TOTAL: u64 = 1024 * 1024 * 1024;
/// How long operations are kept, and how long those since a named checkpoint.
const MAX_AGE: Duration = Duration::from_secs(30 * DAY);
const MAX_AGE_SINCE_CHECKPOINT: Duration = Duration::from_secs(90 * DAY);
const DAY: u64 = 24 * 3600;

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

/// The index of the oldest operation that stays. The newest always does.
fn first_retained(all: &[Operation], sizes: &HashMap<String, u64>, now: u64) -> usize {
    // Below the limit, so that not every operation exceeds it again.
    let first = first_within(all, sizes, now, (MAX_CALLS, MAX_AGE, MAX_BYTES / 4 * 3));
    let limits = (MAX_CALLS_SINCE_CHECKPOINT, MAX_AGE_SINCE_CHECKPOINT, MAX_BYTES / 8 * 7);
    let far = first_within(all, sizes, now, limits);
    all[far..].iter().position(is_named).map_or(first, |index| first.min(far + index))
}

fn is_named(operation: &Operation) -> bool {
    matches!(operation.kind, OperationKind::Checkpoint { is_automatic: false, .. })
}

/// The index of the oldest operation of so many calls that are as young, and whose contents fit into as many bytes. Of a call, all
/// operations stay or none, but for the newest call.
fn first_within(
    all: &[Operation],
    sizes: &HashMap<String, u64>,
    now: u64,
    (count, age, room): (usize, Duration, u64),
) -> usize {
    let oldest = now.saturating_sub(u64::try_from(age.as_millis()).unwrap_or(u64::MAX));
    let (mut bytes, mut counted) = (0, HashSet::new());
    let (mut calls, mut named) = (0, HashSet::new());
    let mut first = all.len();
    for (index, operation) in all.iter().enumerate().rev().take(MAX_OPERATIONS) {
        let is_new = operation.call.is_empty() || named.insert(operation.call.as_str());
        calls += usize::from(is_new);
        if calls > count {
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

/// Removes the logs below `root` that nobody has written for long, unless a named checkpoint in them is still kept or the ids beside
/// them are in use, and the oldest ones if all together are too large.
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
        let age = now.duration_since(modified).unwrap_or_default();
        let is_old = age > MAX_AGE_SINCE_CHECKPOINT || age > MAX_AGE && !has_checkpoint(&folder, now);
        if !is_old && total <= MAX_TOTAL {
            continue;
        }
        total -= size;
        // What stays is removed another time.
        let _ = fs::remove_dir_all(folder);
    }
}

/// Whether a log has a named checkpoint that is young enough to be kept.
fn has_checkpoint(folder: &Path, now: SystemTime) -> bool {
    let oldest = now
        .checked_sub(MAX_AGE_SINCE_CHECKPOINT)
        .and_then(|it| it.duration_since(SystemTime::UNIX_EPOCH).ok());
    let oldest = oldest.unwrap_or_default().as_millis();
    let text = fs::read(folder.join(LOG)).unwrap_or_default();
    operations(&text).any(|operation| is_named(&operation) && u128::from(operation.time) >= oldest)
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

    fn checkpoint(time: u64, is_automatic: bool) -> Operation {
        let kind = OperationKind::Checkpoint { name: "tidy".to_owned(), is_automatic };
        Operation { kind, cells: Vec::new(), ..operation(1, time) }
    }

    #[test]
    fn the_oldest_go_first() {
        let all: Vec<_> = (0..601).map(|id| operation(id, id)).collect();
        assert_eq!(first_retained(&all, &HashMap::new(), 700), 101);
        let late = MAX_AGE.as_secs() * 1000 + 550;
        assert_eq!(first_retained(&all, &HashMap::new(), late), 550);
        assert_eq!(first_retained(&all, &HashMap::new(), late * 2), 600, "the newest stays");
        let size = |id: u64| (BlobId::of(id.to_string().as_bytes()).as_str().to_owned(), MAX_BYTES / 4);
        let sizes = (0..601).map(size).collect();
        assert_eq!(first_retained(&all, &sizes, 700), 598);
    }

    #[test]
    fn a_call_is_kept_whole_and_counts_once() {
        let of_call = |id: u64, call: &str| Operation { call: call.to_owned(), ..operation(id, id) };
        let run: Vec<_> = (0..800).map(|id| of_call(id, if id < 3 { "" } else { "run" })).collect();
        assert_eq!(first_retained(&run, &HashMap::new(), 900), 0, "four operations for the agent");
        let calls = |of_each: u64| (0..6000).map(move |id| of_call(id, &format!("c{}", id / of_each)));
        assert_eq!(first_retained(&calls(4).collect::<Vec<_>>(), &HashMap::new(), 6000), 4000);
        let all: Vec<_> = calls(700).collect();
        assert_eq!(first_retained(&all, &HashMap::new(), 6000), 1400, "the rest of the one that is cut goes");
        let all: Vec<_> = calls(6000).collect();
        assert_eq!(first_retained(&all, &HashMap::new(), 6000), 1000, "but not of the newest");
    }

    #[test]
    fn what_leads_back_to_a_named_checkpoint_is_kept_longest() {
        let mut all: Vec<_> = (0..2500).map(|id| operation(id, id)).collect();
        let mut name = |index: usize, is_automatic| {
            all[index] = checkpoint(index as u64, is_automatic);
            [&all[..601], &all[..1500], &all[..]].map(|all| first_retained(all, &HashMap::new(), 2500))
        };
        assert_eq!(name(20, true), [101, 1000, 2000]);
        assert_eq!(name(50, false), [50, 50, 2000], "but not without end");
        assert_eq!(name(700, false), [50, 50, 700]);
        let late = MAX_AGE.as_secs() * 1000 + 1000;
        assert_eq!(first_retained(&all[..1500], &HashMap::new(), late), 50);
        assert_eq!(first_retained(&all[..1500], &HashMap::new(), late * 3), 1499, "nor if it is very old");
        let size = |id: u64| (BlobId::of(id.to_string().as_bytes()).as_str().to_owned(), MAX_BYTES / 100);
        let sizes = (0..1500).map(size).collect();
        assert_eq!(first_retained(&all[..1500], &sizes, 1500), 1425);
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

    #[test]
    fn a_log_with_a_named_checkpoint_is_removed_later() {
        let root = tempfile::tempdir().unwrap();
        let now = SystemTime::now();
        let time = u64::try_from(now.duration_since(SystemTime::UNIX_EPOCH).unwrap().as_millis()).unwrap();
        let folder = |name: &str, is_automatic| {
            let folder = root.path().join(name);
            fs::create_dir(&folder).unwrap();
            let named = checkpoint(time, is_automatic);
            let lines = format!("{{}}\n{}\n", serde_json::to_string(&named).unwrap());
            fs::write(folder.join(LOG), lines).unwrap();
            folder
        };
        let [named, automatic] = [folder("named", false), folder("automatic", true)];
        prune(root.path(), now + MAX_AGE * 2);
        assert!(named.exists() && !automatic.exists());
        prune(root.path(), now + MAX_AGE_SINCE_CHECKPOINT + MAX_AGE);
        assert!(!named.exists());
    }
}
