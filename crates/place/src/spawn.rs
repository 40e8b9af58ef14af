use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

/// Starts a task, like `tokio::spawn`. Boxed: the runtime's code for a task, 3 KB, is in the program once for each type.
pub fn spawn(work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
    let work: BoxFuture<'static, ()> = Box::pin(work);
    tokio::spawn(work)
}

/// The same in a `Drop`, which may run after the end of the runtime: then nothing needs the work.
pub fn spawn_if_running(work: impl Future<Output = ()> + Send + 'static) {
    if tokio::runtime::Handle::try_current().is_ok() {
        spawn(work);
    }
}
