//! The cells that a kept kernel runs or has still to run, by the log of its keeper.

use std::path::Path;

use kernel::keeper::{Channel, KeeperEvent, Peek, Record};

use super::executor::KeptNote;
use super::log::read_records;

/// A run that the log tells of.
struct Unfinished {
    run: String,
    cell: Option<String>,
    /// Its request, once that is sent.
    message: Option<String>,
}

/// The cells of the runs that are not over, in the order in which they were requested.
pub(crate) fn unfinished_cells(folder: &Path) -> Vec<String> {
    let mut runs = Vec::new();
    // What is forgotten meanwhile is over.
    let _ = read_records(folder, |_, record| {
        add(&mut runs, record);
        Ok(())
    });
    runs.into_iter().filter_map(|run| run.cell).collect()
}

fn add(runs: &mut Vec<Unfinished>, record: Record) {
    match record {
        Record::Note(note) => {
            if let Some(known) = runs.iter_mut().find(|known| known.run == note.run) {
                known.message = note.message.or(known.message.take());
            } else {
                let data: KeptNote = serde_json::from_value(note.data).unwrap_or_default();
                runs.push(Unfinished { run: note.run, cell: data.cell, message: note.message });
            }
        }
        // The reply may be missing, if the run was interrupted.
        Record::FromKernel { channel: Channel::Iopub, parts } => {
            let peek = Peek::of(Channel::Iopub, &parts);
            if peek.kind == "status" && peek.state.as_deref() == Some("idle") {
                runs.retain(|known| known.message.as_deref() != Some(&*peek.parent));
            }
        }
        Record::Event(KeeperEvent::Withdrawn { message }) => {
            runs.retain(|known| known.message.as_deref() != Some(&*message));
        }
        Record::Event(KeeperEvent::Died { .. } | KeeperEvent::Restarting) => runs.clear(),
        Record::Stored { run } | Record::Acknowledged { run } => runs.retain(|known| known.run != run),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use kernel::keeper::Note;
    use serde_json::json;

    use super::*;

    fn note(run: &str, message: Option<&str>) -> Record {
        let data = json!({ "notebook": "/n.ipynb", "cell": format!("cell of {run}"), "source": "1" });
        Record::Note(Note { run: run.to_owned(), message: message.map(str::to_owned), data })
    }

    fn idle(parent: &str) -> Record {
        let header = json!({ "msg_id": "1", "msg_type": "status" });
        let parts = [header, json!({ "msg_id": parent }), json!({}), json!({ "execution_state": "idle" })];
        Record::FromKernel {
            channel: Channel::Iopub,
            parts: parts.map(|part| Bytes::from(part.to_string())).into(),
        }
    }

    #[test]
    fn a_run_is_unfinished_from_its_announcement_to_its_end() {
        let acknowledged = |run: &str| Record::Acknowledged { run: run.to_owned() };
        let withdrawn = Record::Event(KeeperEvent::Withdrawn { message: "m3".to_owned() });
        let mut runs = Vec::new();
        for (record, expected) in [
            (note("r1", None), "r1"),
            (note("r2", Some("m2")), "r1 r2"),
            (note("r1", Some("m1")), "r1 r2"),
            (idle("m2"), "r1"),
            (idle("of nobody"), "r1"),
            (note("r3", Some("m3")), "r1 r3"),
            (withdrawn, "r1"),
            (note("r4", None), "r1 r4"),
            (acknowledged("r4"), "r1"),
            (Record::Event(KeeperEvent::Restarting), ""),
        ] {
            add(&mut runs, record);
            let found: Vec<_> = runs.iter().map(|known| known.run.as_str()).collect();
            assert_eq!(found.join(" "), expected);
        }
        add(&mut runs, note("r5", None));
        assert_eq!(runs[0].cell.as_deref(), Some("cell of r5"));
    }
}
