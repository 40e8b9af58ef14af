//! The last runs on a kernel that outlives its servers, so that a later one knows which cells are stale.
//!
//! A kernel has a file of JSON lines, to which every server of this person appends, one after the other by a lock on a file beside
//! it. Once it is long, the runs are removed that a later one has replaced.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use notebook::{CellId, RunId};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::BlobId;
use crate::line_file::{LockedLines, read_from, remove_old};

/// The version of the file that this program writes. One of a later version is left alone.
const VERSION: u32 = 1;
/// Beside the logs of the notebooks.
const FOLDER: &str = "runs";
/// At this length, runs are removed until half of it is left.
const MAX_BYTES: u64 = 2 * 1024 * 1024;
/// The time for which the file of a kernel is kept on which nothing runs.
const MAX_AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// A run that is over, or the begin of another instance of the kernel.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "they are independent facts")]
pub struct KernelRun {
    /// The server that wrote it.
    pub server: String,
    /// The process of the kernel: another one after each restart.
    pub instance: String,
    /// The agent that requested it, or restarted the kernel.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent: String,
    /// `None` if only an instance began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// An agent has restarted the kernel: an instance began.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_restart: bool,
    /// The identity of the notebook.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub notebook: String,
    /// `None` for code of no cell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cell: Option<CellId>,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub source: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    pub language: String,
    /// In milliseconds since 1970.
    pub ended_at: u64,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub has_failed: bool,
    /// It was stopped, as another run would not be.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_interrupted: bool,
    /// The kernel died while it ran.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub kernel_died: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub execution_count: Option<u64>,
    /// The names that it has assigned, if the kernel has said so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub assigned: Option<BTreeSet<String>>,
    /// Names whose values have stayed the same in all that they hold, as far as the kernel has looked.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub unchanged: BTreeSet<String>,
    /// The random states that it has changed, as far as the kernel has said so.
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    pub drew: BTreeSet<String>,
    /// Digests of these states after it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub random_states: BTreeMap<String, u64>,
    /// The modules that it has loaded from files of no package, with the digests of what was loaded, if that is known.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub loaded: BTreeMap<String, (String, Option<u64>)>,
    /// The digests of the files of modules that had changed when it ended, if the kernel has looked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub changed_files: Option<BTreeMap<String, u64>>,
    /// A digest of what it has written into its cell, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outputs: Option<u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Header {
    version: u32,
    /// Another one after runs were removed.
    generation: String,
}

/// The position up to which somebody has read.
#[derive(Debug, Clone, Default)]
pub struct ReadPosition {
    generation: String,
    offset: u64,
}

/// The runs on one kernel.
#[derive(Debug, Clone)]
pub struct KernelRuns {
    path: PathBuf,
}

impl KernelRuns {
    /// Those on the kernel with this id, below the folder of the operations. Touches no file.
    pub fn new(root: &Path, kernel: &str) -> Self {
        Self { path: root.join(FOLDER).join(BlobId::of(kernel.as_bytes()).as_str()) }
    }

    /// Adds a run.
    pub fn append(&self, run: &KernelRun) -> io::Result<()> {
        let mut lines = LockedLines::open(&self.path, &self.path.with_extension("lock"))?;
        if lines.length == 0 {
            lines.append(&header())?;
        } else if read_header(&lines.file)?.is_none() {
            return Ok(());
        }
        lines.append(run)?;
        if lines.length > MAX_BYTES { lines.replace(&shortened(&fs::read(&self.path)?)?) } else { Ok(()) }
    }

    /// The runs that were added since `position`, which is then at the end. After runs were removed, everything is returned again.
    pub fn read(&self, position: &mut ReadPosition) -> Vec<KernelRun> {
        self.try_read(position).unwrap_or_default()
    }

