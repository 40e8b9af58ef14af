//! Kernels that die, and connections that end.

use kernel::{Death, Event, KernelError, Outcome, Status};
use serde_json::json;
use tokio::sync::oneshot;
use zeromq::SocketRecv;

use crate::events::{Events, execute, print, stdout};
use crate::fake::{FakeKernel, Request};

fn died(how: &str) -> Outcome {
    Outcome::KernelDied { how: how.into() }
}

#[tokio::test]
async fn the_last_output_of_a_dying_kernel_arrives() {
    let mut kernel = FakeKernel::tcp().await;
    let (death, process_end) = oneshot::channel();
    let client = kernel.client_with(async { process_end.await.unwrap_or_default() }).await;
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    let (mut queued, sink) = Events::new();
    client.execute("never", sink);
    let mut lines = String::new();
    for number in 0..1000 {
        let line = format!("{number}\n");
        print(&mut kernel, &request, &line).await;
        lines.push_str(&line);
    }
    // Nothing of this has been read yet.
    death.send("killed by signal 9".to_owned()).unwrap();
    let (area, outcome) = events.collect().await;
    assert_eq!((stdout(&area), outcome), (lines, died("killed by signal 9")));
    assert_eq!(queued.collect().await.1, died("killed by signal 9"));

    // Whatever is asked of it now is answered at once.
    let (mut late, sink) = Events::new();
    let id = client.execute("too late", sink);
    assert_eq!(late.0.try_recv().unwrap(), Event::Finished(died("killed by signal 9")));
    assert!(!client.answer_input(&id, String::new()));
    let error = KernelError::Died { how: "killed by signal 9".to_owned() };
    assert_eq!(client.interrupt_message().await.unwrap_err(), error);
    assert_eq!(*client.status().borrow(), Status::Dead { how: "killed by signal 9".into() });
}

#[tokio::test]
async fn a_kernel_that_closes_its_connections_is_dead() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    print(&mut kernel, &request, "last words\n").await;
    while !matches!(events.next().await, Event::Output { .. }) {}
    drop(kernel);
    assert_eq!(events.collect().await.1, died("it closed its connections"));
}

#[tokio::test]
async fn a_kernel_reported_dead_is_dead_though_a_child_holds_its_sockets() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (request, mut events, _) = execute(&mut kernel, &client).await;
    print(&mut kernel, &request, "last words\n").await;
    client.report_death("lost".to_owned());
    let (area, outcome) = events.collect().await;
    assert_eq!((stdout(&area).as_str(), outcome), ("last words\n", died("lost")));
}

#[tokio::test]
async fn executions_end_with_the_last_client() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (_, mut events, _) = execute(&mut kernel, &client).await;
    drop(client);
    assert!(matches!(events.collect().await.1, Outcome::KernelDied { .. }));
    assert!(events.0.recv().await.is_none());
}

#[tokio::test]
async fn an_execution_cut_short_by_a_restart_is_restarted() {
    let mut kernel = FakeKernel::tcp().await;
    let client = kernel.client().await;
    let (_, mut events, _) = execute(&mut kernel, &client).await;
    let exit = async move {
        let request = Request::read(kernel.control.recv().await.unwrap());
        assert_eq!(request.header["msg_type"], "shutdown_request");
        assert_eq!(request.content, json!({ "restart": true }));
    };
    let (agreed, ()) = tokio::join!(client.shutdown_message(true), exit);
    // It went without a reply, and that is as good as one.
    agreed.unwrap();
    assert_eq!(events.collect().await.1, Outcome::KernelDied { how: Death::Restarted });
}
