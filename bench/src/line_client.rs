//! A client that exchanges lines with a child process, and the barest child that answers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};

use crate::process::Killed;
use crate::statistics::Series;

/// A child on whose standard input and output lines are exchanged, without threads or a runtime.
pub(crate) struct LineClient {
    child: Killed,
    stdin: ChildStdin,
    stdout: BufReader<ChildStdout>,
    line: Vec<u8>,
}

impl LineClient {
    pub(crate) fn start(command: &mut Command) -> Result<Self> {
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdin = child.stdin.take().context("no standard input")?;
        let stdout = BufReader::with_capacity(1 << 16, child.stdout.take().context("no standard output")?);
        Ok(Self { child: Killed(child), stdin, stdout, line: Vec::new() })
    }

    /// The process id.
    pub(crate) fn id(&self) -> u32 {
        self.child.0.id()
    }

    /// Sends one line without waiting.
    pub(crate) fn send(&mut self, line: &str) -> Result<()> {
        Ok(self.stdin.write_all(format!("{line}\n").as_bytes())?)
    }

    /// The next line.
    pub(crate) fn read(&mut self) -> Result<&[u8]> {
        self.line.clear();
        ensure!(self.stdout.read_until(b'\n', &mut self.line)? > 0, "the program ended");
        Ok(&self.line)
    }

    /// The next line that answers request `id`; notifications are passed over.
    pub(crate) fn answer(&mut self, id: usize) -> Result<&[u8]> {
        let mark = format!("\"id\":{id}");
        loop {
            self.read()?;
            if self.line.windows(mark.len()).any(|part| part == mark.as_bytes()) {
                return Ok(&self.line);
            }
        }
    }

    /// Makes `count` calls with `in_flight` of them on their way at any time. `call` writes the line for an id.
    pub(crate) fn series(
        &mut self,
        count: usize,
        in_flight: usize,
        call: impl Fn(usize) -> String,
    ) -> Result<Series> {
        let start = Instant::now();
        let mut sent = Vec::with_capacity(count);
        let mut times = Vec::with_capacity(count);
        let mut out = String::new();
        while times.len() < count {
            while sent.len() < count && sent.len() - times.len() < in_flight {
                out.push_str(&call(sent.len()));
                out.push('\n');
                sent.push(Instant::now());
            }
            if !out.is_empty() {
                self.stdin.write_all(out.as_bytes())?;
                out.clear();
            }
            // Takes all that has come, so that both sides may use one system call for many lines.
            loop {
                let id = id_of(self.read()?)?;
                times.push(sent.get(id).context("an id that was never sent")?.elapsed());
                if !self.stdout.buffer().contains(&b'\n') {
                    break;
                }
            }
        }
        Ok(Series::new(times, start))
    }
}

/// The number after `"id":`, wherever the member stands.
pub(crate) fn id_of(message: &[u8]) -> Result<usize> {
    let mark = b"\"id\":";
    let start =
        message.windows(mark.len()).position(|part| part == mark).context("an answer without an id")?;
    let digits = message[start + mark.len()..].iter().take_while(|byte| byte.is_ascii_digit());
    Ok(digits.fold(0, |id, digit| id * 10 + usize::from(digit - b'0')))
}

/// The baseline: a child that returns each line as it came.
pub(crate) fn echo() -> Result<()> {
    let (mut stdin, mut stdout) = (std::io::stdin().lock(), std::io::stdout().lock());
    let mut out = Vec::new();
    loop {
        let block = stdin.fill_buf()?;
        if block.is_empty() {
            return Ok(());
        }
        out.extend_from_slice(block);
        let length = block.len();
        stdin.consume(length);
        let whole = out.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        stdout.write_all(&out[..whole])?;
        stdout.flush()?;
        out.drain(..whole);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_anywhere() {
        assert_eq!(id_of(br#"{"jsonrpc":"2.0","id":17,"result":{}}"#).unwrap(), 17);
        assert_eq!(id_of(br#"{"result":{},"id":0}"#).unwrap(), 0);
        assert!(id_of(b"{}").is_err());
    }
}
