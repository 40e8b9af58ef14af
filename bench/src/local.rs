//! `cellbridge` in a folder, beside Python's blocking client on the same kernel, in one run.

pub(crate) mod clients;
pub(crate) mod growth;
pub(crate) mod setup;

use std::borrow::Cow;
use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::json;

use crate::local::clients::{BlockingClient, StdioClient, in_turns, side_by_side};
use crate::local::setup::{KEPT_NOTEBOOK, NOTEBOOK, Setup, cell_count, printed_lines};
use crate::process::{load, mb, resident, start};
use crate::statistics::{median, ms, percentile};

const STARTS: usize = 21;
const READS: usize = 200;
const INSERTS: usize = 50;
const PRINTS: usize = 5_000;
/// Many short rounds, so that a change of the machine's mood meets both.
const ROUNDS: usize = 16;
const CALLS: usize = 25;
/// How many kernels start without and with a keeper, in turns.
const FIRST_RUNS: usize = 5;
/// An odd number, so that a median is a measured time.
const FLOODS: usize = 11;
const GROWTHS: usize = 21;

/// A line of the table.
struct Row {
    what: Cow<'static, str>,
    blocking_client: String,
    ours: String,
    target: &'static str,
    is_met: Option<bool>,
}

/// Takes all measurements of one run and prints them.
pub(crate) fn measure(program: &str, python: &str) -> Result<()> {
    let load_before = load();
    let setup = Setup::prepare(program, python)?;
    let mut rows = Vec::new();

    let starts = (0..STARTS).map(|_| Ok(start(&mut setup.server())?.1)).collect::<Result<_>>()?;
    rows.push(time("start to the initialize reply, p50", median(starts), "<= 10 ms", 10));
    let mut client = StdioClient::open(&mut setup.server())?;
    let alone = resident(client.id())?;
    rows.push(Row {
        what: "resident before a kernel is used".into(),
        ours: mb(alone),
        target: "<= 12 MB",
        is_met: Some(alone <= 12 << 10),
        ..Row::default()
    });

    rows.extend(executions(&mut client, &setup)?);
    rows.extend(kept_executions(&mut client, &setup)?);
    rows.extend(files(&mut client, &setup)?);
    rows.push(Row {
        what: "resident after all of this".into(),
        ours: mb(resident(client.id())?),
        ..Row::default()
    });

    for cells in growth::SIZES {
        rows.extend(grown(&setup, cells)?);
    }

    println!("load average before: {load_before}, after: {}", load());
    print(&Row {
        what: "cellbridge".into(),
        blocking_client: "jupyter_client".to_owned(),
        ours: "cellbridge".to_owned(),
        target: "target",
        is_met: None,
    });
    rows.iter().for_each(print);
    Ok(())
}

fn executions(client: &mut StdioClient, setup: &Setup) -> Result<Vec<Row>> {
    client.call("use_notebook", &json!({ "notebook_path": NOTEBOOK, "mode": "create" }))?;
    client.call("execute_code", &json!({ "code": "1+1" }))?;
    let mut blocking_client = BlockingClient::join(setup)?;
    let (theirs, ours) = side_by_side(&mut blocking_client, client, ROUNDS, CALLS)?;
    let both = |what: &'static str, hundredths| Row {
        what: what.into(),
        blocking_client: ms(percentile(&theirs, hundredths)),
        ours: ms(percentile(&ours, hundredths)),
        ..Row::default()
    };
    let ratio = percentile(&ours, 50).as_secs_f64() / percentile(&theirs, 50).as_secs_f64();
    Ok(vec![
        both("execute_code(\"1+1\"), p50", 50),
        both("execute_code(\"1+1\"), p95", 95),
        Row {
            what: "  p50 to the blocking client's".into(),
            ours: format!("{ratio:.2} x"),
            target: "<= 1.00 x",
            is_met: Some(ratio <= 1.0),
            ..Row::default()
        },
    ])
}

