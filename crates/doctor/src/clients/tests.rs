//! Planted outcomes, and what is said about them.

use super::*;
use crate::finding::Status;
use crate::finding::tests::{line, lines};

fn codex() -> &'static Client {
    Client::named("codex").unwrap()
}

fn facts(outcome: Outcome) -> Facts {
    Facts { client: codex(), is_of_project: false, outcome, exposed: None }
}

fn said(outcome: Outcome) -> String {
    line(&finding(&facts(outcome)))
}

fn answers(name: &str, version: &str) -> Outcome {
    Outcome::Answers(ServerInfo { name: name.into(), version: version.into() })
}

#[test]
fn a_command_that_answers_says_its_version() {
    let name = codex().name;
    assert_eq!(
        said(answers("cellbridge", OWN_VERSION)),
        format!("ok {name}: It starts cellbridge {OWN_VERSION}, which answers.")
    );
    assert_eq!(
        said(answers("cellbridge", "0.0.1")),
        format!("warning {name}: It starts version 0.0.1; this is {OWN_VERSION}. [cellbridge install codex]")
    );
    assert!(said(answers("other", "1")).contains("starts another server, other 1."));
}

#[test]
fn a_command_that_does_not_answer_says_why_and_what_repairs_it() {
    for (outcome, reason) in [
        (
            Outcome::NoProgram("/gone/cellbridge".into()),
            "It starts \"/gone/cellbridge\", which does not exist.",
        ),
        (Outcome::Failed(ProbeError::NotStarted("denied".into())), "Its command cannot be started: denied."),
        (Outcome::Failed(ProbeError::Silent), "Its command did not answer initialize in time."),
        (
            Outcome::Failed(ProbeError::NoAnswer("no such option".into())),
            "Its command did not answer initialize: no such option.",
        ),
        (Outcome::Failed(ProbeError::NoAnswer(String::new())), "Its command did not answer initialize."),
        (Outcome::NoCommand, "Its entry has neither a command nor a URL."),
    ] {
        let name = codex().name;
        assert_eq!(said(outcome), format!("error {name}: {reason} [cellbridge install codex]"));
    }
}

#[test]
fn what_may_be_intended_is_a_warning() {
    let taken = Outcome::Failed(ProbeError::NoAnswer("port 1 is in use by another program".into()));
    for outcome in
        [taken, Outcome::Disabled, Outcome::Unreadable("x: bad".into()), Outcome::NotStarted("x".into())]
    {
        let finding = finding(&facts(outcome.clone()));
        assert_eq!((finding.status, &finding.fix), (Status::Warning, &None), "{outcome:?}");
    }
    assert!(said(Outcome::Unreachable).starts_with("error"));
    assert!(said(Outcome::Reachable).starts_with("ok"));
}

#[test]
fn an_entry_of_the_folder_is_named_and_repaired_there() {
    let of_project = |outcome| finding(&Facts { is_of_project: true, ..facts(outcome) });
    let gone = of_project(Outcome::NoProgram("x".into()));
    assert!(gone.subject.ends_with("(this folder)"));
    assert_eq!(gone.fix.as_deref(), Some("cellbridge install codex --project"));
    assert_eq!(of_project(Outcome::IsThisProgram).status, Status::Ok);
}

#[test]
fn a_token_that_others_can_read_is_named() {
    let exposed =
        Facts { exposed: Some("/h/config.toml".into()), ..facts(answers("cellbridge", OWN_VERSION)) };
    let name = codex().name;
    assert_eq!(
        lines(&findings(&[exposed], &[]))[1],
        format!(
            "warning {name}: Other users can read or write /h/config.toml, which has a token in the entry. \
                 [chmod go-rwx /h/config.toml]"
        )
    );
    for (text, expected) in [
        ("--jupyter-token", true),
        ("--token=abc", true),
        ("http://h:1/mcp?token=abc", true),
        ("http://h:1/?token=${T}", false),
        ("--tokens", false),
        ("--jupyter-url", false),
    ] {
        assert_eq!(holds_token(text), expected, "{text}");
    }
}

#[test]
fn clients_without_an_entry_are_listed() {
    let found = findings(&[facts(Outcome::Disabled)], &["Zed", "Goose"]);
    assert_eq!(lines(&found)[1], "ok other clients: Installed without an entry for Cellbridge: Zed, Goose.");
    assert_eq!(lines(&findings(&[], &[])), ["ok clients: No known client is installed."]);
}

#[test]
fn what_a_failed_command_quotes_of_its_secrets_is_hidden() {
    let arguments =
        ["--jupyter-token", "one", "--token=two", "--jupyter-url", "http://h/?token=three&x=1", "--log"];
    let arguments = arguments.map(str::to_owned);
    let line = "bad: --jupyter-token one --token=two at http://h/?token=three&x=1 --log";
    assert_eq!(
        hide_secrets(line, &arguments),
        "bad: --jupyter-token (hidden) --token=(hidden) at http://h/?token=(hidden)&x=1 --log"
    );
}
