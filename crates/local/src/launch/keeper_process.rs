//! The process of a keeper, with kernels of this machine.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use keeper::{KeeperSpec, KernelProcess, LaunchError, Launched, Launcher};
use place::KernelId;
use transports::KernelSockets;

use super::connection_file::ConnectionFile;
use super::launcher::{KernelLauncher, Open, Started};
use super::process::Process;
use environments::{InterruptMode, ProcessEnv};

/// The keeper's process: reads from its standard input what to keep, and keeps it. Fails if the server that started it cannot be
/// answered.
pub async fn keep_from_stdin() -> io::Result<()> {
    keeper::run_from_stdin(|spec| Ok(Arc::new(launcher(spec)?))).await
}

fn launcher(spec: &KeeperSpec) -> io::Result<KernelLauncher> {
    let process_env =
        ProcessEnv { variables: spec.variables.iter().cloned().collect(), home: spec.home.clone() };
    Ok(KernelLauncher {
        id: KernelId::new(spec.id.clone()),
        choice: spec.choice.read()?,
        folder: spec.working_folder.clone(),
        notebook: spec.notebook.clone(),
        process_env: Arc::new(process_env),
        start_timeout: spec.start_timeout,
    })
}

impl Launcher for KernelLauncher {
    fn start(self: Arc<Self>) -> BoxFuture<'static, Result<Launched, LaunchError>> {
        async move {
            let open: Open<KernelSockets> =
                |info, timeout, exit| KernelSockets::connect(info, timeout, exit).boxed();
            let started = KernelLauncher::start(&self, open).await;
            let Started { connection, process, connection_file } = started
                .map_err(|error| LaunchError { cause: error.cause.clone(), next: error.next.to_string() })?;
            let process = Box::new(OwnProcess { process, _connection_file: connection_file });
            Ok(Launched { connection, process })
        }
        .boxed()
    }

    fn interrupts_by_signal(&self) -> bool {
        self.choice.kernelspec.interrupt_mode == InterruptMode::Signal
    }

    fn temporary_folder(&self) -> PathBuf {
        self.process_env.temp_dir()
    }
}

/// A process with the connection file that is removed after it.
struct OwnProcess {
    process: Process,
    _connection_file: ConnectionFile,
}

impl KernelProcess for OwnProcess {
    fn id(&self) -> Option<u32> {
        self.process.id()
    }

    fn wait(&self) -> BoxFuture<'static, String> {
        let exit = self.process.wait();
        async move { exit.await.to_string() }.boxed()
    }

    fn interrupt(&self) {
        self.process.interrupt();
    }

    fn stop(&self) -> BoxFuture<'_, ()> {
        self.process.stop().boxed()
    }
}
