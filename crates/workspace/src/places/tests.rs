use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;

use super::*;
use crate::KernelRequest;
use crate::place::{Document, FileEntry, FoundNotebooks, Future, Kernel, KernelChoice, KernelspecInfo, Mode};

const OPENS_NOTHING: &str = "only the prefixes of places are compared";

/// A place of which only the prefix matters.
struct Server(&'static str);

impl Place for Server {
    fn description(&self) -> String {
        self.0.to_owned()
    }

    fn prefix(&self) -> &str {
        self.0
    }

    fn list_files(&self, _: &str, _: usize) -> Future<'_, Vec<FileEntry>> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn notebooks(&self, _: usize) -> Future<'_, FoundNotebooks> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn open(&self, _: &NotebookPath, _: Mode) -> Future<'_, Arc<dyn Document>> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn kernel(&self, _: KernelRequest) -> Future<'_, KernelChoice> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        unreachable!("{OPENS_NOTHING}")
    }
}

/// Connects to a new server each time, whose prefix is the address.
struct NewServer;

impl Connector for NewServer {
    fn connect(&self, spec: ServerSpec) -> Future<'_, Arc<dyn Place>> {
        async move { Ok(Arc::new(Server(spec.url.leak())) as Arc<dyn Place>) }.boxed()
    }
}

async fn connect(places: &Places, url: &str, scope: ConnectScope) -> Arc<dyn Place> {
    let spec = ServerSpec { url: url.to_owned(), token: None, provider: None, kernels: None };
    places.connect(spec, scope).await.unwrap()
}

#[tokio::test]
async fn the_longest_prefix_wins_and_among_equal_ones_the_newest() {
    for scope in [ConnectScope::Session, ConnectScope::Stateless, ConnectScope::All] {
        let first: Arc<dyn Place> = Arc::new(Server(""));
        let places = Places::new(first.clone(), Vec::new(), Some(Arc::new(NewServer)));
        let below = connect(&places, "srv/lab/", ConnectScope::Session).await;
        connect(&places, "srv/", ConnectScope::Session).await;
        let newest = connect(&places, "srv/", scope).await;
        let is_of = |path: &str, place| Arc::ptr_eq(&places.of(&path.into(), &first), place);
        assert!(is_of("srv/x.ipynb", &newest), "{scope:?}");
        assert!(is_of("srv/lab/x.ipynb", &below), "{scope:?}");
        assert!(is_of("x.ipynb", &first), "{scope:?}");
    }
}

#[tokio::test]
async fn a_place_for_all_sessions_stays_theirs_until_the_next_one() {
    let places = Places::new(Arc::new(Server("")), Vec::new(), Some(Arc::new(NewServer)));
    let stateless = connect(&places, "a/", ConnectScope::Stateless).await;
    assert!(Arc::ptr_eq(&places.common(), &stateless));
    let theirs = connect(&places, "b/", ConnectScope::All).await;
    connect(&places, "c/", ConnectScope::Session).await;
    assert!(Arc::ptr_eq(&places.default_place(), &theirs));
    assert!(Arc::ptr_eq(&places.common(), &theirs));
}
