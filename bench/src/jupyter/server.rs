//! A Jupyter server in a home of its own.

use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use super::rest::{Rest, TOKEN};
use crate::process::in_home;

const START: Duration = Duration::from_secs(60);
const END: Duration = Duration::from_secs(20);

/// A server of the notebooks in the folder `root` of its home. It ends with this.
pub(crate) struct Server {
    process: Child,
    pub(crate) port: u16,
    home: PathBuf,
}

impl Drop for Server {
    fn drop(&mut self) {
        // The server ends its kernels when it is asked to end; killed, it would leave them.
        let id = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw);
        if let Some(id) = id {
            let _ = kill_process(id, Signal::TERM);
        }
        let start = Instant::now();
        while start.elapsed() < END && matches!(self.process.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Server {
    /// Runs a command of a server, and waits until it answers.
    pub(crate) fn start(mut command: Command, home: PathBuf) -> Result<Self> {
        std::fs::create_dir_all(home.join("root"))?;
        let port = TcpListener::bind(("127.0.0.1", 0))?.local_addr()?.port();
        command.args(["--no-browser", "--allow-root", "--ServerApp.port_retries=0"]);
        command.arg(format!("--ServerApp.port={port}")).arg(format!("--IdentityProvider.token={TOKEN}"));
        command.arg(format!("--ServerApp.root_dir={}", home.join("root").display()));
        in_home(&mut command, &home);
        // jupyter-collaboration keeps a database where its server runs.
        command.current_dir(&home);
        let log = std::fs::File::create(home.join("server.log"))?;
        let process = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn()?;
        let mut server = Self { process, port, home };
        let start = Instant::now();
        while Rest::new(port).and_then(|mut rest| rest.get("/api")).is_err() {
            let log = server.home.join("server.log");
            let is_there = server.process.try_wait()?.is_none() && start.elapsed() < START;
            ensure!(is_there, "the Jupyter server does not start; see {}", log.display());
            std::thread::sleep(Duration::from_millis(50));
        }
        Ok(server)
    }

    /// The program of an agent of this server.
    pub(crate) fn beside(&self, mut program: Command) -> Command {
        program.args(["--transport", "stdio", "--jupyter-token", TOKEN, "--jupyter-url"]);
        program.arg(format!("http://127.0.0.1:{}", self.port)).current_dir(&self.home);
        in_home(&mut program, &self.home);
        program
    }

    /// A file of the server.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.join("root").join(name)
    }

    pub(crate) fn id(&self) -> u32 {
        self.process.id()
    }
}
