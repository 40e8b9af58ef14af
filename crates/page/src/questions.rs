//! Questions to the person that their page shows.
//!
//! While a page is open, its process listens on a private socket. A server that has a question sends it there, and waits for the answer.
//! On systems without Unix sockets, no page shows a question.

mod open;
#[cfg(unix)]
pub(crate) mod socket;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

pub use self::open::{OpenQuestion, OpenQuestions};
#[cfg(unix)]
use crate::private_socket::names;

/// What a page shows of a question.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Question {
    /// The agent whose call waits, by its client's name, as the client wrote it.
    pub client: String,
    /// Safe to be shown as text; it is no markup.
    pub text: String,
    pub asked_at: SystemTime,
    /// Set if `text` is the prompt of `input()`, which the page shows at its cell. Otherwise the person accepts or declines.
    #[serde(default)]
    pub input: Option<WantedInput>,
}

/// A line for which a run waits.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WantedInput {
    pub run: String,
    pub is_password: bool,
}

/// What the person answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Answer {
    Accepted,
    Declined,
    /// The line for the `input()` of a run.
    Line(String),
}

/// The folder with the sockets of pages. `state` is the folder of what this program remembers between two starts.
pub fn folder_of_pages(state: &Path) -> PathBuf {
    state.join("pages")
}

/// Whether there may be a page that shows questions.
#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no Unix sockets"))]
pub fn has_pages(folder: &Path) -> bool {
    #[cfg(unix)]
    return !names(folder).is_empty();
    #[cfg(not(unix))]
    return false;
}

/// Asks on all pages; the first answer counts, and the others take the question back. `None` if there is no page, or if all are
/// gone before anybody has answered. Calls `on_shown` once if there is one, and waits without a bound.
#[cfg_attr(not(unix), expect(unused_variables, reason = "there are no Unix sockets"))]
pub async fn ask_on_pages(folder: &Path, question: &Question, on_shown: impl FnOnce()) -> Option<Answer> {
    #[cfg(unix)]
    return socket::ask_on_pages(folder, question, on_shown).await;
    #[cfg(not(unix))]
    return None;
}
