//! Tool calls that go on as tasks: the extension `io.modelcontextprotocol/tasks` (SEP-2663).
//!
//! A call that outlasts its wait goes on here, if its request declares the extension. The task has the id of the call's last run, so
//! the journal of runs is its store: what is no longer kept here, and runs of earlier servers, are looked up there.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use chrono::{DateTime, SecondsFormat, Utc};
use connection::Secret;
use notebook::{Output, one_line};
use parking_lot::{Mutex, MutexGuard};
use place::{Answer, Error, Progress, Report, RunId, RunState};
use rmcp::model::{
    CallToolResult, ContentBlock, DetailedTask, ElicitRequest, ElicitResult, ErrorData, InputRequest,
    InputResponses, JsonObject, Task as Described, TaskPayload, TaskStatus,
};
use runs::Run;
use serde::Deserialize as _;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::elicitation::{PendingQuestion, form, person_reply};
use crate::paused_calls::{OngoingCall, internal};
use crate::reply::{Reply, failure};
use calls::permissions::Permissions;
use calls::question::PersonReply;

/// How many calls are kept. One more drops the oldest, rather one that has ended.
const MAX_KEPT: usize = 100;
/// How large the results are that are kept together, in bytes: those of runs can be made again.
const MAX_RESULTS: usize = 16 * 1024 * 1024;
/// How many cancelled tasks and declined questions are remembered.
const MAX_REMEMBERED: usize = 1000;
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
    /// The ids of those that an agent has cancelled, and the keys of questions that the person did not want to answer.
    stopped: VecDeque<String>,
}

/// A call that goes on.
pub(crate) struct Task {
    id: String,
    created_at: SystemTime,
    /// Those of the call.
    pub(crate) params: Arc<RawValue>,
    permissions: Permissions,
    /// None if it is relayed.
    pub(crate) runs: Vec<Arc<Run>>,
    cancelled: CancellationToken,
    progress: Mutex<TaskProgress>,
}

struct TaskProgress {
    updated_at: SystemTime,
    /// What the call has reported last.
    reported: Option<String>,
    /// The question that waits for the person, by its key.
    question: Option<(String, PendingQuestion)>,
    end: Option<End>,
    /// Drives the call.
    work: Option<AbortOnDropHandle<()>>,
}

impl Tasks {
    /// Keeps a call that goes on with these runs, and returns its first description.
    pub(crate) fn keep(&self, call: OngoingCall, runs: Vec<Arc<Run>>) -> Result<Described, Error> {
        let (id, created_at) = if let Some(run) = runs.last() {
            (run.id().to_string(), run.requested())
        } else {
            let id = Secret::generate().map_err(|error| internal(error.to_string()))?;
            (id.expose().to_owned(), SystemTime::now())
        };
        call.turn.answered();
        let updated_at = SystemTime::now();
        let progress = TaskProgress { updated_at, reported: None, question: None, end: None, work: None };
        let task = Arc::new(Task {
            id,
            created_at,
            params: call.params.clone(),
            permissions: call.permissions,
            runs,
            cancelled: call.cancelled.clone(),
            progress: Mutex::new(progress),
        });
        let described = task.described(&task.progress.lock());
        let work = tokio::spawn(drive(task.clone(), call));
        task.progress.lock().work = Some(AbortOnDropHandle::new(work));
        let mut kept = self.kept();
        let mut room = MAX_RESULTS;
        // The newest first.
        for task in kept.tasks.iter().rev().filter(|task| !task.runs.is_empty()) {
            let size = task.progress.lock().result_size();
            match room.checked_sub(size) {
                Some(left) => room = left,
                None => task.progress.lock().end = Some(End::Early),
            }
        }
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

    /// An agent has cancelled the task with this id, or the person did not want to answer the question with this key.
    pub(crate) fn stop(&self, id: &str) {
        let stopped = &mut self.kept().stopped;
        if stopped.len() >= MAX_REMEMBERED {
            stopped.pop_front();
        }
        stopped.push_back(id.to_owned());
    }

    pub(crate) fn is_stopped(&self, id: &str) -> bool {
        self.kept().stopped.iter().any(|stopped| stopped == id)
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
            Some(asked) = call.questions.recv() => task.ask(asked),
            Some(report) = call.reports.recv() => task.progress.lock().report(report),
        }
    }
}

