//! The way to a kernel that is not ready.

use std::future::{pending, ready};
use std::time::Duration;

use kernel::KernelError;

use crate::fake::{FakeKernel, TIMEOUT};

#[cfg(unix)]
#[tokio::test]
async fn a_kernel_that_does_not_listen_yet_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let info = crate::fake::address("ipc", Some(&folder));
    let kernel = async {
        // The first try has been made: it is polled first.
        let mut kernel = FakeKernel::ipc(folder).await;
        kernel.request().await
    };
    tokio::select! {
        biased;
        client = transports::connect(&info, TIMEOUT, true, pending()) => drop(client.unwrap()),
        request = kernel => panic!("unexpected: {request:?}"),
    }
}

#[tokio::test]
async fn a_kernel_that_never_answers_is_given_up() {
    let kernel = FakeKernel::tcp().await;
    let timeout = Duration::from_millis(300);
    let error = transports::connect(&kernel.info, timeout, true, pending()).await.unwrap_err();
    let cause = "it accepts connections, but does not reply".to_owned();
    assert_eq!(error, KernelError::NotReady { waited: timeout, cause });
}

#[tokio::test]
async fn a_kernel_that_dies_while_it_starts_is_not_waited_for() {
    let kernel = FakeKernel::tcp().await;
    let process_end = ready("exit status 1".to_owned());
    let error = transports::connect(&kernel.info, TIMEOUT, true, process_end).await.unwrap_err();
    assert_eq!(error, KernelError::Died { how: "exit status 1".to_owned() });
}

#[tokio::test]
async fn a_kernel_that_signs_otherwise_is_refused() {
    let mut info = FakeKernel::tcp().await.info;
    info.signature_scheme = "hmac-md5".to_owned();
    let error = transports::connect(&info, TIMEOUT, true, pending()).await.unwrap_err();
    assert!(matches!(&error, KernelError::Unusable { cause } if cause.contains("hmac-md5")), "{error}");
}
