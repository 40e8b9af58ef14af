//! Calls of the 2026-07-28 era that wait for the person.
//!
//! There a server cannot ask an agent anything while a call runs. It answers the call with a question and a
//! `requestState`, and the agent makes the same call again with the reply. Until then, the first call waits here, so that nothing
//! is done twice.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use connection::Secret;
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use place::{Error, ErrorKind, NextStep, Report};
use rmcp::model::{ElicitRequest, ElicitResult, InputRequest, InputRequiredResult};
use runs::Run;
use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::AbortOnDropHandle;

use crate::elicitation::{self, PERSON_TIMEOUT, PendingQuestion, person_reply};
use crate::progress::Audience;
use crate::reply::Reply;
use calls::call_order::Turn;
use calls::permissions::Permissions;
use calls::question::PersonReply;

/// How long a call is kept for its agent: a bit longer than the person may take.
const TTL: Duration = PERSON_TIMEOUT.saturating_add(Duration::from_secs(60));
/// How many calls are kept. One more ends the oldest.
const MAX_PAUSED: usize = 100;
/// The key of the question in a result, and of its reply.
const KEY: &str = "person";

/// A call in progress, and its channels to the waiting client.
pub(crate) struct OngoingCall {
    pub(crate) name: String,
    pub(crate) params: Arc<RawValue>,
    pub(crate) permissions: Permissions,
    pub(crate) turn: Turn,
    pub(crate) work: BoxFuture<'static, Result<Reply, Error>>,
    pub(crate) reports: mpsc::Receiver<Report>,
    pub(crate) questions: mpsc::Receiver<PendingQuestion>,
    /// Cancelled when the agent cancels the call.
    pub(crate) cancelled: CancellationToken,
}

/// What ends a round of a call.
pub(crate) enum Round {
    Over(Result<Reply, Error>),
    Asked(PendingQuestion),
    /// It goes on as a task, with these runs.
    Outlasting(Vec<Arc<Run>>),
}

impl OngoingCall {
    /// Waits for the answer, or for a question to the person.
    pub(crate) async fn round(&mut self, audience: &Audience<'_>) -> Round {
        let Self { work, questions, reports, .. } = self;
        let round = async {
            loop {
                tokio::select! {
                    biased;
                    answer = &mut *work => return Round::Over(answer),
                    // A question that was answered elsewhere is no longer asked.
                    Some(asked) = questions.recv() => if !asked.reply.is_closed() {
                        return Round::Asked(asked);
                    },
                }
            }
        };
        audience.follow(round, reports).await
    }
}

/// The part of a call's params that repeats it with a reply.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Repeated {
    request_state: String,
    #[serde(default)]
    input_responses: BTreeMap<String, Value>,
}

/// The calls that wait for the person. They end with the server, or when their agent does not return in time.
#[derive(Default)]
pub(crate) struct PausedCalls(Mutex<VecDeque<PausedCall>>);

struct PausedCall {
    /// Known to the agent alone, and good for one repetition.
    state: Secret,
    call: OngoingCall,
    reply: oneshot::Sender<PersonReply>,
}

impl PausedCalls {
    /// Keeps a call until its agent repeats it; returns the result that asks the question.
    pub(crate) fn pause(
        self: &Arc<Self>,
        mut call: OngoingCall,
        PendingQuestion { question, reply }: PendingQuestion,
    ) -> Result<InputRequiredResult, Error> {
        let state = Secret::generate().map_err(|error| internal(error.to_string()))?;
        let form = elicitation::form(&question).ok_or_else(|| internal("The question has no form."))?;
        let request = InputRequest::Elicitation(ElicitRequest::new(form));
        let result = InputRequiredResult::new(
            Some([(KEY.to_owned(), request)].into()),
            Some(state.expose().to_owned()),
        );
        // The call goes on: somebody else may answer, or the run may end.
        let work = AbortOnDropHandle::new(tokio::spawn(call.work));
        call.work = Box::pin(async move {
            work.await.unwrap_or_else(|error| {
                Err(internal(format!("The call failed: {error}.")).with_source(error))
            })
        });
        let (expiring, all) = (state.clone(), Arc::downgrade(self));
        // Ends with the time limit.
        place::spawn(async move {
            sleep(TTL).await;
            if let Some(all) = all.upgrade() {
                all.calls().retain(|paused| paused.state != expiring);
            }
        });
        let mut calls = self.calls();
        if calls.len() >= MAX_PAUSED {
            calls.pop_front();
        }
        calls.push_back(PausedCall { state, call, reply });
        Ok(result)
    }

