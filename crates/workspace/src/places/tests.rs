use futures_util::FutureExt as _;
use futures_util::future::BoxFuture;
use place::{
    Document, FileEntry, FoundNotebooks, Future, Kernel, KernelChoice, KernelRequest, KernelspecInfo,
    MachineKind, MachineList, MachineOffer, Mode, NextStep, StoppedMachine, WantedMachine,
};

use super::*;
use crate::shown_paths::{MAX_PATHS, ShownPaths};

const OPENS_NOTHING: &str = "only the names of places are compared";

/// A place of which only the names matter.
struct Server {
    prefix: &'static str,
    scheme: &'static str,
}

impl Place for Server {
    fn description(&self) -> String {
        self.name()
    }

    fn prefix(&self) -> &str {
        self.prefix
    }

    fn scheme(&self) -> &'static str {
        self.scheme
    }

    fn strip_name<'p>(&self, path: &'p str) -> Option<&'p str> {
        let name = self.name();
        // As a server whose address is not known yet: it has no name of its own.
        (name != "srv:").then(|| path.strip_prefix(&name))?
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

#[test]
fn the_paths_that_were_shown_last_are_remembered() {
    let folder: Arc<dyn Place> = Arc::new(Server { prefix: "", scheme: "local" });
    let elsewhere = Server { prefix: "srv/", scheme: "srv" };
    let shown = ShownPaths::default();
    for number in 0..=MAX_PATHS {
        shown.note(&folder, &format!("{number}.ipynb").into());
    }
    let is_known = |path: &str| shown.elsewhere(&path.into(), &elsewhere).is_some();
    assert_eq!(["0.ipynb", "1.ipynb"].map(is_known), [false, true]);
}

/// Connects to a new server each time, whose prefix is the address.
struct NewServer;

impl Connector for NewServer {
    fn scheme(&self) -> &'static str {
        "srv"
    }

    fn connect(&self, spec: ServerSpec) -> Future<'_, Connected> {
        async move {
            let place = Arc::new(Server { prefix: spec.url.unwrap().leak(), scheme: "srv" });
            Ok(Connected { place, discovered: None })
        }
        .boxed()
    }
}

async fn connect(places: &Places, url: &str, scope: ConnectScope) -> Arc<dyn Place> {
    let spec = ServerSpec { url: Some(url.to_owned()), token: None, provider: None, kernels: None };
    places.connect(spec, scope).await.unwrap().place
}

/// The folder, whose paths are shown without a prefix.
fn folder() -> Arc<dyn Place> {
    Arc::new(Server { prefix: "", scheme: "local" })
}

/// The only place of its kind.
fn tab() -> Arc<dyn Place> {
    Arc::new(Server { prefix: "tab:", scheme: "tab" })
}

/// What a path means in `current`: the index of the place among `places`, and the path there.
fn meant(
    places: &Places,
    path: &str,
    current: &Arc<dyn Place>,
    all: &[&Arc<dyn Place>],
) -> Option<(usize, String)> {
    let located = places.named_by(&path.into(), current).unwrap()?;
    let index = all.iter().position(|place| Arc::ptr_eq(place, &located.place)).unwrap();
    Some((index, located.path.to_string()))
}

#[tokio::test]
async fn the_longest_name_wins_and_among_equal_ones_the_newest() {
    for scope in [ConnectScope::Session, ConnectScope::Stateless, ConnectScope::All] {
        let first = folder();
        let places = Places::new(first.clone(), Vec::new(), Some(Arc::new(NewServer)));
        let below = connect(&places, "h/lab/", ConnectScope::Session).await;
        let older = connect(&places, "h/", ConnectScope::Session).await;
        let newest = connect(&places, "h/", scope).await;
        let all = [&first, &below, &older, &newest];
        let is = |path: &str, current, place: usize, within: &str| {
            assert_eq!(
                meant(&places, path, current, &all),
                Some((place, within.to_owned())),
                "{path} {scope:?}"
            );
        };
        is("h/x.ipynb", &first, 3, "h/x.ipynb");
        is("h/lab/x.ipynb", &first, 1, "h/lab/x.ipynb");
        assert_eq!(meant(&places, "x.ipynb", &first, &all), None);
        // An agent's own login at a server stays its own; a server below it is another all the same.
        is("h/x.ipynb", &older, 2, "h/x.ipynb");
        is("h/lab/x.ipynb", &older, 1, "h/lab/x.ipynb");
    }
}

