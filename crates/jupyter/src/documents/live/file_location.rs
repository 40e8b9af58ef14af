//! Where the file of an open document is. A room follows its file; the path under which it was opened may lead elsewhere.

use std::time::Duration;

use rest::{ContentsQuery, RestError};
use tokio::time::{Instant, timeout, timeout_at};
use ydoc::Dialect;

use super::shared::Shared;

/// Time limit for asking the server; without an answer, the file counts as unmoved.
const SERVER_TIMEOUT: Duration = Duration::from_secs(5);

/// How long a verified location is trusted where the room reports no renames (jupyter-server-documents).
const TRUSTED: Duration = Duration::from_secs(2);

/// What is known of a file's location.
pub(super) struct FileLocation {
    opened_as: String,
    /// The file's id on the server.
    id: Option<String>,
    /// Where the id led, if the file was not where the room reported it.
    moved_to: Option<String>,
    /// When the file was last known to be at its path. `None` if something suggests that it is not.
    verified_at: Option<Instant>,
}

impl FileLocation {
    pub(super) fn new(opened_as: String) -> Self {
        Self { opened_as, id: None, moved_to: None, verified_at: None }
    }

    /// Notes that the room of this file was joined. Returns whether it is another file than before.
    pub(super) fn joined(&mut self, id: &str, path: &str) -> bool {
        let before = self.id.replace(id.to_owned());
        self.verified_at = Some(Instant::now());
        self.moved_to = Some(path.to_owned()).filter(|path| *path != self.opened_as);
        before.is_some_and(|before| before != id)
    }

    /// The path of the file, given the path that its document contains.
    pub(super) fn path(&self, reported: Option<String>) -> String {
        self.moved_to.clone().or(reported).unwrap_or_else(|| self.opened_as.clone())
    }

    /// Like [`FileLocation::path`], if that is not the path under which it was opened.
    pub(super) fn renamed(&self, reported: Option<String>) -> Option<String> {
        Some(self.path(reported)).filter(|path| *path != self.opened_as)
    }

    /// Notes that the room has reported a new path.
    pub(super) fn reported(&mut self) {
        self.moved_to = None;
    }

    /// Notes that the file may be elsewhere.
    pub(super) fn invalidate(&mut self) {
        self.verified_at = None;
    }

    /// The file's id, if its location has to be verified.
    fn unverified(&self, dialect: Dialect, reported: Option<String>) -> Option<String> {
        let is_verified = match self.verified_at {
            _ if self.renamed(reported).is_some() => false,
            Some(at) => dialect == Dialect::Collaboration || at.elapsed() <= TRUSTED,
            None => false,
        };
        self.id.clone().filter(|_| !is_verified)
    }
}

/// Whether another file is at the path under which this one was opened. The server is asked only if the location is not
/// verified.
pub(super) async fn is_displaced(shared: &Shared) -> bool {
    let id = {
        let state = shared.state();
        state.location.unverified(shared.dialect, state.replica.path())
    };
    let Some(id) = id else { return false };
    let Ok(Ok(is_displaced)) = timeout(SERVER_TIMEOUT, is_path_taken(shared, &id)).await else {
        return false;
    };
    if is_displaced {
        tracing::info!(path = shared.path, "another file is at the notebook's path");
    } else {
        shared.state().location.verified_at = Some(Instant::now());
    }
    is_displaced
}

async fn is_path_taken(shared: &Shared, id: &str) -> Result<bool, RestError> {
    let server = shared.handle.server().await?;
    if server.file_path(id).await?.is_some_and(|path| path == shared.path) {
        return Ok(false);
    }
    // Servers assign ids to missing files too.
    if server.contents(&shared.path, ContentsQuery::Hash).await.is_err() {
        return Ok(false);
    }
    let there = match shared.dialect {
        Dialect::Collaboration => {
            server.collaboration_session(&shared.path).await?.map(|session| session.file_id)
        }
        Dialect::ServerDocuments => server.file_id(&shared.path).await?,
    };
    Ok(there.is_some_and(|there| there != id))
}

/// Asks the server where the file is now. Returns whether that is another path than the one known so far.
/// jupyter-server-documents reports renames in no other way.
pub(super) async fn refresh(shared: &Shared, deadline: Instant) -> bool {
    let Some(id) = shared.state().location.id.clone() else { return false };
    let Ok(server) = shared.handle.server().await else { return false };
    let Ok(Ok(Some(path))) = timeout_at(deadline, server.file_path(&id)).await else { return false };
    let mut state = shared.state();
    let is_elsewhere = path != state.path_now();
    if is_elsewhere {
        tracing::info!(from = shared.path, to = path, "the notebook was renamed");
        state.location.moved_to = Some(path);
    }
    is_elsewhere
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_location_is_verified_again_when_it_may_have_changed() {
        let unverified = |location: &FileLocation, dialect| location.unverified(dialect, None).is_some();
        let mut location = FileLocation::new("x.ipynb".to_owned());
        assert!(!location.joined("f", "x.ipynb"));
        assert!(!unverified(&location, Dialect::Collaboration));
        assert!(!unverified(&location, Dialect::ServerDocuments));
        tokio::time::advance(TRUSTED * 2).await;
        assert!(!unverified(&location, Dialect::Collaboration), "the room reports renames");
        assert!(unverified(&location, Dialect::ServerDocuments));
        location.invalidate();
        assert!(unverified(&location, Dialect::Collaboration));
    }

    #[test]
    fn a_file_is_where_its_id_led_until_the_room_reports_another_path() {
        let mut location = FileLocation::new("x.ipynb".to_owned());
        location.joined("f", "moved.ipynb");
        assert_eq!(location.renamed(Some("x.ipynb".to_owned())).unwrap(), "moved.ipynb");
        location.reported();
        assert_eq!(location.path(Some("again.ipynb".to_owned())), "again.ipynb");
        assert_eq!(location.renamed(Some("x.ipynb".to_owned())), None);
        assert!(location.joined("other", "x.ipynb"), "it is another file");
    }
}
