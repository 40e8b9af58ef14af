//! What an extension adds to the memory of a server that does nothing.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use serde_json::json;

use crate::extension::http_client::{Agent, Caller as _};
use crate::extension::setup::{self, Notebooks, Software};
use crate::extension::table::Row;
use crate::process::resident;

const STARTS: usize = 3;
const PAUSE: Duration = Duration::from_millis(100);
/// So many pauses without change are rest.
const REST: usize = 5;
const TIMEOUT: Duration = Duration::from_secs(10);

/// The resident memory of one kind of server, in KiB.
#[derive(Default)]
struct Memory {
    without: Vec<u64>,
    loaded: Vec<u64>,
    asked: Vec<u64>,
}

/// Starts servers in turns, and weighs each at rest.
pub(crate) fn measure(home: &Path, theirs: Software<'_>, ours: Software<'_>) -> Result<Vec<Row>> {
    let mut memory: [Memory; 2] = Default::default();
    for _ in 0..STARTS {
        for (memory, software) in memory.iter_mut().zip([theirs, ours]) {
            let start = |is_extended| {
                let home = home.join(format!("weighed-{}", software.extension));
                setup::start(home, software, Notebooks::InRooms, is_extended)
            };
            memory.without.push(at_rest(start(false)?.id())?);
            let server = start(true)?;
            memory.loaded.push(at_rest(server.id())?);
            Agent::open(server.port)?.call("list_kernels", &json!({}))?;
            memory.asked.push(at_rest(server.id())?);
        }
    }
    let [theirs, ours] = memory.map(|it| [it.without, it.loaded, it.asked].map(middle));
    let added = |what: &str, which: usize, most| Row {
        what: what.to_owned(),
        unit: "MB",
        theirs: Some(theirs[which] - theirs[0]),
        ours: Some(ours[which] - ours[0]),
        most: Some(most),
        ..Row::default()
    };
    let without = Row {
        what: "resident, without the extension".to_owned(),
        unit: "MB",
        theirs: Some(theirs[0]),
        ours: Some(ours[0]),
        ..Row::default()
    };
    Ok(vec![without, added("  added, idle", 1, 15.0), added("  added, after a first call", 2, 15.0)])
}

/// The memory of a process that has come to rest.
fn at_rest(process: u32) -> Result<u64> {
    let (start, mut last, mut same) = (Instant::now(), 0, 0);
    while same < REST && start.elapsed() < TIMEOUT {
        std::thread::sleep(PAUSE);
        let now = resident(process)?;
        same = if now == last { same + 1 } else { 0 };
        last = now;
    }
    Ok(last)
}

/// The middle one, in MB.
fn middle(mut memory: Vec<u64>) -> f64 {
    memory.sort_unstable();
    #[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
    let kib = memory[memory.len() / 2] as f64;
    kib / 1024.0
}