/// What a keeper between server and kernel costs, beside the server of `client`, which has none.
fn kept_executions(client: &mut StdioClient, setup: &Setup) -> Result<Vec<Row>> {
    let mut kept = StdioClient::open(&mut setup.keeping_server())?;
    let (mut alone, mut with_keeper) = (Vec::new(), Vec::new());
    for round in 0..FIRST_RUNS {
        alone.push(first_run(client, &format!("first-{round}.ipynb"))?);
        with_keeper.push(first_run(&mut kept, &format!("{round}-{KEPT_NOTEBOOK}"))?);
    }
    client.call("use_notebook", &json!({ "notebook_path": NOTEBOOK, "mode": "connect" }))?;
    let (first, first_kept) = (median(alone), median(with_keeper));
    let added = first_kept.saturating_sub(first);
    let (direct, ours) = in_turns(client, &mut kept, ROUNDS, CALLS)?;
    let ratio = percentile(&ours, 50).as_secs_f64() / percentile(&direct, 50).as_secs_f64();
    let keeper = resident(setup.keeper()?)?;
    let (mut lines, mut kept_lines) = (Vec::new(), Vec::new());
    for _ in 0..FLOODS {
        lines.push(flood(client)?);
        kept_lines.push(flood(&mut kept)?);
    }
    let (lines, kept_lines) = (median(lines), median(kept_lines));
    let slower = kept_lines.as_secs_f64() / lines.as_secs_f64();
    for round in 0..FIRST_RUNS {
        kept.call("unuse_notebook", &json!({ "notebook_name": format!("{round}-{KEPT_NOTEBOOK}") }))?;
    }
    Ok(vec![
        Row { what: "the first run, kernel started".into(), ours: ms(first), ..Row::default() },
        Row {
            what: "  added by the start of a keeper".into(),
            ours: ms(added),
            target: "<= 30 ms",
            is_met: Some(added <= Duration::from_millis(30)),
            ..Row::default()
        },
        Row {
            what: "execute_code(\"1+1\") with a keeper, p50".into(),
            ours: ms(percentile(&ours, 50)),
            ..Row::default()
        },
        Row {
            what: "  p50 to that without one".into(),
            ours: format!("{ratio:.2} x"),
            target: "<= 1.10 x",
            is_met: Some(ratio <= 1.1),
            ..Row::default()
        },
        Row { what: "200 000 lines with a keeper".into(), ours: ms(kept_lines), ..Row::default() },
        Row {
            what: "  to that without one".into(),
            ours: format!("{slower:.2} x"),
            target: "<= 1.00 x",
            is_met: Some(slower <= 1.0),
            ..Row::default()
        },
        Row {
            what: "resident: a keeper, before those lines".into(),
            ours: mb(keeper),
            target: "<= 8 MB",
            is_met: Some(keeper <= 8 << 10),
            ..Row::default()
        },
    ])
}

/// The time of the first run in a new notebook, which starts the kernel.
fn first_run(client: &mut StdioClient, notebook: &str) -> Result<Duration> {
    client.call("use_notebook", &json!({ "notebook_path": notebook, "mode": "create" }))?;
    Ok(client.call("execute_code", &json!({ "code": "1+1" }))?.0)
}

fn flood(client: &mut StdioClient) -> Result<Duration> {
    let code = "for number in range(200_000): print(number)";
    let (time, text) = client.call("execute_code", &json!({ "code": code, "timeout": 120 }))?;
    ensure!(text.contains("199999") && text.contains("COMPLETED"), "the last line is missing in {text}");
    Ok(time)
}

