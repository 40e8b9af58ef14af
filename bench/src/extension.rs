//! Our extension of Jupyter Server beside another, and beside the programs that do the same from outside, in turns.

mod blocking;
mod http_client;
mod memory;
mod setup;
mod table;

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use crate::extension::http_client::{Agent, Caller};
use crate::extension::setup::{
    ADDING, BESIDE, INSIDE, Notebooks, RUN, Software, module, run_name, write_notebooks,
};
use crate::extension::table::{Row, print};
use crate::jupyter::baseline::Socket;
use crate::jupyter::rest::Rest;
use crate::jupyter::server::Server;
use crate::jupyter::setup::READ;
use crate::local::clients::StdioClient;
use crate::process::load;
use crate::statistics::median;

const ROUNDS: usize = 8;
const CALLS: usize = 5;
/// Takes a second for what takes others milliseconds, so it is called once in a round.
const THEIRS_BESIDE: usize = 2;

/// A tool with its arguments.
struct Call {
    what: &'static str,
    tool: &'static str,
    theirs: Value,
    ours: Value,
    /// The cells of the notebook in use.
    cells: usize,
    /// What every answer contains.
    expected: &'static str,
    /// Milliseconds.
    most: Option<f64>,
    less: Option<f64>,
}

/// Takes all measurements of one run and prints them.
pub(crate) fn measure(program: &str, python: &str, site: &str, their_python: &str) -> Result<()> {
    let load_before = load();
    let home = std::path::absolute(program)?.with_file_name("bench-extension");
    if home.exists() {
        std::fs::remove_dir_all(&home)?;
    }
    let theirs = Software {
        python: Path::new(their_python),
        site: None,
        extension: "jupyter_mcp_server",
        needs_file_ids: true,
    };
    let ours = Software {
        python: Path::new(python),
        site: Some(Path::new(site)),
        extension: "cellbridge",
        needs_file_ids: false,
    };

    for (notebooks, folder, head) in [
        (Notebooks::InFiles, "files", "plain server, p50"),
        (Notebooks::InRooms, "rooms", "with jupyter-collaboration, p50"),
    ] {
        let rows = side_by_side(&home.join(folder), program, notebooks, theirs, ours).context(head)?;
        print(head, &rows);
    }
    print("memory of the server", &memory::measure(&home, theirs, ours)?);
    std::fs::remove_dir_all(&home)?;
    println!("\nload average before: {load_before}, after: {}", load());
    Ok(())
}

/// All four in turns: their extension, ours, their program, and ours.
fn side_by_side(
    home: &Path,
    program: &str,
    notebooks: Notebooks,
    theirs: Software<'_>,
    ours: Software<'_>,
) -> Result<Vec<Row>> {
    let runtime = crate::runtime()?;
    let their_server = setup::start(home.join("theirs"), theirs, notebooks, true)?;
    let our_server = setup::start(home.join("ours"), ours, notebooks, true)?;
    // Their program needs rooms, whatever the others do with.
    let beside = setup::start(home.join("beside"), theirs, Notebooks::InRooms, false)?;
    for server in [&their_server, &our_server, &beside] {
        write_notebooks(server)?;
    }
    let mut their_program = beside.beside(module(theirs.python, "jupyter_mcp_server"));
    their_program.args(["--start-new-code-sandbox", "true"]);
    let mut our_program = Command::new(std::path::absolute(program)?);
    our_program.arg("jupyter");
    let mut inside_theirs = Agent::open(their_server.port)?;
    let mut inside_ours = Agent::open(our_server.port)?;
    let mut beside_theirs = StdioClient::open(&mut their_program)?;
    let mut beside_ours = StdioClient::open(&mut our_server.beside(our_program))?;

    let mut rest = Rest::new(our_server.port)?;
    let kernel: Value = serde_json::from_slice(&rest.ask("POST", "/api/kernels", "{}")?)?;
    let channels = format!("/api/kernels/{}/channels", kernel["id"].as_str().context("no kernel")?);
    let mut socket = runtime.block_on(Socket::open(our_server.port, &channels))?;

    let mut rows = Vec::new();
    {
        let mut callers: [(&mut dyn Caller, &str); 4] = [
            (&mut inside_theirs, INSIDE),
            (&mut inside_ours, INSIDE),
            (&mut beside_theirs, BESIDE),
            (&mut beside_ours, BESIDE),
        ];
        for (caller, own) in &mut callers {
            caller.call("use_notebook", &json!({ "notebook_name": "read", "notebook_path": READ }))?;
            uses(*caller, own, RUN[0])?;
            caller.call("execute_code", &json!({ "code": "1+1" }))?;
        }
        for call in calls() {
            // Their extension has forgotten by now which notebook is in use.
            for (caller, own) in &mut callers {
                uses(*caller, own, call.cells)?;
            }
            let mut baseline = |number| {
                let start = Instant::now();
                match call.tool {
                    "list_kernels" => rest.get("/api/kernels").map(|_| Some(start.elapsed())),
                    "execute_code" => runtime.block_on(socket.execute(number)).map(Some),
                    _ => Ok(None),
                }
            };
            rows.push(in_turns(&call, &mut callers, &mut baseline)?);
        }
    }
    let theirs: (&Server, &mut dyn Caller) = (&their_server, &mut inside_theirs);
    rows.extend(blocking::measure(notebooks, theirs, (&our_server, &mut inside_ours))?);
    Ok(rows)
}

