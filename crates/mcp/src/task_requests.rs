//! What agents request of tasks: their state, answers of the person, and an end.

use std::sync::Arc;
use std::time::SystemTime;

use calls::consent::Consent;
use calls::next_step::message;
use calls::permissions::{Access, Permissions};
use calls::question::{PersonReply, Question, QuestionText};
use place::{Call, Error, ErrorKind, RunId, RunState};
use rmcp::model::{DetailedTask, ElicitRequest, ErrorData, InputRequest, InputResponses};
use rmcp::service::{RequestContext, RoleServer};
use runs::Run;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::elicitation::form;
use crate::reply::into_result;
use crate::request_context::{can_ask, permissions};
use crate::session::Session;
use crate::tasks::{key, of_run, person_replied};
use crate::tool_call::{Caller, answer_of};

impl Session {
    /// The state of a task.
    pub(crate) async fn task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<DetailedTask, ErrorData> {
        let (permissions, shows_forms) = (permissions(context), can_ask(context));
        let is_cancelled = self.server.tasks.is_stopped(id);
        let kept = self.server.tasks.find(id, permissions);
        if let Some(detailed) = kept.as_ref().and_then(|task| task.detailed(shows_forms, is_cancelled)) {
            return Ok(detailed);
        }
        let mut runs = kept.as_ref().map(|task| task.runs.clone()).unwrap_or_default();
        let params = kept.as_ref().map(|task| &*task.params);
        let current = kept.as_ref().and_then(|task| task.unfinished().or(task.runs.last()));
        let (answer, run, state) =
            self.run(current.map_or(id, |run| &**run.id()), params, permissions).await?;
        let mut result = into_result(answer);
        if state.is_over() {
            // Those before the last.
            let others = runs.iter().filter(|other| *other.id() != run).collect::<Vec<_>>();
            for other in others.into_iter().rev() {
                let (answer, ..) = self.run(other.id(), params, permissions).await?;
                let other = into_result(answer);
                result.is_error = Some(result.is_error == Some(true) || other.is_error == Some(true));
                result.content.splice(0..0, other.content);
            }
        }
        let asks =
            self.question(&run, &state).filter(|(key, _)| shows_forms && !self.server.tasks.is_stopped(key));
        if runs.is_empty() {
            runs.extend(self.journal_run(&run));
        }
        let now = SystemTime::now();
        let times = self.journal_run(&run).map_or((now, now), |run| {
            let requested = run.requested();
            (requested, if state.is_over() { requested + run.queued() + run.elapsed() } else { now })
        });
        Ok(of_run(id, (&run, &state), times, result, &runs, asks, is_cancelled))
    }

    /// Passes on what the person has answered. What is asked no longer is ignored.
    pub(crate) async fn answer_task(
        &self,
        id: &str,
        responses: &InputResponses,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let (permissions, shows_forms) = (permissions(context), can_ask(context));
        let kept = self.server.tasks.find(id, permissions);
        // No person has answered a client without forms.
        let asking = kept.as_ref().filter(|_| shows_forms);
        if let Some((key, is_declined)) = asking.map(|task| task.answer(responses)).transpose()?.flatten() {
            if is_declined {
                self.server.tasks.stop(&key);
            }
            return Ok(());
        }
        let current = kept.as_ref().and_then(|task| task.unfinished());
        let (_, id, state) = self.run(current.map_or(id, |run| &**run.id()), None, permissions).await?;
        let Some((key, _)) = self.question(&id, &state) else { return Ok(()) };
        let Some(replied) = responses.get(&key).map(person_replied).transpose()? else { return Ok(()) };
        self.permit("answer_input", permissions, shows_forms)?;
        match (replied, self.journal_run(&id)) {
            (PersonReply::Accepted { line: Some(line) }, Some(run)) => _ = run.answer_input(line),
            _ => self.server.tasks.stop(&key),
        }
        Ok(())
    }

