//! `cellbridge jupyter` beside `jupyter-mcp-server`, on one server, in turns; and the bare calls beside both.

pub(crate) mod baseline;
pub(crate) mod rest;
pub(crate) mod server;
pub(crate) mod setup;

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::jupyter::baseline::{RoomConnection, Socket};
use crate::jupyter::rest::Rest;
use crate::jupyter::setup::{FOLDERS, READ, Setup, any_kernel};
use crate::local::clients::StdioClient;
use crate::local::growth::{self, Growth};
use crate::local::setup::{cell_count, printed_lines};
use crate::process::{load, mb, resident, start};
use crate::statistics::{median, ms};

const STARTS: usize = 7;
const ROUNDS: usize = 10;
const CALLS: usize = 5;
const PRINTS: usize = 5_000;
const GROWTHS: usize = 7;

/// A line of the table.
struct Row {
    what: &'static str,
    baseline: Option<Duration>,
    theirs: Duration,
    ours: Duration,
    target: Target,
}

/// What a line has to reach.
enum Target {
    /// So many times faster than the original.
    Faster(f64),
    /// At most so long.
    Within(Duration),
    /// At most so many times the baseline.
    OfBaseline(f64),
    None,
}

/// A tool with its arguments, for each of the two.
struct Call {
    what: &'static str,
    tool: &'static str,
    theirs: Value,
    ours: Value,
    target: Target,
}

/// Takes all measurements of one run and prints them.
pub(crate) fn measure(program: &str, python: &str, original: &str) -> Result<()> {
    let load_before = load();
    let runtime = crate::runtime()?;
    let setup = Setup::prepare(program, python, original)?;
    let mut rows = vec![starts(&setup)?];

    let mut theirs = StdioClient::open(&mut setup.theirs(true))?;
    let mut ours = StdioClient::open(&mut setup.ours())?;
    let memory = (resident(theirs.id())?, resident(ours.id())?);
    for (client, own) in [(&mut theirs, "theirs"), (&mut ours, "ours")] {
        let path = format!("{own}.ipynb");
        client.call("use_notebook", &json!({ "notebook_name": "read", "notebook_path": READ }))?;
        client.call("use_notebook", &json!({ "notebook_name": "own", "notebook_path": path }))?;
        client.call("execute_code", &json!({ "code": "1+1" }))?;
    }
    let mut rest = Rest::new(setup.server.port)?;
    let kernel = any_kernel(&mut rest)?;

    for call in calls() {
        let mut baseline = match call.tool {
            "list_kernels" => Baseline::Get(&mut rest, "/api/kernels"),
            "list_files" => Baseline::Listings(setup.server.port),
            "execute_code" => {
                let path = format!("/api/kernels/{kernel}/channels");
                Baseline::Kernel(Box::new(runtime.block_on(Socket::open(setup.server.port, &path))?))
            }
            "insert_cell" => Baseline::Room(Box::new(
                runtime.block_on(RoomConnection::open(setup.server.port, "baseline.ipynb"))?,
            )),
            _ => Baseline::None,
        };
        rows.push(in_turns(call, &mut theirs, &mut ours, &mut baseline, &runtime)?);
    }
    rows.push(ten_at_once(&mut theirs, &mut ours)?);

    let saved = cell_count(&setup.server.path("ours.ipynb"))?;
    let code = format!("for number in range({PRINTS}):\n    print(number, flush=True)");
    let given = json!({ "cell_index": -1, "cell_source": code, "timeout": 120 });
    let (printing, _) = ours.call("insert_execute_code_cell", &given)?;
    let arrived = printed_lines(&setup.server.path("ours.ipynb"))?;

    println!("load average before: {load_before}, after: {}", load());
    println!(
        "{:<40}{:>10}{:>20}{:>13}{:>10}  target",
        "p50", "baseline", "jupyter-mcp-server", "cellbridge", "ratio"
    );
    rows.iter().for_each(print);
    println!(
        "{:<40}{:>10}{:>20}{:>13}{:>10}  >= 10 x",
        "resident after initialize",
        "",
        mb(memory.0),
        mb(memory.1),
        ratio(memory.0, memory.1)
    );
    let after = (resident(theirs.id())?, resident(ours.id())?);
    println!(
        "{:<40}{:>10}{:>20}{:>13}{:>10}",
        "resident after all of this",
        "",
        mb(after.0),
        mb(after.1),
        ratio(after.0, after.1)
    );
    println!("cells of ours.ipynb on disk after the edits: {saved}");
    println!("flushed prints in the file: {arrived} of {PRINTS}, in {}", ms(printing));
    for cells in growth::SIZES {
        let client = StdioClient::open(&mut setup.ours())?;
        let Growth { read, read_after_edit, search, edit, resident } =
            growth::measure(client, cells, &setup.server.path(&growth::name(cells)), GROWTHS)?;
        let [read, after, search, edit] = [read, read_after_edit, search, edit].map(ms);
        let resident = mb(resident);
        println!(
            "{cells} cells: read_cell {read}, after an edit {after}, search_notebook {search}, insert_cell saved {edit}, resident {resident}"
        );
    }
    Ok(())
}

