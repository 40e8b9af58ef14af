//! What all pages of a program share, whatever they show: how many are open, and what waits for the person.

use std::sync::Arc;
#[cfg(unix)]
use std::time::Duration;

use questions::OpenQuestions;
use tokio::sync::watch;

/// A page that is loaded again is closed for less than this.
#[cfg(unix)]
const RELOAD: Duration = Duration::from_secs(10);

/// The pages of a program.
#[derive(Default)]
pub struct Pages {
    open: watch::Sender<usize>,
    questions: OpenQuestions,
}

impl Pages {
    /// How many are open.
    pub fn open(&self) -> watch::Receiver<usize> {
        self.open.subscribe()
    }

    /// One more is open, until the result is dropped.
    pub fn enter(self: &Arc<Self>) -> OpenPage {
        self.open.send_modify(|open| *open += 1);
        OpenPage(self.clone())
    }

    /// What waits for the person's answer.
    pub(crate) fn questions(&self) -> &OpenQuestions {
        &self.questions
    }

    /// Takes the questions of servers to the folder of pages while a page is open; the socket is in the `temporary` folder if that path
    /// is too long for one. Ends only if the folder cannot be used.
    #[cfg(unix)]
    pub async fn take_questions(&self, folder: &std::path::Path, temporary: &std::path::Path) {
        let mut open = self.open();
        // The sender lives in `self`.
        while open.wait_for(|open| *open > 0).await.is_ok() {
            let listener = match questions::listen(folder, temporary) {
                Ok(listener) => listener,
                Err(error) => {
                    tracing::warn!(folder = %folder.display(), %error, "the page shows no questions of servers");
                    return;
                }
            };
            tokio::select! {
                () = listener.serve(&self.questions) => {}
                () = until_closed(&mut open) => {}
            }
        }
    }
}

/// Waits until no page is open, and none comes back.
#[cfg(unix)]
async fn until_closed(open: &mut watch::Receiver<usize>) {
    while open.wait_for(|open| *open == 0).await.is_ok() {
        if tokio::time::timeout(RELOAD, open.wait_for(|open| *open > 0)).await.is_err() {
            return;
        }
    }
}

/// A page that is open.
pub struct OpenPage(Arc<Pages>);

impl Drop for OpenPage {
    fn drop(&mut self) {
        self.0.open.send_modify(|open| *open = open.saturating_sub(1));
    }
}
