use std::sync::{Arc, Mutex, MutexGuard};

use axum::body::{Body, to_bytes};
use axum::http::{Request, StatusCode};
use axum::response::{IntoResponse as _, Response};
use place::{Kernel as _, KernelChoice, KernelRequest, KernelSelector, KernelState};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::Kernels;
use crate::paths::Prefix;
use crate::testing::{handle, serve_router};

#[derive(Default)]
struct Inside {
    kernels: Vec<String>,
    /// Path and kernel.
    sessions: Vec<(String, String)>,
    /// The kernelspecs that were installed later.
    installed: Vec<String>,
    /// How often the kernelspecs were asked for.
    looks: usize,
    /// The kernel that another program starts for a notebook at the same moment.
    rival: Option<String>,
    /// What changed something.
    asked: Vec<String>,
}

struct Fake {
    inside: Arc<Mutex<Inside>>,
    _task: AbortOnDropHandle<()>,
    kernels: Kernels,
}

impl Fake {
    async fn new(kernels: &[&str], sessions: &[(&str, &str)], pinned: Option<&str>) -> Self {
        let inside = Arc::new(Mutex::new(Inside {
            kernels: kernels.iter().map(ToString::to_string).collect(),
            sessions: sessions.iter().map(|(path, kernel)| (path.to_string(), kernel.to_string())).collect(),
            ..Inside::default()
        }));
        let shared = inside.clone();
        let router = axum::Router::new().fallback(move |request: Request<Body>| async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            answer(&format!("{} {}", head.method, head.uri), &body, &mut shared.lock().unwrap())
        });
        let (url, task) = serve_router(router).await;
        let kernels = Kernels::new(handle(url), Prefix::default(), pinned.map(str::to_owned), None);
        Self { inside, _task: task, kernels }
    }

    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap()
    }

    /// Chooses a kernel. Returns its id and whether it is new, and the changes that the server was asked for.
    async fn choose(&self, request: KernelRequest) -> (String, Vec<String>) {
        let chosen = match self.kernels.choose(request).await {
            Ok(KernelChoice::Kernel { kernel, is_new }) => {
                format!("{}{}", kernel.id(), if is_new { " new" } else { "" })
            }
            Ok(KernelChoice::OnFirstRun(what)) => format!("later: {what}"),
            Err(error) => error.cause,
        };
        (chosen, std::mem::take(&mut self.inside().asked))
    }
}

fn kernel(id: &str) -> Value {
    // Nobody is connected to those that we started.
    let connections = usize::from(!id.starts_with('k'));
    let name = id.strip_prefix("of-").unwrap_or("python3");
    json!({"id": id, "name": name, "execution_state": "idle", "connections": connections})
}

fn session(path: &str, id: &str) -> Value {
    let name = if id.starts_with("rival") { id } else { path };
    json!({"id": format!("s-{name}"), "path": path, "name": path, "type": "notebook", "kernel": kernel(id)})
}

fn answer(line: &str, body: &Value, inside: &mut Inside) -> Response {
    let json = |value: Value| ([("content-type", "application/json")], value.to_string()).into_response();
    match line {
        "GET /api/kernels" => json(inside.kernels.iter().map(|id| kernel(id)).collect()),
        "GET /api/sessions" => json(inside.sessions.iter().map(|(path, id)| session(path, id)).collect()),
        "GET /api/kernelspecs" => {
            let spec = |display: &str| json!({"spec": {"display_name": display, "language": "python"}});
            let mut specs = json!({"python3": spec("Python 3"), "old": spec("Python 2")});
            for name in &inside.installed {
                specs[name] = spec(name);
            }
            inside.looks += 1;
            json(json!({"default": "python3", "kernelspecs": specs}))
        }
        _ if line.starts_with("GET /api/kernels/") => {
            let id = line.rsplit('/').next().unwrap();
            if inside.kernels.iter().any(|known| known == id) {
                json(kernel(id))
            } else {
                (StatusCode::NOT_FOUND, "{}").into_response()
            }
        }
        _ => {
            inside.asked.push(format!(
                "{line} {}",
                body["kernel"]["name"].as_str().or(body["name"].as_str()).unwrap_or_default()
            ));
            if line.starts_with("DELETE") {
                let id = line.rsplit('/').next().unwrap();
                let ended = |path: &str, kernel: &str| session(path, kernel)["id"] == id;
                let of_it = inside.sessions.iter().find(|(path, kernel)| ended(path, kernel));
                let kernel = of_it.map_or_else(|| id.to_owned(), |(_, kernel)| kernel.clone());
                inside.sessions.retain(|(path, kernel)| !ended(path, kernel));
                inside.kernels.retain(|known| *known != kernel);
                return StatusCode::NO_CONTENT.into_response();
            }
            let given = body["kernel"]["id"].as_str().map(str::to_owned);
            let id = given.unwrap_or_else(|| {
                inside.kernels.push(format!("k{}", inside.kernels.len()));
                inside.kernels.last().unwrap().clone()
            });
            if line == "POST /api/kernels" {
                return json(kernel(&id));
            }
            let path = body["path"].as_str().unwrap_or("x.ipynb");
            inside.sessions.retain(|(known, _)| known != path);
            if let Some(rival) = inside.rival.take() {
                inside.kernels.push(rival.clone());
                inside.sessions.push((path.to_owned(), rival));
            }
            inside.sessions.push((path.to_owned(), id.clone()));
            json(session(path, &id))
        }
    }
}

