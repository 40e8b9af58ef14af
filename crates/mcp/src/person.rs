//! The person, whom a call asks through its agent and on their pages: the first answer counts.

use std::path::PathBuf;
use std::time::SystemTime;

use calls::question::{Person, PersonReply, Question};
use futures_util::future::{BoxFuture, Either, select};
use page::Answer;
use place::{Progress, Report};
use tokio::sync::mpsc;
use tokio::time::timeout;

use crate::elicitation::{Elicitation, PERSON_TIMEOUT};

/// How the person behind one call is asked.
pub(crate) struct Asking {
    /// `None` if the agent cannot ask.
    pub(crate) elicitation: Option<Elicitation>,
    /// The folder of the pages. `None` if no page can show a question.
    pub(crate) pages: Option<PathBuf>,
    /// The name of the agent's client.
    pub(crate) client: String,
    /// Where to say that the call waits for the page, if the agent asked for progress.
    pub(crate) reports: Option<mpsc::Sender<Report>>,
}

impl Asking {
    /// For what only the agent asks: a page answers the `input()` of a run itself.
    pub(crate) fn through_agent(&self) -> Option<&dyn Person> {
        self.elicitation.as_ref().map(|it| it as &dyn Person)
    }

    /// For consent. `None` if nobody can be asked.
    pub(crate) fn for_consent(&self) -> Option<&dyn Person> {
        let has_page = || self.pages.as_deref().is_some_and(page::has_pages);
        (self.elicitation.is_some() || has_page()).then_some(self as &dyn Person)
    }

    /// `None` if no page has answered.
    async fn on_page(&self, question: &Question) -> Option<PersonReply> {
        let folder = self.pages.as_deref()?;
        let question = page::Question {
            client: self.client.clone(),
            text: question.text().to_owned(),
            asked_at: SystemTime::now(),
            input: None,
        };
        let on_shown = || {
            let Some(reports) = &self.reports else { return };
            let message =
                "Waiting for the person, who can answer on their page (`cellbridge view`)".to_owned();
            let _ = reports.try_send(Report::Progress(Progress {
                progress: 1.0,
                total: None,
                message: Some(message),
            }));
        };
        match timeout(PERSON_TIMEOUT, page::ask_on_pages(folder, &question, on_shown)).await {
            Ok(answer) => answer.map(|answer| match answer {
                Answer::Accepted => PersonReply::Accepted { line: None },
                Answer::Declined | Answer::Line(_) => PersonReply::Declined,
            }),
            Err(_) => Some(PersonReply::TimedOut),
        }
    }

    /// `None` if the agent did not ask.
    async fn by_agent(&self, question: Question) -> Option<PersonReply> {
        let reply = self.elicitation.as_ref()?.ask(question).await;
        (reply != PersonReply::Failed).then_some(reply)
    }
}

impl Person for Asking {
    fn ask(&self, question: Question) -> BoxFuture<'_, PersonReply> {
        Box::pin(async move {
            let shown = question.clone();
            let (by_agent, on_page) = (Box::pin(self.by_agent(question)), Box::pin(self.on_page(&shown)));
            let reply = match select(by_agent, on_page).await {
                Either::Left((Some(reply), _)) | Either::Right((Some(reply), _)) => Some(reply),
                Either::Left((None, on_page)) => on_page.await,
                Either::Right((None, by_agent)) => by_agent.await,
            };
            reply.unwrap_or(PersonReply::Failed)
        })
    }
}