#[tokio::test]
async fn a_place_is_named_from_everywhere() {
    let (first, other) = (folder(), tab());
    let places = Places::new(first.clone(), vec![other.clone()], Some(Arc::new(NewServer)));
    let server = connect(&places, "h/", ConnectScope::All).await;
    let all = [&first, &other, &server];
    for current in all {
        for (path, place, within) in [
            ("local:a/x.ipynb", 0, "a/x.ipynb"),
            // A file of that name, or a path that was prefixed twice: the name is taken off once.
            ("local:local:x.ipynb", 0, "local:x.ipynb"),
            ("local:", 0, ""),
            ("tab:", 1, "tab:"),
            ("tab:x", 1, "tab:x"),
            ("h/a/x.ipynb", 2, "h/a/x.ipynb"),
            // The only server.
            ("srv:a/x.ipynb", 2, "h/a/x.ipynb"),
        ] {
            assert_eq!(meant(&places, path, current, &all), Some((place, within.to_owned())), "{path}");
            assert!(places.are_named_by(&path.into()), "{path}");
        }
        for path in
            ["x.ipynb", "a/local:x.ipynb", "./local:x.ipynb", "RTC:x.ipynb", ":x.ipynb", "h", "", "Local:x"]
        {
            assert_eq!(meant(&places, path, current, &all), None, "{path}");
            assert!(!places.are_named_by(&path.into()), "{path}");
        }
    }
}

#[tokio::test]
async fn a_kind_of_server_names_none_one_or_several() {
    let first = folder();
    let places = Places::new(first.clone(), Vec::new(), Some(Arc::new(NewServer)));
    let find = |path: &str, current| places.named_by(&path.into(), current);
    let error = find("srv:a/x.ipynb", &first).err().unwrap();
    assert_eq!(error.next, place::NextStep::GiveAddress);

    let one = connect(&places, "h/", ConnectScope::Session).await;
    let again = connect(&places, "h/", ConnectScope::Session).await;
    // Two logins at one server: the agent's own, else the newest.
    for (current, expected) in [(&first, &again), (&again, &again), (&one, &one)] {
        assert!(Arc::ptr_eq(&find("srv:x.ipynb", current).unwrap().unwrap().place, expected));
    }

    let other = connect(&places, "g/", ConnectScope::Session).await;
    for current in [&first, &one, &other] {
        let error = find("srv:a/x.ipynb", current).err().unwrap();
        let paths = vec!["g/a/x.ipynb".to_owned(), "h/a/x.ipynb".to_owned()];
        assert_eq!(error.next, NextStep::NamePlace { paths: paths.clone() });
        // Each of the names leads to its server.
        for (path, place) in paths.iter().zip([&other, &again]) {
            assert_eq!(find(path, &first).unwrap().unwrap().place.name(), place.name());
        }
    }
}

#[tokio::test]
async fn the_first_server_is_named_too() {
    // Its paths are shown without a prefix, and it has no name of its own before it is reached.
    let first: Arc<dyn Place> = Arc::new(Server { prefix: "", scheme: "srv" });
    let folder: Arc<dyn Place> = Arc::new(Server { prefix: "local:", scheme: "local" });
    let places = Places::new(first.clone(), vec![folder.clone()], Some(Arc::new(NewServer)));
    let all = [&first, &folder];
    for current in all {
        let is = |path: &str, place: usize, within: &str| {
            assert_eq!(meant(&places, path, current, &all), Some((place, within.to_owned())), "{path}");
        };
        is("srv:a/x.ipynb", 0, "a/x.ipynb");
        is("local:a/x.ipynb", 1, "local:a/x.ipynb");
        is("local:local:x.ipynb", 1, "local:local:x.ipynb");
        assert_eq!(meant(&places, "x.ipynb", current, &all), None);
    }
}

