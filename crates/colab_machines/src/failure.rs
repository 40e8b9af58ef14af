//! Failed requests to the API, as agents and people read them: each documented answer with its cause, whose fault it is and the next
//! step, then Google's own words.

use place::{Error, ErrorKind, Fault, MachineKind, NextStep};
use rest::{Kind, RestError};

use crate::api::{MachineId, Runtime};
use crate::refusal::{Code, Refusal};

/// Where people see the rules and the balance.
const RULES: &str = "https://research.google.com/colaboratory/faq.html#limitations-and-restrictions";
pub(crate) const SIGN_UP: &str = "https://colab.research.google.com/signup";
/// Next steps if Google does not let a project use the API.
const ENABLE: &str = "The person has to run `gcloud services enable colaboratory.googleapis.com` for the project of the OAuth \
    client, and to wait some minutes. If that does not help, Google has to open the API for the project: see \
    https://developers.google.com/colab/api";

/// Why a request has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Failure {
    /// There is no access token, or Google did not answer.
    Login(Error),
    Refused(Refusal),
    /// The response is not one of the API.
    Malformed,
    /// An operation has not ended in time.
    Unfinished,
}

/// What a request was about.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Subject<'a> {
    Account,
    Machine(&'a MachineId),
    /// The start of a machine, beside those that run, if they are known.
    Start(&'a MachineKind, &'a [Runtime]),
}

impl Failure {
    /// Whether the same request may succeed a little later.
    pub(crate) fn is_transient(&self) -> bool {
        match self {
            Self::Login(error) => matches!(error.kind, ErrorKind::Timeout | ErrorKind::Disconnected),
            Self::Refused(refusal) => refusal.code == Code::Unavailable,
            Self::Malformed | Self::Unfinished => false,
        }
    }

    /// Whether Google may have done what was requested.
    pub(crate) fn is_ambiguous(&self) -> bool {
        match self {
            Self::Refused(refusal) => refusal.code == Code::Unavailable,
            Self::Malformed | Self::Unfinished => true,
            Self::Login(_) => self.is_transient(),
        }
    }

    pub(crate) fn is(&self, code: Code) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.code == code)
    }

    pub(crate) fn has_reason(&self, reason: &str) -> bool {
        matches!(self, Self::Refused(refusal) if refusal.has_reason(reason))
    }

    /// The error of a request about `subject`.
    pub(crate) fn explain(&self, subject: Subject<'_>) -> Error {
        match self {
            Self::Login(error) => error.clone(),
            Self::Refused(refusal) => {
                let error = of_refusal(refusal, subject);
                Error { cause: format!("{} Google's words: {}.", error.cause, refusal.words), ..error }
            }
            Self::Malformed => Error::new(
                ErrorKind::RemoteFailure,
                "The response of Google's Colab API is not one that is documented.",
                NextStep::TryAgain,
            ),
            Self::Unfinished => Error::new(
                ErrorKind::Timeout,
                "Google has not prepared the machine in time.",
                "Try again in some minutes, or ask for another type of machine.",
            ),
        }
    }

    /// The error of a request that only shows whether the person can use the API, with the step for that person.
    pub(crate) fn of_check(&self) -> Error {
        let error = self.explain(Subject::Account);
        let Self::Refused(refusal) = self else { return error };
        let next = match refusal.code {
            _ if refusal.has_reason("ACCESS_TOKEN_SCOPE_INSUFFICIENT") => NextStep::GrantAccess,
            Code::PermissionDenied | Code::NotFound | Code::NotOffered => NextStep::EnableApi,
            Code::Unauthenticated => NextStep::SignIn,
            _ => NextStep::TryAgain,
        };
        Error { next, ..error }
    }

    /// The error of a request for the token of a machine.
    pub(crate) fn of_token(&self, id: &MachineId) -> RestError {
        let error = self.explain(Subject::Machine(id));
        let kind = match error.kind {
            ErrorKind::NotFound => Kind::Gone,
            ErrorKind::Timeout => Kind::Timeout,
            ErrorKind::Unauthorized => Kind::Unauthorized,
            ErrorKind::Forbidden => Kind::Forbidden,
            _ => Kind::Unreachable,
        };
        let next = match &error.next {
            NextStep::SignIn => "The person has to sign in again with `cellbridge colab login`.".into(),
            next => next.clone(),
        };
        RestError::new(kind, error.cause, next)
    }
}