    /// Interrupts the runs of a task; ends a call that is passed on. Does nothing if it has ended.
    pub(crate) async fn cancel_task(
        &self,
        id: &str,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let permissions = permissions(context);
        let kept = self.server.tasks.find(id, permissions);
        let runs = match &kept {
            Some(task) if task.runs.is_empty() => {
                task.stop();
                return Ok(());
            }
            Some(task) => task.runs.clone(),
            None => {
                let (_, id, state) = self.run(id, None, permissions).await?;
                let run = self.journal_run(&id);
                if run.is_none() && !state.is_over() {
                    let cause = "The run belongs to another server, which alone can interrupt it.";
                    return Err(ErrorData::internal_error(cause, None));
                }
                run.into_iter().collect()
            }
        };
        let runs: Vec<_> = runs.into_iter().filter(|run| !run.state().is_over()).collect();
        let Some(notebooks) = self.notebooks.as_ref().filter(|_| !runs.is_empty()) else { return Ok(()) };
        // The person behind a client with forms has accepted the call that goes on.
        let is_accepted = kept.is_some() && can_ask(context);
        self.permit("interrupt_kernel", permissions, is_accepted)?;
        self.server.tasks.stop(id);
        // The last one first: none of those that wait begins.
        for run in runs.iter().rev() {
            let interrupted = notebooks.workspace().runner().interrupt_run(run).await;
            interrupted.map_err(|error| ErrorData::internal_error(message(&error), None))?;
        }
        Ok(())
    }

    /// What `get_run` answers about a run, in the budget of the call with these params. Fails if there is no such run.
    async fn run(
        &self,
        id: &str,
        params: Option<&RawValue>,
        permissions: Permissions,
    ) -> Result<(calls::answer::Answer, RunId, RunState), ErrorData> {
        let unknown = || ErrorData::invalid_params(format!("there is no task {id:?}"), None);
        let (Some(notebooks), Some(tool)) = (&self.notebooks, tools::find("get_run")) else {
            return Err(unknown());
        };
        let mut arguments = json!({ "run_id": id });
        let given: Option<Value> = params.and_then(|params| serde_json::from_str(params.get()).ok());
        for limit in ["max_characters", "max_images"] {
            if let Some(value) = given.as_ref().and_then(|given| given["arguments"].get(limit)) {
                arguments[limit] = value.clone();
            }
        }
        let params = to_raw_value(&json!({ "name": tool.name, "arguments": arguments }));
        let params = params.map_err(|error| ErrorData::internal_error(error.to_string(), None))?.into();
        let reports = mpsc::channel(1).0;
        let call = Call { name: tool.name.to_owned(), params, reports, wants_progress: false };
        let answer =
            Box::pin(answer_of(notebooks, &self.server.policy, tool, call, Caller::with(permissions))).await;
        let mut answer = match answer {
            Ok(answer) => answer,
            Err(error) if error.kind == ErrorKind::NotFound => {
                return Err(ErrorData::invalid_params(message(&error), None));
            }
            Err(error) => return Err(refused(&error)),
        };
        let (run, state) = answer.run.take().ok_or_else(unknown)?;
        // `get_run` succeeds even if the run has failed.
        answer.is_failure = state.is_failure();
        Ok((answer, run, state))
    }

    /// The question of a run that waits for input, with its key.
    fn question(&self, id: &RunId, state: &RunState) -> Option<(String, InputRequest)> {
        let RunState::WaitingForInput { prompt, is_password: false } = state else { return None };
        let form = form(&Question::Line(QuestionText::input(prompt)))?;
        Some((key(&*self.journal_run(id)?), InputRequest::Elicitation(ElicitRequest::new(form))))
    }

    fn journal_run(&self, id: &RunId) -> Option<Arc<Run>> {
        self.notebooks.as_ref()?.workspace().journal().run(id).ok()
    }

    /// The gate of a request that does what a call of the tool would do. The person need not be asked if they have accepted it.
    fn permit(&self, tool: &str, permissions: Permissions, is_accepted: bool) -> Result<(), ErrorData> {
        let Some(tool) = tools::find(tool) else { return Ok(()) };
        let (name, groups, permission) = (tool.name, tool.groups, tool.permission);
        let access = Access { policy: &self.server.policy, permissions, tool: name };
        let permitted = if is_accepted {
            Consent::of(access, groups, permission, name, None).map(drop)
        } else {
            access.permit_unasked(groups, permission, name)
        };
        permitted.map_err(|error| refused(&error))
    }
}

fn refused(error: &Error) -> ErrorData {
    ErrorData::invalid_request(message(error), None)
}