fn files(client: &mut StdioClient, setup: &Setup) -> Result<Vec<Row>> {
    let mut read = |format: &str| -> Result<Duration> {
        let given = json!({
            "notebook_name": setup.read,
            "response_format": format,
            "limit": 0,
            "max_characters": 1_000_000,
        });
        let mut times = Vec::new();
        for _ in 0..READS {
            let (time, text) = client.call("read_notebook", &given)?;
            ensure!(text.contains("cell-199"), "the last cell is missing in {text}");
            times.push(time);
        }
        Ok(median(times))
    };
    let (brief, detailed) = (read("brief")?, read("detailed")?);
    let read_row = |what: &'static str, ours: Duration| Row {
        what: what.into(),
        ours: ms(ours),
        target: "<= 0.7 ms",
        is_met: Some(ours <= Duration::from_micros(700)),
        ..Row::default()
    };

    let mut inserts = Vec::new();
    let before = cell_count(&setup.path(&setup.inserted))?;
    for done in 1..=INSERTS {
        let given = json!({
            "notebook_name": setup.inserted,
            "cell_index": 500,
            "cell_type": "code",
            "cell_source": format!("inserted = {done}"),
        });
        inserts.push(client.call("insert_cell", &given)?.0);
        let now = cell_count(&setup.path(&setup.inserted))?;
        ensure!(now == before + done, "{now} cells are on disk after insert {done} into {before}");
    }

    let code = format!("for number in range({PRINTS}):\n    print(number, flush=True)");
    let given = json!({ "notebook_name": NOTEBOOK, "cell_source": code, "timeout": 120 });
    let (printing, _) = client.call("insert_execute_code_cell", &given)?;
    let arrived = printed_lines(&setup.path(NOTEBOOK))?;
    Ok(vec![
        read_row("read_notebook, 200 cells, brief, p50", brief),
        read_row("read_notebook, 200 cells, detailed, p50", detailed),
        time("insert_cell, 1000 cells, on disk, p50", median(inserts), "<= 10 ms", 10),
        Row {
            what: "5000 flushed prints in the file".into(),
            ours: arrived.to_string(),
            target: "5000",
            is_met: Some(arrived == PRINTS),
            ..Row::default()
        },
        Row { what: "  and how long they took".into(), ours: ms(printing), ..Row::default() },
    ])
}

/// A new server with one notebook of this size.
fn grown(setup: &Setup, cells: usize) -> Result<Vec<Row>> {
    let client = StdioClient::open(&mut setup.server())?;
    let grown = growth::measure(client, cells, &setup.path(&growth::name(cells)), GROWTHS)?;
    let row = |what: &str, taken: Duration, target: &'static str, most: Option<Duration>| Row {
        what: format!("{what}, {cells} cells, p50").into(),
        ours: ms(taken),
        target,
        is_met: most.map(|most| taken <= most),
        ..Row::default()
    };
    let (search, most) = match cells {
        10_000 => ("<= 10 ms", Some(Duration::from_millis(10))),
        30_000 => ("<= 30 ms", Some(Duration::from_millis(30))),
        _ => ("", None),
    };
    Ok(vec![
        row("read_cell", grown.read, "<= 0.4 ms", Some(Duration::from_micros(400))),
        row("read_cell after an edit", grown.read_after_edit, "", None),
        row("search_notebook", grown.search, search, most),
        row("insert_cell on disk", grown.edit, "", None),
        Row {
            what: format!("resident after these, {cells} cells").into(),
            ours: mb(grown.resident),
            target: "<= 40 MB",
            is_met: Some(grown.resident <= 40 << 10),
            ..Row::default()
        },
    ])
}

impl Default for Row {
    fn default() -> Self {
        Self {
            what: "".into(),
            blocking_client: "-".to_owned(),
            ours: String::new(),
            target: "",
            is_met: None,
        }
    }
}

fn time(what: &'static str, ours: Duration, target: &'static str, most: u64) -> Row {
    Row {
        what: what.into(),
        ours: ms(ours),
        target,
        is_met: Some(ours <= Duration::from_millis(most)),
        ..Row::default()
    }
}

fn print(row: &Row) {
    let Row { what, blocking_client, ours, target, is_met } = row;
    let verdict = is_met.map_or("", |is_met| if is_met { "ok" } else { "MISSED" });
    println!("{}", format!("{what:<42}{blocking_client:>16}{ours:>14}{target:>12}  {verdict}").trim_end());
}
