//! The login on disk: one file in our state folder that only its owner can read.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use connection::Secret;
use place::{Error, ErrorKind, NextStep};
use serde::{Deserialize, Serialize};
use tokio::time::{Instant, sleep};

use crate::scopes::Scopes;
use crate::{Google, OAuthClient, Result};

const FILE: &str = "login.json";
const MAX_BYTES: u64 = 64 * 1024;
/// Longer than another process may need for a request.
const LOCK_TIMEOUT: Duration = Duration::from_secs(45);
const LOCK_PAUSE: Duration = Duration::from_millis(50);

/// Who is signed in, and the refresh token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Login {
    pub client: OAuthClient,
    pub(crate) refresh: Secret,
    pub scopes: Scopes,
    /// The e-mail address, if it was granted.
    pub account: Option<String>,
    pub signed_in: SystemTime,
    /// When the refresh token expires, if Google has named the time.
    pub(crate) expires: Option<SystemTime>,
}

/// Times are seconds since 1970. Without `Debug`, because it has secrets.
#[derive(Serialize, Deserialize)]
struct Written {
    /// The only address that the refresh token is sent to.
    token_uri: String,
    client_id: String,
    client_secret: String,
    refresh_token: String,
    scope: String,
    account: Option<String>,
    signed_in: u64,
    expires: Option<u64>,
}

/// The folder of the login.
#[derive(Debug, Clone)]
pub struct Store(PathBuf);

impl Store {
    /// In the state folder of this program.
    pub fn new(own_state: &Path) -> Self {
        Self(own_state.join("colab"))
    }

    pub fn file(&self) -> PathBuf {
        self.0.join(FILE)
    }

    /// Reads the login, if there is one.
    pub fn load(&self, google: &Google) -> Result<Option<Login>> {
        let file = match File::open(self.file()) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(self.unusable(&format!("cannot be read: {error}"), NextStep::SignIn)),
        };
        if !is_private(&file) {
            return Err(
                self.unusable("can be read by other users, or is not yours", NextStep::ClosePermissions)
            );
        }
        let mut text = Vec::new();
        let read = file.take(MAX_BYTES).read_to_end(&mut text).ok();
        let written = read.and_then(|_| serde_json::from_slice::<Written>(&text).ok());
        let written = written.ok_or_else(|| self.unusable("is damaged", NextStep::SignIn))?;
        if written.token_uri != google.token {
            return Err(self.unusable("belongs to another server", NextStep::SignIn));
        }
        written.login().map(Some).ok_or_else(|| self.unusable("is damaged", NextStep::SignIn))
    }

    /// Replaces the login as a whole.
    pub(crate) fn save(&self, login: &Login, google: &Google) -> Result<()> {
        let written = serde_json::to_vec(&Written::of(login, google)).map_err(io::Error::other);
        written.and_then(|text| state::replace(&self.file(), &text)).map_err(|error| {
            self.unusable(
                &format!("cannot be written: {error}. The login was not stored"),
                NextStep::TryAgain,
            )
        })
    }

    pub(crate) fn remove(&self) -> Result<()> {
        match fs::remove_file(self.file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                Err(self.unusable(&format!("cannot be removed: {error}"), NextStep::TryAgain))
            }
            _ => Ok(()),
        }
    }

    /// Waits until no other process changes the login: a token that is replaced is valid once.
    pub(crate) async fn lock(&self) -> Result<File> {
        let unusable =
            |error: &io::Error| self.unusable(&format!("cannot be locked: {error}"), NextStep::TryAgain);
        let opened = state::create_folder(&self.0).and_then(|()| state::open_lock(&self.0.join("lock")));
        let lock = opened.map_err(|error| unusable(&error))?;
        let end = Instant::now() + LOCK_TIMEOUT;
        while !state::try_lock(&lock).map_err(|error| unusable(&error))? {
            if Instant::now() > end {
                return Err(self.unusable("is in use by another process", NextStep::TryAgain));
            }
            sleep(LOCK_PAUSE).await;
        }
        Ok(lock)
    }

    fn unusable(&self, problem: &str, next: NextStep) -> Error {
        let cause = format!("The file of the Colab login {problem}: {}", self.file().display());
        Error::new(ErrorKind::Unavailable, cause, next)
    }
}

