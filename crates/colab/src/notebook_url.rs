//! The URL that opens Colab and makes the page connect to this server.

use url::Url;
use workspace::{Error, ErrorKind};

use crate::handshake::ORIGINS;

const EMPTY_NOTEBOOK: &str = "https://colab.research.google.com/notebooks/empty.ipynb";

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
            .map_err(|error| refused(format!("notebook_url is not a URL: {error}.")))?;
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
        let kept = url.fragment().unwrap_or_default().split('&');
        let kept = kept.filter(|part| !part.is_empty() && !part.starts_with("mcpProxy"));
        let connection = [format!("mcpProxyToken={token}"), format!("mcpProxyPort={port}")];
        let fragment: Vec<String> = kept.map(str::to_owned).chain(connection).collect();
        url.set_fragment(Some(&fragment.join("&")));
        url.into()
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
            assert_eq!(error.fault, workspace::Fault::Agent);
            assert!(error.next.to_string().contains("colab.research.google.com"));
        }
    }
}
