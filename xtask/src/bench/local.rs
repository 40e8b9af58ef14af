//! `cellbridge` in a folder, beside Python's blocking client on the same kernel, in one run.

use std::time::Duration;

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use super::duration::{median, ms, percentile};
use super::local_ground::{Ground, NOTEBOOK, cell_count, printed_lines};
use super::local_peers::{Desk, Yardstick, side_by_side};
use super::start::{load, mb, resident, start};

const STARTS: usize = 21;
const READS: usize = 200;
const INSERTS: usize = 50;
const PRINTS: usize = 5_000;
/// Many short rounds, so that a change of the machine's mood meets both.
const ROUNDS: usize = 16;
const CALLS: usize = 25;

/// A line of the table.
struct Row {
    what: &'static str,
    yardstick: String,
    ours: String,
    target: &'static str,
    is_met: Option<bool>,
}

/// Takes all measurements of one run and prints them.
pub(crate) fn measure(program: &str, python: &str) -> Result<()> {
    let load_before = load();
    let ground = Ground::prepare(program, python)?;
    let mut rows = Vec::new();

    let starts = (0..STARTS).map(|_| Ok(start(&mut ground.server())?.1)).collect::<Result<_>>()?;
    rows.push(time("start to the initialize reply, p50", median(starts), "<= 10 ms", 10));
    let mut desk = Desk::open(&mut ground.server())?;
    let alone = resident(desk.id())?;
    rows.push(Row {
        what: "resident before a kernel is used",
        ours: mb(alone),
        target: "<= 12 MB",
        is_met: Some(alone <= 12 << 10),
        ..Row::default()
    });

    rows.extend(executions(&mut desk, &ground)?);
    rows.extend(files(&mut desk, &ground)?);
    rows.push(Row { what: "resident after all of this", ours: mb(resident(desk.id())?), ..Row::default() });

    println!("load average before: {load_before}, after: {}", load());
    print(&Row {
        what: "cellbridge",
        yardstick: "jupyter_client".to_owned(),
        ours: "cellbridge".to_owned(),
        target: "target",
        is_met: None,
    });
    rows.iter().for_each(print);
    Ok(())
}

fn executions(desk: &mut Desk, ground: &Ground) -> Result<Vec<Row>> {
    desk.call("use_notebook", &json!({ "notebook_path": NOTEBOOK, "mode": "create" }))?;
    let (first, _) = desk.call("execute_code", &json!({ "code": "1+1" }))?;
    let mut yardstick = Yardstick::join(ground)?;
    let (theirs, ours) = side_by_side(&mut yardstick, desk, ROUNDS, CALLS)?;
    let both = |what, hundredths| Row {
        what,
        yardstick: ms(percentile(&theirs, hundredths)),
        ours: ms(percentile(&ours, hundredths)),
        ..Row::default()
    };
    let ratio = percentile(&ours, 50).as_secs_f64() / percentile(&theirs, 50).as_secs_f64();
    Ok(vec![
        Row { what: "the first run, kernel started", ours: ms(first), ..Row::default() },
        both("execute_code(\"1+1\"), p50", 50),
        both("execute_code(\"1+1\"), p95", 95),
        Row {
            what: "  p50 to the blocking client's",
            ours: format!("{ratio:.2} x"),
            target: "<= 1.15 x",
            is_met: Some(ratio <= 1.15),
            ..Row::default()
        },
    ])
}

fn files(desk: &mut Desk, ground: &Ground) -> Result<Vec<Row>> {
    let mut read = |format: &str| -> Result<Duration> {
        let given = json!({
            "notebook_name": ground.read,
            "response_format": format,
            "limit": 0,
            "max_characters": 1_000_000,
        });
        let mut times = Vec::new();
        for _ in 0..READS {
            let (time, text) = desk.call("read_notebook", &given)?;
            ensure!(text.contains("cell-199"), "the last cell is missing in {text}");
            times.push(time);
        }
        Ok(median(times))
    };
    let (brief, detailed) = (read("brief")?, read("detailed")?);

    let mut inserts = Vec::new();
    let before = cell_count(&ground.path(&ground.inserted))?;
    for done in 1..=INSERTS {
        let given = json!({
            "notebook_name": ground.inserted,
            "cell_index": 500,
            "cell_type": "code",
            "cell_source": format!("inserted = {done}"),
        });
        inserts.push(desk.call("insert_cell", &given)?.0);
        let now = cell_count(&ground.path(&ground.inserted))?;
        ensure!(now == before + done, "{now} cells are on disk after insert {done} into {before}");
    }

    let code = format!("for number in range({PRINTS}):\n    print(number, flush=True)");
    let given = json!({ "notebook_name": NOTEBOOK, "cell_source": code, "timeout": 120 });
    let (printing, _) = desk.call("insert_execute_code_cell", &given)?;
    let arrived = printed_lines(&ground.path(NOTEBOOK))?;
    Ok(vec![
        time("read_notebook, 200 cells, brief, p50", brief, "<= 2 ms", 2),
        time("read_notebook, 200 cells, detailed, p50", detailed, "<= 2 ms", 2),
        time("insert_cell, 1000 cells, on disk, p50", median(inserts), "<= 10 ms", 10),
        Row {
            what: "5000 flushed prints in the file",
            ours: arrived.to_string(),
            target: "5000",
            is_met: Some(arrived == PRINTS),
            ..Row::default()
        },
        Row { what: "  and how long they took", ours: ms(printing), ..Row::default() },
    ])
}

impl Default for Row {
    fn default() -> Self {
        Self { what: "", yardstick: "-".to_owned(), ours: String::new(), target: "", is_met: None }
    }
}

fn time(what: &'static str, ours: Duration, target: &'static str, most: u64) -> Row {
    Row { what, ours: ms(ours), target, is_met: Some(ours <= Duration::from_millis(most)), ..Row::default() }
}

fn print(row: &Row) {
    let Row { what, yardstick, ours, target, is_met } = row;
    let verdict = is_met.map_or("", |is_met| if is_met { "ok" } else { "MISSED" });
    println!("{}", format!("{what:<42}{yardstick:>16}{ours:>14}{target:>12}  {verdict}").trim_end());
}

/// The `text` of a call's answer. Fails if the tool did.
pub(super) fn text_of(answer: &[u8]) -> Result<String> {
    let answer: Value = serde_json::from_slice(answer)?;
    let result = &answer["result"];
    let blocks = result["content"].as_array().into_iter().flatten();
    let text: String = blocks.filter_map(|block| block["text"].as_str()).collect();
    ensure!(result.is_object() && result["isError"] != true, "a call failed: {answer}");
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_call_is_no_measurement() {
        assert_eq!(text_of(br#"{"result":{"content":[{"type":"text","text":"2"}]}}"#).unwrap(), "2");
        assert!(text_of(br#"{"result":{"content":[],"isError":true}}"#).is_err());
        assert!(text_of(br#"{"error":{"code":-32602,"message":"no"}}"#).is_err());
    }
}
