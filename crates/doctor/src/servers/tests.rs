//! Planted answers, and what is said about them.

use super::*;
use crate::finding::tests::line;

const ALL: Rights = Rights { read: true, write: true, execute: true };

fn answer(rights: Option<Rights>, extension: Option<LiveExtension>) -> Answer {
    Answer { version: "2.21.1".into(), has_credentials: true, rights, extension }
}

fn said(origin: Origin, outcome: Result<Answer, Failure>) -> String {
    line(&finding(&Facts { base: "http://h:1/".into(), origin, outcome }))
}

fn running() -> Origin {
    Origin::Running { root: "/work".into(), is_first: false }
}

fn refused(kind: Kind) -> RestError {
    RestError::new(kind, "It happened.", "Do this.")
}

#[test]
fn the_kind_of_collaboration_is_named() {
    let of = |extension| said(Origin::Given, Ok(answer(Some(ALL), extension)));
    let begin = "ok http://h:1/: Jupyter Server 2.21.1, given;";
    let end = "the token may read, write, run code.";
    let live = |name: &str| format!("{begin} live notebooks by {name}; {end}");
    assert_eq!(of(Some(LiveExtension::Collaboration)), live("jupyter-collaboration"));
    assert_eq!(of(Some(LiveExtension::ServerDocuments)), live("jupyter-server-documents"));
    let none = "no live notebooks, so people reload a notebook to see an agent's edits";
    assert_eq!(of(None), format!("{begin} {none}; {end}"));
}

#[test]
fn a_running_server_says_what_it_serves_and_whether_agents_find_it_first() {
    let of = |root: &str, is_first| {
        said(Origin::Running { root: root.into(), is_first }, Ok(answer(Some(ALL), None)))
    };
    assert!(of("/work", true).contains("2.21.1, serves /work, the first choice of agents here;"));
    assert!(of("/work", false).contains("2.21.1, serves /work;"));
    assert!(of("", false).contains("serves an unknown folder;"));
}

#[test]
fn missing_rights_are_a_warning_and_no_rights_at_the_given_server_an_error() {
    let with =
        |origin, read, write, execute| said(origin, Ok(answer(Some(Rights { read, write, execute }), None)));
    let reader = with(running(), true, false, true);
    assert!(reader.starts_with("warning"), "{reader}");
    assert!(reader.ends_with("the token may read, run code, but not write."), "{reader}");
    assert!(with(running(), true, true, false).ends_with("may read, write, but not run code."));
    let none = with(Origin::Given, false, false, false);
    assert!(none.starts_with("error") && none.ends_with("the token may do nothing."), "{none}");
    assert!(with(running(), false, false, false).starts_with("warning"));
}

#[test]
fn a_server_without_a_token_or_without_rights_says_so() {
    let open = Answer { has_credentials: false, ..answer(Some(ALL), None) };
    assert!(said(running(), Ok(open)).ends_with("everybody on this machine may read, write, run code."));
    let silent = said(running(), Ok(answer(None, None)));
    assert!(silent.starts_with("ok") && silent.ends_with("it does not report the rights of the token."));
}

#[test]
fn a_given_server_that_fails_is_an_error_and_a_found_one_a_warning() {
    for kind in [Kind::Unreachable, Kind::Timeout, Kind::Unauthorized, Kind::NotJupyter, Kind::Tls] {
        let failed = |origin| said(origin, Err(refused(kind).into()));
        assert_eq!(failed(Origin::Given), "error http://h:1/: It happened. Do this.");
        assert_eq!(failed(running()), "warning http://h:1/: It happened. Do this.");
    }
    let without_password = RestError::new(Kind::Unauthorized, "", NextStep::GivePassword);
    assert!(said(running(), Err(without_password.into())).contains("JUPYTER_PASSWORD"));
}

#[test]
fn a_stopped_server_of_a_hub_is_fine_if_the_token_starts_it() {
    let stopped = |may_start| said(Origin::Given, Err(Failure { error: refused(Kind::Stopped), may_start }));
    assert!(stopped(Some(true)).starts_with("ok") && stopped(Some(true)).contains("starts it"));
    let message = "Its Hub has stopped it, and the token cannot start it. Do this.";
    assert_eq!(stopped(Some(false)), format!("error http://h:1/: {message}"));
    assert_eq!(stopped(None), "warning http://h:1/: It happened. Do this.");
    let starting = refused(Kind::Starting).into();
    assert!(said(Origin::Given, Err(starting)).starts_with("warning"));
}

#[test]
fn files_of_servers_that_are_not_used_are_named() {
    let said = |reason| line(&unused_file(&UnusedFile { path: "/run/jp server.json".into(), reason }));
    assert_eq!(
        said(UnusedReason::Ended),
        "warning stale file: /run/jp server.json belongs to a Jupyter server whose process does not run on this machine; it is ignored. \
         [rm '/run/jp server.json']"
    );
    assert!(said(UnusedReason::OnSocket).contains("start it with a port"));
    assert!(said(UnusedReason::Unreadable).ends_with("[rm '/run/jp server.json']"));
}
