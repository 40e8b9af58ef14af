//! Reads what a process prints, so that it never blocks on a full pipe, and keeps the end for error messages.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::task::JoinSet;

const TAIL_BYTES: usize = 8 * 1024;
/// After this pause, earlier output no longer explains why the process ended: code printed it long before.
const RECENT: Duration = Duration::from_secs(10);

/// Reads the standard output and error of one process until it is dropped.
pub struct OutputCapture {
    stdout: Arc<Mutex<Tail>>,
    stderr: Arc<Mutex<Tail>>,
    readers: JoinSet<()>,
}

/// The end of the output since its last pause.
#[derive(Default)]
struct Tail {
    bytes: VecDeque<u8>,
    is_cut: bool,
    /// The time of the newest byte.
    printed_at: Option<Instant>,
}

impl Tail {
    fn extend(&mut self, bytes: &[u8], now: Instant) {
        self.forget_old(now);
        self.printed_at = Some(now);
        self.bytes.extend(bytes);
        let excess = self.bytes.len().saturating_sub(TAIL_BYTES);
        self.bytes.drain(..excess);
        self.is_cut |= excess > 0;
    }

    fn forget_old(&mut self, now: Instant) {
        if self.printed_at.is_some_and(|at| now.saturating_duration_since(at) > RECENT) {
            *self = Self::default();
        }
    }

    /// Its lines that are not empty, each whole, unless there is only a part of one.
    fn lines(&mut self, now: Instant) -> Vec<String> {
        self.forget_old(now);
        let (one, other) = self.bytes.as_slices();
        let text = String::from_utf8_lossy(&[one, other].concat()).into_owned();
        let whole =
            text.split_once('\n').map(|(_, rest)| rest).filter(|rest| self.is_cut && !rest.trim().is_empty());
        let lines = whole.unwrap_or(&text).lines().map(str::trim_end).filter(|line| !line.is_empty());
        lines.map(str::to_owned).collect()
    }
}

impl OutputCapture {
    /// Takes both streams of `child`. Also passes every line to `on_line`.
    pub fn start(child: &mut Child, on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let (stdout, stderr) = (Arc::<Mutex<Tail>>::default(), Arc::<Mutex<Tail>>::default());
        let (on_line, mut readers) = (Arc::new(on_line), JoinSet::new());
        if let Some(stream) = child.stdout.take() {
            readers.spawn(drain(stream, stdout.clone(), on_line.clone()));
        }
        if let Some(stream) = child.stderr.take() {
            readers.spawn(drain(stream, stderr.clone(), on_line));
        }
        Self { stdout, stderr, readers }
    }

    /// Waits for the end of both streams, at most `timeout`: a grandchild may hold them open forever.
    pub async fn finish(&mut self, timeout: Duration) {
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(timeout, all).await;
    }

    /// The last lines of recent output that are not empty, at most `count`: those of the standard error, which explain a failure, at the end, and before
    /// them as many of the standard output as there is room for.
    pub fn last_lines(&self, count: usize) -> String {
        let now = Instant::now();
        let (mut lines, errors) = (self.stdout.lock().lines(now), self.stderr.lock().lines(now));
        let room = count.saturating_sub(errors.len());
        lines.drain(..lines.len().saturating_sub(room));
        lines.extend(errors);
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

async fn drain(
    mut stream: impl AsyncRead + Unpin,
    tail: Arc<Mutex<Tail>>,
    on_line: Arc<impl Fn(&str) + Send + Sync>,
) {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let bytes = &buffer[..count];
        tail.lock().extend(bytes, Instant::now());
        for byte in bytes {
            if *byte == b'\n' || *byte == b'\r' || line.len() == TAIL_BYTES {
                on_line(String::from_utf8_lossy(&line).trim());
                line.clear();
            } else {
                line.push(*byte);
            }
        }
    }
    on_line(String::from_utf8_lossy(&line).trim());
}

#[cfg(test)]
mod tests {
    use std::process::Stdio;

    use tokio::process::Command;

    use super::*;
    use crate::test_program::program;

    #[tokio::test]
    async fn the_end_is_kept_and_every_line_is_passed_on() {
        let folder = tempfile::tempdir().unwrap();
        let printed: Vec<String> = (0..3000).map(|number| format!("out line {number}")).collect();
        let steps: Vec<&str> = printed.iter().map(String::as_str).chain(["err end"]).collect();
        let mut command = Command::new(program(&folder.path().join("program"), &steps));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let lines = Arc::new(Mutex::new(Vec::new()));
        let seen = lines.clone();
        let mut capture = OutputCapture::start(&mut child, move |line| seen.lock().push(line.to_owned()));
        child.wait().await.unwrap();
        capture.finish(Duration::from_secs(30)).await;
        assert_eq!(capture.last_lines(3), "line 2998\nline 2999\nend");
        let all = capture.last_lines(5000);
        assert!(all.len() <= TAIL_BYTES + "\nend".len() && all.starts_with("line "), "{all}");
        let lines = lines.lock();
        assert!((0..3000).all(|i| lines.contains(&format!("line {i}"))));
    }

    #[test]
    fn what_explains_a_failure_is_kept_whole_whatever_else_is_printed() {
        let tail = |text: &str| {
            let mut tail = Tail::default();
            tail.extend(text.as_bytes(), Instant::now());
            Arc::new(Mutex::new(tail))
        };
        let explained = "Traceback\n\nImportError: libx.so: no such file\n";
        let noise = "noise\n".repeat(TAIL_BYTES);
        let capture =
            OutputCapture { stdout: tail(&noise), stderr: tail(explained), readers: JoinSet::new() };
        assert_eq!(capture.last_lines(3), "noise\nTraceback\nImportError: libx.so: no such file");
        assert_eq!(capture.last_lines(1), "ImportError: libx.so: no such file");
        let long = "x".repeat(TAIL_BYTES + 10);
        let capture = OutputCapture { stdout: tail(""), stderr: tail(&long), readers: JoinSet::new() };
        assert_eq!(capture.last_lines(2).len(), TAIL_BYTES);
    }
    #[test]
    fn output_before_a_long_pause_explains_nothing() {
        let (mut tail, start) = (Tail::default(), Instant::now());
        tail.extend(b"a subprocess of an earlier cell\n", start);
        assert_eq!(tail.lines(start + RECENT), ["a subprocess of an earlier cell"]);
        tail.extend(b"out of memory\n", start + RECENT * 2);
        assert_eq!(tail.lines(start + RECENT * 2), ["out of memory"]);
        assert_eq!(tail.lines(start + RECENT * 4), [""; 0]);
    }
}
