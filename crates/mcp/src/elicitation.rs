//! Asks the person behind an agent, in the way of the agent's era.

use std::time::Duration;

use rmcp::model::{
    CancelledNotificationParam, ClientCapabilities, ClientResult, ElicitRequest, ElicitRequestParams,
    ElicitResult, ElicitationAction, ElicitationSchema, RequestId, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RoleServer, ServiceError};
use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use calls::question::{Person, PersonReply, Question};
use futures_util::future::BoxFuture;

/// The field of a form for a line.
const LINE: &str = "value";
/// How long the person may take to answer.
pub(crate) const PERSON_TIMEOUT: Duration = Duration::from_secs(600);

/// How the person behind an agent is asked that can show forms.
#[derive(Clone)]
pub(crate) enum Elicitation {
    /// In the older eras a question is a request to the agent.
    Peer(Peer<RoleServer>),
    /// In the 2026-07-28 era a question is the result of a call, which the agent repeats with the reply.
    NextRound(mpsc::Sender<PendingQuestion>),
}

/// A question that waits for its reply.
pub(crate) struct PendingQuestion {
    pub(crate) question: Question,
    pub(crate) reply: oneshot::Sender<PersonReply>,
}

/// Whether an agent can show forms. One that names no kind of elicitation means forms.
pub(crate) fn shows_forms(capabilities: &ClientCapabilities) -> bool {
    let elicitation = capabilities.elicitation.as_ref();
    elicitation.is_some_and(|elicitation| elicitation.form.is_some() || elicitation.url.is_none())
}

impl Person for Elicitation {
    fn ask(&self, question: Question) -> BoxFuture<'_, PersonReply> {
        Box::pin(async move {
            timeout(PERSON_TIMEOUT, self.reply(question)).await.unwrap_or(PersonReply::TimedOut)
        })
    }
}

impl Elicitation {
    async fn reply(&self, question: Question) -> PersonReply {
        match self {
            Self::Peer(peer) => match request_form(peer, &question).await {
                Ok(result) => person_reply(&result),
                Err(error) => {
                    tracing::debug!(%error, "the agent could not ask the person");
                    PersonReply::Failed
                }
            },
            Self::NextRound(questions) => {
                let (reply, replied) = oneshot::channel();
                let _ = questions.send(PendingQuestion { question, reply }).await;
                replied.await.unwrap_or(PersonReply::Failed)
            }
        }
    }
}

/// Has the agent show a form, which it closes if the question is dropped.
async fn request_form(peer: &Peer<RoleServer>, question: &Question) -> Result<ElicitResult, ServiceError> {
    let form = form(question).ok_or(ServiceError::UnexpectedResponse)?;
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(form));
    let sent = peer.send_cancellable_request(request, PeerRequestOptions::no_options()).await?;
    let mut open = OpenForm { peer: peer.clone(), request: Some(sent.id.clone()) };
    let response = sent.await_response().await;
    open.request = None;
    match response? {
        ClientResult::ElicitResult(result) => Ok(result),
        _ => Err(ServiceError::UnexpectedResponse),
    }
}

/// A form that waits for the person. Dropping it cancels the request, unless it has been answered.
struct OpenForm {
    peer: Peer<RoleServer>,
    request: Option<RequestId>,
}

impl Drop for OpenForm {
    fn drop(&mut self) {
        let Some(request) = self.request.take() else { return };
        let peer = self.peer.clone();
        let reason = Some("the question is no longer open".to_owned());
        // Ends when the line is written or the session is over.
        place::spawn_if_running(async move {
            let _ = peer.notify_cancelled(CancelledNotificationParam::new(Some(request), reason)).await;
        });
    }
}

/// The form that the agent shows. To accept or decline needs no field.
pub(crate) fn form(question: &Question) -> Option<ElicitRequestParams> {
    let schema = ElicitationSchema::builder();
    let schema = match question {
        Question::Line(_) => schema.required_string(LINE),
        Question::Consent(_) => schema,
    };
    Some(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: question.text().to_owned(),
        requested_schema: schema.build().ok()?,
    })
}

pub(crate) fn person_reply(result: &ElicitResult) -> PersonReply {
    match result.action {
        ElicitationAction::Accept => {
            let line = result.content.as_ref().and_then(|content| content.get(LINE)?.as_str());
            PersonReply::Accepted { line: line.map(str::to_owned) }
        }
        ElicitationAction::Decline => PersonReply::Declined,
        _ => PersonReply::Dismissed,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use calls::question::QuestionText;

    #[test]
    fn an_agent_shows_forms_if_it_says_so_or_names_no_kind() {
        for (capabilities, expected) in [
            (json!({}), false),
            (json!({ "elicitation": {} }), true),
            (json!({ "elicitation": { "form": {} } }), true),
            (json!({ "elicitation": { "form": {}, "url": {} } }), true),
            (json!({ "elicitation": { "url": {} } }), false),
        ] {
            let parsed = serde_json::from_value(capabilities.clone()).unwrap();
            assert_eq!(shows_forms(&parsed), expected, "{capabilities}");
        }
    }

    #[test]
    fn forms_ask_for_a_line_or_for_nothing() {
        let form = |question: Question| serde_json::to_value(form(&question)).unwrap();
        let line = form(Question::Line(QuestionText::input("Name?")));
        assert_eq!(line["mode"], json!("form"));
        assert!(line["message"].as_str().unwrap().ends_with("The code asks:\n    Name?\n"), "{line}");
        assert_eq!(line["requestedSchema"]["required"], json!(["value"]));
        assert_eq!(
            form(Question::Consent(QuestionText::begin("Run it?").finish()))["requestedSchema"]["properties"],
            json!({})
        );
    }

    #[test]
    fn only_an_accepted_form_holds_a_line() {
        let reply = |result: Value| person_reply(&serde_json::from_value::<ElicitResult>(result).unwrap());
        let content = json!({ "value": "ada" });
        assert_eq!(
            reply(json!({ "action": "accept", "content": content })),
            PersonReply::Accepted { line: Some("ada".into()) }
        );
        assert_eq!(reply(json!({ "action": "accept" })), PersonReply::Accepted { line: None });
        assert_eq!(reply(json!({ "action": "decline", "content": content })), PersonReply::Declined);
        assert_eq!(reply(json!({ "action": "cancel" })), PersonReply::Dismissed);
    }
}
