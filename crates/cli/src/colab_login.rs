//! `cellbridge colab login`, `status` and `logout`: the person's login to Google's Colab API.

mod words;

use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, bail};
use colab_machines::{Accepted, Answer, Google, Http, Listener, OAuthClient, Revocation, SignIn, Store};
use connection::{NetworkTimeout, NextStep};
use place::{Error, ErrorKind};
use tokio::io::{AsyncBufReadExt as _, AsyncRead, BufReader};
use tokio::time::timeout;

use crate::args::{ColabLogin, ColabVerb, Logging};
use crate::endpoint::interruption;
use crate::jupyter::sources::reach;
use crate::logging;
use crate::process::{NO_STATE, browser, desktop, problem, process_env};
use terminal::{note, say};

/// Pause before the hint to Google's pages that go no further.
const HINT_AFTER: Duration = Duration::from_secs(30);
/// How long the person may take to grant access.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5 * 60);

/// The exit status: 0 if the login is valid, or was stored or revoked; 1 if not; 130 after Ctrl-C.
pub(crate) async fn run(verb: &ColabVerb) -> ExitCode {
    let interruption = interruption();
    let ended = tokio::select! {
        ended = perform(verb) => ended,
        () = interruption.cancelled() => {
            note("cellbridge: Interrupted.");
            return ExitCode::from(130);
        }
    };
    match ended {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            let text = error.downcast_ref().map_or_else(|| problem(&error), words::failure);
            note(&format!("cellbridge: {text}"));
            ExitCode::FAILURE
        }
    }
}

async fn perform(verb: &ColabVerb) -> anyhow::Result<bool> {
    let account = match verb {
        ColabVerb::Login(options) => &options.account,
        ColabVerb::Status(account) | ColabVerb::Logout(account) => account,
    };
    if account.log_level.is_some() {
        let (log, log_file, otel_file) = Default::default();
        logging::start(&Logging { log, log_file, log_level: account.log_level, otel_file }, Vec::new())?;
    }
    let google = account.google.addresses();
    match verb {
        ColabVerb::Login(options) => login(options, google).await,
        ColabVerb::Status(_) => status(google).await,
        ColabVerb::Logout(_) => logout(google).await,
    }
}

fn store() -> anyhow::Result<Store> {
    Ok(Store::new(&state()?))
}

fn state() -> anyhow::Result<PathBuf> {
    let state = process_env().own_state_dir();
    state.context(NO_STATE)
}

/// Names the machines that may run on.
fn say_machines() -> anyhow::Result<()> {
    let machines = colab_machines::recorded(&state()?);
    if !machines.is_empty() {
        say(&words::machines(&machines))?;
    }
    Ok(())
}

fn http(google: Google) -> Http {
    let reach = reach(None, NetworkTimeout::default());
    Http::new(google, &reach.proxies, &reach.agent)
}

async fn login(options: &ColabLogin, google: Google) -> anyhow::Result<bool> {
    let (store, http) = (store()?, http(google.clone()));
    if options.adc {
        let file = adc_file().context("the home folder is not known")?;
        let accepted = colab_machines::sign_in_with_adc(&http, &store, &file, SystemTime::now()).await?;
        return finish(accepted, &http).await;
    }
    let client = match &options.client_oauth_config {
        Some(file) => OAuthClient::read(file)?,
        None => match store.load(&google)? {
            Some(login) => login.client,
            None => bail!("No OAuth client is known. {}", words::next(&NextStep::CreateClient)),
        },
    };
    let listener = Listener::bind().await.context("no port of 127.0.0.1 can be used for Google's answer")?;
    let attempt = SignIn::new(listener.port()).context("the system returned no random bytes")?;
    let address = attempt.address(&google, &client);
    say(&address)?;
    let opened = open(&address, options.no_browser).await;
    let is_by_hand = opened.is_none();
    note(if is_by_hand { words::OPEN_BY_HAND } else { words::OPENED });
    let may_paste = options.no_browser || std::io::stdin().is_terminal();
    let waiting = async {
        tokio::select! {
            answer = listener.answer(attempt.clone()) => answer.context("the port for Google's answer cannot be used"),
            answer = pasted(tokio::io::stdin(), &attempt), if may_paste => Ok(answer),
        }
    };
    let waiting = hinted(waiting, || note(words::BLOCKED));
    let answer = timeout(ANSWER_TIMEOUT, waiting).await.map_err(|_| no_answer())??;
    drop(opened);
    let code = answer.code()?;
    let now = SystemTime::now();
    finish(colab_machines::sign_in(&http, &store, client, &attempt, &code, now).await?, &http).await
}

