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

impl Row {
    fn new(what: impl Into<Cow<'static, str>>, ours: String) -> Self {
        Self { what: what.into(), blocking_client: "-".to_owned(), ours, target: "", is_met: None }
    }

    fn beside(self, blocking_client: String) -> Self {
        Self { blocking_client, ..self }
    }

    fn reaching(self, target: &'static str, is_met: bool) -> Self {
        Self { target, is_met: Some(is_met), ..self }
    }
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
    rows.push(
        Row::new("resident before a kernel is used", mb(alone)).reaching("<= 12 MB", alone <= 12 << 10),
    );

    rows.extend(executions(&mut client, &setup)?);
    rows.extend(kept_executions(&mut client, &setup)?);
    rows.extend(files(&mut client, &setup)?);
    rows.push(Row::new("resident after all of this", mb(resident(client.id())?)));

    for cells in growth::SIZES {
        rows.extend(grown(&setup, cells)?);
    }

    println!("load average before: {load_before}, after: {}", load());
    let head = Row::new("cellbridge", "cellbridge".to_owned()).beside("jupyter_client".to_owned());
    print(&Row { target: "target", ..head });
    rows.iter().for_each(print);
    Ok(())
}

fn executions(client: &mut StdioClient, setup: &Setup) -> Result<Vec<Row>> {
    client.call("use_notebook", &json!({ "notebook_path": NOTEBOOK, "mode": "create" }))?;
    client.call("execute_code", &json!({ "code": "1+1" }))?;
    let mut blocking_client = BlockingClient::join(setup)?;
    let (theirs, ours) = side_by_side(&mut blocking_client, client, ROUNDS, CALLS)?;
    let both = |what: &'static str, hundredths| {
        Row::new(what, ms(percentile(&ours, hundredths))).beside(ms(percentile(&theirs, hundredths)))
    };
    let ratio = percentile(&ours, 50).as_secs_f64() / percentile(&theirs, 50).as_secs_f64();
    Ok(vec![
        both("execute_code(\"1+1\"), p50", 50),
        both("execute_code(\"1+1\"), p95", 95),
        Row::new("  p50 to the blocking client's", format!("{ratio:.2} x"))
            .reaching("<= 1.00 x", ratio <= 1.0),
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
        Row::new("the first run, kernel started", ms(first)),
        Row::new("  added by the start of a keeper", ms(added))
            .reaching("<= 30 ms", added <= Duration::from_millis(30)),
        Row::new("execute_code(\"1+1\") with a keeper, p50", ms(percentile(&ours, 50))),
        Row::new("  p50 to that without one", format!("{ratio:.2} x")).reaching("<= 1.10 x", ratio <= 1.1),
        Row::new("200 000 lines with a keeper", ms(kept_lines)),
        Row::new("  to that without one", format!("{slower:.2} x")).reaching("<= 1.00 x", slower <= 1.0),
        Row::new("resident: a keeper, before those lines", mb(keeper)).reaching("<= 8 MB", keeper <= 8 << 10),
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
    let read_row = |what: &'static str, ours: Duration| {
        Row::new(what, ms(ours)).reaching("<= 0.7 ms", ours <= Duration::from_micros(700))
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
        Row::new("5000 flushed prints in the file", arrived.to_string()).reaching("5000", arrived == PRINTS),
        Row::new("  and how long they took", ms(printing)),
    ])
}

/// A new server with one notebook of this size.
fn grown(setup: &Setup, cells: usize) -> Result<Vec<Row>> {
    let client = StdioClient::open(&mut setup.server())?;
    let grown = growth::measure(client, cells, &setup.path(&growth::name(cells)), GROWTHS)?;
    let row = |what: &str, taken: Duration| Row::new(format!("{what}, {cells} cells, p50"), ms(taken));
    let search = row("search_notebook", grown.search);
    let search = match cells {
        10_000 => search.reaching("<= 10 ms", grown.search <= Duration::from_millis(10)),
        30_000 => search.reaching("<= 30 ms", grown.search <= Duration::from_millis(30)),
        _ => search,
    };
    Ok(vec![
        row("read_cell", grown.read).reaching("<= 0.4 ms", grown.read <= Duration::from_micros(400)),
        row("read_cell after an edit", grown.read_after_edit),
        search,
        row("insert_cell on disk", grown.edit),
        Row::new(format!("resident after these, {cells} cells"), mb(grown.resident))
            .reaching("<= 40 MB", grown.resident <= 40 << 10),
    ])
}

fn time(what: &'static str, ours: Duration, target: &'static str, most: u64) -> Row {
    Row::new(what, ms(ours)).reaching(target, ours <= Duration::from_millis(most))
}

fn print(row: &Row) {
    let Row { what, blocking_client, ours, target, is_met } = row;
    let verdict = is_met.map_or("", |is_met| if is_met { "ok" } else { "MISSED" });
    println!("{}", format!("{what:<42}{blocking_client:>16}{ours:>14}{target:>12}  {verdict}").trim_end());
}
