//! Measures what the document costs: `cargo run --release -p ydoc --example figures`.

use std::time::Instant;

use notebook::{CellId, CellType, Edit, Json, MimeBundle, NewCell, Output, Text};
use serde_json::json;
use ydoc::LiveNotebook;

/// The median of so many runs, in microseconds.
fn measure(name: &str, runs: usize, mut run: impl FnMut()) {
    let mut times: Vec<_> = (0..runs)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort_unstable();
    let (median, slowest) = (times[runs / 2], times[runs - 1]);
    report(&format!("{name:55} {:>10.1} µs, slowest {:>10.1} µs", micros(median), micros(slowest)));
}

fn micros(time: std::time::Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

#[expect(clippy::print_stdout, reason = "that is what it is for")]
fn report(line: &str) {
    println!("{line}");
}

fn notebook(cells: usize, output: &str) -> LiveNotebook {
    let mut live = LiveNotebook::new();
    let mut edits = Vec::new();
    for index in 0..cells {
        let cell = NewCell::new(CellType::Code, format!("print({index})\n").repeat(5));
        let id = cell.id.clone();
        let data = json!({ "text/plain": format!("{index}"), "image/png": output });
        let bundle = MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() };
        let stream = Output::Stream { name: "stdout".to_owned(), text: Text::from("line\n") };
        edits.push(Edit::Insert { index, cell });
        let outputs = [stream, Output::Display(bundle)].into();
        edits.push(Edit::SetOutputs { id, outputs, execution_count: Some(1) });
    }
    let _ = live.apply(&edits);
    live
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let copy = |live: &LiveNotebook| -> Result<(LiveNotebook, Vec<u8>), ydoc::YError> {
        let mut other = LiveNotebook::new();
        let update = live.update_since(&other.state_vector())?;
        other.integrate(&update)?;
        Ok((other, update))
    };
    let id = |live: &mut LiveNotebook, index: usize| -> Result<CellId, ydoc::YError> {
        Ok(live.snapshot()?.cells()[index].id().clone())
    };

    let source = notebook(200, "QUJD");
    let (mut live, _) = copy(&source)?;
    measure("200 cells: first snapshot", 1, || {
        let _ = live.snapshot();
    });
    measure("200 cells: snapshot, unchanged", 1_000, || {
        let _ = live.snapshot();
    });
    let cell = id(&mut live, 100)?;
    let mut counter = 0;
    measure("200 cells: set a source and snapshot", 1_000, || {
        counter += 1;
        let _ = live.apply(&[Edit::SetSource { id: cell.clone(), source: format!("x = {counter}") }]);
        let _ = live.snapshot();
    });
    let (mut peer, _) = copy(&live)?;
    peer.snapshot()?;
    measure("200 cells: integrate a peer's edit and snapshot", 1_000, || {
        counter += 1;
        let update = live.apply(&[Edit::SetSource { id: cell.clone(), source: format!("x = {counter}") }]);
        let start = Instant::now();
        let _ = update.map(|update| peer.integrate(&update).and_then(|_| peer.snapshot()));
        std::hint::black_box(start);
    });

    let (mut live, _) = copy(&notebook(1_000, "QUJD"))?;
    live.snapshot()?;
    measure("1000 cells: insert in the middle", 200, || {
        let _ = live.apply(&[Edit::Insert { index: 500, cell: NewCell::new(CellType::Code, "x") }]);
    });
    let cell = id(&mut live, 900)?;
    let mut text = Text::default();
    measure("1000 cells: a stream grows by a line", 1_000, || {
        text.push("one more line of output\n");
        let outputs = [Output::Stream { name: "stdout".to_owned(), text: text.clone() }].into();
        let _ = live.apply(&[Edit::SetOutputs { id: cell.clone(), outputs, execution_count: None }]);
    });

    let large = notebook(24, &"A".repeat(1_000_000));
    let start = Instant::now();
    let (mut live, update) = copy(&large)?;
    report(&format!("{} MB: copied in {:.1} µs", update.len() / 1_000_000, micros(start.elapsed())));
    let mut runs = Vec::new();
    for _ in 0..5 {
        let mut fresh = LiveNotebook::new();
        let start = Instant::now();
        fresh.integrate(&update)?;
        runs.push(micros(start.elapsed()));
    }
    runs.sort_unstable_by(f64::total_cmp);
    report(&format!("24 MB: integrate {:.1} µs", runs[2]));
    measure("24 MB: first snapshot", 1, || {
        let _ = live.snapshot();
    });
    let cell = id(&mut live, 3)?;
    measure("24 MB: set a source and snapshot", 20, || {
        counter += 1;
        let _ = live.apply(&[Edit::SetSource { id: cell.clone(), source: format!("x = {counter}") }]);
        let _ = live.snapshot();
    });

    let base: String =
        (0..40_000).flat_map(|n| ["line ".to_owned(), n.to_string(), " of many\n".to_owned()]).collect();
    let (mut live, _) = copy(&notebook(1, "QUJD"))?;
    let cell = id(&mut live, 0)?;
    live.apply(&[Edit::SetSource { id: cell.clone(), source: base.clone() }])?;
    measure("1 MB source: replaced by another", 1, || {
        let other: String = base.replace("line", "other").replace("9 of", "x");
        let _ = live.apply(&[Edit::SetSource { id: cell.clone(), source: other }]);
    });
    measure("1 MB source: one line changed", 1, || {
        let other: String = base.replace("line 777 ", "x");
        let _ = live.apply(&[Edit::SetSource { id: cell.clone(), source: other }]);
    });
    Ok(())
}
