//! What a tool gets besides its arguments.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use render::Budget;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;
use workspace::{Error, OpenNotebook, Progress, Report, Session};

use super::parameters::{BudgetArguments, NotebookArgument};
use crate::permissions::Access;

/// A smaller budget has no room for what was left out.
const MIN_CHARACTERS: usize = 500;

/// One call of a tool.
pub(crate) struct Context<'a> {
    pub(crate) session: &'a Session,
    /// Where progress goes; it is dropped while this is full.
    pub(crate) reports: mpsc::Sender<Report>,
    pub(crate) wants_progress: bool,
    /// Cancelled when the agent cancels the call, not when it only disconnects.
    pub(crate) cancelled: CancellationToken,
    /// Whether the session is this call alone: the next call has another.
    pub(crate) is_stateless: bool,
    /// The person behind the agent, where the agent can ask.
    pub(crate) person: Option<&'a dyn Person>,
    /// What the call may do, beyond the tool itself.
    pub(crate) access: Access<'a>,
}

/// Somebody who can be asked for a line.
pub(crate) trait Person: Send + Sync {
    /// Asks, and waits for the answer. `None` if the person declines or cannot be reached.
    fn ask(&self, question: String) -> BoxFuture<'_, Option<String>>;
}

impl Context<'_> {
    /// The notebook that the arguments name.
    pub(crate) async fn notebook(&self, argument: &NotebookArgument) -> Result<Arc<OpenNotebook>, Error> {
        self.session.notebook(argument.notebook_name.as_deref()).await
    }

    /// The budget of the arguments, or else of the server's settings.
    pub(crate) fn budget(&self, arguments: &BudgetArguments) -> Budget {
        let settings = self.session.workspace().settings().budget;
        let characters = arguments.max_characters.unwrap_or(settings.characters).max(MIN_CHARACTERS);
        Budget { characters, images: arguments.max_images.unwrap_or(settings.images) }
    }

    /// Reports progress to the agent. `seconds` must grow.
    pub(crate) fn report_progress(&self, seconds: f64, message: String) {
        if self.wants_progress {
            let progress = Progress { progress: seconds, total: None, message: Some(message) };
            let _ = self.reports.try_send(Report::Progress(progress));
        }
    }
}