fn uses(caller: &mut dyn Caller, own: &str, cells: usize) -> Result<()> {
    let path = run_name(own, cells);
    let given = json!({ "notebook_name": path, "notebook_path": path });
    // A room does not open while jupyter-collaboration finds its own database locked.
    caller.call("use_notebook", &given).or_else(|_| caller.call("use_notebook", &given))?;
    Ok(())
}

fn calls() -> Vec<Call> {
    let call = |what, tool, arguments: Value, expected, most| Call {
        what,
        tool,
        theirs: arguments.clone(),
        ours: arguments,
        cells: RUN[0],
        expected,
        most: Some(most),
        less: None,
    };
    let read = |what, format| {
        let arguments = json!({ "notebook_name": "read", "response_format": format, "limit": 0 });
        let mut read = call(what, "read_notebook", arguments, "199", 3.0);
        read.ours["max_characters"] = json!(1_000_000);
        Call { less: Some(10.0), ..read }
    };
    let execute = |what| call(what, "execute_cell", json!({ "cell_index": ADDING }), "2", 12.0);
    vec![
        Call { less: Some(5.0), ..call("list_kernels", "list_kernels", json!({}), "python3", 1.5) },
        read("read_notebook, 200 cells, brief", "brief"),
        read("read_notebook, 200 cells, detailed", "detailed"),
        call("execute_code(\"1+1\")", "execute_code", json!({ "code": "1+1" }), "2", 8.0),
        execute("execute_cell, 1+1 of 20 cells"),
        Call { cells: RUN[1], most: None, ..execute("execute_cell, 1+1 of 200 cells") },
    ]
}

fn in_turns(
    call: &Call,
    callers: &mut [(&mut dyn Caller, &str); 4],
    baseline: &mut dyn FnMut(usize) -> Result<Option<Duration>>,
) -> Result<Row> {
    let mut times: [Vec<Duration>; 5] = Default::default();
    for round in 0..=ROUNDS {
        for number in 0..CALLS {
            let mut taken = [baseline(round * CALLS + number)?, None, None, None, None];
            let mut order = [0, 1, 2, 3];
            if (round + number) % 2 == 1 {
                // Who comes next has to do with what the one before leaves to be done.
                order.reverse();
            }
            for place in order {
                let (caller, _) = &mut callers[place];
                if place == THEIRS_BESIDE && number > 0 {
                    continue;
                }
                let arguments = if place % 2 == 0 { &call.theirs } else { &call.ours };
                let (time, text) = caller.call(call.tool, arguments)?;
                ensure!(text.contains(call.expected), "{} answered {text:?}", call.tool);
                taken[place + 1] = Some(time);
            }
            // The first round warms up.
            if round > 0 {
                times.iter_mut().zip(taken).for_each(|(all, one)| all.extend(one));
            }
        }
    }
    let middle = |times: Vec<Duration>| (!times.is_empty()).then(|| median(times).as_secs_f64() * 1e3);
    let [baseline, theirs, ours, theirs_beside, ours_beside] = times.map(middle);
    Ok(Row {
        what: call.what.to_owned(),
        unit: "ms",
        baseline,
        theirs,
        ours,
        theirs_beside,
        ours_beside,
        most: call.most,
        less: call.less,
    })
}
