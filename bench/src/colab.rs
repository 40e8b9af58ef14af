//! `cellbridge colab` beside a bare echo on standard input and output and a bare WebSocket echo, in one run.

pub(crate) mod page;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use crate::colab::page::LARGE;
use crate::line_client::LineClient;
use crate::process::{INITIALIZED, Killed, load, mb, resident, start};
use crate::statistics::{Series, median, ms, us};
use crate::websocket_echo::Baseline;

const OPEN: &str = r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"open_colab_browser_connection","arguments":{"timeout_seconds":0}}}"#;

const STARTS: usize = 20;
const LARGE_CALLS: usize = 10;
/// Many short rounds rather than few long ones: other work on the machine spoils some, and not the median.
const ROUNDS: usize = 15;
/// Where the processes of a measurement run.
#[derive(Clone, Copy, PartialEq)]
enum Placement {
    /// All on one core: measures the work itself, and the switch from process to process.
    OneCore,
    /// Where the system puts them. If it spreads them, every message wakes an idle core, which is slow on a virtual
    /// machine. An echo takes two messages, a forwarded call four.
    Anywhere,
}

struct Load {
    in_flight: usize,
    /// Calls in one round.
    count: usize,
    placement: Placement,
}

const LOADS: [Load; 3] = [
    Load { in_flight: 1, count: 1_000, placement: Placement::Anywhere },
    Load { in_flight: 1, count: 1_000, placement: Placement::OneCore },
    Load { in_flight: 32, count: 10_000, placement: Placement::Anywhere },
];

/// Moves this process and the others.
fn place(others: &[u32], placement: Placement) -> Result<()> {
    use rustix::thread::{CpuSet, sched_setaffinity};
    let mut cores = CpuSet::new();
    let count = if placement == Placement::OneCore { 1 } else { std::thread::available_parallelism()?.get() };
    (0..count).for_each(|core| cores.set(core));
    sched_setaffinity(None, &cores)?;
    for id in others {
        sched_setaffinity(rustix::process::Pid::from_raw(i32::try_from(*id)?), &cores)?;
    }
    Ok(())
}

fn call(id: usize) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"hello world"}}}}}}"#
    )
}

/// Takes all measurements of one run and prints them.
pub(crate) fn measure(program: &str) -> Result<()> {
    let load_before = load();
    let runtime = crate::runtime()?;
    let own = std::env::current_exe()?;
    let baseline = |task: &str| {
        let mut command = Command::new(&own);
        command.arg(task);
        command
    };
    let bridge = || {
        let mut command = Command::new(program);
        command.args(["colab", "--no-browser"]);
        command
    };

    let (mut bare_starts, mut starts) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        bare_starts.push(start(&mut baseline("echo-lines"))?.1);
        starts.push(start(&mut bridge())?.1);
    }

    let (mut agent, _) = start(&mut bridge())?;
    agent.send(INITIALIZED)?;
    let alone = resident(agent.id())?;
    let page = connect_page(&mut agent, &own)?;
    let connected = resident(agent.id())?;

    let (mut stdio, _) = start(&mut baseline("echo-lines"))?;
    let mut websocket = runtime.block_on(Baseline::start(&mut baseline("echo-websocket")))?;
    let all = [stdio.id(), websocket.id(), agent.id(), page.0.id()];
    let mut loads = Vec::new();
    for load in LOADS {
        place(&all, load.placement)?;
        let mut rounds: [Vec<Series>; 3] = Default::default();
        for round in 0..=ROUNDS {
            let series = [
                stdio.series(load.count, load.in_flight, call)?,
                runtime.block_on(websocket.series(load.count, load.in_flight, call))?,
                agent.series(load.count, load.in_flight, call)?,
            ];
            // The first round warms up.
            if round > 0 {
                rounds.iter_mut().zip(series).for_each(|(all, one)| all.push(one));
            }
        }
        loads.push((load, rounds.map(|all| Series::middle(&all))));
    }
    place(&all, Placement::Anywhere)?;

    let mut large = (Vec::new(), Vec::new());
    for _ in 0..LARGE_CALLS {
        large.0.push(runtime.block_on(websocket.round_trip("x".repeat(LARGE)))?);
        large.1.push(large_call(&mut agent)?);
    }
    let after = resident(agent.id())?;
    drop(page);

    println!("load average before: {load_before}");
    println!(
        "{:<34}{:>12}{:>12}{:>12}{:>14}",
        "cellbridge colab", "stdio echo", "ws echo", "cellbridge", "target"
    );
    let line = |name: &str, cells: [String; 3], target: &str| {
        let [stdio, websocket, bridge] = cells;
        println!("{name:<34}{stdio:>12}{websocket:>12}{bridge:>12}{target:>14}");
    };
    let none = || "-".to_owned();
    line("start to the initialize reply", [ms(median(bare_starts)), none(), ms(median(starts))], "<= 10 ms");
    line("resident, no page", [none(), none(), mb(alone)], "<= 12 MB");
    line("resident, page connected", [none(), none(), mb(connected)], "<= 12 MB");
    line("resident, after everything below", [none(), none(), mb(after)], "");
    for (Load { in_flight, placement, .. }, [stdio, websocket, bridge]) in &loads {
        let of = |figure: fn(&Series) -> String| [figure(stdio), figure(websocket), figure(bridge)];
        let name = match placement {
            Placement::OneCore => format!("{in_flight} in flight, one core"),
            Placement::Anywhere => format!("{in_flight} in flight"),
        };
        line(&format!("{name}, p50"), of(|series| us(series.p50)), "");
        line(&format!("{name}, p99"), of(|series| us(series.p99)), "");
        let target = if *in_flight == 32 { ">= 10000 /s" } else { "" };
        line(&format!("{name}, calls"), of(|series| format!("{:.0} /s", series.per_second)), target);
        if *in_flight == 1 {
            let ratio = bridge.p50.as_secs_f64() / (stdio.p50 + websocket.p50).as_secs_f64();
            line("  p50 to both echoes added", [none(), none(), format!("{ratio:.2} x")], "<= 3.0 x");
        }
    }
    let (bare, bridged) = (median(large.0), median(large.1));
    line("8 MiB result", [none(), ms(bare), ms(bridged)], "<= 60 ms");
    Ok(())
}

fn large_call(agent: &mut LineClient) -> Result<Duration> {
    let start = Instant::now();
    agent
        .send(r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"large","arguments":{}}}"#)?;
    let length = agent.read()?.len();
    ensure!(length > LARGE, "the large result came in {length} bytes");
    Ok(start.elapsed())
}

/// Starts the process that plays the page.
fn connect_page(agent: &mut LineClient, own: &Path) -> Result<Killed> {
    agent.send(OPEN)?;
    let answer = String::from_utf8(agent.answer(2)?.to_vec())?;
    let (_, fragment) = answer.split_once("#mcpProxyToken=").context("no URL in the answer")?;
    let (token, rest) = fragment.split_once("&mcpProxyPort=").context("no port in the URL")?;
    let port: String = rest.chars().take_while(char::is_ascii_digit).collect();
    let page = Killed(Command::new(own).args(["page", &port, token]).stdin(Stdio::null()).spawn()?);
    // The list changes when the page has opened.
    while !agent.read()?.windows(12).any(|part| part == b"list_changed") {}
    Ok(page)
}