fn wanted() -> KernelRequest {
    KernelRequest { notebook: Some("x.ipynb".into()), is_for_run: true, ..KernelRequest::default() }
}

#[tokio::test]
async fn nothing_is_started_before_the_first_run() {
    let fake = Fake::new(&[], &[], None).await;
    let (chosen, asked) = fake.choose(KernelRequest { is_for_run: false, ..wanted() }).await;
    assert_eq!((chosen.as_str(), asked.len()), ("later: python3 (Python 3)", 0));
    let (chosen, asked) = fake.choose(wanted()).await;
    assert_eq!(chosen, "k0 new");
    assert_eq!(asked, ["POST /api/sessions python3"]);
    // And it is the notebook's from then on.
    assert_eq!(fake.choose(wanted()).await, ("k0".to_owned(), Vec::new()));
}

#[tokio::test]
async fn a_missing_kernelspec_is_said_before_anything_runs() {
    let fake = Fake::new(&[], &[], None).await;
    let preferred =
        Some(notebook::Kernelspec { name: "julia-1.9".to_owned(), display_name: None, language: None });
    for path in [Some("x.ipynb".into()), None] {
        let request =
            KernelRequest { notebook: path, preferred: preferred.clone(), ..KernelRequest::default() };
        let (chosen, _) = fake.choose(request).await;
        let expected = "later: python3 (Python 3). The notebook names the kernelspec \"julia-1.9\", which the server does not have";
        assert!(chosen.starts_with(expected), "{chosen}");
    }
}

#[tokio::test]
async fn the_kernel_of_the_notebooks_session_is_joined() {
    let fake = Fake::new(&["theirs"], &[("x.ipynb", "theirs")], None).await;
    assert_eq!(fake.choose(wanted()).await, ("theirs".to_owned(), Vec::new()));
    let request = KernelRequest { kernel: KernelSelector::Kernelspec("python3".into()), ..wanted() };
    assert_eq!(fake.choose(request).await.0, "theirs");
}

#[tokio::test]
async fn a_persons_kernel_stays_when_another_is_requested() {
    let fake = Fake::new(&["theirs"], &[("x.ipynb", "theirs")], None).await;
    for request in [
        KernelRequest { kernel: KernelSelector::New(None), ..wanted() },
        KernelRequest { kernel: KernelSelector::Kernelspec("old".into()), ..wanted() },
    ] {
        let (chosen, asked) = fake.choose(request).await;
        assert!(chosen.ends_with(" new"), "{chosen}");
        assert!(asked.iter().all(|asked| asked.starts_with("POST /api/kernels ")), "{asked:?}");
    }
    assert_eq!(fake.inside().sessions, [("x.ipynb".to_owned(), "theirs".to_owned())]);
}

