use std::sync::Mutex;

use super::*;
use crate::testing::Fake;

fn t4() -> MachineKind {
    MachineKind { variant: "GPU".into(), accelerator: Some("T4".into()), has_high_memory: false }
}

fn id() -> MachineId {
    MachineId::parse("cellbridge-t4-3fa9c1").unwrap()
}

struct Setting {
    fake: Fake,
    api: Api,
    _state: tempfile::TempDir,
}

impl Setting {
    async fn new() -> Self {
        let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
        let api = fake.api(state.path());
        Self { fake, api, _state: state }
    }

    async fn create(&self) -> Result<Runtime, NotCreated> {
        self.api.create(&id(), &t4(), &|_| ()).await
    }

    /// What was requested for the creation, without the token.
    fn lines(&self) -> Vec<String> {
        let short = |line: &String| line.split('?').next().unwrap_or_default().to_owned();
        self.fake.state().lines.iter().filter(|line| !line.contains("/token")).map(short).collect()
    }
}

const POST: &str = "POST /v1beta/runtimes";
const GET: &str = "GET /v1beta/runtimes/cellbridge-t4-3fa9c1";

#[tokio::test]
async fn a_machine_is_created_and_waited_for() {
    let setting = Setting::new().await;
    setting.fake.state().pending = 2;
    let lines = Mutex::new(Vec::new());
    let created = setting.api.create(&id(), &t4(), &|line| lines.lock().unwrap().push(line)).await;
    let runtime = created.unwrap();
    assert_eq!((runtime.id, runtime.kind), (id(), t4()));
    assert!(runtime.connection.is_some());
    let wait = "GET /v1/operations/of-cellbridge-t4-3fa9c1:wait";
    assert_eq!(setting.lines(), [POST, wait, wait]);
    assert_eq!(lines.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_lost_answer_makes_no_second_machine() {
    let setting = Setting::new().await;
    setting.fake.lose(POST);
    assert_eq!(setting.create().await.unwrap().id, id());
    assert_eq!(setting.lines(), [POST, GET]);
}

#[tokio::test]
async fn a_creation_is_repeated_with_the_same_id_after_looking_for_the_machine() {
    let setting = Setting::new().await;
    setting.fake.state().pending = 0;
    setting.fake.script(POST, 503, "{}");
    setting.fake.script(POST, 502, "<html>");
    setting.create().await.unwrap();
    assert_eq!(setting.lines(), [POST, GET, POST, GET, POST]);
    let state = setting.fake.state();
    let posts: Vec<_> = state.lines.iter().filter(|line| line.starts_with(POST)).collect();
    assert!(posts.iter().all(|line| *line == posts[0]), "{posts:?}");
}

#[tokio::test]
async fn a_refused_id_is_left_to_google() {
    let setting = Setting::new().await;
    let refused = r#"{"error": {"message": "Unknown name \"runtimeId\""}}"#;
    setting.fake.script(POST, 400, refused);
    // The answer is lost: the same request brings the same machine.
    setting.fake.script(POST, 503, "{}");
    let runtime = setting.create().await.unwrap();
    assert_ne!(runtime.id, id());
    assert_eq!(setting.lines()[..3], [POST, POST, POST]);
    let lines = setting.fake.state().lines.clone();
    let posts: Vec<_> = lines.iter().filter(|line| line.starts_with(POST)).collect();
    assert!(posts[0].contains("runtimeId"), "{posts:?}");
    assert!(!posts[1].contains("runtimeId"), "{posts:?}");
    assert_eq!(posts[1], posts[2]);
    for _ in 0..2 {
        setting.fake.script(POST, 400, refused);
    }
    let error = setting.create().await.unwrap_err();
    assert!(error.failure.is(Code::InvalidArgument) && !error.may_exist, "{error:?}");
}

#[tokio::test]
async fn an_id_that_is_taken_by_the_lost_request_is_the_machine() {
    let setting = Setting::new().await;
    setting.fake.lose(POST);
    // Google does not show it yet.
    setting.fake.script(GET, 404, "{}");
    assert_eq!(setting.create().await.unwrap().id, id());
    assert_eq!(setting.lines(), [POST, GET, POST, GET]);
}

#[tokio::test]
async fn an_id_that_is_taken_by_another_machine_is_a_failure() {
    let setting = Setting::new().await;
    setting.fake.state().add(id().as_str(), "VARIANT_CPU", "NONE");
    let error = setting.create().await.unwrap_err();
    assert!(error.failure.is(Code::AlreadyExists) && !error.may_exist, "{error:?}");
}

#[tokio::test]
async fn a_failure_says_whether_there_may_be_a_machine() {
    for (status, posts, may_exist) in [(403, 1, false), (429, 1, false), (503, 3, true)] {
        let setting = Setting::new().await;
        for _ in 0..posts {
            setting.fake.script(POST, status, "{}");
        }
        let error = setting.create().await.unwrap_err();
        assert_eq!((error.may_exist, setting.fake.count(POST)), (may_exist, posts), "{status}");
    }
    let setting = Setting::new().await;
    setting.fake.script(POST, 200, r#"{"done": true, "error": {"code": 9}}"#);
    let error = setting.create().await.unwrap_err();
    assert!(error.failure.is(Code::FailedPrecondition) && !error.may_exist, "{error:?}");
    let setting = Setting::new().await;
    setting.fake.script("GET /v1/operations/", 404, "{}");
    assert!(setting.create().await.unwrap_err().may_exist);
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let setting = Setting::new().await;
    setting.api.tier().await.unwrap();
    // Google has ended the token that is held.
    setting.fake.state().access += 1;
    assert_eq!(setting.api.tier().await, Ok(Tier::Free));
    assert_eq!(setting.fake.count("POST /token"), 2);
    setting.fake.script("GET /v1beta/subscription", 401, "{}");
    setting.fake.script("GET /v1beta/subscription", 401, "{}");
    let failure = setting.api.tier().await.unwrap_err();
    assert!(failure.is(Code::Unauthenticated), "{failure:?}");
    assert_eq!(setting.fake.count("POST /token"), 3);
}

#[tokio::test]
async fn what_fails_for_a_moment_is_repeated_twice_at_most() {
    let setting = Setting::new().await;
    setting.fake.script("GET /v1beta/runtimespecs", 503, "{}");
    setting.fake.script("GET /v1beta/runtimespecs", 500, "{}");
    assert_eq!(setting.api.specs().await.unwrap().len(), 3);
    for _ in 0..3 {
        setting.fake.script("GET /v1beta/subscription", 503, "{}");
    }
    assert!(setting.api.tier().await.is_err());
    assert_eq!(setting.fake.count("GET /v1beta/subscription"), 3);
    setting.fake.script("DELETE", 404, "{}");
    assert_eq!(setting.api.delete(&id()).await, Ok(()));
    setting.fake.script("GET /v1beta/runtimes", 200, "hush");
    assert_eq!(setting.api.machines().await, Err(Failure::Malformed));
    setting.fake.script("GET /v1beta/runtimes", 302, "");
    assert!(setting.api.machines().await.unwrap_err().is(Code::Other));
}
