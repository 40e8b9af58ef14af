//! The person's pages, asked for the line that a run waits for: also when no call waits for the run any longer.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use page::{Answer, Question, WantedInput};
use place::RunState;
use runs::{LineAsker, Run};
use tokio::time::sleep;

/// How often a run that waits looks for a page: one may be opened because of it.
const PAUSE: Duration = Duration::from_secs(1);

/// Asks on the pages whose sockets are in `folder`.
pub(crate) fn asker(folder: PathBuf) -> LineAsker {
    let folder: Arc<Path> = folder.into();
    Box::new(move |run| {
        let folder = folder.clone();
        Box::pin(async move {
            tokio::select! {
                line = line_from_pages(&folder, &run) => {
                    run.answer_input(line);
                }
                () = run.answered() => {}
            }
        })
    })
}

/// Waits without a bound: for whatever page is open, now or later.
async fn line_from_pages(folder: &Path, run: &Run) -> String {
    loop {
        if let RunState::WaitingForInput { prompt: text, is_password } = run.state()
            && page::has_pages(folder)
        {
            let input = Some(WantedInput { run: run.id().to_string(), is_password });
            let question = Question { client: String::new(), text, asked_at: SystemTime::now(), input };
            if let Some(Answer::Line(line)) = page::ask_on_pages(folder, &question, || {}).await {
                return line;
            }
        }
        sleep(PAUSE).await;
    }
}
