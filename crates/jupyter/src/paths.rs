//! Paths on a server, as agents and people write them.

use place::{Error, ErrorKind, NextStep, NotebookPath};

/// The prefix of paths that mean a Jupyter server.
pub(crate) const SCHEME: &str = "jupyter";

/// The rest of a path that starts with the address of the server at `base`, with or without the scheme of URLs:
/// `http://h:8888/a/x.ipynb`, `jupyter:h:8888/a/x.ipynb`.
pub(crate) fn strip_address<'p>(base: &str, path: &'p str) -> Option<&'p str> {
    let Some(named) = path.strip_prefix(SCHEME).and_then(|rest| rest.strip_prefix(':')) else {
        return path.strip_prefix(base);
    };
    let host = base.split_once("://").map_or(base, |(_, host)| host);
    named.strip_prefix(base).or_else(|| named.strip_prefix(host))
}

/// How a place's paths are shown.
#[derive(Debug, Clone, Default)]
pub(crate) struct Prefix {
    /// What stands before them; empty for the first place.
    shown: String,
    /// The folder of the server that they start from; empty for its root.
    root: &'static str,
}

impl Prefix {
    pub(crate) fn new(shown: String, root: &'static str) -> Self {
        Self { shown, root }
    }

    /// The folder of the server that paths start from, unless it is the server's own root.
    pub(crate) fn root(&self) -> Option<&'static str> {
        Some(self.root).filter(|root| !root.is_empty())
    }

    pub(crate) fn as_str(&self) -> &str {
        &self.shown
    }

    /// A path from the server's root as it is shown.
    pub(crate) fn shown(&self, path: &str) -> String {
        match self.below_root(path) {
            // Its name would be taken for the root's.
            Some(rest) if !self.root.is_empty() && self.below_root(rest).is_some() => {
                format!("{}/{path}", self.shown)
            }
            rest => format!("{}{}", self.shown, rest.unwrap_or(path)),
        }
    }

    /// The rest of a path from the server's root.
    fn below_root<'p>(&self, path: &'p str) -> Option<&'p str> {
        let rest = path.strip_prefix(self.root)?;
        if self.root.is_empty() || rest.is_empty() { Some(rest) } else { rest.strip_prefix('/') }
    }

    /// The path from the server's root: without the prefix, empty parts and `.`. A path with `..` is refused.
    pub(crate) fn strip(&self, path: &str) -> Result<String, Error> {
        let asked = path;
        let path = path.strip_prefix(self.shown.as_str()).unwrap_or(path);
        // As code on the machine names it, also behind the prefix.
        let path = self.below_root(path.strip_prefix('/').unwrap_or(path)).unwrap_or(path);
        // jupyter-collaboration before version 3 shows paths with this prefix.
        let path = path.strip_prefix("RTC:").unwrap_or(path);
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty() && *part != ".").collect();
        if parts.contains(&"..") || path.contains('\0') {
            return Err(Error::new(
                ErrorKind::InvalidArgument,
                format!("The path {asked:?} leads above the server's root folder."),
                NextStep::ListFiles,
            ));
        }
        Ok(self.root().into_iter().chain(parts).collect::<Vec<_>>().join("/"))
    }

    /// Like `strip`, for the path of a notebook.
    pub(crate) fn strip_notebook(&self, path: &NotebookPath) -> Result<String, Error> {
        let stripped = self.strip(path)?;
        if is_notebook(&stripped) {
            Ok(stripped)
        } else {
            Err(Error::not_a_notebook(path, "its name does not end in .ipynb"))
        }
    }
}

/// Whether a path ends in `.ipynb`.
pub(crate) fn is_notebook(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    name.rsplit_once('.').is_some_and(|(_, extension)| extension.eq_ignore_ascii_case("ipynb"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_notebook_has_one_path() {
        let prefix = Prefix::new("http://host:8889/".to_owned(), "");
        for path in [
            "a/x.ipynb",
            "/a/x.ipynb",
            "./a//x.ipynb",
            "a/./x.ipynb",
            "http://host:8889/a/x.ipynb",
            "RTC:a/x.ipynb",
        ] {
            assert_eq!(prefix.strip_notebook(&path.into()).unwrap(), "a/x.ipynb", "{path}");
        }
        assert_eq!(prefix.shown("a/x.ipynb"), "http://host:8889/a/x.ipynb");
        assert_eq!(Prefix::default().shown("a/x.ipynb"), "a/x.ipynb");
        assert_eq!(Prefix::default().strip("/").unwrap(), "");
    }

    #[test]
    fn paths_may_start_from_a_folder_of_the_server() {
        let prefix = Prefix::new("vm:a1/".to_owned(), "content");
        for (path, expected) in [
            ("vm:a1/a/x.ipynb", "content/a/x.ipynb"),
            ("a/x.ipynb", "content/a/x.ipynb"),
            ("/content/a/x.ipynb", "content/a/x.ipynb"),
            ("vm:a1//content/a", "content/a"),
            ("/contents/a", "content/contents/a"),
            ("vm:a1/content/a", "content/a"),
            ("vm:a1//content/content/a", "content/content/a"),
            ("/content", "content"),
            ("", "content"),
            ("vm:a1/", "content"),
        ] {
            assert_eq!(prefix.strip(path).unwrap(), expected, "{path}");
        }
        assert_eq!(prefix.shown("content/a/x.ipynb"), "vm:a1/a/x.ipynb");
        assert_eq!(prefix.shown("content"), "vm:a1/");
        assert_eq!(prefix.shown("content/content/a"), "vm:a1//content/content/a");
        assert!(prefix.strip("vm:a1/../root/x").is_err());
    }

    #[test]
    fn a_path_may_begin_with_the_address_of_its_server() {
        let base = "https://hub.example.org/user/ada/";
        for (path, expected) in [
            ("https://hub.example.org/user/ada/a/x.ipynb", Some("a/x.ipynb")),
            ("jupyter:hub.example.org/user/ada/a/x.ipynb", Some("a/x.ipynb")),
            ("jupyter:https://hub.example.org/user/ada/x.ipynb", Some("x.ipynb")),
            ("jupyter:hub.example.org/user/ada/", Some("")),
            // It names a server, but not which.
            ("jupyter:a/x.ipynb", None),
            ("jupyter:hub.example.org/user/bob/x.ipynb", None),
            ("http://hub.example.org/user/ada/x.ipynb", None),
            ("hub.example.org/user/ada/x.ipynb", None),
            ("local:x.ipynb", None),
            ("x.ipynb", None),
        ] {
            assert_eq!(strip_address(base, path), expected, "{path}");
        }
    }

    #[test]
    fn paths_above_the_root_and_other_files_are_refused() {
        let prefix = Prefix::default();
        for path in ["../x.ipynb", "a/../x.ipynb", "x\0.ipynb", "x.txt", "ipynb", "", "x.ipynb/y"] {
            assert!(prefix.strip_notebook(&path.into()).is_err(), "{path:?}");
        }
        assert!(prefix.strip_notebook(&"x.IPYNB".into()).is_ok());
    }
}