impl TaskProgress {
    fn end(&mut self, end: End) {
        (self.end, self.question, self.updated_at) = (Some(end), None, SystemTime::now());
    }

    /// About how many bytes the result has.
    fn result_size(&self) -> usize {
        let Some(End::As(TaskPayload::Completed { result })) = &self.end else { return 0 };
        let blocks = result.get("content").and_then(serde_json::Value::as_array).into_iter().flatten();
        let strings = blocks.filter_map(serde_json::Value::as_object).flat_map(JsonObject::values);
        strings.filter_map(serde_json::Value::as_str).map(str::len).sum()
    }

    fn report(&mut self, report: Report) {
        if let Report::Progress(Progress { message: Some(message), .. }) = report {
            (self.reported, self.updated_at) = (Some(one_line(&message).into_owned()), SystemTime::now());
        }
    }
}

impl Task {
    /// Its state as an agent sees it that can show forms, or not. `None` if only the journal of runs knows how it goes on: the call
    /// has ended before its runs.
    pub(crate) fn detailed(&self, shows_forms: bool, is_cancelled: bool) -> Option<DetailedTask> {
        let progress = self.progress.lock();
        let asked = progress.question.as_ref().filter(|(_, asked)| shows_forms && !asked.reply.is_closed());
        let request = asked.and_then(|(key, asked)| Some((key, form(&asked.question)?)));
        let payload = match (&progress.end, request) {
            (Some(End::Early), _) => return None,
            (Some(End::As(TaskPayload::Completed { .. })), _) if is_cancelled && self.is_stopped() => {
                TaskPayload::Cancelled
            }
            (Some(End::As(payload)), _) => payload.clone(),
            (None, Some((key, form))) => TaskPayload::InputRequired {
                input_requests: [(key.clone(), InputRequest::Elicitation(ElicitRequest::new(form)))].into(),
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
        let message = match (&progress.end, self.unfinished(), &progress.reported) {
            (Some(_), ..) => "The call has ended.".to_owned(),
            (None, Some(run), None) => of_state(run.id(), &run.state()),
            (None, _, Some(reported)) => reported.clone(),
            (None, None, None) => "The call goes on.".to_owned(),
        };
        describe(&self.id, self.created_at, progress.updated_at, &message)
    }

    /// The first of its runs that is not over.
    pub(crate) fn unfinished(&self) -> Option<&Arc<Run>> {
        self.runs.iter().find(|run| !run.state().is_over())
    }

    fn ask(&self, asked: PendingQuestion) {
        let is_waiting = |run: &&Arc<Run>| matches!(run.state(), RunState::WaitingForInput { .. });
        let asking = self.runs.iter().find(is_waiting).or(self.runs.last());
        let key = asking.map_or_else(|| self.id.clone(), |run| key(run));
        let mut progress = self.progress.lock();
        (progress.question, progress.updated_at) = (Some((key, asked)), SystemTime::now());
    }

    /// Passes the person's answer on to the call. Returns the key of the question and whether it was declined; `None` if the call does
    /// not ask for it. Fails if it is no answer to a form.
    pub(crate) fn answer(&self, responses: &InputResponses) -> Result<Option<(String, bool)>, ErrorData> {
        let mut progress = self.progress.lock();
        let response = progress.question.as_ref().and_then(|(key, _)| responses.get(key));
        let Some(replied) = response.map(person_replied).transpose()? else { return Ok(None) };
        let Some((key, PendingQuestion { reply, .. })) = progress.question.take() else { return Ok(None) };
        let is_declined = !matches!(replied, PersonReply::Accepted { line: Some(_) });
        // Somebody else may have answered.
        let _ = reply.send(replied);
        Ok(Some((key, is_declined)))
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

/// The state of a task whose call is not kept, or has ended before its runs: `run` is the first that is not over, or the last.
pub(crate) fn of_run(
    id: &str,
    run: (&RunId, &RunState),
    (created_at, updated_at): (SystemTime, SystemTime),
    result: CallToolResult,
    runs: &[Arc<Run>],
    asks: Option<(String, InputRequest)>,
    is_cancelled: bool,
) -> DetailedTask {
    let (run, state) = run;
    let payload = match state {
        _ if is_cancelled && is_stopped(state) => TaskPayload::Cancelled,
        _ if state.is_over() => completed(result, runs),
        _ => match asks {
            Some(asks) => TaskPayload::InputRequired { input_requests: [asks].into() },
            None => TaskPayload::Working,
        },
    };
    DetailedTask::new(describe(id, created_at, updated_at, &of_state(run, state)), payload)
}

/// A sentence about a run, with the call to make.
fn of_state(id: &RunId, state: &RunState) -> String {
    match state {
        RunState::WaitingForInput { .. } => {
            format!("Run {id} waits for input; answer_input(run_id=\"{id}\", value=…) answers.")
        }
        state => format!("Run {id} is {}; get_run(run_id=\"{id}\") shows its outputs.", state.name()),
    }
}

/// The key of what a run asks now. A later server gives the same.
pub(crate) fn key(run: &Run) -> String {
    format!("{}-input-{}", run.id(), run.inputs())
}

fn is_stopped(state: &RunState) -> bool {
    matches!(state, RunState::Interrupted | RunState::Skipped { .. })
}

/// Fails if it is no answer to a form.
pub(crate) fn person_replied(response: &serde_json::Value) -> Result<PersonReply, ErrorData> {
    let result = ElicitResult::deserialize(response);
    result.map(|result| person_reply(&result)).map_err(|error| {
        ErrorData::invalid_params(format!("this is no answer to elicitation/create: {error}"), None)
    })
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
    End::As(match answer {
        Ok(Reply::Own(result)) => completed(result, runs),
        Ok(Reply::Ongoing(_)) => return End::Early,
        Ok(Reply::Relayed(Answer::Result(result))) => {
            let text: Box<str> = result.into();
            TaskPayload::Completed { result: serde_json::from_str(&text).unwrap_or_default() }
        }
        Ok(Reply::Relayed(Answer::Error(error))) => {
            TaskPayload::Failed { error: serde_json::from_str(error.get()).unwrap_or_default() }
        }
        Err(error) => completed(failure(&error), runs),
    })
}

/// Some clients show the images of a task as files only, so the text names the calls that show them: of those `runs` that have any.
fn completed(mut result: CallToolResult, runs: &[Arc<Run>]) -> TaskPayload {
    result.result_type = None;
    if result.content.iter().any(|block| block.as_image().is_some()) {
        let calls =
            runs.iter().filter(|run| has_image(run)).map(|run| format!("get_run(run_id=\"{}\")", run.id()));
        let calls: Vec<_> = calls.collect();
        if !calls.is_empty() {
            result.content.push(ContentBlock::text(format!("To see the images: {}.", calls.join(", "))));
        }
    }
    let result: Option<JsonObject> =
        serde_json::to_value(result).ok().and_then(|value| serde_json::from_value(value).ok());
    TaskPayload::Completed { result: result.unwrap_or_default() }
}

fn has_image(run: &Run) -> bool {
    run.view().outputs.iter().any(|output| match output {
        Output::Display(bundle) | Output::Result { bundle, .. } => {
            bundle.data.members().any(|(mime, _)| mime.starts_with("image/"))
        }
        _ => false,
    })
}
