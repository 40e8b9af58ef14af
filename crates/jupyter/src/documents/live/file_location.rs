//! Where the file of an open document is. A room follows its file; the path under which it was opened may lead elsewhere.

use std::time::Duration;

use tokio::time::Instant;
use ydoc::Dialect;

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

    /// Records that the room of this file was joined. Returns whether it is another file than before.
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

    /// Records whether the file is known to be at its path.
    pub(super) fn set_verified(&mut self, is_verified: bool) {
        self.verified_at = is_verified.then(Instant::now);
    }

    /// Records where the file's id led; `None` if the room has reported a new path.
    pub(super) fn set_moved(&mut self, path: Option<String>) {
        self.moved_to = path;
    }

    /// The file's id, if it is known.
    pub(super) fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// The file's id, if its location has to be verified.
    pub(super) fn unverified(&self, dialect: Dialect, reported: Option<String>) -> Option<String> {
        let is_verified = match self.verified_at {
            _ if self.renamed(reported).is_some() => false,
            Some(at) => dialect == Dialect::Collaboration || at.elapsed() <= TRUSTED,
            None => false,
        };
        self.id.clone().filter(|_| !is_verified)
    }
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
        location.set_verified(false);
        assert!(unverified(&location, Dialect::Collaboration));
    }

    #[test]
    fn a_file_is_where_its_id_led_until_the_room_reports_another_path() {
        let mut location = FileLocation::new("x.ipynb".to_owned());
        location.joined("f", "moved.ipynb");
        assert_eq!(location.renamed(Some("x.ipynb".to_owned())).unwrap(), "moved.ipynb");
        location.set_moved(None);
        assert_eq!(location.path(Some("again.ipynb".to_owned())), "again.ipynb");
        assert_eq!(location.renamed(Some("x.ipynb".to_owned())), None);
        assert!(location.joined("other", "x.ipynb"), "it is another file");
    }
}