    fn try_read(&self, position: &mut ReadPosition) -> io::Result<Vec<KernelRun>> {
        let file = File::open(&self.path)?;
        if file.metadata()?.len() == position.offset {
            return Ok(Vec::new());
        }
        let Some((generation, start)) = read_header(&file)? else { return Ok(Vec::new()) };
        if generation != position.generation {
            *position = ReadPosition { generation, offset: start };
        }
        let lines = read_from(&self.path, position.offset)?;
        position.offset += lines.len() as u64;
        Ok(runs(&lines).collect())
    }
}

/// The text of a file without the runs that others have replaced, and then without the oldest.
fn shortened(text: &[u8]) -> io::Result<Vec<u8>> {
    let all: Vec<KernelRun> = runs(text).collect();
    let (mut length, mut lines) = (0, Vec::new());
    for run in all.iter().zip(needed(&all)).filter_map(|(run, is_needed)| is_needed.then_some(run)).rev() {
        let line = serde_json::to_vec(run)?;
        length += line.len() as u64 + 1;
        if length > MAX_BYTES / 2 {
            break;
        }
        lines.push(line);
    }
    lines.push(serde_json::to_vec(&header())?);
    let mut text = Vec::new();
    for line in lines.iter().rev() {
        text.extend_from_slice(line);
        text.push(b'\n');
    }
    Ok(text)
}

/// For each run, whether it is the first or the last of its cell in the present instance, with its source, or the last at all.
fn needed(all: &[KernelRun]) -> Vec<bool> {
    let present = all.last().map(|run| run.instance.as_str()).unwrap_or_default();
    let mut kept: Vec<bool> = all.iter().map(|run| run.cell.is_none() && run.instance == present).collect();
    let (mut firsts, mut lasts, mut sources) = (HashMap::new(), HashMap::new(), HashMap::new());
    for (index, run) in all.iter().enumerate().filter(|(_, run)| run.cell.is_some()) {
        let cell = (&run.notebook, &run.cell);
        lasts.insert(cell, index);
        if run.instance == present {
            firsts.entry(cell).or_insert(index);
            sources.insert((cell, &run.source), index);
        }
    }
    for index in firsts.into_values().chain(lasts.into_values()).chain(sources.into_values()) {
        kept[index] = true;
    }
    kept
}

fn header() -> Header {
    Header { version: VERSION, generation: Uuid::new_v4().simple().to_string() }
}

/// The generation, and the position of the first run; `None` for a file of a later version, or none of ours.
fn read_header(file: &File) -> io::Result<Option<(String, u64)>> {
    let mut line = Vec::new();
    let end = BufReader::new(file).take(256).read_until(b'\n', &mut line)?;
    let header = serde_json::from_slice::<Header>(&line).ok().filter(|header| header.version <= VERSION);
    Ok(header.map(|header| (header.generation, end as u64)))
}

/// The runs in the text of a file. What is no run is skipped.
fn runs(text: &[u8]) -> impl Iterator<Item = KernelRun> {
    text.split(|byte| *byte == b'\n')
        .filter_map(|line| serde_json::from_slice::<KernelRun>(line).ok())
        .filter(|run| !run.instance.is_empty())
}

