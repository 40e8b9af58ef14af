//! Google for tests: a token endpoint, the API and the proxy of its machines, at one address.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, SystemTime};

use axum::body::{Body, to_bytes};
use axum::http::Request;
use axum::response::Response;
use chrono::{DateTime, Utc};
use rest::Proxies;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::access::Access;
use crate::requests::{Api, Pauses};
use crate::{Google, Http, Store, store};

/// An answer that is given once, instead of the usual one.
struct Scripted {
    /// How the request begins: method and path.
    start: &'static str,
    status: u16,
    body: String,
    /// Whether the request has its effect.
    is_done: bool,
}

pub(crate) struct State {
    base: String,
    pub(crate) machines: BTreeMap<String, Value>,
    script: Vec<Scripted>,
    /// Method, path and query of each request.
    pub(crate) lines: Vec<String>,
    pub(crate) bodies: Vec<String>,
    /// The number of the access token that is valid.
    pub(crate) access: usize,
    /// The lifetimes of access tokens and of the proxy's tokens, in seconds.
    pub(crate) access_lifetime: u64,
    pub(crate) proxy_lifetime: u64,
    proxy: usize,
    /// How often operations are pending.
    pub(crate) pending: usize,
    pub(crate) kernels: Value,
    pub(crate) tier: &'static str,
    pub(crate) has_connections: bool,
    pub(crate) is_booting: bool,
    /// The machine's address, if it is another one.
    pub(crate) url: Option<String>,
}

#[derive(Clone)]
pub(crate) struct Fake {
    pub(crate) google: Google,
    state: Arc<Mutex<State>>,
    _task: Arc<AbortOnDropHandle<()>>,
}

impl Fake {
    pub(crate) async fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State {
            base: base.clone(),
            machines: BTreeMap::new(),
            script: Vec::new(),
            lines: Vec::new(),
            bodies: Vec::new(),
            access: 0,
            access_lifetime: 3599,
            proxy_lifetime: 3600,
            proxy: 0,
            pending: 1,
            kernels: json!([]),
            tier: "SUBSCRIPTION_TIER_FREE",
            has_connections: true,
            is_booting: false,
            url: None,
        }));
        let own = state.clone();
        let router = axum::Router::new().fallback(move |request: Request<Body>| async move {
            let (head, body) = request.into_parts();
            let body = to_bytes(body, usize::MAX).await.unwrap();
            let header = |name: &str| head.headers.get(name).map(|it| it.to_str().unwrap().to_owned());
            let line = format!("{} {}", head.method, head.uri);
            let (status, body) = own.lock().unwrap().answer(
                &line,
                &header("authorization").unwrap_or_default(),
                header("x-colab-runtime-proxy-token").is_some(),
                &String::from_utf8(body.into()).unwrap(),
            );
            Response::builder().status(status).body(Body::from(body)).unwrap()
        });
        let task = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
        let google = Google::on_loopback(&base).unwrap();
        Self { google, state, _task: Arc::new(AbortOnDropHandle::new(task)) }
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap()
    }

    /// Answers the next request that begins so in another way, without its effect.
    pub(crate) fn script(&self, start: &'static str, status: u16, body: impl Into<String>) {
        self.state().script.push(Scripted { start, status, body: body.into(), is_done: false });
    }

    /// Loses the answer to the next request that begins so.
    pub(crate) fn lose(&self, start: &'static str) {
        self.state().script.push(Scripted { start, status: 503, body: "{}".into(), is_done: true });
    }

    /// How many requests begin so.
    pub(crate) fn count(&self, start: &str) -> usize {
        self.state().lines.iter().filter(|line| line.starts_with(start)).count()
    }

    pub(crate) fn http(&self) -> Http {
        let pause = Duration::from_millis(1);
        let mut http = Http::new(self.google.clone(), &Proxies::default(), "tests/1");
        http.pauses = Pauses { retries: [pause; 2], operation: pause, boot: pause };
        http
    }

    /// Access with a stored login.
    pub(crate) fn access(&self, state: &std::path::Path) -> Access {
        let store = Store::new(state);
        store.save(&store::tests::login(), &self.google).unwrap();
        Access::new(self.http(), store)
    }

    pub(crate) fn api(&self, state: &std::path::Path) -> Api {
        Api { http: self.http(), access: self.access(state) }
    }
}

impl State {
    pub(crate) fn forget_script(&mut self) {
        self.script.clear();
    }

    pub(crate) fn add(&mut self, id: &str, variant: &str, accelerator: &str) {
        let spec = json!({ "variant": variant, "accelerator": accelerator, "shape": "SHAPE_STANDARD" });
        self.machines.insert(id.to_owned(), spec);
    }

