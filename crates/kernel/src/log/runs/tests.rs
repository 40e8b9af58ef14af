use serde_json::{Value, json};

use super::*;
use crate::Death;

fn announcement(run: &str, message: Option<&str>) -> LogRecord {
    let data = json!({ "notebook": "/n.ipynb", "cell": "c", "source": "1" });
    LogRecord::Announced(Announcement { run: run.into(), message: message.map(Into::into), data })
}

pub(in crate::log) fn message(channel: Channel, kind: &str, parent: &str, content: &Value) -> LogRecord {
    let header = json!({ "msg_id": "1", "msg_type": kind });
    let parts = [&header, &json!({ "msg_id": parent }), &json!({}), content];
    LogRecord::FromKernel { channel, parts: parts.map(|part| Bytes::from(part.to_string())).into() }
}

fn idle(parent: &str) -> LogRecord {
    message(Channel::Iopub, "status", parent, &json!({ "execution_state": "idle" }))
}

/// The stages of the runs after these records, and whether each is acknowledged.
fn stages(records: &[LogRecord]) -> Vec<(RunStage, bool)> {
    let mut runs = RunsInLog::default();
    for record in records {
        runs.read(SystemTime::UNIX_EPOCH, 0, record);
    }
    runs.into_all().into_iter().map(|run| (run.stage, run.record.is_acknowledged)).collect()
}

#[test]
fn a_run_is_over_once_the_kernel_has_replied_and_is_idle() {
    let failed = json!({ "status": "error", "ename": "E", "evalue": "v" });
    let mut records = vec![announcement("r1", None), announcement("r1", Some("m"))];
    assert_eq!(stages(&records[..1]), [(RunStage::Queued, false)]);
    assert_eq!(stages(&records), [(RunStage::Queued, false)], "another run may have the kernel");
    records.push(message(Channel::Iopub, "status", "m", &json!({ "execution_state": "busy" })));
    assert_eq!(stages(&records), [(RunStage::Running, false)]);
    records.push(message(Channel::Shell, "execute_reply", "m", &failed));
    assert_eq!(stages(&records), [(RunStage::Running, false)]);
    records.push(idle("m"));
    let error = Outcome::Error { execution_count: None, name: "E".to_owned(), value: "v".to_owned() };
    let over = RunStage::Over(error);
    assert_eq!(stages(&records), [(over.clone(), false)]);
    records.push(LogRecord::Acknowledged { run: "r1".into() });
    records.push(LogRecord::Event(LogEvent::Died { how: "killed".to_owned() }));
    assert_eq!(stages(&records), [(over, true)]);
}

#[test]
fn an_interrupt_ends_what_has_started_whatever_the_kernel_calls_it() {
    let end = |reply: &Value, is_started: bool| {
        let mut records = vec![announcement("r1", Some("m"))];
        records.extend(is_started.then(|| message(Channel::Iopub, "execute_input", "m", &json!({}))));
        records.extend([message(Channel::Shell, "execute_reply", "m", reply), idle("m")]);
        stages(&records).remove(0).0
    };
    for status in ["abort", "aborted"] {
        assert_eq!(
            end(&json!({ "status": status }), true),
            RunStage::Over(Outcome::Interrupted { is_started: true })
        );
        assert_eq!(end(&json!({ "status": status }), false), RunStage::Over(Outcome::Aborted));
    }
}

#[test]
fn the_death_of_a_kernel_ends_what_it_was_sent_and_nothing_else() {
    let asks = json!({ "prompt": "name", "password": false });
    let records = [
        announcement("r1", Some("m1")),
        message(Channel::Stdin, "input_request", "m1", &asks),
        announcement("r2", Some("m2")),
        LogRecord::Event(LogEvent::Withdrawn { message: "m2".into() }),
        announcement("r3", None),
        LogRecord::Event(LogEvent::Died { how: "killed".to_owned() }),
    ];
    let waits = RunStage::WaitingForInput { prompt: "name".to_owned(), is_password: false };
    assert_eq!(stages(&records[..2]), [(waits, false)]);
    let parts = [json!({ "msg_id": "2", "msg_type": "input_reply" }), json!({ "msg_id": "1" }), json!({})];
    let parts = parts.map(|part| Bytes::from(part.to_string())).into();
    let answer = LogRecord::ToKernel { channel: Channel::Stdin, parts };
    let answered =
        [announcement("r1", Some("m1")), message(Channel::Stdin, "input_request", "m1", &asks), answer];
    assert_eq!(stages(&answered), [(RunStage::Running, false)]);
    let died = RunStage::Over(Outcome::KernelDied { how: Death::from("killed") });
    assert_eq!(stages(&records), [(died, false), (RunStage::Withdrawn, false), (RunStage::Queued, false)]);
}
