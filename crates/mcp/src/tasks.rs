//! Tool calls that go on as tasks: the extension `io.modelcontextprotocol/tasks` (SEP-2663).
//!
//! A call that outlasts its wait goes on here, if its request declares the extension. The task has the id of the call's last run, so
//! the journal of runs is its store: what is no longer kept here, and runs of earlier servers, are looked up there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use connection::Secret;
use parking_lot::{Mutex, MutexGuard};
use place::{Answer, Error, Progress, Report, RunId, RunState};
use rmcp::model::{
    CallToolResult, ContentBlock, DetailedTask, ElicitRequest, ElicitResult, InputRequest, InputResponses,
    JsonObject, Task as Described, TaskPayload, TaskStatus,
};
use runs::Run;
use serde::Deserialize as _;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::elicitation::{PendingQuestion, form, person_reply};
use crate::paused_calls::{OngoingCall, internal};
use crate::reply::{Reply, failure};
use calls::permissions::Permissions;
use calls::question::PersonReply;

/// How many calls are kept. One more drops the oldest, rather one that has ended.
const MAX_KEPT: usize = 100;
/// How many cancelled tasks are remembered.
const MAX_CANCELLED: usize = 1000;
/// How often an agent should ask, in milliseconds, and from what age of the task on less often.
const POLL_INTERVAL: u64 = 1000;
const SLOW_POLL_INTERVAL: u64 = 5000;
const LONG: Duration = Duration::from_secs(60);

/// The tasks of a server.
#[derive(Default)]
pub(crate) struct Tasks(Mutex<Kept>);

#[derive(Default)]
struct Kept {
    tasks: VecDeque<Arc<Task>>,
    /// Those whose runs an agent has cancelled.
    cancelled: VecDeque<String>,
}

/// A call that goes on.
pub(crate) struct Task {
    id: String,
    created_at: SystemTime,
    permissions: Permissions,
    /// None if it is relayed.
    pub(crate) runs: Vec<Arc<Run>>,
    cancelled: CancellationToken,
    progress: Mutex<TaskProgress>,
}

struct TaskProgress {
    updated_at: SystemTime,
    message: String,
    /// The question that waits for the person.
    question: Option<PendingQuestion>,
    /// How many questions there were: their keys must not repeat.
    questions: u32,
    /// The person does not want to answer.
    is_declined: bool,
    end: Option<End>,
    /// Drives the call.
    work: Option<AbortOnDropHandle<()>>,
}

impl Tasks {
    /// Keeps a call that goes on with these runs, and returns its first description.
    pub(crate) fn keep(&self, call: OngoingCall, runs: Vec<Arc<Run>>) -> Result<Described, Error> {
        let now = SystemTime::now();
        let id = match runs.last() {
            Some(run) => run.id().to_string(),
            None => Secret::generate().map_err(|error| internal(error.to_string()))?.expose().to_owned(),
        };
        call.turn.answered();
        let message = match &runs[..] {
            [] => "The call goes on.".to_owned(),
            _ => format!("The run goes on; get_run(run_id=\"{id}\") shows its outputs so far."),
        };
        let progress = TaskProgress {
            updated_at: now,
            message,
            question: None,
            questions: 0,
            is_declined: false,
            end: None,
            work: None,
        };
        let task = Arc::new(Task {
            id,
            created_at: now,
            permissions: call.permissions,
            runs,
            cancelled: call.cancelled.clone(),
            progress: Mutex::new(progress),
        });
        let described = task.described(&task.progress.lock());
        let work = tokio::spawn(drive(task.clone(), call));
        task.progress.lock().work = Some(AbortOnDropHandle::new(work));
        let mut kept = self.kept();
        if kept.tasks.len() >= MAX_KEPT {
            let ended = kept.tasks.iter().position(|task| task.progress.lock().end.is_some());
            kept.tasks.remove(ended.unwrap_or_default());
        }
        kept.tasks.push_back(task);
        Ok(described)
    }

    /// The task of an agent with these permissions, if it is kept.
    pub(crate) fn find(&self, id: &str, permissions: Permissions) -> Option<Arc<Task>> {
        let kept = self.kept();
        // Another call can be about the same run.
        kept.tasks.iter().rev().find(|task| task.id == id && task.permissions == permissions).cloned()
    }

    /// An agent has cancelled the task.
    pub(crate) fn cancelled(&self, id: &str) {
        let mut kept = self.kept();
        if kept.cancelled.len() >= MAX_CANCELLED {
            kept.cancelled.pop_front();
        }
        kept.cancelled.push_back(id.to_owned());
    }

    pub(crate) fn is_cancelled(&self, id: &str) -> bool {
        self.kept().cancelled.iter().any(|cancelled| cancelled == id)
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.0.lock()
    }
}

/// How a call has ended.
enum End {
    As(TaskPayload),
    /// Before its runs.
    Early,
}

/// Follows a call to its end.
async fn drive(task: Arc<Task>, mut call: OngoingCall) {
    loop {
        tokio::select! {
            biased;
            answer = &mut call.work => return task.progress.lock().end(end(answer, &task.runs)),
            Some(asked) = call.questions.recv() => task.progress.lock().ask(asked),
            Some(report) = call.reports.recv() => task.progress.lock().report(report),
        }
    }
}

impl TaskProgress {
    fn end(&mut self, end: End) {
        (self.end, self.question, self.updated_at) = (Some(end), None, SystemTime::now());
        "The call has ended.".clone_into(&mut self.message);
    }

    fn ask(&mut self, question: PendingQuestion) {
        self.questions += 1;
        (self.question, self.updated_at) = (Some(question), SystemTime::now());
    }

    fn report(&mut self, report: Report) {
        if let Report::Progress(Progress { message: Some(message), .. }) = report {
            (self.message, self.updated_at) = (message, SystemTime::now());
        }
    }