fn of_refusal(refusal: &Refusal, subject: Subject<'_>) -> Error {
    let person = |kind, cause: &str, next: NextStep| Error::new(kind, cause, next).with_fault(Fault::Person);
    let remote =
        |kind, cause: &str, next: &'static str| Error::new(kind, cause, next).with_fault(Fault::Remote);
    match (refusal.code, refusal.reason.as_deref(), subject) {
        (_, Some("TOO_MANY_ACTIVE_RUNTIMES"), Subject::Start(_, running)) => too_many(running),
        (_, Some("DENYLISTED"), _) => person(
            ErrorKind::Forbidden,
            "Google has blocked this account from Colab machines because of suspected abuse.",
            format!("Do not try again. The person can read Google's rules at {RULES}").into(),
        ),
        (_, Some("QUOTA_EXCEEDED_USAGE_TIME"), _) => {
            let (kind, advice) = match subject {
                Subject::Start(kind, _) if kind.accelerator.is_none() => (format!(" ({kind})"), "Try"),
                Subject::Start(kind, _) => (format!(" ({kind})"), "Use a CPU machine, or try"),
                _ => (String::new(), "Use a CPU machine, or try"),
            };
            person(
                ErrorKind::LimitReached,
                &format!("The account has used the time that Google grants on such machines{kind}."),
                format!("{advice} again after some hours. The person can buy compute units at {SIGN_UP}")
                    .into(),
            )
        }
        (_, Some("SERVICE_DISABLED"), _) => person(
            ErrorKind::Unavailable,
            "The Colab API is not enabled in the project of the OAuth client.",
            ENABLE.into(),
        ),
        (_, Some("ACCESS_TOKEN_SCOPE_INSUFFICIENT"), _) => person(
            ErrorKind::Forbidden,
            "The login does not allow Colab machines: its checkbox on Google's page was not selected.",
            NextStep::SignIn,
        ),
        (Code::Unauthenticated, ..) => Error::new(
            ErrorKind::Unauthorized,
            "Google's Colab API does not accept the login: it has ended, or access was revoked.",
            NextStep::SignIn,
        ),
        (Code::PermissionDenied, ..) => person(
            ErrorKind::Forbidden,
            "Google does not allow this account to use the Colab API with this OAuth client.",
            ENABLE.into(),
        ),
        (Code::NotOffered, ..) | (Code::NotFound, _, Subject::Account) => person(
            ErrorKind::Unavailable,
            "Google does not offer the Colab API to the project of the OAuth client.",
            ENABLE.into(),
        ),
        // Google gives several reasons, and names none of them in its documents.
        (Code::FailedPrecondition, reason, Subject::Start(kind, _))
            if reason.is_none() || kind.accelerator.is_some() =>
        {
            let cause = format!(
                "No {kind} machine is available at Google now. No other machine was started in its place."
            );
            remote(
                ErrorKind::Unavailable,
                &cause,
                "Try again in some minutes, or ask for another type of machine.",
            )
        }
        (Code::InvalidArgument, _, Subject::Start(kind, _)) => Error::new(
            ErrorKind::InvalidArgument,
            format!("Google does not start machines of the type {kind} for this account."),
            NextStep::ListMachines,
        ),
        (Code::AlreadyExists, ..) => Error::new(
            ErrorKind::Conflict,
            "The account already has a machine with the id that was chosen.",
            NextStep::TryAgain,
        ),
        (Code::NotFound, _, Subject::Machine(id)) => no_machine(id.as_str()),
        (Code::Exhausted, ..) => remote(
            ErrorKind::LimitReached,
            "The account's quota for such machines is used up, or Google has none at the moment.",
            "Ask for another type of machine, or try again after some hours.",
        ),
        (Code::RateLimited, ..) => remote(
            ErrorKind::LimitReached,
            "The Colab API has reached its limit of requests per minute.",
            "Try again after a minute.",
        ),
        (Code::Unavailable, ..) => Error::new(
            ErrorKind::RemoteFailure,
            "Google's Colab API cannot answer at the moment.",
            NextStep::TryAgain,
        ),
        _ => Error::new(
            ErrorKind::RemoteFailure,
            "Google's Colab API refused the request.",
            NextStep::ListMachines,
        ),
    }
}

pub(crate) fn no_machine(id: &str) -> Error {
    Error::new(ErrorKind::NotFound, format!("There is no machine {id:?}."), NextStep::ListMachines)
}

fn too_many(running: &[Runtime]) -> Error {
    let ids: Vec<_> = running.iter().map(|it| format!("{} ({})", it.id, it.kind)).collect();
    let names =
        if ids.is_empty() { String::new() } else { format!(" Running machines: {}.", ids.join(", ")) };
    Error::new(
        ErrorKind::LimitReached,
        format!("Google allows this account no further machine now.{names}"),
        "Use one of the running machines, or stop one first.",
    )
}

#[cfg(test)]
mod tests;
