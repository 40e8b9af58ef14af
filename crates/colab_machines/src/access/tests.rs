use super::*;
use crate::store::tests::login;
use crate::testing::Fake;

#[tokio::test]
async fn concurrent_requests_share_one_token_and_one_renewal() {
    let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
    let access = fake.access(state.path());
    let (one, other) = tokio::join!(access.token(None), access.token(None));
    let one = one.unwrap();
    assert_eq!((one.expose(), other.unwrap() == one, fake.count("POST /token")), ("access-1-hush", true, 1));
    let (again, other) = tokio::join!(access.token(Some(&one)), access.token(Some(&one)));
    assert_eq!(again.unwrap(), other.unwrap());
    assert_eq!(fake.count("POST /token"), 2);
    assert!(!format!("{access:?}").contains("hush"));
}

#[tokio::test]
async fn a_token_is_replaced_five_minutes_before_its_end() {
    let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
    let access = fake.access(state.path());
    for (lifetime, renewals) in [(290, 1), (310, 2), (310, 2)] {
        fake.state().access_lifetime = lifetime;
        access.token(None).await.unwrap();
        assert_eq!(fake.count("POST /token"), renewals, "{lifetime}");
    }
}

#[tokio::test]
async fn another_login_ends_the_use_of_the_token_and_a_logout_too() {
    let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
    let access = fake.access(state.path());
    access.token(None).await.unwrap();
    let mut other = login();
    other.signed_in += Duration::from_secs(60);
    access.store.save(&other, &fake.google).unwrap();
    assert_eq!(access.token(None).await.unwrap().expose(), "access-2-hush");
    access.store.remove().unwrap();
    let error = access.token(None).await.unwrap_err();
    assert_eq!((error.kind, error.next), (ErrorKind::Unauthorized, NextStep::SignIn));
    assert!(!access.is_present());
}

#[tokio::test]
async fn a_renewal_is_finished_if_nobody_waits() {
    let (fake, state) = (Fake::new().await, tempfile::tempdir().unwrap());
    let access = fake.access(state.path());
    // The other process that uses the login delays the renewal beyond the caller's patience.
    let lock = access.store.lock().await.unwrap();
    assert!(tokio::time::timeout(Duration::from_millis(20), access.token(None)).await.is_err());
    drop(lock);
    let sent = async {
        while fake.count("POST /token") == 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), sent).await.unwrap();
}
