//! The two that are measured: the program as an agent has it, and Python's client.

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::line_client::{LineClient, id_of};
use crate::local::setup::Setup;
use crate::process::{INITIALIZED, start};
use crate::reply::text_of;

/// An agent at a server of its own.
pub(crate) struct StdioClient {
    server: LineClient,
    requests: usize,
}

impl StdioClient {
    pub(crate) fn open(server: &mut Command) -> Result<Self> {
        let (mut server, _) = start(server)?;
        server.send(INITIALIZED)?;
        Ok(Self { server, requests: 1 })
    }

    pub(crate) fn id(&self) -> u32 {
        self.server.id()
    }

    /// Calls a tool; gives the time until the answer was read, and its text.
    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Result<(Duration, String)> {
        self.requests += 1;
        let params = json!({ "name": tool, "arguments": arguments });
        let line = json!({ "jsonrpc": "2.0", "id": self.requests, "method": "tools/call", "params": params });
        let line = line.to_string();
        let start = Instant::now();
        self.server.send(&line)?;
        let answer = self.server.answer(self.requests)?;
        let taken = start.elapsed();
        Ok((taken, text_of(answer)?))
    }
}

impl StdioClient {
    /// Calls a tool `count` times at once; gives the time until the last answer was read.
    pub(crate) fn call_at_once(&mut self, count: usize, tool: &str, arguments: &Value) -> Result<Duration> {
        let first = self.requests + 1;
        self.requests += count;
        let params = json!({ "name": tool, "arguments": arguments });
        let start = Instant::now();
        for id in first..first + count {
            let line = json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params });
            self.server.send(&line.to_string())?;
        }
        let mut answered = 0;
        while answered < count {
            let line = self.server.read()?;
            if id_of(line).is_ok_and(|id| (first..first + count).contains(&id)) {
                text_of(line)?;
                answered += 1;
            }
        }
        Ok(start.elapsed())
    }
}

/// Python's blocking client, in a process of its own.
pub(crate) struct BlockingClient(LineClient);

impl BlockingClient {
    /// Joins the kernel that the server has started.
    pub(crate) fn join(setup: &Setup) -> Result<Self> {
        let mut client = LineClient::start(&mut setup.blocking_client()?)?;
        ensure!(client.read()? == b"ready\n", "Python's client does not reach the kernel");
        Ok(Self(client))
    }

    fn executions(&mut self, count: usize) -> Result<Vec<Duration>> {
        self.0.send(&count.to_string())?;
        let times = String::from_utf8(self.0.read()?.to_vec())?;
        let times = times.split_whitespace().map(|time| Ok(Duration::from_nanos(time.parse()?)));
        times.collect::<Result<_>>().context("Python's client answered in other words")
    }
}

/// Runs `1+1` in rounds of `count`, in turns, and gives the sorted times of both. Whoever is not measured is
/// stopped: the kernel publishes for all, and who reads along takes time from the other. The first round warms up.
pub(crate) fn side_by_side(
    blocking_client: &mut BlockingClient,
    client: &mut StdioClient,
    rounds: usize,
    count: usize,
) -> Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        let stopped = Stopped::stop(client.id())?;
        let times = blocking_client.executions(count)?;
        drop(stopped);
        if round > 0 {
            theirs.extend(times);
        }
        let _stopped = Stopped::stop(blocking_client.0.id())?;
        // Takes what was published meanwhile.
        execution(client)?;
        for _ in 0..count {
            let time = execution(client)?;
            if round > 0 {
                ours.push(time);
            }
        }
    }
    theirs.sort_unstable();
    ours.sort_unstable();
    Ok((theirs, ours))
}

/// The same for two servers, each with a kernel of its own.
pub(crate) fn in_turns(
    first: &mut StdioClient,
    second: &mut StdioClient,
    rounds: usize,
    count: usize,
) -> Result<(Vec<Duration>, Vec<Duration>)> {
    let (mut of_first, mut of_second) = (Vec::new(), Vec::new());
    for round in 0..=rounds {
        for (client, times) in [(&mut *first, &mut of_first), (&mut *second, &mut of_second)] {
            for _ in 0..count {
                let time = execution(client)?;
                if round > 0 {
                    times.push(time);
                }
            }
        }
    }
    of_first.sort_unstable();
    of_second.sort_unstable();
    Ok((of_first, of_second))
}

fn execution(client: &mut StdioClient) -> Result<Duration> {
    let (time, text) = client.call("execute_code", &json!({ "code": "1+1" }))?;
    ensure!(text.lines().any(|line| line == "2") && text.contains("COMPLETED"), "1+1 is {text:?}");
    Ok(time)
}

/// A process that rests until this is dropped.
struct Stopped(Pid);

impl Stopped {
    fn stop(id: u32) -> Result<Self> {
        let id = Pid::from_raw(i32::try_from(id)?).context("no process")?;
        kill_process(id, Signal::STOP)?;
        Ok(Self(id))
    }
}

impl Drop for Stopped {
    fn drop(&mut self) {
        let _ = kill_process(self.0, Signal::CONT);
    }
}
