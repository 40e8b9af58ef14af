use super::*;
use crate::ledger::{Entry, Ledger};
use crate::testing::Fake;
use crate::{Store, store};
use serde_json::json;

struct Setting {
    fake: Fake,
    machines: Arc<ColabMachines>,
    state: tempfile::TempDir,
}

impl Setting {
    async fn new() -> Self {
        let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
        fake.access(state.path());
        let machines = server(&fake, state.path());
        Self { fake, machines, state }
    }

    /// Another process of this person.
    fn other(&self) -> Arc<ColabMachines> {
        server(&self.fake, self.state.path())
    }

    fn ids(&self) -> Vec<String> {
        self.fake.state().machines.keys().cloned().collect()
    }

    fn records(&self) -> usize {
        Ledger::new(self.state.path()).entries().len()
    }
}

fn server(fake: &Fake, state: &Path) -> Arc<ColabMachines> {
    let options = Options { agent: "tests/1".to_owned(), ..Options::default() };
    ColabMachines::new(fake.http(), Store::new(state), state, options, None)
}

fn t4() -> MachineKind {
    MachineKind { variant: "GPU".into(), accelerator: Some("T4".into()), has_high_memory: false }
}

/// Waits until something holds, with a bound.
async fn until(holds: impl Fn() -> bool) {
    let holding = async {
        while !holds() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(Duration::from_secs(20), holding).await.expect("it should have happened");
}

#[tokio::test]
async fn a_machine_is_started_used_and_ended_with_the_program() {
    let Setting { fake, machines, .. } = &Setting::new().await;
    assert!(machines.is_present());
    let mut lines = Vec::new();
    let started = progress::follow(machines.start(t4(), false), |line| lines.push(line)).await.unwrap();
    let id = fake.state().machines.keys().next().cloned().unwrap();
    assert!(id.starts_with("cellbridge-t4-"), "{id}");
    assert_eq!((started.prefix(), started.scheme()), (format!("colab-vm:{id}/").as_str(), "colab-vm"));
    assert_eq!(started.description(), format!("Colab machine {id} (T4 GPU)"));
    assert!(lines.len() >= 3 && lines.iter().all(|line| !line.contains("hush")), "{lines:?}");
    let places = machines.places().await.unwrap();
    assert!(places.len() == 1 && Arc::ptr_eq(&places[0], &started));
    let list = machines.list().await.unwrap();
    let origin = MachineOrigin::Here { keeps: false, is_shared: false };
    assert_eq!(list.running, [Machine { id: id.clone(), kind: t4(), origin }]);
    assert_eq!(list.account, "ada@example.com (Colab without a subscription)");
    machines.shutdown().await;
    assert!(fake.state().machines.is_empty());
}

#[tokio::test]
async fn a_machine_is_recorded_before_it_is_requested() {
    let setting = Setting::new().await;
    // As if the process were killed before Google answers: the task of the start is never polled again.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let (fake, machines) = (setting.fake.clone(), setting.machines.clone());
    fake.state().pending = usize::MAX;
    tokio::task::spawn_blocking(move || {
        runtime.block_on(async {
            tokio::select! {
                _ = machines.start(t4(), false) => {}
                () = until(|| fake.count("POST /v1beta/runtimes") > 0) => {}
            }
        });
        drop(runtime);
    })
    .await
    .unwrap();
    assert_eq!((setting.ids().len(), setting.records()), (1, 1));
    let Setting { fake, machines, state } = setting;
    drop(machines);
    let next = server(&fake, state.path());
    let list = next.list().await.unwrap();
    assert!(
        matches!(list.running[0].origin, MachineOrigin::OtherProcess { is_running: false, keeps: false, .. }),
        "{list:?}"
    );
    assert!(list.notices[0].contains(&list.running[0].id) && list.notices[0].contains("run on"), "{list:?}");
}

#[tokio::test]
async fn a_start_that_nobody_waits_for_ends_its_machine() {
    let setting = Setting::new().await;
    setting.fake.state().pending = 3;
    {
        let start = setting.machines.start(t4(), false);
        tokio::pin!(start);
        tokio::select! {
            _ = &mut start => panic!("it should not have ended"),
            () = until(|| setting.fake.count("POST /v1beta/runtimes") > 0) => {}
        }
    }
    until(|| setting.fake.count("DELETE") > 0 && setting.records() == 0).await;
    assert_eq!(setting.ids(), [""; 0]);
}

#[tokio::test]
async fn a_shutdown_during_a_start_ends_its_machine_and_keeps_the_record() {
    let setting = Setting::new().await;
    setting.fake.state().pending = usize::MAX;
    let machines = setting.machines.clone();
    let start = tokio::spawn(async move { machines.start(t4(), true).await.map(drop) });
    until(|| setting.fake.count("GET /v1/operations/") > 0).await;
    setting.machines.shutdown().await;
    let error = start.await.unwrap().unwrap_err();
    assert!(error.cause.contains("cancelled"), "{error}");
    // Google may still create it, so the next server looks for it.
    assert_eq!((setting.ids().len(), setting.records()), (0, 1));
}

#[tokio::test]
async fn a_refused_start_leaves_no_record_and_names_what_runs() {
    let setting = Setting::new().await;
    setting.fake.state().add("r-1", "VARIANT_CPU", "NONE");
    let refused = json!({ "done": true, "error": { "code": 9, "details": [{ "reason": "TOO_MANY_ACTIVE_RUNTIMES" }] } });
    setting.fake.script("POST /v1beta/runtimes", 200, refused.to_string());
    let error = setting.machines.start(t4(), false).await.err().unwrap();
    assert!(error.kind == ErrorKind::LimitReached && error.cause.contains("r-1 (CPU)"), "{error}");
    assert_eq!((setting.records(), setting.fake.count("DELETE")), (0, 0));
}

#[tokio::test]
async fn a_start_without_a_clear_end_deletes_and_keeps_the_record() {
    let setting = Setting::new().await;
    for _ in 0..3 {
        setting.fake.script("POST /v1beta/runtimes", 503, "{}");
    }
    let error = setting.machines.start(t4(), false).await.err().unwrap();
    assert_eq!(error.kind, ErrorKind::RemoteFailure);
    assert_eq!((setting.records(), setting.fake.count("DELETE")), (1, 1));
}

#[tokio::test]
async fn a_machine_that_may_have_been_started_is_named_and_ended_with_the_program() {
    let setting = Setting::new().await;
    setting.fake.lose("POST /v1beta/runtimes");
    for _ in 0..3 {
        setting.fake.script("GET /v1beta/runtimes/cellbridge-", 503, "{}");
        setting.fake.script("POST /v1beta/runtimes", 503, "{}");
        setting.fake.script("DELETE", 503, "{}");
    }
    let error = setting.machines.start(t4(), false).await.err().unwrap();
    let [id] = &setting.ids()[..] else { panic!("{:?}", setting.ids()) };
    assert!(error.cause.contains(&format!("The machine {id} may have been started")), "{error}");
    setting.fake.state().forget_script();
    setting.machines.shutdown().await;
    assert_eq!((setting.ids().len(), setting.records()), (0, 1));
}

#[tokio::test]
async fn a_machine_that_could_not_be_ended_after_its_start_ends_with_the_program() {
    let setting = Setting::new().await;
    setting.fake.state().url = Some("https://example.com".into());
    for _ in 0..3 {
        setting.fake.script("DELETE", 503, "{}");
    }
    let error = setting.machines.start(t4(), false).await.err().unwrap();
    assert!(error.cause.contains("may run on"), "{error}");
    assert_eq!(setting.ids().len(), 1);
    setting.machines.shutdown().await;
    assert_eq!((setting.ids().len(), setting.records()), (0, 0));
}

#[tokio::test]
async fn only_a_documented_answer_is_the_end_of_a_machine() {
    let setting = Setting::new().await;
    setting.machines.start(t4(), false).await.unwrap();
    let [id] = &setting.ids()[..] else { panic!() };
    for (status, body) in [(200, "<html>"), (200, ""), (404, "{}")] {
        setting.fake.script("DELETE", status, body);
        assert!(setting.machines.stop(id).await.is_err(), "{status} {body}");
        assert_eq!((setting.ids().len(), setting.records()), (1, 1));
    }
    assert!(setting.machines.stop(id).await.unwrap().was_running);
}

#[tokio::test]
async fn a_list_that_lacks_a_machine_is_not_its_end() {
    let setting = Setting::new().await;
    setting.machines.start(t4(), false).await.unwrap();
    setting.fake.script("GET /v1beta/runtimes", 200, "{}");
    assert!(setting.machines.places().await.unwrap().is_empty());
    assert_eq!(setting.records(), 1);
    let [machine] = &setting.machines.list().await.unwrap().running[..] else { panic!() };
    assert_eq!(machine.origin, MachineOrigin::Here { keeps: false, is_shared: false });
}

#[tokio::test]
async fn a_machine_whose_address_is_not_googles_gets_no_request_and_is_ended() {
    let setting = Setting::new().await;
    setting.fake.state().url = Some("https://example.com".into());
    let error = setting.machines.start(t4(), false).await.err().unwrap();
    assert!(
        error.cause.contains("is not one of Google's") && error.cause.contains("stopped again"),
        "{error}"
    );
    assert_eq!((setting.ids().len(), setting.records()), (0, 0));
}

#[tokio::test]
async fn a_machine_is_waited_for_until_its_server_answers() {
    let setting = Setting::new().await;
    setting.fake.state().is_booting = true;
    let machines = setting.machines.clone();
    let start = tokio::spawn(async move { machines.start(t4(), false).await.map(drop) });
    until(|| setting.fake.count("GET /api") > 1).await;
    assert!(!start.is_finished());
    setting.fake.state().is_booting = false;
    start.await.unwrap().unwrap();
    assert_eq!((setting.ids().len(), setting.records()), (1, 1));
}

#[tokio::test]
async fn a_machine_that_is_reclaimed_while_it_boots_is_said() {
    let setting = Setting::new().await;
    setting.fake.state().is_booting = true;
    let machines = setting.machines.clone();
    let start = tokio::spawn(async move { machines.start(t4(), false).await.map(drop) });
    until(|| setting.fake.count("GET /api") > 1).await;
    setting.fake.state().machines.clear();
    let error = start.await.unwrap().unwrap_err();
    assert!(error.cause.contains("reclaimed"), "{error}");
    assert_eq!(setting.records(), 0);
}

#[tokio::test]
async fn a_caller_that_leaves_while_the_machine_boots_ends_it() {
    let setting = Setting::new().await;
    setting.fake.state().is_booting = true;
    {
        let start = setting.machines.start(t4(), true);
        tokio::pin!(start);
        tokio::select! {
            _ = &mut start => panic!("it should not have ended"),
            () = until(|| setting.fake.count("GET /api") > 0) => {}
        }
    }
    until(|| setting.records() == 0).await;
    assert_eq!(setting.ids(), [""; 0]);
}

#[tokio::test]
async fn what_is_kept_used_by_others_or_works_runs_on() {
    let setting = Setting::new().await;
    setting.fake.state().pending = 0;
    let kept = setting.machines.start(t4(), true).await.unwrap();
    let used = setting.machines.start(t4(), false).await.unwrap();
    // The other process uses the machine.
    let other = setting.other();
    let places = other.places().await.unwrap();
    let of_used = places.iter().find(|place| place.prefix() == used.prefix()).unwrap();
    of_used.kernels().await.unwrap();
    setting.machines.shutdown().await;
    assert_eq!(setting.ids().len(), 2, "{}", kept.prefix());
    // A kernel works on it, so the other one leaves it, too, and for good.
    setting.fake.state().kernels = json!([{ "id": "k1", "name": "python3", "execution_state": "busy" }]);
    other.shutdown().await;
    assert_eq!(setting.ids().len(), 2);
    let next = setting.other();
    for machine in next.list().await.unwrap().running {
        assert!(matches!(machine.origin, MachineOrigin::OtherProcess { keeps: true, .. }), "{machine:?}");
    }
}

#[tokio::test]
async fn the_last_of_two_processes_ends_the_machine() {
    let setting = Setting::new().await;
    let used = setting.machines.start(t4(), false).await.unwrap();
    let other = setting.other();
    let places = other.places().await.unwrap();
    assert!(!Arc::ptr_eq(&places[0], &used));
    places[0].kernels().await.unwrap();
    setting.machines.shutdown().await;
    assert_eq!(setting.ids().len(), 1);
    other.shutdown().await;
    assert_eq!((setting.ids().len(), setting.records()), (0, 0));
}

#[tokio::test]
async fn machines_of_others_are_places_and_are_not_ended_with_the_program() {
    let setting = Setting::new().await;
    setting.fake.state().add("r-1", "VARIANT_GPU", "T4");
    setting.fake.state().has_connections = false;
    let places = setting.machines.places().await.unwrap();
    let again = setting.machines.places().await.unwrap();
    assert!(places.len() == 1 && Arc::ptr_eq(&places[0], &again[0]));
    places[0].kernels().await.unwrap();
    let list = setting.machines.list().await.unwrap();
    assert_eq!(list.running[0].origin, MachineOrigin::Elsewhere);
    setting.machines.shutdown().await;
    assert_eq!(setting.ids(), ["r-1"]);
    // Without it, the place is dropped, and a new machine of the same name is a new place.
    let Setting { fake, machines, .. } = &setting;
    fake.state().machines.clear();
    assert!(machines.places().await.unwrap().is_empty());
    fake.state().add("r-1", "VARIANT_GPU", "T4");
    assert!(!Arc::ptr_eq(&machines.places().await.unwrap()[0], &places[0]));
}

#[tokio::test]
async fn a_machine_is_stopped_whoever_started_it() {
    let setting = Setting::new().await;
    setting.fake.state().add("r-1", "VARIANT_CPU", "NONE");
    let stopped = |was_running| StoppedMachine { id: "r-1".into(), was_running, copies: None };
    assert_eq!(setting.machines.stop("r-1").await, Ok(stopped(true)));
    assert_eq!(setting.machines.stop("r-1").await, Ok(stopped(false)));
    let error = setting.machines.stop("../r-1").await.unwrap_err();
    assert_eq!((error.kind, error.next), (ErrorKind::NotFound, NextStep::ListMachines));
    setting.machines.start(t4(), true).await.unwrap();
    let id = setting.ids().remove(0);
    std::fs::create_dir_all(setting.state.path().join("colab/copies").join(&id)).unwrap();
    let stopped = setting.machines.stop(&id).await.unwrap();
    assert!(stopped.copies.is_some_and(|folder| folder.ends_with(&id)));
    assert_eq!((setting.ids().len(), setting.records()), (0, 0));
}

#[tokio::test]
async fn a_machine_that_google_has_taken_is_forgotten() {
    let setting = Setting::new().await;
    setting.machines.start(t4(), false).await.unwrap();
    setting.fake.state().machines.clear();
    assert_eq!(setting.machines.list().await.unwrap().running, []);
    assert_eq!(setting.records(), 0);
    // What may be on its way stays.
    let ledger = Ledger::new(setting.state.path());
    let record = |id, account: &str, at| {
        let (id, account) = (MachineId::parse(id).unwrap(), Some(account.to_owned()));
        ledger.record(&Entry { id, kind: t4(), account, keeps: false, at }).unwrap();
    };
    record("cellbridge-t4-1", "ada@example.com", SystemTime::now());
    record("cellbridge-t4-2", "ada@example.com", SystemTime::UNIX_EPOCH);
    // Google does not list what another account has.
    record("cellbridge-t4-3", "bob@example.com", SystemTime::UNIX_EPOCH);
    setting.machines.list().await.unwrap();
    let left: Vec<_> = ledger.entries().into_iter().map(|entry| entry.id.to_string()).collect();
    assert_eq!(left, ["cellbridge-t4-1", "cellbridge-t4-3"]);
}

#[tokio::test]
async fn an_offer_says_who_pays() {
    let setting = Setting::new().await;
    let wanted = WantedMachine { variant: Some("gpu".into()), ..WantedMachine::default() };
    let offer = setting.machines.offer(wanted.clone()).await.unwrap();
    assert_eq!((offer.kind, offer.is_eligible, offer.cost), (t4(), true, None));
    setting.fake.state().tier = "SUBSCRIPTION_TIER_PRO";
    let offer = setting.machines.offer(wanted).await.unwrap();
    assert!(offer.cost.unwrap().contains("ada@example.com (Colab Pro)"));
    let wanted = WantedMachine { accelerator: Some("A100".into()), ..WantedMachine::default() };
    assert_eq!(setting.machines.offer(wanted).await.unwrap_err().kind, ErrorKind::Forbidden);
    let offers = setting.machines.list().await.unwrap().offers;
    assert_eq!(offers.iter().map(|it| it.is_eligible).collect::<Vec<_>>(), [true, true, false]);
}

#[tokio::test]
async fn without_a_login_everything_asks_for_one() {
    let setting = Setting::new().await;
    std::fs::remove_file(Store::new(setting.state.path()).file()).unwrap();
    let machines = &setting.machines;
    assert!(!machines.is_present());
    let errors = [
        machines.list().await.unwrap_err(),
        machines.places().await.err().unwrap(),
        machines.offer(WantedMachine::default()).await.unwrap_err(),
        machines.start(t4(), false).await.err().unwrap(),
        machines.stop("r-1").await.unwrap_err(),
    ];
    for error in errors {
        assert_eq!((error.kind, error.next), (ErrorKind::Unauthorized, NextStep::SignIn));
    }
    assert_eq!((setting.records(), setting.fake.count("")), (0, 0));
    machines.shutdown().await;
}

#[test]
fn the_end_of_the_login_is_announced() {
    let login = store::tests::login();
    let day = Duration::from_secs(24 * 60 * 60);
    assert!(notices(&login, &[], login.signed_in + day).is_empty());
    let [notice] = <[String; 1]>::try_from(notices(&login, &[], login.signed_in + 6 * day)).unwrap();
    assert!(notice.contains("\"Testing\"") && notice.contains("1970-01-19 13:46 UTC"), "{notice}");
}

#[tokio::test]
async fn a_machine_that_does_not_say_whether_it_works_runs_on_and_the_next_server_ends_it() {
    let setting = Setting::new().await;
    setting.machines.start(t4(), false).await.unwrap();
    for _ in 0..2 {
        setting.fake.script("GET /api/kernels", 500, "{}");
    }
    setting.machines.shutdown().await;
    assert_eq!((setting.ids().len(), setting.records()), (1, 1));
    setting.fake.state().forget_script();
    let next = setting.other();
    next.places().await.unwrap()[0].kernels().await.unwrap();
    let list = next.list().await.unwrap();
    assert_eq!(list.running[0].origin, MachineOrigin::Here { keeps: false, is_shared: false });
    next.shutdown().await;
    assert_eq!((setting.ids().len(), setting.records()), (0, 0));
}

#[tokio::test]
async fn a_machine_of_another_account_keeps_its_record() {
    let setting = Setting::new().await;
    setting.machines.start(t4(), false).await.unwrap();
    let mut other = store::tests::login();
    other.account = Some("bob@example.com".into());
    Store::new(setting.state.path()).save(&other, &setting.fake.google).unwrap();
    setting.machines.shutdown().await;
    assert_eq!((setting.records(), setting.fake.count("DELETE")), (1, 0));
}

#[tokio::test]
async fn a_machine_without_an_address_is_no_place_yet_and_a_start_waits_for_it() {
    let setting = Setting::new().await;
    setting.fake.state().add("r-1", "VARIANT_CPU", "NONE");
    setting.fake.state().has_connections = false;
    setting.fake.script("GET /v1beta/runtimes/r-1", 200, r#"{"name": "runtimes/r-1"}"#);
    assert!(setting.machines.places().await.unwrap().is_empty());
    assert_eq!(setting.machines.places().await.unwrap().len(), 1);
    setting.fake.script("GET /v1/operations/", 200, r#"{"done": true}"#);
    setting.fake.script("GET /v1beta/runtimes/cell", 200, r#"{"name": "runtimes/cellbridge-t4-1"}"#);
    setting.fake.script("GET /v1beta/runtimes/cell", 200, r#"{"name": "runtimes/cellbridge-t4-1"}"#);
    setting.fake.state().add("cellbridge-t4-1", "VARIANT_GPU", "T4");
    let started = setting.machines.start(t4(), false).await.unwrap();
    // Google chose another id than was requested.
    assert_eq!(started.prefix(), "colab-vm:cellbridge-t4-1/");
    let ids: Vec<_> = Ledger::new(setting.state.path()).entries().into_iter().map(|it| it.id).collect();
    assert_eq!(ids, [MachineId::parse("cellbridge-t4-1").unwrap()]);
}
