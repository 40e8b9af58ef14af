//! Whatever the order in which messages come, each execution ends once and its outputs keep theirs.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use notebook::Output;
use proptest::prelude::*;

use super::stories::message;
use super::*;

/// Which of the messages of an execution comes.
const KINDS: [&str; 13] = [
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
];

#[derive(Debug, Clone)]
enum Happening {
    Run(u8, bool),
    Message(u8, usize),
    /// A line with a number that grows.
    Print(u8),
    Wait(u64),
    End,
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        2 => (0..4_u8, any::<bool>()).prop_map(|(name, is_silent)| Happening::Run(name, is_silent)),
        12 => (0..5_u8, 0..KINDS.len()).prop_map(|(name, kind)| Happening::Message(name, kind)),
        6 => (0..5_u8).prop_map(Happening::Print),
        1 => (0..5_u64).prop_map(Happening::Wait),
        1 => Just(Happening::End),
    ]
}

/// Checks what one execution is told as it is told.
#[derive(Default)]
struct Witness {
    is_started: bool,
    is_finished: bool,
    last_line: Option<u32>,
}

impl Witness {
    fn hear(&mut self, event: &Event) {
        match event {
            Event::Started { .. } => {
                assert!(!self.is_started && !self.is_finished);
                self.is_started = true;
            }
            Event::Finished(_) => {
                assert!(!self.is_finished);
                self.is_finished = true;
            }
            Event::InputWanted { .. } => assert!(self.is_started && !self.is_finished),
            // Ours, of losses, goes to stderr.
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
        happenings in proptest::collection::vec(happening(), 0..120),
    ) {
        let inputs = Inputs::default();
        let mut executions = Executions::new(inputs.clone());
        let mut witnesses: Vec<(String, Arc<Mutex<Witness>>)> = Vec::new();
        let (mut now, mut line) = (Instant::now(), 0_u32);
        for happening in happenings {
            match happening {
                Happening::Run(name, is_silent) if witnesses.iter().all(|(it, _)| *it != name.to_string()) => {
                    let witness = Arc::<Mutex<Witness>>::default();
                    let ear = witness.clone();
                    let id = ExecutionId::new(&name.to_string());
                    executions.add(id, is_silent, Box::new(move |event| ear.lock().unwrap().hear(&event)), now);
                    witnesses.push((name.to_string(), witness));
                }
                Happening::Run(..) => {}
                Happening::Message(name, kind) => {
                    let text = KINDS[kind].replace("NAME", &name.to_string());
                    executions.handle(&message(&text, ""), now);
                }
                Happening::Print(name) => {
                    line += 1;
                    let text = format!(r#"iopub {name} stream {{"name": "stdout", "text": "{line}"}}"#);
                    executions.handle(&message(&text, ""), now);
                }
                Happening::Wait(seconds) => {
                    now += Duration::from_secs(seconds);
                    executions.tick(now);
                }
                Happening::End => executions.end(&Outcome::KernelDied(String::new())),
            }
        }
        executions.end(&Outcome::KernelDied(String::new()));
        for (name, witness) in witnesses {
            prop_assert!(witness.lock().unwrap().is_finished);
            prop_assert!(inputs.remove(&ExecutionId::new(&name)).is_none());
        }
        prop_assert!(executions.unfinished(|_| true).is_empty() && executions.running == 0);
    }
}