#[tokio::test]
async fn a_named_kernel_is_used_and_registered() {
    let fake = Fake::new(&["one"], &[], None).await;
    let (chosen, asked) =
        fake.choose(KernelRequest { kernel: KernelSelector::Existing("one".into()), ..wanted() }).await;
    assert_eq!((chosen.as_str(), asked.len()), ("one", 1));
    assert_eq!(fake.inside().sessions, [("x.ipynb".to_owned(), "one".to_owned())]);
    let (chosen, _) =
        fake.choose(KernelRequest { kernel: KernelSelector::Existing("two".into()), ..wanted() }).await;
    assert_eq!(chosen, "There is no kernel with the id \"two\".");
}

#[tokio::test]
async fn the_pinned_kernel_is_used_unless_another_is_named() {
    let fake = Fake::new(&["pinned"], &[], Some("pinned")).await;
    assert_eq!(fake.choose(KernelRequest { is_for_run: true, ..KernelRequest::default() }).await.0, "pinned");
    assert_eq!(fake.choose(wanted()).await.0, "pinned");
    assert_eq!(
        fake.choose(KernelRequest { kernel: KernelSelector::New(None), ..wanted() }).await.0,
        "k1 new"
    );
}

#[tokio::test]
async fn unattached_kernels_end_with_us_and_others_stay() {
    let fake = Fake::new(&[], &[], None).await;
    fake.choose(wanted()).await;
    assert_eq!(fake.choose(KernelRequest { is_for_run: true, ..KernelRequest::default() }).await.0, "k1 new");
    fake.kernels.shutdown().await;
    assert_eq!(fake.inside().kernels, ["k0"]);
}

#[tokio::test]
async fn one_id_is_one_kernel_and_an_unlisted_one_is_gone() {
    let fake = Fake::new(&["a", "b"], &[], None).await;
    let (first, second) = (fake.kernels.list().await.unwrap(), fake.kernels.list().await.unwrap());
    assert!(Arc::ptr_eq(&first[0], &second[0]));
    assert_eq!(first[0].description().display_name, "Python 3");
    fake.inside().kernels.remove(0);
    assert_eq!(fake.kernels.list().await.unwrap().len(), 1);
    assert!(first[0].is_gone() && !first[1].is_gone());
    assert!(matches!(first[0].description().state, KernelState::Dead { .. }));
    let error = first[0].executor().await.err().unwrap();
    assert!(error.cause.contains("is gone"), "{error}");
}

#[tokio::test]
async fn kernelspecs_are_fetched_once_and_again_for_an_unknown_one() {
    let fake = Fake::new(&["a"], &[], None).await;
    let (listed, specs) = tokio::join!(fake.kernels.list(), fake.kernels.specs.get());
    assert_eq!((listed.unwrap().len(), specs.unwrap().specs.len()), (1, 2));
    fake.kernels.list().await.unwrap();
    fake.kernels.specs.get().await.unwrap();
    assert_eq!(fake.inside().looks, 1);
    let named = |name: &str| KernelRequest { kernel: KernelSelector::Kernelspec(name.into()), ..wanted() };
    fake.choose(named("old")).await;
    assert_eq!(fake.inside().looks, 1);
    fake.inside().installed.push("new".to_owned());
    assert_eq!(fake.choose(named("new")).await.1, ["PATCH /api/sessions/s-x.ipynb new"]);
    assert!(fake.choose(named("none")).await.0.starts_with("There is no kernelspec"));
    assert_eq!(fake.inside().looks, 3);
}

#[tokio::test]
async fn the_kernelspec_of_a_new_kernel_is_looked_up() {
    let fake = Fake::new(&["a"], &[], None).await;
    fake.kernels.list().await.unwrap();
    fake.inside().kernels.push("of-new".to_owned());
    fake.inside().installed.push("new".to_owned());
    let listed = fake.kernels.list().await.unwrap();
    assert_eq!(listed[1].description().display_name, "new");
    assert_eq!(fake.inside().looks, 2);
    fake.inside().kernels.push("of-none".to_owned());
    assert_eq!(fake.kernels.list().await.unwrap().len(), 3);
    assert_eq!(fake.inside().looks, 3);
}

