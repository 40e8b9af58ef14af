//! The URL that opens Colab and makes the page connect to this server.

use std::fmt;

use place::{Error, ErrorKind};
use url::Url;

use crate::handshake::ORIGINS;

const EMPTY_NOTEBOOK: &str = "https://colab.research.google.com/notebooks/empty.ipynb";
const EMPTY_PATH: &str = "/notebooks/empty.ipynb";

/// The URL of a notebook, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NotebookUrl(Url);

impl NotebookUrl {
    /// The URL of `notebook`, or of an empty notebook. Only pages of Colab over https are accepted, because the page
    /// gets the token.
    pub(crate) fn new(notebook: Option<&str>, authuser: Option<u64>) -> Result<Self, Error> {
        let refused = |cause: String| {
            let hint = "Give the https URL of a notebook on colab.research.google.com, for example \
                        https://colab.research.google.com/drive/<id>, or leave notebook_url out.";
            Error::new(ErrorKind::InvalidArgument, cause, hint)
        };
        let notebook = notebook.unwrap_or(EMPTY_NOTEBOOK);
        let mut url = Url::parse(notebook.trim())
            .map_err(|error| refused(format!("notebook_url is not a URL: {error}.")).with_source(error))?;
        if !ORIGINS.contains(&url.origin().ascii_serialization().as_str()) {
            return Err(refused("notebook_url is not an https URL of Colab.".into()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(refused("notebook_url contains a user name or password.".into()));
        }
        if let Some(authuser) = authuser {
            let others: Vec<(String, String)> =
                url.query_pairs().into_owned().filter(|(name, _)| name != "authuser").collect();
            url.query_pairs_mut().clear().extend_pairs(others).append_pair("authuser", &authuser.to_string());
        }
        Ok(Self(url))
    }

    /// The URL with the fragment that tells the page where to connect. Fragments are not sent to Colab's server.
    pub(crate) fn with_token(&self, token: &str, port: u16) -> String {
        let mut url = self.0.clone();
        let connection = [format!("mcpProxyToken={token}"), format!("mcpProxyPort={port}")];
        let fragment: Vec<String> = self.fragment().map(str::to_owned).chain(connection).collect();
        url.set_fragment(Some(&fragment.join("&")));
        url.into()
    }

    /// Whether it opens a notebook that nobody has saved yet.
    pub(crate) fn is_of_new_notebook(&self) -> bool {
        self.0.path() == EMPTY_PATH
    }

    /// Whether both lead to the same notebook, perhaps as another user or at another cell.
    ///
    /// Example: `…/drive/abc?usp=sharing` and `…/drive/abc?authuser=1#scrollTo=x` do; `…/#fileId=a` and `…/#fileId=b` do
    /// not.
    pub(crate) fn is_same_notebook(&self, other: &Self) -> bool {
        let query = |url: &Self| -> Vec<(String, String)> {
            let pairs = url.0.query_pairs().into_owned();
            pairs.filter(|(name, _)| name != "authuser" && name != "usp").collect()
        };
        let fragment = |url: &Self| -> Vec<String> {
            url.fragment().filter(|part| !part.starts_with("scrollTo=")).map(str::to_owned).collect()
        };
        (self.0.host_str(), self.0.path()) == (other.0.host_str(), other.0.path())
            && query(self) == query(other)
            && fragment(self) == fragment(other)
    }

    /// The parts of the fragment, without those that tell a page where to connect.
    fn fragment(&self) -> impl Iterator<Item = &str> {
        let parts = self.0.fragment().unwrap_or_default().split('&');
        parts.filter(|part| !part.is_empty() && !part.starts_with("mcpProxy"))
    }
}

/// As the agent gave it, but for parts of the fragment that lead to a server.
impl fmt::Display for NotebookUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let fragment: Vec<&str> = self.fragment().collect();
        let mut url = self.0.clone();
        url.set_fragment(Some(fragment.join("&")).filter(|fragment| !fragment.is_empty()).as_deref());
        url.fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_token(notebook: Option<&str>, authuser: Option<u64>) -> String {
        NotebookUrl::new(notebook, authuser).unwrap().with_token("TOKEN", 4711)
    }

    #[test]
    fn the_fragment_has_the_form_that_colab_reads() {
        let secret = "mcpProxyToken=TOKEN&mcpProxyPort=4711";
        for (notebook, authuser, expected) in [
            (None, None, format!("{EMPTY_NOTEBOOK}#{secret}")),
            (None, Some(1), format!("{EMPTY_NOTEBOOK}?authuser=1#{secret}")),
            (
                Some("https://colab.research.google.com/drive/abc?authuser=0&x=1#scrollTo=y"),
                Some(2),
                format!("https://colab.research.google.com/drive/abc?x=1&authuser=2#scrollTo=y&{secret}"),
            ),
            (
                Some("https://colab.google.com:443/a#mcpProxyToken=old&mcpProxyPort=1"),
                None,
                format!("https://colab.google.com/a#{secret}"),
            ),
        ] {
            assert_eq!(with_token(notebook, authuser), expected);
        }
    }

    #[test]
    fn the_same_notebook_has_many_urls() {
        let url = |rest: &str| {
            NotebookUrl::new(Some(&format!("https://colab.research.google.com/{rest}")), None).unwrap()
        };
        let abc = url("drive/abc");
        for same in [
            "drive/abc?usp=sharing",
            "drive/abc?authuser=1",
            "drive/abc#scrollTo=y",
            "drive/abc#mcpProxyToken=old&mcpProxyPort=1",
        ] {
            assert!(abc.is_same_notebook(&url(same)), "{same}");
        }
        for other in ["drive/abd", "github/abc", "drive/abc?x=1", "drive/abc#fileId=1", ""] {
            assert!(!abc.is_same_notebook(&url(other)), "{other}");
        }
        assert!(!url("#fileId=a").is_same_notebook(&url("#fileId=b")));
    }

    #[test]
    fn the_token_goes_to_colab_only() {
        for notebook in [
            "http://colab.research.google.com/drive/abc",
            "https://colab.research.google.com.evil.example/",
            "https://evil.example/#https://colab.research.google.com",
            "https://colab.research.google.com@evil.example/",
            "https://user@colab.research.google.com/",
            "https://colab.research.google.com:8443/",
            "https://drive.google.com/file/d/abc",
            "javascript:alert(1)",
            "file:///etc/passwd",
            "colab.research.google.com/drive/abc",
            "",
        ] {
            let error = NotebookUrl::new(Some(notebook), None).expect_err(notebook);
            assert_eq!(error.fault, place::Fault::Agent);
            assert!(error.next.to_string().contains("colab.research.google.com"));
        }
    }
}
