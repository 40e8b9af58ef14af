//! What a person is told who looks elsewhere: the ends of runs, and what waits for an answer.

use std::collections::{HashMap, HashSet};

use notebook::one_line;
use place::RunState;
use serde::Serialize;

use crate::kernels::{SeenKernel, SeenRun};
use crate::questions::OpenQuestion;
use crate::words::run_state;

/// Text for a notification of the browser.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub(crate) struct Notice {
    title: String,
    body: String,
}

/// What was told already. The first look tells nothing: it finds what the page shows when it opens.
#[derive(Default)]
pub(crate) struct Notices {
    has_looked: bool,
    /// The runs that are not over, with their notebook and cell.
    runs: HashMap<String, (String, String)>,
    /// What waits for an answer.
    waiting: HashSet<String>,
}

impl Notices {
    /// What is new.
    pub(crate) fn of(&mut self, kernels: &[SeenKernel], questions: &[OpenQuestion]) -> Vec<Notice> {
        let (mut notices, mut waiting) = (Vec::new(), HashSet::new());
        let seen: HashMap<&str, &SeenRun> =
            kernels.iter().flat_map(|kernel| &kernel.runs).map(|run| (run.id.as_str(), run)).collect();
        for (id, (title, cell)) in &self.runs {
            let state = seen.get(id.as_str()).map_or("has ended", |run| match &run.state {
                state if state.is_over() => run_state(state),
                _ => "",
            });
            if !state.is_empty() {
                notices.push(Notice { title: title.clone(), body: format!("{cell}: {state}") });
            }
        }
        let unfinished = seen.values().filter(|run| !run.state.is_over());
        self.runs = unfinished.map(|run| (run.id.to_string(), (title(run), cell(run)))).collect();
        for run in seen.values() {
            if let RunState::WaitingForInput { prompt, .. } = &run.state {
                let key = format!("{} {prompt}", run.id);
                if !self.waiting.contains(&key) {
                    let body = format!("{} waits for input: {}", cell(run), one_line(prompt.trim()));
                    notices.push(Notice { title: title(run), body });
                }
                waiting.insert(key);
            }
        }
        for OpenQuestion { number, question } in questions {
            let key = number.to_string();
            if !self.waiting.contains(&key) {
                let title = if question.client.is_empty() { "An agent" } else { question.client.trim() };
                let body = "asks for your consent".to_owned();
                notices.push(Notice { title: one_line(title).into_owned(), body });
            }
            waiting.insert(key);
        }
        self.waiting = waiting;
        if std::mem::replace(&mut self.has_looked, true) { notices } else { Vec::new() }
    }
}

fn title(run: &SeenRun) -> String {
    run.notebook
        .as_ref()
        .map_or_else(|| "Code without a notebook".to_owned(), |path| one_line(path).into_owned())
}

fn cell(run: &SeenRun) -> String {
    run.cell
        .as_ref()
        .map_or_else(|| run.id.to_string(), |cell| format!("Cell {}", one_line(&cell.to_string())))
}
