use super::*;
use crate::testing::Fake;

const GET: &str = "GET /v1beta/runtimes/r-1";

struct Setting {
    fake: Fake,
    issuer: Issuer,
    state: tempfile::TempDir,
}

impl Setting {
    async fn new() -> Self {
        let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
        fake.state().add("r-1", "VARIANT_GPU", "T4");
        let api = Arc::new(fake.api(state.path()));
        let id = MachineId::parse("r-1").unwrap();
        let connection = api.machine(&id).await.unwrap().connection.unwrap();
        let url = api.machine_address(&connection.url).unwrap();
        let ledger = Arc::new(Ledger::new(state.path()));
        let issuer = Issuer::new(api, ledger, id, url, state.path().into(), connection);
        Self { fake, issuer, state }
    }

    /// The token that is held ends then, and was issued long ago.
    async fn ends_in(&self, seconds: u64) {
        let mut held = self.issuer.held.lock().await;
        held.expires = SystemTime::now() + Duration::from_secs(seconds);
        (held.issued, held.asked) = (SystemTime::UNIX_EPOCH, SystemTime::UNIX_EPOCH);
    }

    /// Some seconds pass.
    async fn pass(&self, seconds: u64) {
        let mut held = self.issuer.held.lock().await;
        held.issued -= Duration::from_secs(seconds);
        held.asked -= Duration::from_secs(seconds);
    }
}

#[tokio::test]
async fn a_token_is_kept_until_five_minutes_before_its_end() {
    let setting = Setting::new().await;
    let issuer = &setting.issuer;
    assert_eq!(issuer.token().await.unwrap().expose(), "proxy-1-hush");
    setting.ends_in(310).await;
    assert_eq!(issuer.token().await.unwrap().expose(), "proxy-1-hush");
    setting.ends_in(290).await;
    let (one, other) = tokio::join!(issuer.token(), issuer.token());
    assert_eq!((one.unwrap().expose(), other.unwrap().expose()), ("proxy-2-hush", "proxy-2-hush"));
    assert_eq!(setting.fake.count(GET), 2);
    assert_eq!(
        (issuer.header(), format!("{issuer:?}")),
        ("x-colab-runtime-proxy-token", "Issuer(r-1)".to_owned())
    );
}

#[tokio::test]
async fn a_token_that_seems_to_have_ended_is_not_replaced_before_each_request() {
    let setting = Setting::new().await;
    setting.fake.state().proxy_lifetime = 0;
    setting.ends_in(0).await;
    for _ in 0..3 {
        assert_eq!(setting.issuer.token().await.unwrap().expose(), "proxy-2-hush");
    }
}

#[tokio::test]
async fn requests_that_were_refused_together_share_a_renewal() {
    let setting = Setting::new().await;
    let issuer = &setting.issuer;
    let refused = issuer.token().await.unwrap();
    setting.ends_in(3000).await;
    let renewed = tokio::join!(issuer.renewed(&refused), issuer.renewed(&refused), issuer.renewed(&refused));
    let (one, two, three) = (renewed.0.unwrap(), renewed.1.unwrap(), renewed.2.unwrap());
    assert!(one == two && two == three && one.expose() == "proxy-2-hush");
    setting.pass(50).await;
    assert_eq!(issuer.renewed(&refused).await.unwrap(), one);
    assert_eq!(setting.fake.count(GET), 2);
}

#[tokio::test]
async fn a_new_token_that_is_refused_too_says_that_the_machine_starts() {
    let setting = Setting::new().await;
    let issuer = &setting.issuer;
    let refused = issuer.token().await.unwrap();
    let second = issuer.renewed(&refused).await.unwrap();
    assert_eq!(second.expose(), "proxy-2-hush");
    assert_eq!(issuer.renewed(&second).await.unwrap(), second);
    assert_eq!(setting.fake.count(GET), 2);
    // Google is asked again from time to time.
    setting.pass(4).await;
    let renewed = tokio::join!(issuer.renewed(&second), issuer.renewed(&second));
    assert!(renewed.0.unwrap() == second && renewed.1.unwrap() == second);
    assert_eq!(setting.fake.count(GET), 3);
    let third = issuer.token().await.unwrap();
    assert_eq!((third.expose(), issuer.renewed(&third).await.unwrap() == third), ("proxy-3-hush", true));
    // One that was accepted for long is replaced.
    setting.pass(61).await;
    assert_eq!(issuer.renewed(&third).await.unwrap().expose(), "proxy-4-hush");
}

