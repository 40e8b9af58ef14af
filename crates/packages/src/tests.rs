//! Installations through a kernel in memory.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use kernel::{MemoryError, Sink, Status};
use notebook::Json;
use place::{Execution, Executor, Future, KernelDescription, KernelId, RunDetails};
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::Instant;

use super::*;

/// Answers questions about packages.
#[derive(Default)]
struct Installing {
    /// The answers to the next polls; later ones have none.
    polls: Mutex<VecDeque<Value>>,
    asked: Mutex<Vec<String>>,
}

impl Executor for Installing {
    fn execute(&self, _: &RunDetails, _: Sink) -> Arc<dyn Execution> {
        unreachable!("no code runs")
    }

    fn status(&self) -> watch::Receiver<Status> {
        watch::Sender::new(Status::Idle).subscribe()
    }

    fn language_info(&self) -> Json {
        Json::empty_object()
    }

    fn ask_memory<'a>(
        &'a self,
        question: &'a Value,
        _: Duration,
    ) -> BoxFuture<'a, Result<Json, MemoryError>> {
        let what = question["packages"]["what"].as_str().unwrap().to_owned();
        self.asked.lock().unwrap().push(what.clone());
        let answer = match &*what {
            "environment" => Some(json!({ "prefix": "/env", "is_writable": true, "uv": "/bin/uv" })),
            "start" => Some(json!({ "job": 1 })),
            "poll" => self.polls.lock().unwrap().pop_front().filter(|answer| !answer.is_null()),
            _ => Some(json!({})),
        };
        async move {
            if answer.is_none() {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            let waited = Duration::from_secs(1);
            answer.map(|it| Json::from_value(&it)).ok_or(MemoryError::NoAnswer { waited, is_busy: true })
        }
        .boxed()
    }
}

/// A kernel that runs nothing.
struct Idle {
    id: KernelId,
    executor: Arc<dyn Executor>,
}

impl Kernel for Idle {
    fn id(&self) -> &KernelId {
        &self.id
    }

    fn description(&self) -> KernelDescription {
        KernelDescription {
            name: "idle".into(),
            display_name: "Idle".into(),
            language: "none".into(),
            environment: "/bin/false".into(),
            state: KernelState::Idle,
            last_activity: None,
            connections: None,
            keeping: None,
            foreign: None,
        }
    }

    fn is_gone(&self) -> bool {
        false
    }

    fn executor(&self) -> Future<'_, Arc<dyn Executor>> {
        let executor = self.executor.clone();
        async { Ok(executor) }.boxed()
    }

    fn interrupt(&self) -> Future<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn restart(&self) -> Future<'_, ()> {
        async { Ok(()) }.boxed()
    }

    fn shutdown(&self) -> Future<'_, ()> {
        async { Ok(()) }.boxed()
    }
}

/// How an installation of at most a minute ends, and what the kernel was asked.
async fn install(polls: impl IntoIterator<Item = Value>) -> (Result<Vec<PackageChange>, Error>, Vec<String>) {
    let polls = Mutex::new(polls.into_iter().collect());
    let installing = Arc::new(Installing { polls, ..Installing::default() });
    let kernel = Arc::new(Idle { id: "k".into(), executor: installing.clone() });
    let packages = vec!["six".parse().unwrap()];
    let installation = Installation::prepare(kernel, None, packages, RecordIn::No, false).await.unwrap();
    let ended = installation.install(&Plan::default(), Duration::from_secs(60)).await;
    tokio::task::yield_now().await;
    let asked = installing.asked.lock().unwrap().clone();
    (ended, asked)
}

#[tokio::test(start_paused = true)]
async fn an_installation_goes_on_while_a_cell_keeps_the_kernel_from_answering() {
    let running = json!({ "status": null, "output": "Downloading" });
    let polls = [running, Value::Null, Value::Null, json!({ "status": 0, "output": "" })];
    let (ended, asked) = install(polls).await;
    assert_eq!(ended, Ok(Vec::new()));
    assert_eq!(asked, ["environment", "versions", "start", "poll", "poll", "poll", "poll", "versions"]);
}

#[tokio::test(start_paused = true)]
async fn an_installation_that_is_never_answered_for_ends_with_its_time() {
    let began = Instant::now();
    let (ended, asked) = install([]).await;
    assert_eq!(ended.unwrap_err().kind, ErrorKind::Timeout);
    assert!((60..80).contains(&began.elapsed().as_secs()), "{:?}", began.elapsed());
    assert_eq!(asked.last().unwrap(), "end");
}