#[tokio::test]
async fn where_there_is_one_place_its_kind_is_known_and_no_other() {
    let first = folder();
    let places = Places::new(first.clone(), Vec::new(), None);
    assert_eq!(meant(&places, "local:x.ipynb", &first, &[&first]), Some((0, "x.ipynb".to_owned())));
    for path in ["srv:x.ipynb", "tab:x.ipynb"] {
        assert_eq!(meant(&places, path, &first, &[&first]), None, "{path}");
    }
}

#[tokio::test]
async fn a_place_for_all_sessions_stays_theirs_until_the_next_one() {
    let places = Places::new(folder(), Vec::new(), Some(Arc::new(NewServer)));
    let stateless = connect(&places, "a/", ConnectScope::Stateless).await;
    assert!(Arc::ptr_eq(&places.common(), &stateless));
    let theirs = connect(&places, "b/", ConnectScope::All).await;
    connect(&places, "c/", ConnectScope::Session).await;
    assert!(Arc::ptr_eq(&places.default_place(), &theirs));
    assert!(Arc::ptr_eq(&places.common(), &theirs));
}

/// The machines that run now, as a test has set them.
#[derive(Default)]
struct Rented(Mutex<Vec<Arc<dyn Place>>>);

impl Machines for Rented {
    fn scheme(&self) -> &'static str {
        "vm"
    }

    fn is_present(&self) -> bool {
        true
    }

    fn is_id(&self, text: &str) -> bool {
        text == "gone"
    }

    fn places(&self) -> Future<'_, Vec<Arc<dyn Place>>> {
        async { Ok(self.0.lock().clone()) }.boxed()
    }

    fn list(&self) -> Future<'_, MachineList> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn offer(&self, _: WantedMachine) -> Future<'_, MachineOffer> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn start(&self, _: MachineKind, _: bool) -> Future<'_, Arc<dyn Place>> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn stop<'a>(&'a self, _: &'a str) -> Future<'a, StoppedMachine> {
        unreachable!("{OPENS_NOTHING}")
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        unreachable!("{OPENS_NOTHING}")
    }
}

#[tokio::test(start_paused = true)]
async fn paths_find_the_machines_that_run() {
    let first = folder();
    let places = Places::new(first.clone(), Vec::new(), None);
    let machines = Arc::new(Rented::default());
    places.use_machines(machines.clone());
    let found = async |path: &str| {
        tokio::time::advance(MACHINES_FRESH * 2).await;
        places.find_machine(&path.into()).await.unwrap();
        places.named_by(&path.into(), &first).map(|located| located.map(|it| it.path.to_string()))
    };
    assert_eq!(found("vm:x.ipynb").await.unwrap_err().next, NextStep::StartMachine);
    let machine = |prefix| -> Arc<dyn Place> { Arc::new(Server { prefix, scheme: "vm" }) };
    machines.0.lock().push(machine("vm:a/"));
    assert_eq!(found("vm:x.ipynb").await.unwrap().as_deref(), Some("vm:a/x.ipynb"));
    machines.0.lock().push(machine("vm:b/"));
    assert_eq!(found("vm:b/x.ipynb").await.unwrap().as_deref(), Some("vm:b/x.ipynb"));
    let several = found("vm:x.ipynb").await.unwrap_err();
    assert!(several.cause.contains("more than one machine"), "{several}");
    let paths = vec!["vm:b/x.ipynb".to_owned(), "vm:a/x.ipynb".to_owned()];
    assert_eq!(several.next, NextStep::NamePlace { paths });
    // One that has ended is forgotten, whoever ended it; another path asks nobody.
    machines.0.lock().remove(0);
    assert_eq!(found("vm:x.ipynb").await.unwrap().as_deref(), Some("vm:b/x.ipynb"));
    assert_eq!(found("x.ipynb").await.unwrap(), None);
    let gone = places.find_machine(&"vm:gone/x.ipynb".into()).await.unwrap_err();
    assert!(gone.cause.contains("The machine gone does not run"), "{gone}");
    let started = machine("vm:c/");
    places.add_machine(&started);
    assert_eq!(places.all().iter().filter(|place| places.is_machine(place)).count(), 2);
}