fn starts(setup: &Setup) -> Result<Row> {
    let (mut theirs, mut ours) = (Vec::new(), Vec::new());
    for _ in 0..STARTS {
        theirs.push(start(&mut setup.theirs(false))?.1);
        ours.push(start(&mut setup.ours())?.1);
    }
    Ok(Row {
        what: "start to the initialize reply",
        baseline: None,
        theirs: median(theirs),
        ours: median(ours),
        target: Target::Faster(200.0),
    })
}

fn calls() -> Vec<Call> {
    let same = |what, tool, arguments: Value, target| Call {
        what,
        tool,
        theirs: arguments.clone(),
        ours: arguments,
        target,
    };
    let read = |format: &str| json!({ "notebook_name": "read", "response_format": format, "limit": 0 });
    let whole = |mut given: Value| {
        given["max_characters"] = json!(1_000_000);
        given
    };
    vec![
        same("list_kernels", "list_kernels", json!({}), Target::OfBaseline(1.5)),
        same(
            "list_files, 200 notebooks",
            "list_files",
            json!({ "path": "tree", "max_depth": 2, "limit": 0 }),
            Target::OfBaseline(1.1),
        ),
        Call {
            what: "read_notebook, 200 cells, brief",
            tool: "read_notebook",
            theirs: read("brief"),
            ours: whole(read("brief")),
            target: Target::Faster(20.0),
        },
        Call {
            what: "read_notebook, 200 cells, detailed",
            tool: "read_notebook",
            theirs: read("detailed"),
            ours: whole(read("detailed")),
            target: Target::Faster(20.0),
        },
        same("read_cell", "read_cell", json!({ "cell_index": 5, "notebook_name": "read" }), Target::None),
        same(
            "insert_cell, 200 cells, saved",
            "insert_cell",
            json!({ "cell_index": 100, "cell_type": "code", "cell_source": "x = 1" }),
            Target::Faster(5.0),
        ),
        same(
            "overwrite_cell_source, saved",
            "overwrite_cell_source",
            json!({ "cell_index": 1, "cell_source": "x = NUMBER" }),
            Target::Faster(5.0),
        ),
        same(
            "execute_code(\"1+1\")",
            "execute_code",
            json!({ "code": "1+1" }),
            Target::Within(Duration::from_millis(5)),
        ),
    ]
}

/// The same, made bare.
enum Baseline<'a> {
    Get(&'a mut Rest, &'static str),
    /// All folders of the tree at the same time, each over a connection of its own.
    Listings(u16),
    Kernel(Box<Socket>),
    Room(Box<RoomConnection>),
    None,
}

