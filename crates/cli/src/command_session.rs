//! What commands that a person types work on: notebooks on this machine and on a Jupyter server.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ::jupyter::Jupyter;
use anyhow::{Context as _, anyhow, bail};
use files::check_replaceable;
use local::Folder;
use place::{Mode, NotebookPath, Place};
use runs::OpenNotebook;
use workspace::{Session, Settings, Workspace};

use crate::args::Places;
use crate::jupyter::sources::place_of;
use crate::process::process_env;

const LOCAL: &str = "local:";
const SERVER: &str = "jupyter:";

/// A notebook, as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Named {
    /// The whole path.
    File(PathBuf),
    /// A path with the name of the server.
    OnServer(String),
}

impl Named {
    /// A notebook that is there already, as far as this machine knows.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<Self> {
        Self::new(path, |file| dunce::canonicalize(file))
    }

    /// A notebook that will be written.
    pub(crate) fn to_be_written(path: &Path) -> anyhow::Result<Self> {
        Self::new(path, |file| match (dunce::canonicalize(file), file.parent(), file.file_name()) {
            (Err(_), Some(folder), Some(name)) => {
                let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
                Ok(dunce::canonicalize(folder)?.join(name))
            }
            (found, _, _) => found,
        })
    }

    fn new(path: &Path, absolute: impl Fn(&Path) -> std::io::Result<PathBuf>) -> anyhow::Result<Self> {
        let text = path.to_str().unwrap_or_default();
        if text.starts_with("colab:") || text.contains("://colab.research.google.com/") {
            bail!(
                "{text}: a notebook on Colab needs a browser tab that is connected to an agent's server, which a \
                 command does not have. Let an agent run it there, or download it (File > Download) and give the \
                 path of the file."
            );
        }
        if text.starts_with(SERVER) || text.starts_with("http://") || text.starts_with("https://") {
            return Ok(Self::OnServer(text.to_owned()));
        }
        let file = Path::new(text.strip_prefix(LOCAL).unwrap_or(text));
        let file = if text.is_empty() { path } else { file };
        Ok(Self::File(absolute(file).with_context(|| path.display().to_string())?))
    }

    pub(crate) fn file(&self) -> Option<&Path> {
        match self {
            Self::File(file) => Some(file),
            Self::OnServer(_) => None,
        }
    }
}

/// A file of this machine for a page or a report about notebooks, whose name has that ending. Fails if it cannot be written, or if a
/// notebook would be replaced.
pub(crate) fn report_file(path: &Path, notebooks: &[Named], ending: &str) -> anyhow::Result<PathBuf> {
    let refused = |cause: &str| anyhow!("{} cannot be written: {cause}", path.display());
    let named = Named::to_be_written(path)?;
    let Named::File(file) = &named else {
        return Err(refused("it is written to this machine; give a path without a server"));
    };
    let has_ending = file.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("ipynb"));
    if has_ending || notebooks.contains(&named) {
        return Err(refused(&format!("it is a notebook; give a name that ends in {ending}")));
    }
    check_replaceable(file).map_err(|error| refused(&error.to_string()))?;
    Ok(file.clone())
}

/// A session of the person in the places of these notebooks, and their paths in it.
/// Its changes are recorded if there is a folder for their history.
pub(crate) fn session(
    named: &[&Named],
    places: &Places,
    history: Option<PathBuf>,
) -> anyhow::Result<(Session, Vec<NotebookPath>)> {
    let mut folders = named.iter().filter_map(|named| named.file()?.parent());
    let root = folders.next().and_then(|first| common_folder(first, folders));
    let server = server(named, places)?;
    let process_env = process_env();
    let prefix = if server.is_some() { LOCAL } else { "" };
    let paths = named.iter().map(|named| match named {
        Named::OnServer(path) => Ok(NotebookPath::new(path.as_str())),
        Named::File(file) => {
            let file = root.as_ref().and_then(|root| file.strip_prefix(root).ok());
            let path = file.and_then(Path::to_str).context("the path is not UTF-8")?;
            Ok(NotebookPath::new(format!("{prefix}{path}")))
        }
    });
    let paths = paths.collect::<anyhow::Result<_>>()?;
    let (first, others): (Arc<dyn Place>, Vec<Arc<dyn Place>>) = match (server, root) {
        (Some(server), Some(root)) => (server, vec![Folder::beside_another(root, process_env, None)]),
        (Some(server), None) => (server, Vec::new()),
        (None, root) => (Folder::new(root.context("no notebook is named")?, process_env, None), Vec::new()),
    };
    // Nobody reads here what a run has changed in memory.
    let settings = Settings { asks_for_changes: false, ..Settings::default() };
    let workspace = Workspace::with_places(first, others, settings, None);
    if let Some(history) = history {
        workspace.record_history(history);
    }
    let session = Session::new(workspace);
    session.introduce_person();
    Ok((session, paths))
}

