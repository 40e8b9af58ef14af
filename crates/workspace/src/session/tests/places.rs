//! What paths mean to sessions that work in different places.

use std::sync::Mutex;

use futures_util::FutureExt as _;
use place::{Connected, Connector, Future, ServerSpec};

use super::*;
use crate::session::copy::spelled;

/// Connects to a place of which the address is the prefix.
struct NewServer;

impl Connector for NewServer {
    fn scheme(&self) -> &'static str {
        "srv"
    }

    fn connect(&self, spec: ServerSpec) -> Future<'_, Connected> {
        let prefix: &'static str = spec.url.unwrap().leak();
        let place = Arc::new(Memory { prefix, scheme: "srv", ..Memory::default() });
        async { Ok(Connected { place, discovered: None }) }.boxed()
    }
}

fn workspace() -> (Arc<dyn Place>, Arc<Workspace>) {
    let folder: Arc<dyn Place> = Arc::new(Memory { scheme: "local", ..Memory::default() });
    let connector = Some(Arc::new(NewServer) as Arc<dyn Connector>);
    (folder.clone(), Workspace::with_places(folder, Vec::new(), Settings::default(), connector))
}

async fn connect(session: &Session, url: &str) -> Arc<dyn Place> {
    let spec = ServerSpec { url: Some(url.to_owned()), token: None, provider: None, kernels: None };
    session.connect(spec).await.unwrap().place
}

/// The path and the place's name of the notebook that `name` means.
async fn opened(session: &Session, name: &str) -> (String, String) {
    let opened = session.notebook(Some(name)).await.unwrap();
    (opened.path().to_string(), opened.place().name())
}

fn is(path: &str, place: &str) -> (String, String) {
    (path.to_owned(), place.to_owned())
}

#[tokio::test]
async fn a_path_without_a_prefix_is_of_the_place_that_the_session_works_in() {
    let (_, workspace) = workspace();
    let (one, other) = (Session::new(workspace.clone()), Session::new(workspace));
    connect(&one, "h/").await;
    assert_eq!(opened(&one, "x.ipynb").await, is("h/x.ipynb", "h/"));
    assert_eq!(opened(&other, "x.ipynb").await, is("x.ipynb", "local:"));
    // With a prefix, a path means the same to both.
    for session in [&one, &other] {
        for (path, expected) in [
            ("local:x.ipynb", is("x.ipynb", "local:")),
            ("h/x.ipynb", is("h/x.ipynb", "h/")),
            ("srv:x.ipynb", is("h/x.ipynb", "h/")),
        ] {
            assert_eq!(opened(session, path).await, expected, "{path}");
        }
    }
}

#[tokio::test]
async fn a_notebook_that_is_open_keeps_its_path_when_the_session_moves() {
    let (_, workspace) = workspace();
    let session = Session::new(workspace);
    // By its path alone, and under a name.
    session.notebook(Some("a.ipynb")).await.unwrap();
    session.use_notebook("plots", &"b.ipynb".into(), Mode::Connect).await.unwrap();
    connect(&session, "h/").await;
    for (name, path) in [("a.ipynb", "a.ipynb"), ("plots", "b.ipynb"), ("b.ipynb", "b.ipynb")] {
        assert_eq!(opened(&session, name).await, is(path, "local:"), "{name}");
    }
    let again = session.use_notebook("again", &"b.ipynb".into(), Mode::Connect).await.unwrap();
    assert_eq!(again.place().name(), "local:");
    // Others are the server's.
    assert_eq!(opened(&session, "c.ipynb").await, is("h/c.ipynb", "h/"));
}

#[tokio::test]
async fn a_path_that_was_shown_for_another_place_is_refused() {
    let (folder, workspace) = workspace();
    let session = Session::new(workspace);
    assert_eq!(session.shown(&folder, &"listed.ipynb".into()), "listed.ipynb");
    session.use_notebook("closed", &"closed.ipynb".into(), Mode::Connect).await.unwrap();
    session.unuse_notebook(Some("closed"), EndsKernel::Never).await.unwrap();
    connect(&session, "h/").await;
    for path in ["listed.ipynb", "closed.ipynb"] {
        let error = session.notebook(Some(path)).await.err().unwrap();
        let paths = vec![format!("local:{path}"), format!("h/{path}")];
        assert_eq!(
            (error.fault, &error.next),
            (place::Fault::Agent, &NextStep::NamePlace { paths: paths.clone() })
        );
        let refused = session.use_notebook("n", &path.into(), Mode::Create).await.err().unwrap();
        assert_eq!(refused, error);
        // Each of them can be passed back.
        assert_eq!(opened(&session, &paths[0]).await, is(path, "local:"));
        assert_eq!(opened(&session, &paths[1]).await, is(&paths[1], "h/"));
    }
    // From now on its paths are shown with the name of the place.
    assert_eq!(session.shown(&folder, &"new.ipynb".into()), "local:new.ipynb");
    assert_eq!(opened(&session, "new.ipynb").await, is("h/new.ipynb", "h/"));
}

#[tokio::test]
async fn paths_shown_to_agents_without_sessions_are_refused_as_well() {
    let (_, workspace) = workspace();
    let call = || {
        let session = Session::new(workspace.clone());
        session.be_stateless();
        session
    };
    assert_eq!(opened(&call(), "x.ipynb").await, is("x.ipynb", "local:"));
    connect(&call(), "h/").await;
    assert!(matches!(call().notebook(Some("x.ipynb")).await.err().unwrap().next, NextStep::NamePlace { .. }));
    assert_eq!(opened(&call(), "y.ipynb").await, is("h/y.ipynb", "h/"));
    // An agent with a session was shown nothing yet, and works in the folder.
    assert_eq!(opened(&Session::new(workspace), "x.ipynb").await, is("x.ipynb", "local:"));
}

