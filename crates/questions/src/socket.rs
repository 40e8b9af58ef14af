//! The road from a server with a question to the pages of the same user.

use std::io;
use std::path::Path;
use std::time::Duration;

use futures_util::future::select_all;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::private_socket::{PrivateListener, connect, names};
use crate::{Answer, OpenQuestions, Question};

/// More than the longest text of a question.
const MAX_LINE: u64 = 1 << 20;
/// How long a server may take to send its question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How many questions wait at once; more are refused.
const MAX_OPEN: usize = 100;

/// Where the process of a page takes questions.
#[derive(Debug)]
pub struct Listener(PrivateListener);

/// Opens a socket in the folder of pages, as [`private_socket::listen`](crate::private_socket::listen) does.
pub fn listen(folder: &Path, temporary: &Path) -> io::Result<Listener> {
    crate::private_socket::listen(folder, temporary).map(Listener)
}

impl Listener {
    /// Shows the questions of servers among `questions`. Dropping the future takes them back.
    pub async fn serve(self, questions: &OpenQuestions) {
        let mut served = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.0.accept() => match accepted {
                    Ok(Some(stream)) if served.len() < MAX_OPEN => {
                        served.spawn(show(stream, questions.clone()));
                    }
                    Ok(_) => {}
                    Err(error) => {
                        tracing::warn!(%error, "a question did not arrive");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
                Some(_) = served.join_next() => {}
            }
        }
    }
}

/// Shows one question until it is answered or its server is gone.
async fn show(mut stream: UnixStream, questions: OpenQuestions) {
    let (reader, mut writer) = stream.split();
    let mut reader = BufReader::new(reader.take(MAX_LINE));
    let mut line = String::new();
    let Ok(Ok(_)) = timeout(QUESTION_TIMEOUT, reader.read_line(&mut line)).await else { return };
    let question = match serde_json::from_str::<Question>(&line) {
        Ok(question) => question,
        Err(error) => return tracing::warn!(%error, "a question can't be read"),
    };
    let answer = tokio::select! {
        answer = questions.ask(question) => answer,
        // A server sends nothing more, so this is the end of its connection.
        _ = reader.read_line(&mut line) => return,
    };
    // A server that is gone needs no answer.
    let _ = send_line(&mut writer, &answer).await;
}

async fn send_line(
    writer: &mut (impl tokio::io::AsyncWrite + Unpin),
    value: &impl serde::Serialize,
) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    writer.write_all(&line).await
}

pub(crate) fn has_pages(folder: &Path) -> bool {
    !names(folder).is_empty()
}

/// Connections to all pages of this user.
async fn connect_to_all(folder: &Path) -> Vec<UnixStream> {
    let mut connections = Vec::new();
    for name in names(folder) {
        connections.extend(connect(folder, &name).await);
    }
    connections
}

pub(crate) async fn ask_on_pages(
    folder: &Path,
    question: &Question,
    on_shown: impl FnOnce(),
) -> Option<Answer> {
    let connections = connect_to_all(folder).await;
    let mut asking: Vec<_> = connections.into_iter().map(|page| Box::pin(ask(page, question))).collect();
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

async fn ask(mut page: UnixStream, question: &Question) -> io::Result<Answer> {
    let (reader, mut writer) = page.split();
    send_line(&mut writer, question).await?;
    let mut line = String::new();
    BufReader::new(reader.take(MAX_LINE)).read_line(&mut line).await?;
    serde_json::from_str(&line).map_err(io::Error::from)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::time::SystemTime;

    use super::*;

    fn question() -> Question {
        let (client, text) = ("c".to_owned(), "Run it?\n".to_owned());
        Question { client, text, asked_at: SystemTime::UNIX_EPOCH, input: None }
    }

    /// A folder that only this user can use, and its path.
    fn folder() -> (tempfile::TempDir, PathBuf) {
        let temporary = tempfile::tempdir().unwrap();
        let path = temporary.path().join("state/pages");
        (temporary, path)
    }

    /// Serves two pages of two processes while `work` is done with what they show.
    async fn with_pages<T>(folder: &Path, work: impl AsyncFnOnce(&OpenQuestions, &OpenQuestions) -> T) -> T {
        let (one, other) = (OpenQuestions::default(), OpenQuestions::default());
        let (first, second) =
            (listen(folder, &std::env::temp_dir()).unwrap(), listen(folder, &std::env::temp_dir()).unwrap());
        tokio::select! {
            () = first.serve(&one) => unreachable!("it serves until it is dropped"),
            () = second.serve(&other) => unreachable!("it serves until it is dropped"),
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
                () = listener.serve(&questions) => {}
                () = until_count(&questions, 1) => {}
            }
        };
        let (answer, ()) = tokio::join!(ask_on_pages(&folder, &asked, || ()), page);
        assert_eq!(answer, None);
    }
}
