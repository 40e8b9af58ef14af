//! The address of a server on a Hub. Sends no request.

use url::Url;

use crate::address::origin_and_path;
use crate::{Kind, RestError, Result, path};

/// A user's server on a Hub, read from the address `…/user/NAME/` or `…/user/NAME/SERVER/`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubServer {
    /// The address up to `user/`; ends with `/`.
    root: Url,
    pub user: String,
    /// The name of the server; `None` for the user's default one.
    pub name: Option<String>,
}

impl HubServer {
    /// `None` if this is not the address of a server on a Hub.
    pub fn of(base: &Url) -> Option<Self> {
        let parts: Vec<&str> = base.path().split('/').filter(|part| !part.is_empty()).collect();
        let at = parts.iter().position(|part| *part == "user")?;
        let (before, [_, user, rest @ ..]) = parts.split_at(at) else { return None };
        let decoded =
            |part: &str| percent_encoding::percent_decode_str(part).decode_utf8().ok().map(String::from);
        let name = match rest {
            [] => None,
            [name] => Some(decoded(name)?),
            _ => return None,
        };
        let mut root = base.clone();
        root.set_path(&before.iter().flat_map(|part| ["/", part]).chain(["/"]).collect::<String>());
        Some(Self { root, user: decoded(user)?, name })
    }

    /// The page with the button "Start My Server".
    pub fn home(&self) -> String {
        format!("{}hub/home", self.root)
    }

    /// The page that creates tokens.
    pub fn tokens(&self) -> String {
        format!("{}hub/token", self.root)
    }

    /// How to get a token for this server, as a sentence.
    pub(crate) fn make_token(&self) -> String {
        format!("Create a token with the scope access:servers!user={} at {}.", self.user, self.tokens())
    }

    /// The server as the subject of a sentence.
    pub(crate) fn title(&self) -> String {
        match &self.name {
            Some(name) => format!("The server {name:?} of {} on {}", self.user, origin_and_path(&self.root)),
            None => format!("The server of {} on {}", self.user, origin_and_path(&self.root)),
        }
    }

    /// The address of the Hub, as a person knows it.
    pub(crate) fn origin(&self) -> String {
        origin_and_path(&self.root)
    }

    /// The URL of a path below the Hub's address, with its query.
    pub(crate) fn url(&self, path: &str) -> Result<Url> {
        self.root.join(path).map_err(|error| {
            RestError::new(
                Kind::Address,
                format!("The Hub's address cannot be derived: {error}."),
                "Check the server's address.",
            )
            .with_source(error)
        })
    }

    /// The path of the server in the Hub's API.
    pub(super) fn api(&self) -> Result<String> {
        let user = path::part(&self.user)?;
        match &self.name {
            Some(name) => Ok(format!("hub/api/users/{user}/servers/{}", path::part(name)?)),
            None => Ok(format!("hub/api/users/{user}/server")),
        }
    }
}