fn in_turns(
    call: Call,
    theirs: &mut StdioClient,
    ours: &mut StdioClient,
    baseline: &mut Baseline<'_>,
    runtime: &tokio::runtime::Runtime,
) -> Result<Row> {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for round in 0..=ROUNDS {
        for number in 0..CALLS {
            let number = round * CALLS + number;
            let fresh = |given: &Value| -> Result<Value> {
                Ok(serde_json::from_str(&given.to_string().replace("NUMBER", &number.to_string()))?)
            };
            let taken = [
                bare(baseline, number, runtime)?,
                Some(theirs.call(call.tool, &fresh(&call.theirs)?)?.0),
                Some(ours.call(call.tool, &fresh(&call.ours)?)?.0),
            ];
            // The first round warms up.
            if round > 0 {
                times.iter_mut().zip(taken).for_each(|(all, one)| all.extend(one));
            }
        }
    }
    let [baseline, theirs, ours] = times;
    Ok(Row {
        what: call.what,
        baseline: (!baseline.is_empty()).then(|| median(baseline)),
        theirs: median(theirs),
        ours: median(ours),
        target: call.target,
    })
}

fn bare(
    baseline: &mut Baseline<'_>,
    number: usize,
    runtime: &tokio::runtime::Runtime,
) -> Result<Option<Duration>> {
    let start = Instant::now();
    match baseline {
        Baseline::None => return Ok(None),
        Baseline::Get(rest, path) => drop(rest.get(path)?),
        Baseline::Listings(port) => {
            let port = *port;
            let folders = (0..FOLDERS).map(|folder| format!("/api/contents/tree/folder{folder}"));
            let paths: Vec<String> =
                std::iter::once("/api/contents/tree".to_owned()).chain(folders).collect();
            let mut connections = paths.iter().map(|_| Rest::new(port)).collect::<Result<Vec<_>>>()?;
            let start = Instant::now();
            std::thread::scope(|scope| -> Result<()> {
                let pairs = connections.iter_mut().zip(&paths);
                let asked: Vec<_> = pairs.map(|(rest, path)| scope.spawn(|| rest.get(path))).collect();
                for one in asked {
                    let listing = one.join().map_err(|_| anyhow::anyhow!("a thread ended early"))??;
                    ensure!(!listing.is_empty(), "an empty listing");
                }
                Ok(())
            })?;
            return Ok(Some(start.elapsed()));
        }
        Baseline::Kernel(socket) => return Ok(Some(runtime.block_on(socket.execute(number))?)),
        Baseline::Room(room) => return Ok(Some(runtime.block_on(room.insert(number))?)),
    }
    Ok(Some(start.elapsed()))
}

fn ten_at_once(theirs: &mut StdioClient, ours: &mut StdioClient) -> Result<Row> {
    const TEN: usize = 10;
    let given = json!({ "cell_index": 5, "notebook_name": "read" });
    let (mut their_times, mut our_times) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        their_times.push(theirs.call_at_once(TEN, "read_cell", &given)?);
        our_times.push(ours.call_at_once(TEN, "read_cell", &given)?);
    }
    Ok(Row {
        what: "read_cell, ten at once",
        baseline: None,
        theirs: median(their_times),
        ours: median(our_times),
        target: Target::Faster(50.0),
    })
}

fn print(row: &Row) {
    let Row { what, baseline, theirs, ours, target } = row;
    let faster = theirs.as_secs_f64() / ours.as_secs_f64();
    let (target, is_met) = match target {
        Target::Faster(times) => (format!(">= {times} x"), Some(faster >= *times)),
        Target::Within(most) => (format!("<= {}", ms(*most)), Some(ours <= most)),
        Target::OfBaseline(times) => {
            let of = baseline.map(|baseline| ours.as_secs_f64() / baseline.as_secs_f64());
            let shown = of.map_or(String::new(), |of| format!(" ({of:.2} x)"));
            (format!("<= {times} x the baseline{shown}"), of.map(|of| of <= *times))
        }
        Target::None => (String::new(), None),
    };
    let verdict = is_met.map_or("", |is_met| if is_met { "ok" } else { "MISSED" });
    let baseline = baseline.map_or("-".to_owned(), ms);
    let line = format!(
        "{what:<40}{baseline:>10}{:>20}{:>13}{:>10}  {target}  {verdict}",
        ms(*theirs),
        ms(*ours),
        format!("{faster:.1} x")
    );
    println!("{}", line.trim_end());
}

#[expect(clippy::cast_precision_loss, reason = "one digit is shown")]
fn ratio(theirs: u64, ours: u64) -> String {
    format!("{:.1} x", theirs as f64 / ours as f64)
}
