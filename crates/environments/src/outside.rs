//! Asks a Python outside the served folder about the packages of an environment, of which it reads the files.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use tokio::time::timeout;

use crate::install::find_python;
use crate::interpreter::OPTIONS;
use crate::subprocess::command;
use crate::{Environment, KernelChoice, ProcessEnv};
use files::lies_in;

impl KernelChoice {
    /// The output of `script` for `input` about the folders with this kernel's packages; empty ones are those of the Python that
    /// runs. That is the kernel's own, unless it lies in `root`. `None` if there is no Python, or it takes longer than `limit`.
    pub async fn ask_outside(
        &self,
        root: &Path,
        process_env: &ProcessEnv,
        script: &str,
        input: impl FnOnce(Vec<PathBuf>) -> Vec<u8>,
        limit: Duration,
    ) -> Option<Vec<u8>> {
        let name = self.program.file_stem()?.to_str()?;
        let is_python = name.starts_with("python");
        let environment = Environment::of(&self.program);
        let python = match &environment {
            _ if !is_python => return None,
            _ if !lies_in(root, &self.program) => self.program.clone(),
            Some(_) => find_python(process_env, Some(root)).await.ok()?,
            None => return None,
        };
        let mut folders =
            environment.map(|it| it.all_packages(process_env).folders().to_vec()).unwrap_or_default();
        folders.retain(|folder| folder.is_dir());
        let ask = async {
            let mut command = command(&python, &process_env.outside(root));
            command
                .args([OPTIONS, script])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .stderr(Stdio::null());
            let mut child = command.spawn().ok()?;
            let mut stdin = child.stdin.take()?;
            stdin.write_all(&input(folders)).await.ok()?;
            drop(stdin);
            Some(child.wait_with_output().await.ok()?.stdout)
        };
        timeout(limit, ask).await.ok()?
    }
}
