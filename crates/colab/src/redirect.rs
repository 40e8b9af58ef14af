//! The file through which a browser learns a URL with a token.
//!
//! The arguments of a process are visible to all users of a Unix system, so the browser gets the path of this file instead,
//! as with `jupyter lab`.

use std::io;
use std::path::Path;

use tempfile::TempDir;
use url::Url;

const FILE: &str = "open.html";

/// A page that only this user can read and that leads to a URL. It is removed when this is dropped.
pub(crate) struct RedirectPage(TempDir);

impl RedirectPage {
    /// Writes the page into a new folder in `parent`.
    pub(crate) fn write(parent: &Path, url: &str) -> io::Result<Self> {
        let page = Self(state::temporary_folder("cellbridge-", parent)?);
        state::write_new(&page.0.path().join(FILE), html(url).as_bytes())?;
        Ok(page)
    }

    /// The `file:` URL of the page.
    pub(crate) fn url(&self) -> io::Result<Url> {
        Url::from_file_path(self.0.path().join(FILE)).map_err(|()| io::ErrorKind::InvalidFilename.into())
    }
}

fn html(url: &str) -> String {
    let url = url.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;");
    format!(
        "<!DOCTYPE html>\n<meta charset=\"utf-8\">\n<meta name=\"referrer\" content=\"no-referrer\">\n\
         <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n<title>Opening</title>\n\
         <p>This page leads to <a href=\"{url}\">the page that was opened</a>.\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_leads_to_the_url_and_cannot_be_escaped_from() {
        let page = html("https://x/?a=\"><script>#mcpProxyToken=T&mcpProxyPort=1");
        assert!(
            page.contains("url=https://x/?a=&quot;>&lt;script>#mcpProxyToken=T&amp;mcpProxyPort=1\">"),
            "{page}"
        );
    }

    #[test]
    #[cfg(unix)]
    fn only_the_user_can_read_the_page_and_it_is_removed() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let page = RedirectPage::write(folder.path(), "https://x/").unwrap();
        let file = page.url().unwrap().to_file_path().unwrap();
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
        drop(page);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
