//! What is known about one kernel of a server.

use std::time::{Instant, SystemTime};

use ::kernel::{Client, Status};
use chrono::DateTime;
use notebook::one_line;
use place::{KernelDescription, KernelState};
use rest::{KernelModel, Kernelspec};

pub(super) struct State {
    pub(super) model: KernelModel,
    pub(super) kernelspec: Option<Kernelspec>,
    pub(super) client: Option<Client>,
    pub(super) last_used: Option<SystemTime>,
    /// When it was last known to exist.
    pub(super) verified_at: Option<Instant>,
    /// Whether our connection is one of those that the server counts.
    pub(super) is_counted: bool,
    /// Why it no longer exists.
    pub(super) gone: Option<String>,
    pub(super) owner: Owner,
    /// What the next run says.
    pub(super) notices: Vec<String>,
}

/// Who a kernel belongs to, which decides when it may end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    /// Others started it.
    Others,
    /// We started it for the session of a notebook, and it stays with that.
    Notebook,
    /// We started it for no notebook's session, and it ends with us.
    Unattached,
}

impl State {
    pub(super) fn new(model: KernelModel, kernelspec: Option<Kernelspec>) -> Self {
        Self {
            model,
            kernelspec,
            client: None,
            last_used: None,
            verified_at: None,
            is_counted: false,
            gone: None,
            owner: Owner::Others,
            notices: Vec::new(),
        }
    }

    /// `outage`: the reason why no socket to the kernel works.
    pub(super) fn description(&self, outage: Option<String>) -> KernelDescription {
        let state = match (&self.gone, self.status(), outage) {
            (Some(why), ..) => KernelState::Dead { how: why.clone().into() },
            // Only the server knows. A connection that was given up has ended its runs.
            (None, Some(Status::Dead { .. }), _) | (None, None, None) => state_on_server(&self.model),
            (None, _, Some(how)) => KernelState::Unreachable { how },
            (None, Some(Status::Busy), None) => KernelState::Busy,
            (None, Some(Status::Idle), None) => KernelState::Idle,
            (None, Some(Status::Starting), None) => KernelState::Starting,
        };
        let reported = self.model.last_activity.as_deref();
        let reported =
            reported.and_then(|time| DateTime::parse_from_rfc3339(time).ok()).map(SystemTime::from);
        let (display_name, language) = match &self.kernelspec {
            Some(spec) => (&spec.display_name, spec.language.clone()),
            None => (&self.model.name, String::new()),
        };
        KernelDescription {
            name: self.model.name.clone(),
            display_name: one_line(display_name).into_owned(),
            language,
            environment: String::new(),
            state,
            last_activity: reported.max(self.last_used),
            connections: self.model.connections,
            keeping: None,
            foreign: None,
        }
    }

    /// The status as our connection knows it.
    pub(super) fn status(&self) -> Option<Status> {
        self.client.as_ref().map(|client| client.status().borrow().clone())
    }

    /// How many of the connections that the server counts are ours.
    pub(super) fn our_connections(&self) -> u64 {
        u64::from(self.is_counted && self.client.as_ref().is_some_and(|client| !is_dead(client)))
    }
}

fn state_on_server(model: &KernelModel) -> KernelState {
    match model.execution_state.as_deref() {
        Some("busy") => KernelState::Busy,
        Some("starting" | "restarting" | "autorestarting") => KernelState::Starting,
        Some("dead") => {
            KernelState::Dead { how: "it ended unexpectedly, and its server gave up restarting it".into() }
        }
        _ => KernelState::Idle,
    }
}

pub(super) fn is_dead(client: &Client) -> bool {
    matches!(*client.status().borrow(), Status::Dead { .. })
}