/// Removes the files of kernels on which nothing has run for long.
pub(crate) fn prune(root: &Path, now: SystemTime) {
    remove_old(&root.join(FOLDER), now, MAX_AGE, |_| false);
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    fn run(cell: &str, source: &str, instance: &str) -> KernelRun {
        KernelRun {
            server: "s".to_owned(),
            instance: instance.to_owned(),
            run: Some(Uuid::new_v4().to_string().into()),
            notebook: "local:/a.ipynb".to_owned(),
            cell: Some(cell.into()),
            source: source.to_owned(),
            language: "python".to_owned(),
            ended_at: 1,
            execution_count: Some(1),
            assigned: Some(BTreeSet::from(["x".to_owned()])),
            drew: BTreeSet::from(["Python's random state".to_owned()]),
            random_states: BTreeMap::from([("Python's random state".to_owned(), u64::MAX)]),
            loaded: BTreeMap::from([("helpers".to_owned(), ("/w/helpers.py".to_owned(), Some(7)))]),
            changed_files: Some(BTreeMap::new()),
            outputs: Some(9),
            ..KernelRun::default()
        }
    }

    #[test]
    fn what_was_added_since_is_read_once() {
        let root = tempfile::tempdir().unwrap();
        let (runs, mut position) = (KernelRuns::new(root.path(), "k"), ReadPosition::default());
        assert_eq!(runs.read(&mut position), []);
        let all = [run("a", "1", "p"), run("b", "2", "p"), run("a", "3", "q")];
        runs.append(&all[0]).unwrap();
        runs.append(&all[1]).unwrap();
        assert_eq!(runs.read(&mut position), all[..2]);
        KernelRuns::new(root.path(), "k").append(&all[2]).unwrap();
        assert_eq!(runs.read(&mut position), all[2..]);
        assert_eq!(runs.read(&mut position), []);
        assert_eq!(runs.read(&mut ReadPosition::default()), all);
        assert_eq!(KernelRuns::new(root.path(), "other").read(&mut ReadPosition::default()), []);
    }

    #[test]
    fn a_torn_line_is_skipped_and_a_line_that_is_being_written_is_read_later() {
        let root = tempfile::tempdir().unwrap();
        let (runs, mut position) = (KernelRuns::new(root.path(), "k"), ReadPosition::default());
        runs.append(&run("a", "1", "p")).unwrap();
        let line = serde_json::to_string(&run("b", "2", "p")).unwrap();
        let mut file = File::options().append(true).open(&runs.path).unwrap();
        file.write_all(&line.as_bytes()[..20]).unwrap();
        assert_eq!(runs.read(&mut position).len(), 1);
        assert_eq!(runs.read(&mut position), []);
        runs.append(&run("c", "3", "p")).unwrap();
        let read = runs.read(&mut position);
        assert_eq!(read.iter().map(|run| run.source.as_str()).collect::<Vec<_>>(), ["3"]);
    }

    #[test]
    fn a_file_stays_short_and_keeps_the_first_and_the_last_run_of_each_cell() {
        let root = tempfile::tempdir().unwrap();
        let (runs, mut position) = (KernelRuns::new(root.path(), "k"), ReadPosition::default());
        let long = "x".repeat(10_000);
        runs.append(&run("old", "0", "p")).unwrap();
        let first = run("a", &long, "q");
        runs.append(&first).unwrap();
        runs.read(&mut position);
        for _ in 0..300 {
            runs.append(&run("a", &long, "q")).unwrap();
        }
        let last = run("a", "short", "q");
        runs.append(&last).unwrap();
        assert!(fs::metadata(&runs.path).unwrap().len() <= MAX_BYTES + 20_000);
        let read = runs.read(&mut position);
        assert_eq!(read[0].cell.as_deref(), Some("old"), "the last of its cell, though of another instance");
        assert!(read.contains(&first) && read.last() == Some(&last), "{} runs", read.len());
    }

    #[test]
    fn a_file_of_a_later_version_is_left_alone() {
        let root = tempfile::tempdir().unwrap();
        let runs = KernelRuns::new(root.path(), "k");
        runs.append(&run("a", "1", "p")).unwrap();
        let later = "{\"version\": 2, \"generation\": \"g\"}\n{\"instance\": \"p\"}\n";
        fs::write(&runs.path, later).unwrap();
        runs.append(&run("a", "1", "p")).unwrap();
        assert_eq!(runs.read(&mut ReadPosition::default()), []);
        assert_eq!(fs::read_to_string(&runs.path).unwrap(), later);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_can_read_it_and_it_is_removed_one_day() {
        use std::os::unix::fs::PermissionsExt as _;
        let root = tempfile::tempdir().unwrap();
        let runs = KernelRuns::new(root.path(), "k");
        runs.append(&run("a", "1", "p")).unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&runs.path), mode(runs.path.parent().unwrap())), (0o600, 0o700));
        prune(root.path(), SystemTime::now());
        assert!(runs.path.exists());
        prune(root.path(), SystemTime::now() + MAX_AGE * 2);
        assert!(!runs.path.exists());
    }
}
