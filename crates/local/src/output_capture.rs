//! Reads what a process prints, so that it never blocks on a full pipe, and keeps the end for error messages.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::Child;
use tokio::task::JoinSet;

const TAIL_BYTES: usize = 8 * 1024;

/// Reads the standard output and error of one process until it is dropped.
pub(crate) struct OutputCapture {
    tail: Arc<Mutex<VecDeque<u8>>>,
    readers: JoinSet<()>,
}

impl OutputCapture {
    /// Takes both streams of `child`. Also passes every line to `on_line`.
    pub(crate) fn start(child: &mut Child, on_line: impl Fn(&str) + Send + Sync + 'static) -> Self {
        let (tail, on_line) = (Arc::new(Mutex::new(VecDeque::new())), Arc::new(on_line));
        let mut readers = JoinSet::new();
        if let Some(stdout) = child.stdout.take() {
            readers.spawn(drain(stdout, tail.clone(), on_line.clone()));
        }
        if let Some(stderr) = child.stderr.take() {
            readers.spawn(drain(stderr, tail.clone(), on_line));
        }
        Self { tail, readers }
    }

    /// Waits for the end of both streams, at most `timeout`: a grandchild may hold them open forever.
    pub(crate) async fn finish(&mut self, timeout: Duration) {
        let all = async { while self.readers.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(timeout, all).await;
    }

    /// The end of the output.
    fn text(&self) -> String {
        let tail = self.tail.lock();
        let (one, other) = tail.as_slices();
        String::from_utf8_lossy(&[one, other].concat()).trim().to_owned()
    }

    /// The last lines that are not empty, at most `count`.
    pub(crate) fn last_lines(&self, count: usize) -> String {
        let text = self.text();
        let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        lines[lines.len().saturating_sub(count)..].join("\n")
    }
}

async fn drain(
    mut stream: impl AsyncRead + Unpin,
    tail: Arc<Mutex<VecDeque<u8>>>,
    on_line: Arc<impl Fn(&str) + Send + Sync>,
) {
    let (mut buffer, mut line) = ([0; 4096], Vec::new());
    while let Ok(count @ 1..) = stream.read(&mut buffer).await {
        let bytes = &buffer[..count];
        {
            let mut tail = tail.lock();
            tail.extend(bytes);
            let excess = tail.len().saturating_sub(TAIL_BYTES);
            tail.drain(..excess);
        }
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
    use crate::tests::program;

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
        assert!(capture.text().len() <= TAIL_BYTES);
        assert!(capture.text().contains("line 2999") && capture.text().contains("end"));
        assert_eq!(capture.last_lines(2).lines().count(), 2);
        let lines = lines.lock();
        assert!((0..3000).all(|i| lines.contains(&format!("line {i}"))));
    }
}
