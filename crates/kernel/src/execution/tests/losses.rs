//! Transcripts of connections that are cut and of kernels that are replaced.

use std::time::Instant;

use super::transcripts::{assert_transcript, message};
use crate::execution::{Executions, InputRequests};

#[test]
fn an_execution_that_ends_after_a_reconnect_is_not_lost() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        run b
        reconnect
        iopub a stream {"name": "stdout", "text": "replayed"}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        iopub b execute_input {"execution_count": 2}
        shell b execute_reply {"status": "ok", "execution_count": 2}
        iopub b status {"execution_state": "idle"}
        iopub probe status {"execution_state": "busy"}
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn executions_without_a_reply_are_lost_when_the_kernel_answers() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        run b
        reconnect
        iopub probe status {"execution_state": "busy"}
        shell probe kernel_info_reply {}
        run c
        iopub probe status {"execution_state": "idle"}
        iopub c execute_input {"execution_count": 2}
        shell c execute_reply {"status": "ok", "execution_count": 2}
        iopub c status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_loss_check_ends_without_idle() {
    assert_transcript!(
        "
        run a
        reconnect
        shell probe kernel_info_reply {}
        wait 1
        wait 1
        "
    );
}

#[test]
fn a_new_kernel_process_ends_what_had_started() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        run b
        replace
        iopub b execute_input {"execution_count": 1}
        shell b execute_reply {"status": "ok", "execution_count": 1}
        iopub b status {"execution_state": "idle"}
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_request_that_may_not_have_started_is_lost_with_its_kernel() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        run deadly
        replace
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        run c
        reconnect
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_server_reports_a_kernel_that_ended_by_itself() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        iopub server status {"execution_state": "restarting"}
        "#
    );
}

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
        let mut executions = Executions::new(InputRequests::default());
        executions.begin_with(Some("s".to_owned()));
        if is_owned {
            executions.trust_process_end();
        }
        executions.handle(&message(line, "", true), Instant::now());
        assert_eq!(executions.process().lock().lives(), !has_ended, "{line}");
        assert_eq!(executions.process().lock().id(), Some("s"));
    }
}

#[test]
fn missing_publications_are_reported() {
    assert_transcript!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        shell a execute_reply {"status": "ok", "execution_count": 1}
        iopub a status {"execution_state": "idle"}
        run b
        shell b execute_reply {"status": "ok", "execution_count": 1}
        iopub b status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_silent_supersedable_connection_is_checked_for_losses() {
    assert_transcript!(
        r#"
        supersedable
        run replyless
        iopub replyless execute_input {"execution_count": 1}
        iopub replyless error {"ename": "NameError", "evalue": "x", "traceback": ["x"]}
        run lost
        wait 5
        iopub probe status {"execution_state": "busy"}
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_loss_check_that_is_lost_itself_is_repeated() {
    assert_transcript!(
        r#"
        supersedable
        run lost
        wait 5
        wait 5
        iopub alive status {"execution_state": "idle"}
        wait 5
        iopub probe status {"execution_state": "busy"}
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn an_execution_before_the_loss_check_goes_on() {
    assert_transcript!(
        r#"
        supersedable
        run long
        iopub long execute_input {"execution_count": 1}
        wait 5
        wait 5
        iopub alive status {"execution_state": "busy"}
        wait 5
        iopub long stream {"name": "stdout", "text": "still here"}
        shell long execute_reply {"status": "ok", "execution_count": 1}
        iopub long status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_request_on_a_superseded_connection_is_lost() {
    assert_transcript!(
        r#"
        supersedable
        run lost
        wait 5
        wait 5
        wait 5
        reconnect
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_request_just_before_superseding_is_noticed_is_lost() {
    assert_transcript!(
        r#"
        supersedable
        run lost
        superseded
        wait 5
        wait 5
        wait 5
        reconnect
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn an_execution_whose_reply_went_to_another_client_ends_as_published() {
    assert_transcript!(
        r#"
        supersedable
        run done
        iopub done execute_input {"execution_count": 1}
        iopub done status {"execution_state": "idle"}
        run failed
        iopub failed execute_input {"execution_count": 2}
        iopub failed error {"ename": "NameError", "evalue": "x", "traceback": ["x"]}
        iopub failed status {"execution_state": "idle"}
        wait 2
        "#
    );
}
