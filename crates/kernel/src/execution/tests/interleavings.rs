//! In whatever order messages come, each execution ends once and its outputs keep their order.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use notebook::Output;
use proptest::prelude::*;

use super::transcripts::message;
use crate::execution::{Executions, InputRequests};
use crate::{Event, MessageId, Outcome};

/// The messages of an execution, to pick from.
const KINDS: [&str; 17] = [
    r#"iopub NAME status {"execution_state": "busy"}"#,
    r#"iopub NAME status {"execution_state": "idle"}"#,
    r#"iopub NAME status {"execution_state": "starting"}"#,
    r#"iopub NAME execute_input {"execution_count": 1}"#,
    r#"iopub NAME display_data {"data": {}, "transient": {"display_id": "d"}}"#,
    r#"iopub NAME update_display_data {"data": {}, "transient": {"display_id": "d"}}"#,
    r#"iopub NAME clear_output {"wait": true}"#,
    r#"iopub NAME error {"ename": "E"}"#,
    r#"shell NAME execute_reply {"status": "ok", "payload": [{"source": "page"}]}"#,
    r#"shell NAME execute_reply {"status": "error", "ename": "E"}"#,
    r#"shell NAME execute_reply {"status": "aborted"}"#,
    r#"stdin NAME input_request {"prompt": "?"}"#,
    r#"iopub NAME stream {"text": 5}"#,
    r#"iopub session= colab_request {"colab_msg_id": 1} > {}"#,
    r#"iopub NAME comm_open {"comm_id": "w", "target_name": "jupyter.widget", "data": {"state": {"_model_name": "LabelModel", "value": "NAME"}}}"#,
    r#"iopub NAME comm_msg {"comm_id": "w", "data": {"method": "update", "state": {"value": "of NAME"}}}"#,
    r#"iopub NAME display_data {"data": {"application/vnd.jupyter.widget-view+json": {"model_id": "w"}}}"#,
];

#[derive(Debug, Clone)]
enum Step {
    Run(u8),
    Message(u8, usize),
    /// A line with a number that grows.
    Print(u8),
    Wait(u64),
    End,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        2 => (0..4_u8).prop_map(Step::Run),
        12 => (0..5_u8, 0..KINDS.len()).prop_map(|(name, kind)| Step::Message(name, kind)),
        6 => (0..5_u8).prop_map(Step::Print),
        1 => (0..5_u64).prop_map(Step::Wait),
        1 => Just(Step::End),
    ]
}

/// Checks the events of one execution as they come.
#[derive(Default)]
struct Witness {
    is_started: bool,
    is_finished: bool,
    last_line: Option<u32>,
}

impl Witness {
    fn check(&mut self, event: &Event) {
        match event {
            Event::Started { .. } => {
                assert!(!self.is_started && !self.is_finished);
                self.is_started = true;
            }
            Event::Finished(_) => {
                assert!(!self.is_finished);
                self.is_finished = true;
            }
            Event::Busy | Event::Restarted | Event::Idle => assert!(!self.is_finished),
            Event::InputWanted { .. } | Event::InputAnswered => assert!(self.is_started && !self.is_finished),
            // Our own notices go to stderr.
            Event::Output { output: Output::Stream { name, text }, .. } if name == "stdout" => {
                let line = text.as_str().parse().ok();
                assert!(self.last_line < line, "{line:?} after {:?}", self.last_line);
                self.last_line = line;
            }
            _ => assert!(self.is_started || self.is_finished),
        }
    }
}

proptest! {
    #[test]
    fn executions_end_once_and_outputs_keep_their_order(
        steps in proptest::collection::vec(step(), 0..120),
    ) {
        let input_requests = InputRequests::default();
        let mut executions = Executions { input_requests: input_requests.clone(), ..Executions::default() };
        let mut witnesses: Vec<(String, Arc<Mutex<Witness>>)> = Vec::new();
        let (mut now, mut line) = (Instant::now(), 0_u32);
        for step in steps {
            match step {
                Step::Run(name) if witnesses.iter().all(|(it, _)| *it != name.to_string()) => {
                    let witness = Arc::<Mutex<Witness>>::default();
                    let checked = witness.clone();
                    let id = MessageId::new(name.to_string());
                    executions.add(id, Box::new(move |event| checked.lock().unwrap().check(&event)), now);
                    witnesses.push((name.to_string(), witness));
                }
                Step::Run(_) => {}
                Step::Message(name, kind) => {
                    let text = KINDS[kind].replace("NAME", &name.to_string());
                    executions.handle(&message(&text, "", false), now);
                }
                Step::Print(name) => {
                    line += 1;
                    let text = format!(r#"iopub {name} stream {{"name": "stdout", "text": "{line}"}}"#);
                    executions.handle(&message(&text, "", false), now);
                }
                Step::Wait(seconds) => {
                    now += Duration::from_secs(seconds);
                    executions.tick(now);
                }
                Step::End => executions.end(&Outcome::KernelDied { how: "".into() }),
            }
        }
        executions.end(&Outcome::KernelDied { how: "".into() });
        for (name, witness) in witnesses {
            prop_assert!(witness.lock().unwrap().is_finished);
            prop_assert!(input_requests.remove(&MessageId::new(&*name)).is_none());
        }
        prop_assert!(executions.unfinished(|_| true).is_empty());
        prop_assert_eq!(executions.running, 0);
    }
}
