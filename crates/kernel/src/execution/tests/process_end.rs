//! What a connection knows of a kernel's process.

use std::time::Instant;

use super::transcripts::message;
use crate::execution::Executions;

#[test]
fn the_process_of_a_kernel_that_ends_is_known_to_have_ended() {
    let restart = r#"iopub nobody shutdown_reply {"restart": true}"#;
    let [died, given_up] =
        ["restarting", "dead"].map(|it| format!(r#"iopub server status {{"execution_state": "{it}"}}"#));
    let lie = r#"iopub nobody status {"execution_state": "restarting"}"#;
    for (line, is_owned, has_ended) in [
        (restart, false, true),
        (restart, true, false),
        (&*died, false, true),
        (&*given_up, false, true),
        (lie, false, false),
    ] {
        let mut executions = Executions::default();
        executions.process.begin_with(Some("s".to_owned()));
        if is_owned {
            executions.process.is_end_reported = true;
        }
        executions.handle(&message(line, "", true), Instant::now());
        assert_eq!(executions.process.process.lock().lives(), !has_ended, "{line}");
        assert_eq!(executions.process.process.lock().id(), Some("s"));
    }
}
