//! What the person is shown about the login.

use std::time::SystemTime;

use chrono::{DateTime, Local};
use colab_machines::{Expiry, Login, Revocation};
use place::{Error, ErrorKind, NextStep};

pub(super) const OPENED: &str = "\nIf no browser opens, open the address above. Then allow access to Colab.\n\
     Waiting for Google's answer. Ctrl-C cancels.";
pub(super) const OPEN_BY_HAND: &str = "\nOpen the address above in a browser, and allow access to Colab.\n\
     If the browser is on another machine, its last page reports that 127.0.0.1 cannot be reached: paste the address of \
     that page here, or only the code in it, and press Enter. Ctrl-C cancels.";
pub(super) const BLOCKED: &str = "\nGoogle has not answered yet. If its page shows \"Access blocked\", open \
     https://console.cloud.google.com/auth/audience and choose \"Publish app\", or add your account as a test user. If the page \
     shows \"Google hasn't verified this app\", the app is your own: choose \"Advanced\", then \"Go to …\".";
pub(super) const FOREIGN: &str =
    "cellbridge: This answer belongs to another login. Open the address above, and paste the answer to it.";
pub(super) const UNRELATED: &str = "cellbridge: This is neither an address with Google's answer nor a code. Paste the \
     whole address of the last page in the browser.";

pub(super) fn next(next: &NextStep) -> &'static str {
    match next {
        NextStep::SignIn => "Run `cellbridge colab login` again.",
        NextStep::GrantAccess => {
            "Run `cellbridge colab login` again, and select everything on Google's page."
        }
        NextStep::CreateClient => {
            "Create an OAuth client for a desktop app at https://console.cloud.google.com/auth/clients and give its JSON \
             file: `cellbridge colab login --client-oauth-config FILE`"
        }
        NextStep::CheckClient => {
            "Check that the OAuth client is one for a desktop app, that the Colab API is enabled in its project, and that \
             the app is published or your account is a test user. Then run `cellbridge colab login` again."
        }
        NextStep::EnableApi => {
            "Run `gcloud services enable colaboratory.googleapis.com` for the project of the OAuth client, for example in \
             https://shell.cloud.google.com, and wait some minutes. If `cellbridge colab status` then reports the same, \
             Google has to open the API for your project: see https://developers.google.com/colab/api"
        }
        NextStep::ClosePermissions => {
            "Run `cellbridge doctor --fix`, or remove the file and run `cellbridge colab login` again."
        }
        _ => "Repeat the command later.",
    }
}

pub(super) fn failure(error: &Error) -> String {
    format!("{} {}", error.cause, next(&error.next))
}

pub(super) fn not_signed_in() -> String {
    format!("You are not signed in to Colab's API. {}", next(&NextStep::CreateClient))
}

/// The result of a login.
pub(super) fn signed_in(login: &Login, now: SystemTime) -> String {
    let account = login.account.as_deref().map(|account| format!(" as {account}")).unwrap_or_default();
    let mut lines = vec![format!("Signed in to Colab's API{account}.")];
    if login.account.is_none() {
        lines.push("The e-mail address was not granted, so the account is not known.".to_owned());
    }
    lines.push(shown(Expiry::of(login, now, true), now));
    lines.join("\n")
}

/// Whether Google's API can be used.
pub(super) fn api(problem: Option<&Error>) -> String {
    match problem {
        None => "API: answers".to_owned(),
        Some(problem) => format!("API: {}\nNext: {}", problem.cause, next(&problem.next)),
    }
}

/// The login, and why it is not valid or could not be checked.
pub(super) fn status(login: &Login, problem: Option<&Error>, now: SystemTime) -> String {
    let missing = login.scopes.missing();
    let expiry = Expiry::of(login, now, problem.is_none());
    let (state, next) = match problem {
        Some(problem) if problem.kind == ErrorKind::Unauthorized => {
            (format!("not valid. {}", problem.cause), Some(&problem.next))
        }
        Some(problem) => (format!("not checked. {}", problem.cause), Some(&problem.next)),
        None if !login.scopes.allow_machines() => {
            ("valid, without access to Colab machines".to_owned(), Some(&NextStep::GrantAccess))
        }
        None => ("valid".to_owned(), expiry.is_near(now).then_some(&NextStep::SignIn)),
    };
    let account = login.account.as_deref().unwrap_or("unknown (the e-mail address was not granted)");
    let mut lines = vec![
        format!("Account: {account}"),
        format!("OAuth client: {}", login.client.id),
        format!("Signed in: {}", time(login.signed_in)),
        format!("State: {state}"),
        format!("Scopes: {}", login.scopes.list()),
        format!("Missing: {}", if missing.is_empty() { "nothing".to_owned() } else { missing.join(", ") }),
        format!("Expiry: {}", shown(expiry, now)),
    ];
    lines.extend(next.map(|next| format!("Next: {}", self::next(next))));
    lines.join("\n")
}

fn shown(expiry: Expiry, now: SystemTime) -> String {
    let expires = if expiry.is_past(now) { "expired" } else { "expires" };
    match expiry {
        Expiry::At(end) => format!("The login {expires} on {}.", time(end)),
        Expiry::IfTesting(end) => format!(
            "If the consent screen of your OAuth client is in \"Testing\", the login {expires} on {}, after seven days. \
             Google did not name a time.",
            time(end)
        ),
        Expiry::Unlimited => {
            "The login is older than seven days and valid, so it has no known end.".to_owned()
        }
    }
}

fn time(time: SystemTime) -> String {
    DateTime::<Local>::from(time).format("%Y-%m-%d %H:%M").to_string()
}

/// Machines of which it is not known that they have ended.
pub(super) fn machines(machines: &[String]) -> String {
    format!(
        "Machines that Cellbridge started, and that may run and cost: {}. End them with stop_machine, or at \
         https://colab.research.google.com (Runtime → Manage sessions).",
        machines.join(", ")
    )
}

pub(super) fn signed_out(revocation: &Revocation) -> String {
    match revocation {
        Revocation::NoLogin => "You are not signed in to Colab's API.".to_owned(),
        Revocation::Revoked => "Revoked the login, and removed it from this machine.".to_owned(),
        Revocation::AlreadyInvalid => {
            "Removed the login from this machine. Google had ended it already.".to_owned()
        }
        Revocation::RemovedOnly(problem) => format!(
            "Removed the login from this machine, but did not revoke it: {} Remove the access of your OAuth client at \
             https://myaccount.google.com/connections",
            problem.cause
        ),
    }
}