    fn key(&self) -> String {
        format!("input-{}", self.questions)
    }
}

impl Task {
    /// Its state as an agent sees it that can show forms, or not. `None` if only the journal of runs knows how it goes on: the call
    /// has ended before its runs.
    pub(crate) fn detailed(&self, shows_forms: bool, is_cancelled: bool) -> Option<DetailedTask> {
        let progress = self.progress.lock();
        let asked = progress.question.as_ref().filter(|asked| shows_forms && !asked.reply.is_closed());
        let request = asked.and_then(|asked| form(&asked.question));
        let payload = match (&progress.end, request) {
            (Some(End::Early), _) => return None,
            (Some(End::As(TaskPayload::Completed { .. })), _) if is_cancelled && self.is_stopped() => {
                TaskPayload::Cancelled
            }
            (Some(End::As(payload)), _) => payload.clone(),
            (None, Some(form)) => TaskPayload::InputRequired {
                input_requests: [(progress.key(), InputRequest::Elicitation(ElicitRequest::new(form)))]
                    .into(),
            },
            (None, None) => TaskPayload::Working,
        };
        Some(DetailedTask::new(self.described(&progress), payload))
    }

    /// Whether one of its runs did not end by itself.
    fn is_stopped(&self) -> bool {
        self.runs.iter().any(|run| is_stopped(&run.state()))
    }

    fn described(&self, progress: &TaskProgress) -> Described {
        describe(&self.id, self.created_at, progress.updated_at, &progress.message)
    }

    /// Passes the person's answer on to the call. Returns whether the call asked for it.
    pub(crate) fn answer(&self, responses: &InputResponses) -> bool {
        let mut progress = self.progress.lock();
        let Some(response) = responses.get(&progress.key()) else { return false };
        let Some(PendingQuestion { reply, .. }) = progress.question.take() else { return false };
        let replied = person_replied(response);
        progress.is_declined = !matches!(replied, PersonReply::Accepted { line: Some(_) });
        reply.send(replied).is_ok()
    }

    /// Whether the person was asked for input and did not give it.
    pub(crate) fn is_declined(&self) -> bool {
        self.progress.lock().is_declined
    }

    /// Ends the call, unless it has ended.
    pub(crate) fn stop(&self) {
        let mut progress = self.progress.lock();
        if progress.end.is_none() {
            self.cancelled.cancel();
            progress.work = None;
            progress.end(End::As(TaskPayload::Cancelled));
        }
    }
}

/// The state of a task of which only its run is known.
pub(crate) fn of_run(
    run: (&RunId, &RunState),
    created_at: SystemTime,
    result: CallToolResult,
    asks: Option<(String, InputRequest)>,
    is_cancelled: bool,
) -> DetailedTask {
    let (id, state) = run;
    let payload = match state {
        _ if is_cancelled && is_stopped(state) => TaskPayload::Cancelled,
        _ if state.is_over() => completed(result, Some(id)),
        _ => match asks {
            Some(asks) => TaskPayload::InputRequired { input_requests: [asks].into() },
            None => TaskPayload::Working,
        },
    };
    let message = match state {
        RunState::WaitingForInput { .. } => {
            format!("The run waits for input; answer_input(run_id=\"{id}\", value=…) answers.")
        }
        state => format!("The run is {}; get_run(run_id=\"{id}\") shows its outputs.", state.name()),
    };
    DetailedTask::new(describe(id, created_at, SystemTime::now(), &message), payload)
}

fn is_stopped(state: &RunState) -> bool {
    matches!(state, RunState::Interrupted | RunState::Skipped { .. })
}

pub(crate) fn person_replied(response: &serde_json::Value) -> PersonReply {
    ElicitResult::deserialize(response).map_or(PersonReply::Dismissed, |result| person_reply(&result))
}

fn describe(id: &str, created_at: SystemTime, updated_at: SystemTime, message: &str) -> Described {
    let time = |time: SystemTime| DateTime::<Utc>::from(time).to_rfc3339_opts(SecondsFormat::Millis, true);
    let age = created_at.elapsed().unwrap_or_default();
    let interval = if age < LONG { POLL_INTERVAL } else { SLOW_POLL_INTERVAL };
    Described::new(id, TaskStatus::Working, time(created_at), time(updated_at))
        .with_status_message(message)
        .with_poll_interval_ms(interval)
}

fn end(answer: Result<Reply, Error>, runs: &[Arc<Run>]) -> End {
    let id = runs.last().map(|run| run.id());
    End::As(match answer {
        Ok(Reply::Own(result)) => completed(result, id),
        Ok(Reply::Ongoing(_)) => return End::Early,
        Ok(Reply::Relayed(Answer::Result(result))) => {
            let text: Box<str> = result.into();
            TaskPayload::Completed { result: serde_json::from_str(&text).unwrap_or_default() }
        }
        Ok(Reply::Relayed(Answer::Error(error))) => {
            TaskPayload::Failed { error: serde_json::from_str(error.get()).unwrap_or_default() }
        }
        Err(error) => completed(failure(&error), id),
    })
}

/// Some clients show the images of a task as files only, so the text names the call that shows them.
fn completed(mut result: CallToolResult, run: Option<&RunId>) -> TaskPayload {
    result.result_type = None;
    let has_image = result.content.iter().any(|block| block.as_image().is_some());
    if let Some(id) = run.filter(|_| has_image) {
        result.content.push(ContentBlock::text(format!("get_run(run_id=\"{id}\") shows the images.")));
    }
    let result: Option<JsonObject> =
        serde_json::to_value(result).ok().and_then(|value| serde_json::from_value(value).ok());
    TaskPayload::Completed { result: result.unwrap_or_default() }
}