impl Written {
    fn of(login: &Login, google: &Google) -> Self {
        Self {
            token_uri: google.token.clone(),
            client_id: login.client.id.clone(),
            client_secret: login.client.secret.expose().to_owned(),
            refresh_token: login.refresh.expose().to_owned(),
            scope: login.scopes.list(),
            account: login.account.clone(),
            signed_in: seconds(login.signed_in),
            expires: login.expires.map(seconds),
        }
    }

    fn login(self) -> Option<Login> {
        let time = |seconds| UNIX_EPOCH.checked_add(Duration::from_secs(seconds));
        Some(Login {
            client: OAuthClient { id: self.client_id, secret: Secret::new(self.client_secret)? },
            refresh: Secret::new(self.refresh_token)?,
            scopes: Scopes::parse(&self.scope),
            account: self.account,
            signed_in: time(self.signed_in)?,
            expires: self.expires.and_then(time),
        })
    }
}

fn seconds(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

/// Whether nobody else can read or write it.
#[cfg(unix)]
fn is_private(file: &File) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    file.metadata().is_ok_and(|it| state::is_own(&it) && it.mode() & 0o066 == 0)
}

/// On Windows, the state folder is in the person's own.
#[cfg(not(unix))]
fn is_private(_file: &File) -> bool {
    true
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn login() -> Login {
        Login {
            client: OAuthClient {
                id: "1.apps.googleusercontent.com".into(),
                secret: Secret::new("client-hush").unwrap(),
            },
            refresh: Secret::new("1//hush").unwrap(),
            scopes: Scopes::requested(),
            account: Some("ada@example.com".into()),
            signed_in: UNIX_EPOCH + Duration::from_secs(1_000_000),
            expires: None,
        }
    }

    #[test]
    #[cfg(unix)]
    fn only_the_owner_can_read_the_login_which_is_replaced_as_a_whole() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
        let (folder, google) = (tempfile::tempdir().unwrap(), Google::default());
        let store = Store::new(folder.path());
        assert_eq!(store.load(&google).unwrap(), None);
        let mut login = login();
        store.save(&login, &google).unwrap();
        login.refresh = Secret::new("1//rotated").unwrap();
        login.expires = Some(login.signed_in + Duration::from_secs(5));
        store.save(&login, &google).unwrap();
        let mode = |path: &Path| path.metadata().unwrap().mode() & 0o777;
        assert_eq!((mode(&store.file()), mode(&store.0)), (0o600, 0o700));
        assert_eq!(fs::read_dir(&store.0).unwrap().count(), 1);
        let loaded = store.load(&google).unwrap().unwrap();
        assert_eq!(loaded.refresh, login.refresh);
        assert_eq!((loaded.account, loaded.expires), (login.account.clone(), login.expires));
        assert!(!format!("{login:?}").contains("hush"));

        fs::set_permissions(store.file(), fs::Permissions::from_mode(0o640)).unwrap();
        let error = store.load(&google).unwrap_err();
        assert_eq!(error.next, NextStep::ClosePermissions);
        store.remove().unwrap();
        store.remove().unwrap();
        assert_eq!(store.load(&google).unwrap(), None);
    }

    #[test]
    fn a_login_of_another_server_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        store.save(&login(), &Google::default()).unwrap();
        let error = store.load(&Google::on_loopback("http://127.0.0.1:4000").unwrap()).unwrap_err();
        assert!(error.cause.contains("another server") && error.next == NextStep::SignIn, "{error}");
    }

    #[test]
    fn a_damaged_file_is_named_and_not_repeated() {
        let (folder, google) = (tempfile::tempdir().unwrap(), Google::default());
        let store = Store::new(folder.path());
        store.save(&login(), &google).unwrap();
        fs::write(store.file(), "hush").unwrap();
        let error = store.load(&google).unwrap_err();
        assert!(error.cause.contains("damaged") && !error.cause.contains("hush"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_lock_is_waited_for_with_a_bound() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path());
        let held = store.lock().await.unwrap();
        let error = store.lock().await.unwrap_err();
        assert!(error.cause.contains("another process"), "{error}");
        drop(held);
        store.lock().await.unwrap();
    }
}
