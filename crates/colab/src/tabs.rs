//! The tabs of one server: the first, which is always there, and those that were opened for further notebooks.

use std::sync::Arc;

use connection::Secret;
use notebook::CellId;
use parking_lot::Mutex;
use place::{Error, ErrorKind, Fault, Mode, NotebookPath};

use crate::bridge::Bridge;
use crate::connect_tool::ConnectTool;
use crate::document::TabDocument;
use crate::notebook_url::NotebookUrl;
use crate::relay::Settings;
use crate::tab::Tab;
use crate::tab_kernel::TabKernel;

/// The path of the first tab's notebook, and the beginning of all paths of this place.
pub(crate) const PREFIX: &str = "colab:";
/// The most tabs at the same time, with the first.
const MAX_TABS: usize = 8;

/// A tab with its notebook and the runtime behind it.
#[derive(Clone)]
pub(crate) struct TabNotebook {
    pub(crate) tab: Arc<Tab>,
    pub(crate) document: Arc<TabDocument>,
    pub(crate) kernel: Arc<TabKernel>,
}

pub(crate) struct Tabs {
    /// Tells these tabs from those of other servers.
    pub(crate) id: CellId,
    bridge: Arc<Bridge>,
    settings: Arc<Settings>,
    first: TabNotebook,
    further: Mutex<Further>,
}

/// The tabs beside the first.
struct Further {
    /// The tab that was opened last is the last.
    tabs: Vec<TabNotebook>,
    /// The tokens of tabs that are still to be opened.
    tokens: Vec<Secret>,
    /// The number in the path of the next tab. Paths are not used again: an agent may still have an earlier tab's.
    next_number: usize,
}

impl Tabs {
    /// The first tab connects with `token`, each further one with one of `further_tokens`.
    pub(crate) fn new(
        bridge: Arc<Bridge>,
        token: Secret,
        further_tokens: Vec<Secret>,
        settings: Settings,
    ) -> Self {
        let settings = Arc::new(settings);
        let first = new_tab(&bridge, token, &settings, NotebookPath::from(PREFIX), None);
        let further = Further { tabs: Vec::new(), tokens: further_tokens, next_number: 2 };
        Self { id: CellId::random(), bridge, settings, first, further: Mutex::new(further) }
    }

    pub(crate) fn first(&self) -> &TabNotebook {
        &self.first
    }

    pub(crate) fn connected(&self) -> Vec<TabNotebook> {
        let mut tabs = self.all();
        tabs.retain(|notebook| notebook.tab.connection.page().is_some());
        tabs
    }

    /// The tab whose notebook has this path.
    pub(crate) fn at(&self, path: &str) -> Option<TabNotebook> {
        self.all().into_iter().find(|notebook| **notebook.tab.path() == *path)
    }

    /// The tab that was opened with `url`, unless a new one is wanted or there is none: then the first tab if it was never opened,
    /// otherwise a further one. Returns whether the person cannot have opened it yet.
    pub(crate) fn open(&self, url: &NotebookUrl, mode: Mode) -> Result<(TabNotebook, bool), Error> {
        // Held throughout: two agents that open the same notebook get one tab.
        let further = &mut *self.further.lock();
        let shows_it = |notebook: &&TabNotebook| {
            notebook.tab.connect_tool.url().is_some_and(|own| own.is_same_notebook(url))
        };
        let opened = [&self.first].into_iter().chain(&further.tabs).find(shows_it);
        if let Some(notebook) = opened.filter(|_| mode != Mode::Create) {
            return Ok((notebook.clone(), false));
        }
        if self.first.tab.connect_tool.claim(url) {
            return Ok((self.first.clone(), true));
        }
        self.make_room(further)?;
        let token = further.tokens.pop().ok_or_else(no_more_tokens)?;
        let path = NotebookPath::from(format!("{PREFIX}{}", further.next_number));
        further.next_number += 1;
        let notebook = new_tab(&self.bridge, token, &self.settings, path, Some(url.clone()));
        further.tabs.push(notebook.clone());
        Ok((notebook, true))
    }

    /// Forgets the oldest tab that is not in use if there are [`MAX_TABS`]. Fails if all are in use.
    fn make_room(&self, further: &mut Further) -> Result<(), Error> {
        if further.tabs.len() + 1 < MAX_TABS {
            return Ok(());
        }
        let is_unused = |TabNotebook { tab, .. }: &TabNotebook| {
            tab.connection.page().is_none() && !tab.connect_tool.is_opening()
        };
        let unused = further.tabs.iter().position(is_unused).ok_or_else(|| {
            let cause = format!("This server already has {MAX_TABS} Colab tabs open, the maximum.");
            Error::new(ErrorKind::LimitReached, cause, "The person can close one of them; then try again.")
                .with_fault(Fault::Person)
        })?;
        self.bridge.remove(&further.tabs.remove(unused).tab.connection);
        Ok(())
    }

