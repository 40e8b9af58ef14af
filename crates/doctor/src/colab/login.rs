//! The login to Google's Colab API: whether there is one, when it ends, and whether the API answers.

use std::time::SystemTime;

use colab_machines::{Expiry, Http, Login, Store, renew};

use super::CHECK;
use crate::finding::Finding;
use crate::machine::Machine;

const SUBJECT: &str = "login";
const API: &str = "API";
const AGAIN: &str = "Run cellbridge colab login again.";
/// In seconds.
const DAY: u64 = 24 * 3600;

/// No findings if nobody has signed in.
pub(crate) async fn check(machine: &Machine, http: Http) -> Vec<Finding> {
    let Some(store) = machine.process_env.own_state_dir().map(|state| Store::new(&state)) else {
        return Vec::new();
    };
    let Some(login) = store.load(http.google()).transpose() else { return Vec::new() };
    let is_usable = login.is_ok();
    let mut findings = vec![finding(login, machine.now)];
    if is_usable {
        let checked = match renew(&http, &store, machine.now).await {
            Ok(Some(accepted)) => accepted.check_api(&http).await,
            Ok(None) => return findings,
            Err(error) => Err(error),
        };
        findings.push(match checked {
            Ok(()) => CHECK.ok(API, "Google's Colab API answers."),
            Err(error) => {
                CHECK.warning(API, format!("{} `cellbridge colab status` names the next step.", error.cause))
            }
        });
    }
    findings
}

fn finding(login: colab_machines::Result<Login>, now: SystemTime) -> Finding {
    let login = match login {
        Ok(login) => login,
        Err(error) => return CHECK.warning(SUBJECT, format!("{} {AGAIN}", error.cause)),
    };
    let who = login.account.as_deref().unwrap_or("an unknown account");
    let expiry = Expiry::of(&login, now, false);
    let may = if matches!(expiry, Expiry::IfTesting(_)) {
        ", if the consent screen of the OAuth client is in \"Testing\""
    } else {
        ""
    };
    let days = |from: SystemTime, to: SystemTime| match to.duration_since(from).unwrap_or_default().as_secs()
        / DAY
    {
        0 => "less than a day".to_owned(),
        1 => "1 day".to_owned(),
        days => format!("{days} days"),
    };
    match expiry.time() {
        Some(end) if expiry.is_past(now) => CHECK
            .warning(SUBJECT, format!("The login of {who} has expired {} ago{may}. {AGAIN}", days(end, now))),
        Some(end) if expiry.is_near(now) => {
            CHECK.warning(SUBJECT, format!("The login of {who} expires in {}{may}. {AGAIN}", days(now, end)))
        }
        Some(end) => {
            CHECK.ok(SUBJECT, format!("{who} is signed in. The login expires in {}{may}.", days(now, end)))
        }
        None => CHECK.ok(SUBJECT, format!("{who} is signed in.")),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, UNIX_EPOCH};

    use colab_machines::Google;

    use super::*;

    /// What is found, as many days after the sign-in.
    fn found(days: u64) -> Finding {
        let state = tempfile::tempdir().unwrap();
        let store = Store::new(state.path());
        fs::create_dir(store.file().parent().unwrap()).unwrap();
        // Temporary files are readable by their owner only.
        let file = tempfile::NamedTempFile::new_in(state.path()).unwrap();
        let login = serde_json::json!({
            "token_uri": "https://oauth2.googleapis.com/token",
            "client_id": "1.apps.googleusercontent.com",
            "client_secret": "hush",
            "refresh_token": "hush",
            "scope": "https://www.googleapis.com/auth/colaboratory",
            "account": "ada@example.com",
            "signed_in": 1_000_000,
            "expires": null,
        });
        fs::write(file.path(), login.to_string()).unwrap();
        file.persist(store.file()).unwrap();
        let login = store.load(&Google::default()).transpose().unwrap();
        finding(login, UNIX_EPOCH + Duration::from_secs(1_000_000 + DAY * days))
    }

    #[test]
    fn the_end_of_a_login_is_announced() {
        for (days, said) in [
            (0, "ada@example.com is signed in. The login expires in 7 days, if the consent screen"),
            (6, "The login of ada@example.com expires in 1 day,"),
            (9, "The login of ada@example.com has expired 2 days ago"),
        ] {
            let finding = found(days);
            assert!(finding.message.starts_with(said), "{}", finding.message);
            assert_eq!(finding.message.ends_with(AGAIN), days > 0);
        }
    }
}