    fn answer(&mut self, line: &str, bearer: &str, is_for_machine: bool, body: &str) -> (u16, String) {
        self.lines.push(line.to_owned());
        self.bodies.push(body.to_owned());
        if line == "POST /token" {
            self.access += 1;
            let (token, lifetime) = (format!("access-{}-hush", self.access), self.access_lifetime);
            let body = json!({ "access_token": token, "token_type": "Bearer", "expires_in": lifetime });
            return (200, body.to_string());
        }
        if !is_for_machine && bearer != format!("Bearer access-{}-hush", self.access) {
            return (401, r#"{"error": {"code": 401, "status": "UNAUTHENTICATED"}}"#.to_owned());
        }
        let scripted = self.script.iter().position(|it| line.starts_with(it.start));
        let scripted = scripted.map(|index| self.script.remove(index));
        if scripted.as_ref().is_some_and(|it| !it.is_done) {
            return scripted.map(|it| (it.status, it.body)).unwrap();
        }
        let (status, body) = self.perform(line, body);
        scripted.map_or((status, body.to_string()), |it| (it.status, it.body))
    }

    fn perform(&mut self, line: &str, body: &str) -> (u16, Value) {
        let (method, target) = line.split_once(' ').unwrap();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let id = path.strip_prefix("/v1beta/runtimes/").unwrap_or_default().to_owned();
        match (method, path) {
            ("GET", "/v1beta/runtimespecs") => {
                let spec = |variant: &str, accelerator: &str, eligible: bool| {
                    let key =
                        json!({ "variant": variant, "accelerator": accelerator, "shape": "SHAPE_STANDARD" });
                    json!({ "key": key, "eligible": eligible })
                };
                let specs = [
                    spec("VARIANT_CPU", "NONE", true),
                    spec("VARIANT_GPU", "T4", true),
                    spec("VARIANT_GPU", "A100", false),
                ];
                (200, json!({ "runtimeSpecs": specs }))
            }
            ("GET", "/v1beta/subscription") => (200, json!({ "name": "subscription", "tier": self.tier })),
            ("GET", "/v1beta/runtimes") if self.machines.is_empty() => (200, json!({})),
            ("GET", "/v1beta/runtimes") => {
                let ids: Vec<_> = self.machines.keys().cloned().collect();
                let has_connections = self.has_connections;
                let machines: Vec<_> = ids.iter().map(|id| self.machine(id, has_connections)).collect();
                (200, json!({ "runtimes": machines }))
            }
            ("POST", "/v1beta/runtimes") => {
                let id =
                    query.split_once("runtimeId=").map_or_else(|| "r-1".to_owned(), |(_, id)| id.to_owned());
                let body: Value = serde_json::from_str(body).unwrap();
                if self.machines.insert(id.clone(), body["runtimeSpec"].clone()).is_some() {
                    return (409, json!({ "error": { "code": 409, "status": "ALREADY_EXISTS" } }));
                }
                (200, self.operation(&id))
            }
            ("GET", _) if path.starts_with("/v1/operations/") => {
                let id = path.trim_start_matches("/v1/operations/of-").trim_end_matches(":wait").to_owned();
                self.pending = self.pending.saturating_sub(1);
                (200, self.operation(&id))
            }
            ("GET", _) if self.machines.contains_key(&id) => (200, self.machine(&id, true)),
            ("DELETE", _) => {
                self.machines.remove(&id);
                (200, json!({}))
            }
            // The proxy in front of a machine that is not there, or not ready.
            ("GET", _) if path.starts_with("/api") && (self.is_booting || self.machines.is_empty()) => {
                (404, json!("not a machine"))
            }
            ("GET", "/api") => (200, json!({ "version": "2.20.0" })),
            ("GET", "/api/status") => (200, json!({})),
            ("GET", "/api/kernels") => (200, self.kernels.clone()),
            _ => (404, json!({ "error": { "code": 404, "status": "NOT_FOUND", "message": "hush" } })),
        }
    }

    fn operation(&mut self, id: &str) -> Value {
        let name = format!("operations/of-{id}");
        if self.pending > 0 {
            return json!({ "name": name });
        }
        json!({ "name": name, "done": true, "response": self.machine(id, true) })
    }

    fn machine(&mut self, id: &str, has_connection: bool) -> Value {
        let mut machine = json!({ "name": format!("runtimes/{id}"), "runtimeSpec": self.machines[id] });
        if has_connection {
            self.proxy += 1;
            let expires = SystemTime::now() + Duration::from_secs(self.proxy_lifetime);
            machine["connectionInfo"] = json!({
                "url": self.url.as_ref().unwrap_or(&self.base),
                "token": format!("proxy-{}-hush", self.proxy),
                "expireTime": DateTime::<Utc>::from(expires).to_rfc3339(),
            });
        }
        machine
    }
}
