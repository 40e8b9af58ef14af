//! How long others wait for a server while a large notebook is read.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow, ensure};
use serde_json::json;

use crate::extension::http_client::Caller;
use crate::extension::setup::{LARGE, Notebooks, large_name};
use crate::extension::table::Row;
use crate::jupyter::baseline::RoomConnection;
use crate::jupyter::rest::Rest;
use crate::jupyter::server::Server;
use crate::statistics::median;

/// Between two requests of whoever else is there.
const PAUSE: Duration = Duration::from_millis(1);
const LULL: Duration = Duration::from_secs(1);

/// One reading: how long it took, and the longest that somebody else waited meanwhile.
type Reading = (Duration, Duration);

/// Has the large notebook read from Jupyter itself, by their extension and by ours, in turns.
#[expect(clippy::needless_pass_by_value, reason = "a server goes with the one who calls it")]
pub(crate) fn measure(
    notebooks: Notebooks,
    theirs: (&Server, &mut dyn Caller),
    ours: (&Server, &mut dyn Caller),
) -> Result<Vec<Row>> {
    let runtime = crate::runtime()?;
    let (port, has_rooms) = (ours.0.port, notebooks == Notebooks::InRooms);
    let [mut quiet, mut handler, mut room, mut by_theirs, mut by_ours]: [Vec<Reading>; 5] =
        Default::default();
    for number in 0..LARGE {
        let name = large_name(number);
        quiet.push(watched(port, || {
            std::thread::sleep(LULL);
            Ok(())
        })?);
        handler.push(watched(port, || {
            let notebook = Rest::new(port)?.get(&format!("/api/contents/{name}"))?;
            ensure!(notebook.len() > 49_000_000, "{} bytes", notebook.len());
            Ok(())
        })?);
        if has_rooms {
            let own = format!("room-{name}");
            std::fs::copy(ours.0.path(&name), ours.0.path(&own))?;
            room.push(watched(port, || runtime.block_on(RoomConnection::open(port, &own)).map(drop))?);
        }
        by_theirs.push(watched(theirs.0.port, || read(theirs.1, &name))?);
        by_ours.push(watched(port, || read(ours.1, &name))?);
    }

    let row = |what: &str, figure: fn(&[Reading]) -> f64, baseline: &[Reading]| Row {
        what: what.to_owned(),
        unit: "ms",
        baseline: Some(figure(baseline)),
        ..Row::default()
    };
    let mut rows = vec![row("worst /api/status, nothing read", worst, &quiet)];
    if has_rooms {
        rows.push(row("  while the file's handler reads", worst, &handler));
    }
    let baseline = if has_rooms { room } else { handler };
    let (theirs, ours) = (&by_theirs, &by_ours);
    rows.push(Row {
        theirs: Some(worst(theirs)),
        ours: Some(worst(ours)),
        most: Some(20.0),
        ..row("  while 50 MB are read", worst, &baseline)
    });
    rows.push(Row {
        theirs: Some(middle(theirs)),
        ours: Some(middle(ours)),
        ..row("  and how long they take", middle, &baseline)
    });
    Ok(rows)
}

/// What an agent does with a notebook that it has not seen.
fn read(agent: &mut dyn Caller, name: &str) -> Result<()> {
    agent.call("use_notebook", &json!({ "notebook_name": name, "notebook_path": name }))?;
    let (_, text) = agent.call("read_notebook", &json!({ "notebook_name": name }))?;
    ensure!(text.contains("values = [number"), "{name} reads as {text}");
    Ok(())
}

/// Reads, and meanwhile asks the server how it is, again and again.
fn watched(port: u16, reading: impl FnOnce() -> Result<()>) -> Result<Reading> {
    let mut rest = Rest::new(port)?;
    let mut wait = || -> Result<Duration> {
        let start = Instant::now();
        rest.get("/api/status")?;
        Ok(start.elapsed())
    };
    wait()?;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let waiting = scope.spawn(|| -> Result<Duration> {
            let mut longest = Duration::ZERO;
            while !is_over.load(Ordering::Relaxed) {
                longest = longest.max(wait()?);
                std::thread::sleep(PAUSE);
            }
            Ok(longest)
        });
        let start = Instant::now();
        let read = reading();
        let taken = start.elapsed();
        is_over.store(true, Ordering::Relaxed);
        let longest = waiting.join().map_err(|_| anyhow!("a thread ended early"))??;
        read.map(|()| (taken, longest))
    })
}

fn worst(readings: &[Reading]) -> f64 {
    readings.iter().map(|(_, longest)| longest.as_secs_f64() * 1e3).fold(0.0, f64::max)
}

fn middle(readings: &[Reading]) -> f64 {
    median(readings.iter().map(|(taken, _)| *taken).collect()).as_secs_f64() * 1e3
}
