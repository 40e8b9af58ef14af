//! Stories of connections that are lost and of kernels that are replaced; told as in [`stories`](super::stories).

use super::stories::told;

#[test]
fn what_went_on_over_a_new_connection_is_not_lost() {
    told!(
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
fn what_went_with_a_connection_ends_when_the_kernel_answers() {
    told!(
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
fn a_question_about_what_is_lost_needs_no_idle() {
    told!(
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
fn a_new_kernel_knows_nothing_of_what_ran_on_the_last() {
    told!(
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
fn a_request_of_which_nothing_was_heard_before_its_kernel_was_replaced_ended_with_it() {
    told!(
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
fn a_server_tells_of_a_kernel_that_ended_by_itself() {
    told!(
        r#"
        run a
        iopub a execute_input {"execution_count": 1}
        iopub server status {"execution_state": "restarting"}
        "#
    );
}

#[test]
fn what_a_kernel_did_unheard_is_told() {
    told!(
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
fn a_silence_in_which_a_message_may_be_lost_ends_with_an_answer() {
    told!(
        r#"
        overtakable
        run replyless
        iopub replyless execute_input {"execution_count": 1}
        iopub replyless error {"ename": "NameError", "evalue": "x", "traceback": ["x"]}
        run unheard
        wait 5
        iopub probe status {"execution_state": "busy"}
        shell probe kernel_info_reply {}
        iopub probe status {"execution_state": "idle"}
        "#
    );
}

#[test]
fn a_run_in_front_of_the_answer_to_a_doubt_goes_on() {
    told!(
        r#"
        overtakable
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
fn a_request_that_nobody_hears_is_told_over_another_connection() {
    told!(
        r#"
        overtakable
        run unheard
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
fn a_request_just_before_the_connection_is_seen_to_be_cut_off_is_told() {
    told!(
        r#"
        overtakable
        run unheard
        overtaken
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
fn a_run_whose_reply_goes_to_somebody_else_ends_as_everybody_is_told() {
    told!(
        r#"
        overtakable
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
