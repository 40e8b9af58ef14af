//! `cellbridge keep`, which a server starts: the process that keeps a kernel.

use std::process::ExitCode;

use crate::args::Keep;

pub(crate) fn run(options: &Keep) -> ExitCode {
    let ended = if options.detach {
        std::env::current_exe().and_then(|program| local::detach(&program))
    } else {
        // Before anything else is opened.
        local::close_inherited_descriptors();
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
            eprintln!("cellbridge: {error}");
            ExitCode::FAILURE
        }
    }
}
