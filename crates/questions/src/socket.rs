//! The road from a server with a question to the pages of the same user.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::future::select_all;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use uuid::Uuid;

use crate::{Answer, OpenQuestions, Question};

const EXTENSION: &str = "sock";
/// More than the longest text of a question.
const MAX_LINE: u64 = 1 << 20;
/// How long a server may take to send its question.
const QUESTION_TIMEOUT: Duration = Duration::from_secs(5);
/// How many questions wait at once; more are refused.
const MAX_OPEN: usize = 100;

/// Where the process of a page takes questions.
#[derive(Debug)]
pub struct Listener {
    listener: UnixListener,
    /// The socket, or a link to it.
    path: PathBuf,
}

/// Opens a socket in the folder of pages, which it makes if needed, or, if that path is too long for a socket, in the `temporary`
/// folder with a link to it. Fails if others can use the folder.
pub fn listen(folder: &Path, temporary: &Path) -> io::Result<Listener> {
    let name = Uuid::new_v4().simple().to_string();
    let path = folder.join(&name[..8]).with_extension(EXTENSION);
    keeper::make_private_parent(&path)?;
    let (listener, socket) = keeper::listen(path.clone(), temporary)?;
    if socket != path {
        symlink(socket, &path)?;
    }
    Ok(Listener { listener, path })
}

impl Listener {
    /// Shows the questions of servers among `questions`. Dropping the future takes them back.
    pub async fn serve(self, questions: &OpenQuestions) {
        let mut served = JoinSet::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((stream, _)) if served.len() < MAX_OPEN && keeper::is_own_process(&stream) => {
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

impl Drop for Listener {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Removes a socket, or a link and the folder that was made for its socket.
fn remove(path: &Path) {
    if let Ok(socket) = fs::read_link(path) {
        let _ = fs::remove_file(&socket);
        // Only if it is empty: it holds nothing but the socket.
        let _ = socket.parent().map(fs::remove_dir);
    }
    let _ = fs::remove_file(path);
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
    keeper::is_private(folder) && sockets(folder).next().is_some()
}

fn sockets(folder: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.filter(|path| path.extension().is_some_and(|it| it == EXTENSION))
}

/// Connections to all pages of this user. The sockets of processes that are gone are removed.
async fn connect_to_all(folder: &Path) -> Vec<UnixStream> {
    if !keeper::is_private(folder) {
        return Vec::new();
    }
    let mut connections = Vec::new();
    for path in sockets(folder) {
        let socket = fs::read_link(&path).unwrap_or_else(|_| path.clone());
        if !socket.parent().is_some_and(keeper::is_private) {
            continue;
        }
        match UnixStream::connect(&socket).await {
            Ok(stream) if keeper::is_own_process(&stream) => connections.push(stream),
            Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                remove(&path);
            }
            _ => {}
        }
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
    use std::os::unix::fs::PermissionsExt as _;
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

    #[tokio::test]
    async fn a_path_that_is_too_long_for_a_socket_leads_to_one() {
        let (_temporary, folder) = folder();
        let folder = folder.join("x".repeat(100));
        fs::create_dir_all(folder.parent().unwrap()).unwrap();
        let (questions, asked) = (OpenQuestions::default(), question());
        let listener = listen(&folder, &std::env::temp_dir()).unwrap();
        let elsewhere = fs::read_link(&listener.path).unwrap();
        let answering = async {
            until_count(&questions, 1).await;
            assert!(questions.answer(questions.all()[0].number, Answer::Accepted));
            std::future::pending::<()>().await;
        };
        let answer = tokio::select! {
            answer = ask_on_pages(&folder, &asked, || ()) => answer,
            () = listener.serve(&questions) => unreachable!("it serves until it is dropped"),
            () = answering => unreachable!("it waits"),
        };
        assert_eq!(answer, Some(Answer::Accepted));
        assert!(!elsewhere.parent().unwrap().exists() && fs::read_dir(&folder).unwrap().next().is_none());
    }

    #[tokio::test]
    async fn a_folder_that_others_can_use_and_a_socket_without_a_process_are_not_used() {
        let (_temporary, folder) = folder();
        assert_eq!(connect_to_all(&folder).await.len(), 0);
        let listener = listen(&folder, &std::env::temp_dir()).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        assert_eq!(connect_to_all(&folder).await.len(), 0);
        assert!(listen(&folder, &std::env::temp_dir()).is_err());
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        assert_eq!(connect_to_all(&folder).await.len(), 1);
        // A process that was killed leaves its socket.
        let path = listener.path.clone();
        drop(listener);
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        assert_eq!(connect_to_all(&folder).await.len(), 0);
        assert!(!path.exists());
    }
}