fn no_answer() -> Error {
    let cause = format!("Google did not answer within {} minutes.", ANSWER_TIMEOUT.as_secs() / 60);
    Error::new(ErrorKind::Timeout, cause, NextStep::SignIn)
}

async fn finish(accepted: Accepted, http: &Http) -> anyhow::Result<bool> {
    say(&words::signed_in(&accepted.login, SystemTime::now()))?;
    say(&words::api(accepted.check_api(http).await.as_ref().err()))?;
    Ok(true)
}

/// The file in which gcloud stores a login for other programs.
fn adc_file() -> Option<PathBuf> {
    let process_env = process_env();
    let path = |name: &str| process_env.get(name).map(PathBuf::from);
    let folder = || {
        let default =
            if cfg!(windows) { path("APPDATA")? } else { process_env.home.as_ref()?.join(".config") };
        Some(path("CLOUDSDK_CONFIG").unwrap_or_else(|| default.join("gcloud")))
    };
    path("GOOGLE_APPLICATION_CREDENTIALS")
        .or_else(|| Some(folder()?.join("application_default_credentials.json")))
}

/// Waits, and gives a hint if that takes long.
async fn hinted<T>(waiting: impl Future<Output = T>, hint: impl FnOnce()) -> T {
    tokio::pin!(waiting);
    if let Ok(ended) = timeout(HINT_AFTER, &mut waiting).await {
        return ended;
    }
    hint();
    waiting.await
}

/// Opens the address in a browser, which reads it until the result is dropped. `None` if the person has to.
async fn open(address: &str, is_forbidden: bool) -> Option<colab::BrowserCommand> {
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("/"));
    match browser(is_forbidden).open(address, &desktop(&process_env(), &folder)).await {
        Ok(opened) => opened,
        Err(problem) => {
            note(&format!("cellbridge: {problem}"));
            None
        }
    }
}

/// Reads lines until one has an answer. The end of the input is no answer: the browser may still come.
async fn pasted(input: impl AsyncRead + Unpin, attempt: &SignIn) -> Answer {
    let mut lines = BufReader::new(input).lines();
    while let Ok(Some(line)) = lines.next_line().await {
        if line.trim().is_empty() {
            continue;
        }
        match attempt.pasted(&line) {
            Answer::Foreign => note(words::FOREIGN),
            Answer::Unrelated => note(words::UNRELATED),
            answer => return answer,
        }
    }
    std::future::pending().await
}

async fn status(google: Google) -> anyhow::Result<bool> {
    let (store, now) = (store()?, SystemTime::now());
    let Some(stored) = store.load(&google)? else {
        say(&words::not_signed_in())?;
        return Ok(false);
    };
    let http = http(google);
    match colab_machines::renew(&http, &store, now).await {
        Ok(Some(accepted)) => {
            let login = &accepted.login;
            say(&words::status(login, None, now))?;
            let checked = accepted.check_api(&http).await;
            say(&words::api(checked.as_ref().err()))?;
            say_machines()?;
            Ok(login.scopes.allow_machines() && checked.is_ok())
        }
        Ok(None) => {
            say(&words::not_signed_in())?;
            Ok(false)
        }
        Err(problem) => {
            say(&words::status(&stored, Some(&problem), now))?;
            Ok(false)
        }
    }
}

async fn logout(google: Google) -> anyhow::Result<bool> {
    let revocation = colab_machines::revoke(&http(google), &store()?).await?;
    say(&words::signed_out(&revocation))?;
    say_machines()?;
    Ok(!matches!(revocation, Revocation::RemovedOnly(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use connection::Secret;

    #[tokio::test]
    async fn lines_without_an_answer_are_skipped() {
        let attempt = SignIn::new(1).unwrap();
        let lines =
            "\nhttp://127.0.0.1:1/?code=4/0foreign-code&state=other\nwhat?\n 4/0the-code \nlater-line\n";
        let answer = pasted(lines.as_bytes(), &attempt).await;
        assert_eq!(answer, Answer::Code(Secret::new("4/0the-code").unwrap()));
    }

    #[tokio::test(start_paused = true)]
    async fn a_hint_is_given_once_and_late() {
        let mut hints = 0;
        hinted(tokio::time::sleep(HINT_AFTER / 2), || hints += 1).await;
        assert_eq!(hints, 0);
        hinted(tokio::time::sleep(ANSWER_TIMEOUT), || hints += 1).await;
        assert_eq!(hints, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn the_end_of_the_input_is_no_answer() {
        let attempt = SignIn::new(1).unwrap();
        assert!(timeout(ANSWER_TIMEOUT, pasted(&b""[..], &attempt)).await.is_err());
    }
}
