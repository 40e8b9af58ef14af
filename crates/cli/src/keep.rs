//! `cellbridge keep`, which a server starts: the process that keeps a kernel.

use std::io;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context as _;
use environments::ProcessEnv;
use local::{Folder, KernelKeeping};
use workspace::{Session, Settings, Workspace};

use crate::args::Keep;
use terminal::note;

/// How long it may take to store runs that are over.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(60);

/// Stores the runs of the keeper in `folder` into their cells, as a server does that uses the kernel.
async fn settle(folder: &Path) -> anyhow::Result<()> {
    let process_env = ProcessEnv { variables: std::env::vars_os().collect(), home: std::env::home_dir() };
    let kernels = keeper::kept_kernels(&process_env.state_folder()).await;
    let kernel =
        kernels.into_iter().find(|kernel| kernel.folder.path == folder).context("there is no such kernel")?;
    let root = kernel.folder_of_runs();
    let history = crate::process::history_folder(&process_env);
    let program = std::env::current_exe()?;
    let keeping = KernelKeeping { program, idle: SETTLE_TIMEOUT, only_stores: true };
    let place = Folder::new(root, process_env, Some(keeping));
    let workspace = Workspace::new(place, Settings::default());
    if let Some(history) = history {
        workspace.read_ids(history);
    }
    let session = Session::new(workspace.clone());
    let stored = tokio::time::timeout(SETTLE_TIMEOUT, async {
        session.adopt(place::KernelId::new(kernel.record.id.clone())).await?;
        for run in workspace.journal().runs() {
            run.ended().await;
        }
        Ok::<(), place::Error>(())
    });
    let stored = stored.await;
    workspace.shutdown().await;
    Ok(stored.context("it took too long")??)
}

pub(crate) fn run(options: &Keep) -> ExitCode {
    let ended = if options.detach {
        std::env::current_exe().and_then(|program| keeper::detach(&program))
    } else if let Some(folder) = &options.settle {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.and_then(|runtime| {
            let ended = runtime.block_on(settle(folder));
            runtime.shutdown_background();
            ended.map_err(io::Error::other)
        })
    } else {
        // Before anything else is opened.
        keeper::close_inherited_descriptors();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.and_then(|runtime| {
            let ended = runtime.block_on(local::keep_from_stdin());
            runtime.shutdown_background();
            ended
        })
    };
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            note(&format!("cellbridge: {error}"));
            ExitCode::FAILURE
        }
    }
}