#[tokio::test]
async fn a_token_is_used_to_its_end_if_google_does_not_answer() {
    let setting = Setting::new().await;
    setting.ends_in(200).await;
    setting.fake.script(GET, 503, "{}");
    assert_eq!(setting.issuer.token().await.unwrap().expose(), "proxy-1-hush");
    assert_eq!(setting.fake.count(GET), 2);
    setting.ends_in(0).await;
    for _ in 0..3 {
        setting.fake.script(GET, 503, "{}");
    }
    let error = setting.issuer.token().await.unwrap_err();
    assert_eq!(error.kind, Kind::Unreachable);
    // Others share the failure.
    let refused = Secret::new("proxy-1-hush").unwrap();
    assert_eq!(setting.issuer.renewed(&refused).await, Err(error));
    assert_eq!(setting.fake.count(GET), 5);
}

#[tokio::test]
async fn a_machine_that_is_gone_is_said_with_what_is_lost_and_not_asked_for_at_once() {
    let setting = Setting::new().await;
    let refused = setting.issuer.token().await.unwrap();
    setting.fake.state().machines.clear();
    setting.pass(4).await;
    let state = setting.state.path().to_str().unwrap();
    let (one, other) = tokio::join!(setting.issuer.renewed(&refused), setting.issuer.renewed(&refused));
    for error in [one.unwrap_err(), other.unwrap_err(), setting.issuer.token().await.unwrap_err()] {
        assert_eq!(error.kind, Kind::Gone);
        assert!(error.cause.contains("lost") && error.cause.contains(state), "{error}");
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }
    assert_eq!(setting.fake.count(GET), 2);
    // It is asked for again later: Google may have been wrong.
    setting.fake.state().add("r-1", "VARIANT_GPU", "T4");
    setting.ends_in(0).await;
    assert_eq!(setting.issuer.token().await.unwrap().expose(), "proxy-2-hush");
}

#[tokio::test]
async fn another_address_is_another_machine_and_gets_no_token() {
    for url in ["http://127.0.0.1:9", "https://example.com"] {
        let setting = Setting::new().await;
        let refused = setting.issuer.token().await.unwrap();
        setting.pass(4).await;
        setting.fake.state().url = Some(url.to_owned());
        let error = setting.issuer.renewed(&refused).await.unwrap_err();
        // One that is not of Google's machines says nothing of this one.
        let is_of_machine = url.starts_with("http:");
        assert_eq!(error.kind, if is_of_machine { Kind::Gone } else { Kind::Unreachable }, "{url}");
        assert_eq!(error.cause.contains("replaced"), is_of_machine, "{error}");
    }
}

#[tokio::test]
async fn a_machine_that_is_listed_is_not_gone() {
    let setting = Setting::new().await;
    let refused = setting.issuer.token().await.unwrap();
    setting.pass(4).await;
    setting.fake.script(GET, 404, "{}");
    assert_eq!(setting.issuer.renewed(&refused).await.unwrap_err().kind, Kind::Unreachable);
    setting.pass(4).await;
    assert_eq!(setting.issuer.renewed(&refused).await.unwrap().expose(), "proxy-3-hush");
}

#[tokio::test]
async fn a_dead_login_is_not_a_lost_machine() {
    let setting = Setting::new().await;
    let refused = setting.issuer.token().await.unwrap();
    setting.pass(4).await;
    std::fs::remove_file(setting.state.path().join("colab/login.json")).unwrap();
    let error = setting.issuer.renewed(&refused).await.unwrap_err();
    assert_eq!(error.kind, Kind::Unauthorized);
    assert!(error.next.to_string().contains("colab login"), "{error}");
}