    fn all(&self) -> Vec<TabNotebook> {
        [&self.first].into_iter().chain(&self.further.lock().tabs).cloned().collect()
    }
}

/// A tab that is to show `url`; without one, the first.
fn new_tab(
    bridge: &Arc<Bridge>,
    token: Secret,
    settings: &Arc<Settings>,
    path: NotebookPath,
    url: Option<NotebookUrl>,
) -> TabNotebook {
    let (connection, is_first) = (bridge.add(path, token), url.is_none());
    let connect_tool = ConnectTool::new(connection.clone(), settings.clone(), url);
    let (bridge, call_timeout) = (bridge.clone(), settings.call_timeout);
    let tab = Arc::new(Tab { bridge, is_first, connection, connect_tool, call_timeout });
    let document = Arc::new(TabDocument::new(tab.clone()));
    let kernel = Arc::new(TabKernel::new(tab.clone(), document.clone()));
    TabNotebook { tab, document, kernel }
}

fn no_more_tokens() -> Error {
    Error::new(
        ErrorKind::LimitReached,
        "This server has reached its limit of Colab tabs.",
        "The person can restart it, or open the notebook in a tab that is connected.",
    )
    .with_fault(Fault::Person)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use connection::NetworkTimeout;
    use place::Place as _;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::browser::{Browser, Desktop};
    use crate::place::ColabPlace;

    fn tabs(tokens: usize) -> Tabs {
        let secret = |number: usize| Secret::new(format!("token {number}")).unwrap();
        let settings = Settings {
            browser: Browser::Never,
            desktop: Desktop::default(),
            connect_timeout: Duration::ZERO,
            call_timeout: None,
            network_timeout: NetworkTimeout::default(),
        };
        let bridge = Arc::new(Bridge::new(1, NetworkTimeout::default(), CancellationToken::new()));
        Tabs::new(bridge, secret(0), (1..=tokens).map(secret).collect(), settings)
    }

    fn url(notebook: usize) -> NotebookUrl {
        let url = format!("https://colab.research.google.com/drive/{notebook}");
        NotebookUrl::new(Some(&url), None).unwrap()
    }

    fn path(opened: &(TabNotebook, bool)) -> &str {
        opened.0.tab.path()
    }

    #[test]
    fn each_notebook_has_its_own_tab_token_and_kernel() {
        let tabs = tabs(9);
        let [first, second] = [1, 2].map(|notebook| tabs.open(&url(notebook), Mode::Connect).unwrap());
        assert_eq!([path(&first), path(&second)], ["colab:", "colab:2"]);
        assert_ne!(first.0.tab.connection.token, second.0.tab.connection.token);
        let kernels = [&first, &second].map(|chosen| place::Kernel::id(&*chosen.0.kernel).to_string());
        assert_eq!(kernels, ["colab", "colab:2"]);
        for known in [&first, &second] {
            let url = known.0.tab.connect_tool.url().unwrap();
            let again = tabs.open(&url, Mode::Connect).unwrap();
            assert_eq!((path(&again), again.1), (path(known), false));
        }
        assert_eq!(path(&tabs.open(&url(2), Mode::Create).unwrap()), "colab:3");
    }

    #[test]
    fn the_same_path_at_another_server_is_another_notebook() {
        let path = NotebookPath::from("colab:2");
        let identity = |tabs: Tabs| ColabPlace::new(Arc::new(tabs)).identity(&path);
        let (one, other) = (identity(tabs(0)), identity(tabs(0)));
        assert!(one != other && one.starts_with("colab:") && one.ends_with("/2"), "{one} {other}");
    }

    #[test]
    fn the_oldest_unused_tab_is_forgotten_and_its_path_not_used_again() {
        let tabs = tabs(20);
        for notebook in 1..=MAX_TABS {
            tabs.open(&url(notebook), Mode::Connect).unwrap();
        }
        assert_eq!(path(&tabs.open(&url(9), Mode::Connect).unwrap()), "colab:9");
        assert!(tabs.at("colab:").is_some() && tabs.at("colab:2").is_none() && tabs.at("colab:3").is_some());
        assert_eq!(path(&tabs.open(&url(2), Mode::Connect).unwrap()), "colab:10");
    }

    #[test]
    fn a_server_without_tokens_opens_no_further_tab() {
        let tabs = tabs(0);
        tabs.open(&url(1), Mode::Connect).unwrap();
        let Err(error) = tabs.open(&url(2), Mode::Connect) else { panic!("a tab without a token") };
        assert_eq!(error.kind, ErrorKind::LimitReached);
    }
}