#[tokio::test]
async fn the_session_gets_the_kernel_that_replaces_ours() {
    let fake = Fake::new(&["one"], &[], None).await;
    fake.choose(wanted()).await;
    let (chosen, asked) = fake.choose(KernelRequest { kernel: KernelSelector::New(None), ..wanted() }).await;
    assert_eq!(
        (chosen.as_str(), asked),
        ("k2 new", vec!["PATCH /api/sessions/s-x.ipynb python3".to_owned()])
    );
    let (chosen, asked) =
        fake.choose(KernelRequest { kernel: KernelSelector::Existing("one".into()), ..wanted() }).await;
    assert_eq!((chosen.as_str(), asked), ("one", vec!["PATCH /api/sessions/s-x.ipynb ".to_owned()]));
    // That is somebody else's.
    let (_, asked) =
        fake.choose(KernelRequest { kernel: KernelSelector::Existing("k2".into()), ..wanted() }).await;
    assert_eq!(asked, Vec::<String>::new());
}

#[tokio::test]
async fn a_kernel_that_another_notebook_uses_is_not_ended() {
    let fake = Fake::new(&[], &[], None).await;
    fake.choose(wanted()).await;
    fake.inside().sessions.push(("theirs.ipynb".to_owned(), "k0".to_owned()));
    let (chosen, asked) = fake.choose(KernelRequest { kernel: KernelSelector::New(None), ..wanted() }).await;
    assert_eq!((chosen.as_str(), asked), ("k1 new", vec!["POST /api/kernels python3".to_owned()]));
    let (_, asked) =
        fake.choose(KernelRequest { kernel: KernelSelector::Existing("k1".into()), ..wanted() }).await;
    assert_eq!(asked, Vec::<String>::new());
}

#[tokio::test]
async fn an_unattached_kernel_that_gets_a_notebook_outlives_us() {
    let fake = Fake::new(&[], &[], None).await;
    fake.choose(KernelRequest { is_for_run: true, ..KernelRequest::default() }).await;
    let (chosen, asked) =
        fake.choose(KernelRequest { kernel: KernelSelector::Existing("k0".into()), ..wanted() }).await;
    assert_eq!((chosen.as_str(), asked.len()), ("k0", 1));
    fake.kernels.shutdown().await;
    assert_eq!(fake.inside().kernels, ["k0"]);
}

#[tokio::test]
async fn the_pinned_kernel_is_for_one_notebook_until_it_is_gone() {
    let fake = Fake::new(&["pinned", "theirs"], &[("theirs.ipynb", "theirs")], Some("pinned")).await;
    let of = |path: &str| KernelRequest { notebook: Some(path.into()), ..wanted() };
    assert_eq!(fake.choose(of("theirs.ipynb")).await, ("theirs".to_owned(), Vec::new()));
    assert_eq!(fake.choose(wanted()).await.0, "pinned");
    assert_eq!(fake.choose(wanted()).await, ("pinned".to_owned(), Vec::new()));
    assert_eq!(fake.choose(of("y.ipynb")).await.0, "k2 new");
    {
        let mut inside = fake.inside();
        inside.kernels.remove(0);
        inside.sessions.retain(|(_, kernel)| kernel != "pinned");
    }
    let chosen = fake.choose(wanted()).await.0;
    assert!(chosen.ends_with(" new"), "{chosen}");
}

#[tokio::test]
async fn two_programs_that_start_at_once_use_one_kernel() {
    let fake = Fake::new(&[], &[], None).await;
    fake.inside().rival = Some("rival".to_owned());
    let (chosen, asked) = fake.choose(wanted()).await;
    assert_eq!(chosen, "rival");
    assert_eq!(asked, ["POST /api/sessions python3", "DELETE /api/sessions/s-x.ipynb "]);
    assert_eq!(fake.inside().kernels, ["rival"]);
    assert_eq!(fake.choose(wanted()).await, ("rival".to_owned(), Vec::new()));
}

#[tokio::test]
async fn a_kernel_to_which_others_are_connected_is_shared() {
    let fake = Fake::new(&["theirs", "k1"], &[("x.ipynb", "k1")], None).await;
    let kernels = fake.kernels.list().await.unwrap();
    assert!(kernels[0].is_shared().await && !kernels[1].is_shared().await);
    fake.inside().sessions.push(("y.ipynb".to_owned(), "k1".to_owned()));
    assert!(kernels[1].is_shared().await);
    fake.inside().kernels.clear();
    assert!(!kernels[1].is_shared().await, "nobody uses what is gone");
}
