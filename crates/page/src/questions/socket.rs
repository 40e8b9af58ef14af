//! The road from a server with a question to the pages of the same user.

use std::path::Path;

use axum::extract::State;
use axum::http::Method;
use axum::routing::post;
use axum::{Json, Router};
use futures_util::future::select_all;

use super::{Answer, OpenQuestions, Question};
use crate::private_socket::{ask, connect, names};

const PATH: &str = "/questions";
/// More than the longest line that a person types.
const MAX_ANSWER: usize = 1 << 20;

/// The route for questions of servers, which are among `questions` until they are answered or their servers are gone.
pub fn routes(questions: OpenQuestions) -> Router {
    let show =
        async |State(questions): State<OpenQuestions>, Json(question)| Json(questions.ask(question).await);
    Router::new().route(PATH, post(show)).with_state(questions)
}

pub(super) async fn ask_on_pages(
    folder: &Path,
    question: &Question,
    on_shown: impl FnOnce(),
) -> Option<Answer> {
    let mut connections = Vec::new();
    for name in names(folder) {
        connections.extend(connect(folder, &name).await);
    }
    let question = bytes::Bytes::from(serde_json::to_vec(question).ok()?);
    let ask = |page| ask(page, Method::POST, PATH, question.clone(), MAX_ANSWER);
    let mut asking: Vec<_> = connections.into_iter().map(|page| Box::pin(ask(page))).collect();
    if !asking.is_empty() {
        on_shown();
    }
    while !asking.is_empty() {
        let (answer, _, rest) = select_all(asking).await;
        match answer {
            Ok(answer) => return Some(answer),
            Err(error) => tracing::debug!(%error, "a page is gone"),
        }
        asking = rest;
    }
    None
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::SystemTime;

    use super::*;
    use crate::private_socket::listen;
    use crate::private_socket::tests::folder;

    fn question() -> Question {
        let (client, text) = ("c".to_owned(), "Run it?\n".to_owned());
        Question { client, text, asked_at: SystemTime::UNIX_EPOCH, input: None }
    }

    /// Serves two pages of two processes while `work` is done with what they show.
    async fn with_pages<T>(folder: &Path, work: impl AsyncFnOnce(&OpenQuestions, &OpenQuestions) -> T) -> T {
        let (one, other) = (OpenQuestions::default(), OpenQuestions::default());
        let (first, second) =
            (listen(folder, &std::env::temp_dir()).unwrap(), listen(folder, &std::env::temp_dir()).unwrap());
        tokio::select! {
            () = first.serve(routes(one.clone())) => unreachable!("it serves until it is dropped"),
            () = second.serve(routes(other.clone())) => unreachable!("it serves until it is dropped"),
            done = work(&one, &other) => done,
        }
    }

    async fn until_count(questions: &OpenQuestions, count: usize) {
        let mut changes = questions.changes();
        while questions.all().len() != count {
            changes.changed().await.unwrap();
        }
    }

    #[tokio::test]
    async fn a_question_is_on_all_pages_and_the_first_answer_counts() {
        let (_temporary, folder) = folder();
        with_pages(&folder, async |one, other| {
            let asked = question();
            let mut is_shown = false;
            let answering = async {
                until_count(one, 1).await;
                until_count(other, 1).await;
                assert_eq!(one.all()[0].question, asked);
                assert!(one.answer(one.all()[0].number, Answer::Accepted));
            };
            let asking = ask_on_pages(&folder, &asked, || is_shown = true);
            let (answer, ()) = tokio::join!(asking, answering);
            assert!(answer == Some(Answer::Accepted) && is_shown);
            until_count(other, 0).await;
        })
        .await;
    }

    #[tokio::test]
    async fn a_call_that_ends_and_a_page_that_ends_take_the_question_back() {
        let (_temporary, folder) = folder();
        with_pages(&folder, async |one, _| {
            let asked = question();
            tokio::select! {
                _ = ask_on_pages(&folder, &asked, || ()) => unreachable!("nobody answers"),
                () = until_count(one, 1) => {}
            }
            until_count(one, 0).await;
        })
        .await;
        assert!(fs::read_dir(&folder).unwrap().next().is_none());
        assert_eq!(ask_on_pages(&folder, &question(), || unreachable!("there is no page")).await, None);
    }

    #[tokio::test]
    async fn a_page_that_ends_before_an_answer_is_no_answer() {
        let (_temporary, folder) = folder();
        let (questions, asked) = (OpenQuestions::default(), question());
        let listener = listen(&folder, &std::env::temp_dir()).unwrap();
        let page = async {
            tokio::select! {
                () = listener.serve(routes(questions.clone())) => {}
                () = until_count(&questions, 1) => {}
            }
        };
        let (answer, ()) = tokio::join!(ask_on_pages(&folder, &asked, || ()), page);
        assert_eq!(answer, None);
    }
}