/// A notebook that a command shows or undoes, in a session of the person.
pub(crate) async fn opened(
    named: &Named,
    places: &Places,
    history: Option<PathBuf>,
) -> anyhow::Result<(Session, Arc<OpenNotebook>)> {
    let (session, paths) = session(&[named], places, history)?;
    let opened = session.use_notebook("notebook", &paths[0], Mode::Connect).await?;
    Ok((session, opened))
}

/// The server on which some of the notebooks are: the given one, else one that is running on this machine.
fn server(named: &[&Named], places: &Places) -> anyhow::Result<Option<Arc<Jupyter>>> {
    let on_server = named.iter().filter_map(|named| match named {
        Named::File(_) => None,
        Named::OnServer(path) => Some(path),
    });
    let mut paths = on_server.peekable();
    if paths.peek().is_none() {
        return Ok(None);
    }
    let place = place_of(&places.server, places.network.network_timeout)?;
    for path in paths {
        if !path.starts_with(SERVER) && place.strip_name(path).is_none() {
            bail!(
                "{path}: give the address of the server with --jupyter-url, and the notebook as {SERVER}PATH"
            );
        }
    }
    Ok(Some(place))
}

/// The deepest folder that all are in.
fn common_folder<'p>(first: &Path, others: impl Iterator<Item = &'p Path>) -> Option<PathBuf> {
    let others: Vec<&Path> = others.collect();
    let contains = |folder: &&Path| others.iter().all(|other| other.starts_with(folder));
    first.ancestors().find(contains).map(Path::to_path_buf)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_replaces_no_notebook() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let notebook = root.join("a.ipynb");
        std::fs::write(&notebook, "").unwrap();
        let sources = [Named::existing(&notebook).unwrap()];
        let link = root.join("link.html");
        #[cfg(unix)]
        std::os::unix::fs::symlink(&notebook, &link).unwrap();
        for (output, cause) in [
            (notebook.clone(), "it is a notebook"),
            (root.join("b.IPYNB"), "it is a notebook"),
            (root.clone(), "it is a folder"),
            (PathBuf::from("jupyter:a.html"), "written to this machine"),
        ] {
            let error = report_file(&output, &sources, ".html").unwrap_err().to_string();
            assert!(error.contains(cause), "{error}");
        }
        assert_eq!(report_file(&link, &sources, ".html").is_err(), cfg!(unix));
        assert_eq!(report_file(&root.join("a.html"), &sources, ".html").unwrap(), root.join("a.html"));
    }

    #[test]
    fn a_path_says_where_its_notebook_is() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let file = root.join("a.ipynb");
        std::fs::write(&file, "").unwrap();
        assert_eq!(Named::existing(&file).unwrap(), Named::File(file.clone()));
        let prefixed = PathBuf::from(format!("local:{}", file.display()));
        assert_eq!(Named::existing(&prefixed).unwrap(), Named::File(file));
        for path in ["jupyter:a/b.ipynb", "http://h:8888/a.ipynb"] {
            assert_eq!(Named::existing(Path::new(path)).unwrap(), Named::OnServer(path.to_owned()));
        }
        let absent = root.join("absent.ipynb");
        assert!(Named::existing(&absent).unwrap_err().to_string().contains("absent.ipynb"));
        assert_eq!(Named::to_be_written(&absent).unwrap(), Named::File(absent));
        assert!(Named::to_be_written(&root.join("no/folder.ipynb")).is_err());
        for path in ["colab:", "https://colab.research.google.com/drive/1#scrollTo=x"] {
            let refused = Named::existing(Path::new(path)).unwrap_err().to_string();
            assert!(refused.contains("download it") && !refused.contains('\n'), "{refused}");
        }
    }

    #[test]
    fn files_are_in_one_folder() {
        let common = |paths: &[&str]| {
            let mut paths = paths.iter().map(Path::new);
            common_folder(paths.next().unwrap(), paths)
        };
        assert_eq!(common(&["/a/b", "/a/b/c"]), Some("/a/b".into()));
        assert_eq!(common(&["/a/b", "/a/bc"]), Some("/a".into()));
    }
}
