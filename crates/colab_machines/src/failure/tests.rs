//! Each documented answer of the API, from its JSON text to the words for agents.

use super::*;
use crate::api::{Operation, read_operation};

fn t4() -> MachineKind {
    MachineKind { variant: "GPU".into(), accelerator: Some("T4".into()), has_high_memory: false }
}

/// The error for an operation that ended so.
fn of_operation(code: u32, reason: Option<&str>) -> Failure {
    let details = reason.map(|reason| {
        format!(
            r#", "details": [{{"@type": "type.googleapis.com/google.rpc.Help", "links": []}},
            {{"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "{reason}", "domain": "googleapis.com",
              "metadata": {{"x": "hush"}}}}]"#
        )
    });
    let body = format!(
        r#"{{"name": "operations/x", "done": true, "error": {{"code": {code}, "message": "Google says no."{}}}}}"#,
        details.unwrap_or_default()
    );
    match read_operation(body.as_bytes()) {
        Some(Operation::Refused(refusal)) => Failure::Refused(refusal),
        other => panic!("{other:?}"),
    }
}

fn of_response(status: u16, name: &str, reason: Option<&str>) -> Failure {
    let details =
        reason.map(|reason| format!(r#", "details": [{{"reason": "{reason}"}}]"#)).unwrap_or_default();
    let body = format!(
        r#"{{"error": {{"code": {status}, "message": "Google says no.", "status": "{name}"{details}}}}}"#
    );
    Failure::Refused(Refusal::of_response(status, body.as_bytes()))
}

fn machine(id: &str, kind: MachineKind) -> Runtime {
    Runtime { id: MachineId::parse(id).unwrap(), kind, connection: None }
}

#[test]
fn every_end_of_a_creation_is_explained() {
    use ErrorKind::{Conflict, Forbidden, InvalidArgument, LimitReached, RemoteFailure, Unavailable};
    let (kind, running) = (t4(), [machine("r-1", t4())]);
    for (code, reason, error_kind, fault, said, next) in [
        (9, Some("TOO_MANY_ACTIVE_RUNTIMES"), LimitReached, Fault::Agent, "r-1 (T4 GPU)", "stop one"),
        (8, Some("TOO_MANY_ACTIVE_RUNTIMES"), LimitReached, Fault::Agent, "r-1 (T4 GPU)", "stop one"),
        (9, Some("DENYLISTED"), Forbidden, Fault::Person, "blocked", "Do not try again"),
        (9, Some("QUOTA_EXCEEDED_USAGE_TIME"), LimitReached, Fault::Person, "time", "CPU"),
        (9, None, Unavailable, Fault::Remote, "No T4 GPU machine is available", "another type"),
        (
            9,
            Some("NO_RUNTIMES"),
            Unavailable,
            Fault::Remote,
            "No T4 GPU machine is available",
            "another type",
        ),
        (9, Some("hush-hush"), Unavailable, Fault::Remote, "No T4 GPU machine is available", "another type"),
        (6, None, Conflict, Fault::Agent, "already has", "Try again"),
        (8, None, LimitReached, Fault::Remote, "quota for such machines", "another type"),
        (8, Some("RATE_LIMIT_EXCEEDED"), LimitReached, Fault::Remote, "per minute", "after a minute"),
        (3, None, InvalidArgument, Fault::Agent, "T4 GPU", "List"),
        (14, None, RemoteFailure, Fault::Remote, "cannot answer", "Try again"),
        (13, None, RemoteFailure, Fault::Remote, "cannot answer", "Try again"),
        (2, None, RemoteFailure, Fault::Remote, "refused", "List"),
    ] {
        let error = of_operation(code, reason).explain(Subject::Start(&kind, &running));
        let place = format!("{code} {reason:?}: {error}");
        assert_eq!((error.kind, error.fault), (error_kind, fault), "{place}");
        assert!(error.cause.contains(said) && error.next.to_string().contains(next), "{place}");
        assert!(error.cause.contains("Google says no."), "{place}");
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }
    let cpu = MachineKind { variant: "CPU".into(), accelerator: None, has_high_memory: false };
    let error = of_operation(9, Some("NO_RUNTIMES")).explain(Subject::Start(&cpu, &[]));
    assert!(error.cause.contains("refused the request") && error.cause.contains("NO_RUNTIMES"), "{error}");
    let error = of_response(400, "INVALID_ARGUMENT", None).explain(Subject::Start(&kind, &[]));
    let said = "Google does not start machines of the type T4 GPU for this account. \
                Google's words: \"Google says no.\" (400 INVALID_ARGUMENT).";
    assert_eq!(error.cause, said);
}

#[test]
fn a_project_without_the_api_is_no_missing_machine() {
    let body = br#"{"error": {"code": 404, "message": "Method not found.", "status": "NOT_FOUND"}}"#;
    let failure = Failure::Refused(Refusal::of_response(404, body));
    assert!(!failure.is(Code::NotFound), "{failure:?}");
    let id = MachineId::parse("r-1").unwrap();
    for subject in [Subject::Account, Subject::Machine(&id), Subject::Start(&t4(), &[])] {
        let error = failure.explain(subject);
        assert!(error.cause.contains("does not offer the Colab API"), "{error}");
        assert!(
            error.cause.contains("Method not found.") && error.next.to_string().contains("gcloud"),
            "{error}"
        );
    }
    assert_ne!(failure.of_token(&id).kind, Kind::Gone);
}

#[test]
fn a_check_of_the_api_names_the_next_step() {
    for (status, reason, next) in [
        (404, None, NextStep::EnableApi),
        (403, None, NextStep::EnableApi),
        (403, Some("SERVICE_DISABLED"), NextStep::EnableApi),
        (403, Some("ACCESS_TOKEN_SCOPE_INSUFFICIENT"), NextStep::GrantAccess),
        (401, None, NextStep::SignIn),
        (503, None, NextStep::TryAgain),
    ] {
        assert_eq!(of_response(status, "", reason).of_check().next, next, "{status} {reason:?}");
    }
}

#[test]
fn google_s_words_are_one_line_without_secrets() {
    let body = br#"{"error": {"code": 400, "message": "a\u001b[2J\nb token=hush", "status": "x\u001b"}}"#;
    let refusal = Refusal::of_response(400, body);
    assert_eq!(refusal.words, "\"a\\u{1b}[2J b token=…\" (400)");
}

#[test]
fn every_refused_request_is_explained() {
    use ErrorKind::{Forbidden, LimitReached, NotFound, RemoteFailure, Unauthorized, Unavailable};
    let id = MachineId::parse("r-1").unwrap();
    for (status, name, reason, kind, fault, said, next) in [
        (401, "UNAUTHENTICATED", None, Unauthorized, Fault::Person, "does not accept the login", "sign in"),
        (
            403,
            "PERMISSION_DENIED",
            Some("SERVICE_DISABLED"),
            Unavailable,
            Fault::Person,
            "not enabled",
            "gcloud services enable colaboratory.googleapis.com",
        ),
        (
            403,
            "PERMISSION_DENIED",
            Some("ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
            Forbidden,
            Fault::Person,
            "checkbox",
            "sign in",
        ),
        (403, "PERMISSION_DENIED", None, Forbidden, Fault::Person, "does not allow", "gcloud"),
        (404, "NOT_FOUND", None, NotFound, Fault::Agent, "no machine \"r-1\"", "List"),
        (
            429,
            "RESOURCE_EXHAUSTED",
            Some("RATE_LIMIT_EXCEEDED"),
            LimitReached,
            Fault::Remote,
            "per minute",
            "minute",
        ),
        (500, "INTERNAL", None, RemoteFailure, Fault::Remote, "cannot answer", "Try again"),
        (503, "UNAVAILABLE", None, RemoteFailure, Fault::Remote, "cannot answer", "Try again"),
        (504, "DEADLINE_EXCEEDED", None, RemoteFailure, Fault::Remote, "cannot answer", "Try again"),
        (302, "", None, RemoteFailure, Fault::Remote, "refused", "List"),
        (400, "INVALID_ARGUMENT", Some("BAD"), RemoteFailure, Fault::Remote, "BAD)", "List"),
    ] {
        let error = of_response(status, name, reason).explain(Subject::Machine(&id));
        let place = format!("{status} {reason:?}: {error}");
        assert_eq!((error.kind, error.fault), (kind, fault), "{place}");
        assert!(error.cause.contains(said) && error.next.to_string().contains(next), "{place}");
        assert!(error.cause.contains("Google says no."), "{place}");
        assert!(!format!("{error:?}").contains("hush"), "{error:?}");
    }
}

#[test]
fn a_refusal_that_is_no_json_counts_by_its_status() {
    for (status, code) in [(404, Code::NotFound), (401, Code::Unauthenticated), (502, Code::Unavailable)] {
        let failure = Failure::Refused(Refusal::of_response(status, b"<html>hush</html>"));
        assert!(failure.is(code), "{failure:?}");
    }
    let full = of_response(400, "FAILED_PRECONDITION", Some("TOO_MANY_ACTIVE_RUNTIMES"));
    assert!(full.is(Code::FailedPrecondition) && full.has_reason("TOO_MANY_ACTIVE_RUNTIMES"));
    assert!(of_response(409, "ALREADY_EXISTS", None).is(Code::AlreadyExists));
}

#[test]
fn only_what_may_change_soon_is_tried_again_and_only_what_may_have_worked_is_ambiguous() {
    let timeout = Failure::Login(Error::new(ErrorKind::Timeout, "", NextStep::TryAgain));
    let dead = Failure::Login(Error::new(ErrorKind::Unauthorized, "", NextStep::SignIn));
    for (failure, is_transient, is_ambiguous) in [
        (timeout, true, true),
        (dead, false, false),
        (of_response(429, "RESOURCE_EXHAUSTED", Some("RATE_LIMIT_EXCEEDED")), false, false),
        (of_response(429, "RESOURCE_EXHAUSTED", Some("TOO_MANY_ACTIVE_RUNTIMES")), false, false),
        (of_response(503, "", None), true, true),
        (of_response(403, "", None), false, false),
        (of_response(400, "", None), false, false),
        (Failure::Malformed, false, true),
        (Failure::Unfinished, false, true),
    ] {
        assert_eq!(
            (failure.is_transient(), failure.is_ambiguous()),
            (is_transient, is_ambiguous),
            "{failure:?}"
        );
    }
}

#[test]
fn a_dead_login_is_said_as_such() {
    let dead = Error::new(ErrorKind::Unauthorized, "It has expired.", NextStep::SignIn);
    let error = Failure::Login(dead.clone()).explain(Subject::Account);
    assert_eq!(
        (error.kind, error.fault, &error.next),
        (ErrorKind::Unauthorized, Fault::Person, &NextStep::SignIn)
    );
    let id = MachineId::parse("r-1").unwrap();
    let error = Failure::Login(dead).of_token(&id);
    assert_eq!(error.kind, Kind::Unauthorized);
    assert!(error.next.to_string().contains("cellbridge colab login"), "{error}");
}

#[test]
fn too_many_machines_are_named_if_they_are_known() {
    let failure = of_operation(9, Some("TOO_MANY_ACTIVE_RUNTIMES"));
    let error = failure.explain(Subject::Start(&t4(), &[]));
    assert!(
        error.cause.starts_with("Google allows this account no further machine now. Google's"),
        "{error}"
    );
}