    /// The call that is repeated with these params, with the person's reply. `None` if they begin a new call.
    pub(crate) fn resume(
        &self,
        name: &str,
        params: &RawValue,
        permissions: Permissions,
    ) -> Result<Option<OngoingCall>, Error> {
        let Ok(repeated) = serde_json::from_str::<Repeated>(params.get()) else { return Ok(None) };
        let PausedCall { call, reply, .. } = {
            let mut calls = self.calls();
            let index = calls.iter().position(|paused| paused.state.matches(&repeated.request_state));
            let paused = index.and_then(|index| Some((index, &calls.get(index)?.call)));
            let (index, call) =
                paused.ok_or_else(|| refused("The question of this call is no longer open."))?;
            let is_same = call.name == name && have_same_arguments(&call.params, params);
            if !is_same || call.permissions != permissions {
                return Err(refused("The requestState of this call belongs to another call."));
            }
            calls.remove(index).ok_or_else(|| refused("The question of this call is no longer open."))?
        };
        let result = repeated.input_responses.get(KEY).map(ElicitResult::deserialize);
        // A repetition without a reply counts as a closed form.
        let replied =
            result.and_then(Result::ok).map_or(PersonReply::Dismissed, |result| person_reply(&result));
        let _ = reply.send(replied);
        Ok(Some(call))
    }

    fn calls(&self) -> MutexGuard<'_, VecDeque<PausedCall>> {
        self.0.lock()
    }
}

pub(crate) fn internal(cause: impl Into<String>) -> Error {
    Error::new(ErrorKind::Internal, cause, NextStep::ReportBug)
}

fn refused(cause: &str) -> Error {
    let next = "Part of the call may already have taken effect: check the notebook and the latest runs before you repeat \
         it.";
    Error::new(ErrorKind::InvalidArgument, cause, next)
}

fn have_same_arguments(one: &RawValue, other: &RawValue) -> bool {
    #[derive(Deserialize, PartialEq)]
    struct Params {
        #[serde(default)]
        arguments: Value,
    }
    let read = |params: &RawValue| serde_json::from_str::<Params>(params.get()).ok();
    read(one).is_some_and(|one| read(other) == Some(one))
}

#[cfg(test)]
mod tests {
    use rmcp::model::CallToolResult;
    use serde_json::json;
    use serde_json::value::to_raw_value;

    use super::*;
    use crate::elicitation::Elicitation;
    use calls::question::{Person as _, Question, QuestionText};

    const ALL: Permissions = Permissions { read: true, write: true, execute: true };

    fn params(arguments: &Value, repeated: &Value) -> Box<RawValue> {
        let mut params = json!({ "name": "t", "arguments": arguments });
        params.as_object_mut().unwrap().extend(repeated.as_object().unwrap().clone());
        to_raw_value(&params).unwrap()
    }

    /// A call that asks one question and fails with the reply as its cause.
    async fn ask(calls: &Arc<PausedCalls>) -> String {
        let (asking, questions) = mpsc::channel(1);
        let work = async move {
            let reply = Elicitation::NextRound(asking)
                .ask(Question::Consent(QuestionText::begin("May I?").finish()))
                .await;
            Err::<Reply, _>(Error::new(ErrorKind::Forbidden, format!("{reply:?}"), ""))
        };
        pause(calls, &json!({ "n": 1 }), Box::pin(work), questions).await
    }

