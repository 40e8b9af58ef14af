//! Removes the connection files of servers that were killed, where no watchdog does it: the next server does.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use super::connection_file::{STARTED_BY, THIS_PROGRAM};

/// The member of a connection file that says which process wrote it.
const WRITER: &str = "started_by_process";

/// Notes in the content of a connection file which process of which machine wrote it: several may share the folder.
pub(super) fn note_writer(content: &mut Value, machine: &str, process: u32) {
    content[WRITER] = json!({ "machine": machine, "id": process });
}

/// Removes the files in `folder` that processes of this machine wrote that have ended.
pub(super) fn remove_stale(folder: &Path, machine: &str, is_alive: impl Fn(u32) -> bool) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if writer_on(&path, machine).is_some_and(|process| !is_alive(process))
            && let Err(error) = fs::remove_file(&path)
        {
            tracing::debug!(%error, "{} cannot be removed", path.display());
        }
    }
}

/// The process of this machine and this program that wrote the connection file, if it is one.
fn writer_on(path: &Path, machine: &str) -> Option<u32> {
    let name = path.file_name()?.to_str()?;
    if !name.starts_with("kernel-") || path.extension()? != "json" {
        return None;
    }
    let content: Value = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
    let writer = content.get(WRITER).filter(|_| content[STARTED_BY] == THIS_PROGRAM)?;
    let process = writer["id"].as_u64().filter(|_| writer["machine"] == machine)?;
    u32::try_from(process).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_dead_processes_of_this_machine_and_program_are_removed() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, program: &str, writer: Option<(&str, u32)>| {
            let mut content = json!({ "key": "k", STARTED_BY: program });
            if let Some((machine, process)) = writer {
                note_writer(&mut content, machine, process);
            }
            fs::write(folder.path().join(name), content.to_string()).unwrap();
        };
        write("kernel-dead.json", THIS_PROGRAM, Some(("here", 1)));
        write("kernel-alive.json", THIS_PROGRAM, Some(("here", 2)));
        write("kernel-there.json", THIS_PROGRAM, Some(("there", 1)));
        write("kernel-unknown.json", THIS_PROGRAM, None);
        write("kernel-theirs.json", "jupyter", Some(("here", 1)));
        write("other-dead.json", THIS_PROGRAM, Some(("here", 1)));
        fs::write(folder.path().join("kernel-broken.json"), "{").unwrap();
        remove_stale(folder.path(), "here", |process| process == 2);
        assert!(!folder.path().join("kernel-dead.json").exists());
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 6);
    }
}