#[tokio::test]
async fn a_new_login_at_the_same_server_moves_no_notebook() {
    let first: Arc<dyn Place> = Arc::new(Memory { prefix: "h/", scheme: "srv", ..Memory::default() });
    let connector = Some(Arc::new(NewServer) as Arc<dyn Connector>);
    let workspace = Workspace::with_places(first, Vec::new(), Settings::default(), connector);
    let session = Session::new(workspace);
    let before = session.use_notebook("n", &"x.ipynb".into(), Mode::Connect).await.unwrap();
    let place = connect(&session, "h/").await;
    let after = session.notebook(Some("n")).await.unwrap();
    assert_eq!(after.path(), before.path());
    assert!(Arc::ptr_eq(after.place(), &place));
}

#[tokio::test]
async fn an_unknown_server_is_reported_with_the_way_to_connect() {
    let (_, workspace) = workspace();
    let session = Session::new(workspace);
    for name in ["srv:x.ipynb", "srv:x"] {
        let error = session.notebook(Some(name)).await.err().unwrap();
        assert_eq!(error.next, place::NextStep::GiveAddress, "{name}");
    }
    assert_eq!(opened(&session, "local:x.ipynb").await, is("x.ipynb", "local:"));
}

#[tokio::test]
async fn a_kernel_is_found_in_every_first_place() {
    let (folder, workspace) = workspace();
    let session = Session::new(workspace);
    let opened = session.use_notebook("n", &"x.ipynb".into(), Mode::Connect).await.unwrap();
    session.choose_kernel(&opened, KernelSelector::Any).await.unwrap();
    connect(&session, "h/").await;
    assert_eq!(session.kernel("k0").await.unwrap().id(), opened.kernel().unwrap().id());
    assert_eq!(session.kernel("other").await.err().unwrap(), Error::no_kernel("other"));
    assert_eq!(session.kernel("ended").await.err().unwrap().kind, ErrorKind::KernelGone);
    let names: Vec<_> = session.places().iter().map(|place| place.name()).collect();
    assert_eq!(names, ["h/".to_owned(), folder.name()]);
}

#[tokio::test]
async fn a_place_that_can_end_a_kernel_comes_before_one_that_lists_it_as_foreign() {
    let with_kernels = |scheme: &'static str, prefix: &'static str, kernels: Vec<Idle>| -> Arc<dyn Place> {
        let kernels = Mutex::new(kernels.into_iter().map(Arc::new).collect());
        Arc::new(Memory { kernels, prefix, scheme, ..Memory::default() })
    };
    let foreign = |id: &str| {
        let foreign = place::Foreign { started_at: std::time::SystemTime::UNIX_EPOCH, origin: String::new() };
        Idle { foreign: Some(foreign), ..Idle::new(id) }
    };
    let folder = with_kernels("local", "", vec![foreign("both"), foreign("console")]);
    let server = with_kernels("srv", "h/", vec![Idle::new("both")]);
    let session = Session::new(Workspace::with_places(folder, vec![server], Settings::default(), None));
    assert_eq!(session.kernel("both").await.unwrap().description().foreign, None);
    assert!(session.kernel("console").await.unwrap().description().foreign.is_some());
}

#[tokio::test]
async fn no_notebook_is_created_that_differs_from_another_in_its_unicode_form_only() {
    let (_, workspace) = memory();
    let session = Session::new(workspace);
    session.use_notebook("a", &"x/cafe\u{301}.ipynb".into(), Mode::Create).await.unwrap();
    let meant = spelled(session.locate(&"x/caf\u{e9}.ipynb".into()).await.unwrap()).await;
    assert_eq!(meant.path, "x/cafe\u{301}.ipynb");
    let twin = session.use_notebook("b", &"x/caf\u{e9}.ipynb".into(), Mode::Create).await.unwrap();
    assert_eq!(twin.path(), "x/cafe\u{301}.ipynb");
    // Of two, each is its own.
    for path in ["e\u{301}.ipynb", "\u{e9}.ipynb"] {
        session.use_notebook(path, &path.into(), Mode::Connect).await.unwrap();
    }
    let meant = spelled(session.locate(&"\u{e9}.ipynb".into()).await.unwrap()).await;
    assert_eq!(meant.path, "\u{e9}.ipynb");
}

#[tokio::test]
async fn a_notebook_that_is_not_found_is_opened_in_its_other_unicode_form_or_the_nearest_is_named() {
    let (memory, workspace) = memory();
    let session = Session::new(workspace);
    for path in ["Caf\u{e9}.ipynb", "Model.ipynb"] {
        session.use_notebook(path, &path.into(), Mode::Connect).await.unwrap();
    }
    *memory.is_strict.lock().unwrap() = true;
    let opened = session.notebook(Some("Cafe\u{301}.ipynb")).await.unwrap();
    assert_eq!(opened.path(), "Caf\u{e9}.ipynb");
    for wanted in ["model.ipynb", "sub/model.ipynb", "file:///home/ada/Model.ipynb", "Modle.ipynb"] {
        let error = session.notebook(Some(wanted)).await.err().unwrap();
        assert!(error.cause.contains("The nearest is \"Model.ipynb\"."), "{wanted}: {error}");
    }
    let error = session.notebook(Some("cafe")).await.err().unwrap();
    assert!(!error.cause.contains("Model"), "{error}");
    let error = session.notebook(Some("Model")).await.err().unwrap();
    assert!(error.cause.contains("Model.ipynb"), "{error}");
    assert!(session.notebook(Some("nothing like it.ipynb")).await.err().unwrap().cause.ends_with("ipynb\"."));
}