    /// Pauses a call with these arguments at its first question. Returns the state for its repetition.
    async fn pause(
        calls: &Arc<PausedCalls>,
        arguments: &Value,
        mut work: BoxFuture<'static, Result<Reply, Error>>,
        mut questions: mpsc::Receiver<PendingQuestion>,
    ) -> String {
        let asked = tokio::select! {
            _ = &mut work => panic!("nobody has replied"),
            asked = questions.recv() => asked.unwrap(),
        };
        let call = OngoingCall {
            name: "t".into(),
            params: Arc::from(params(arguments, &json!({}))),
            permissions: ALL,
            turn: Turn::default(),
            work,
            reports: mpsc::channel(1).1,
            questions,
            cancelled: CancellationToken::new(),
        };
        calls.pause(call, asked).unwrap().request_state.unwrap()
    }

    fn repetition(state: &str) -> Value {
        json!({ "requestState": state, "inputResponses": { KEY: { "action": "accept" } } })
    }

    async fn outcome(call: OngoingCall) -> String {
        call.work.await.err().unwrap().cause
    }

    #[tokio::test]
    async fn a_repeated_call_gets_the_reply_once() {
        let calls = Arc::default();
        let state = ask(&calls).await;
        // Spelled differently, but equal.
        let again = params(&json!({ "n": 1 }), &repetition(&state));
        let call = calls.resume("t", &again, ALL).unwrap().unwrap();
        assert_eq!(outcome(call).await, "Accepted { line: None }");
        assert!(calls.resume("t", &again, ALL).is_err(), "replayed");
    }

    #[tokio::test]
    async fn another_call_does_not_get_it() {
        let calls = Arc::default();
        let state = ask(&calls).await;
        let reader = Permissions { write: false, execute: false, ..ALL };
        for (name, arguments, repeated, permissions) in [
            ("other", json!({ "n": 1 }), repetition(&state), ALL),
            ("t", json!({ "n": 2 }), repetition(&state), ALL),
            ("t", json!({}), repetition(&state), ALL),
            ("t", json!({ "n": 1 }), repetition(&state), reader),
            ("t", json!({ "n": 1 }), repetition("forged"), ALL),
            ("t", json!({ "n": 1 }), repetition(""), ALL),
        ] {
            let given = params(&arguments, &repeated);
            assert!(calls.resume(name, &given, permissions).is_err(), "{name} {}", given.get());
        }
        let new = params(&json!({ "n": 1 }), &json!({ "inputResponses": { KEY: { "action": "accept" } } }));
        assert!(calls.resume("t", &new, ALL).unwrap().is_none());
        // It is still there for its own.
        let dismissed = params(&json!({ "n": 1 }), &json!({ "requestState": state }));
        let call = calls.resume("t", &dismissed, ALL).unwrap().unwrap();
        assert_eq!(outcome(call).await, "Dismissed");
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_that_is_not_repeated_ends() {
        let calls: Arc<PausedCalls> = Arc::default();
        let state = ask(&calls).await;
        sleep(TTL + Duration::from_secs(1)).await;
        assert!(calls.calls().is_empty());
        assert!(calls.resume("t", &params(&json!({ "n": 1 }), &repetition(&state)), ALL).is_err());
    }

    #[tokio::test]
    async fn too_many_calls_end_the_oldest() {
        let calls: Arc<PausedCalls> = Arc::default();
        let first = ask(&calls).await;
        for _ in 0..MAX_PAUSED {
            ask(&calls).await;
        }
        assert_eq!(calls.calls().len(), MAX_PAUSED);
        assert!(calls.resume("t", &params(&json!({ "n": 1 }), &repetition(&first)), ALL).is_err());
    }

    #[tokio::test]
    async fn a_call_goes_on_if_its_question_is_answered_elsewhere() {
        let calls: Arc<PausedCalls> = Arc::default();
        let (asking, questions) = mpsc::channel(1);
        let (elsewhere, answered) = oneshot::channel::<()>();
        let work = async move {
            let person = Elicitation::NextRound(asking);
            tokio::select! {
                biased;
                _ = answered => Ok(Reply::Own(CallToolResult::success(Vec::new()))),
                _ = person.ask(Question::Line(QuestionText::input("Name?"))) => panic!("answered elsewhere"),
            }
        };
        let state = pause(&calls, &json!({}), Box::pin(work), questions).await;
        elsewhere.send(()).unwrap();
        let late = params(&json!({}), &repetition(&state));
        let call = calls.resume("t", &late, ALL).unwrap().unwrap();
        assert!(call.work.await.is_ok());
    }
}
