//! A notebook that some agent uses: its document, and the kernel that it runs on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::changes::{ByAgents, Changes};
use crate::place::{Document, Kernel, KernelChoice, KernelRequest, Place, Presence};
use crate::{Error, ErrorKind, NextStep, SessionId, telemetry};

/// An open notebook, shared by all sessions of the server.
pub struct OpenNotebook {
    place: Arc<dyn Place>,
    document: Arc<dyn Document>,
    /// Held from a look at the cells to the change that relies on it, where an edit cannot say what it relies on.
    arranging: tokio::sync::Mutex<()>,
    binding: Mutex<KernelBinding>,
    /// Held while a kernel is being chosen.
    choosing: tokio::sync::Mutex<()>,
    /// Moves when an agent has changed the notebook.
    changed: watch::Sender<ByAgents>,
}

#[derive(Default)]
struct KernelBinding {
    kernel: Option<Arc<dyn Kernel>>,
    /// The session that brought the kernel; `None` for one that was there before.
    brought_by: Option<SessionId>,
    users: HashSet<SessionId>,
    /// When the last of them left, if nobody has come since and it is not at rest.
    left: Option<Instant>,
}

/// Which kernel an agent wants for a notebook.
#[derive(Debug, Clone, Default)]
pub struct KernelSelector {
    /// A kernel that is there, by its id, or `NEW`.
    pub id: Option<String>,
    /// A kernelspec by its name.
    pub name: Option<String>,
}

impl OpenNotebook {
    pub(crate) fn new(place: Arc<dyn Place>, document: Arc<dyn Document>) -> Self {
        Self {
            place,
            document,
            arranging: tokio::sync::Mutex::default(),
            binding: Mutex::default(),
            choosing: tokio::sync::Mutex::default(),
            changed: watch::Sender::new((0, SessionId::new(0))),
        }
    }

    /// The notebook's path, as agents name it.
    pub fn path(&self) -> &str {
        self.document.path()
    }

    /// The place where it lives.
    pub fn place(&self) -> &Arc<dyn Place> {
        &self.place
    }

    /// The document.
    pub fn document(&self) -> &Arc<dyn Document> {
        &self.document
    }

    /// Waits for the turn to insert cells; first come, first served.
    pub async fn arrange(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.arranging.lock().await
    }

    /// The kernel, if one has been chosen.
    pub fn kernel(&self) -> Option<Arc<dyn Kernel>> {
        self.binding().kernel.clone()
    }

    /// Chooses the kernel for this notebook unless that has been done, or the wish asks for another.
    pub(crate) async fn choose(
        &self,
        wish: &KernelSelector,
        session: SessionId,
        is_for_run: bool,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<KernelChoice, Error> {
        let _one_at_a_time = self.choosing.lock().await;
        // One that was shut down under another notebook is no choice any more.
        let present = self.kernel().filter(|kernel| !kernel.is_gone());
        if let (None, Some(kernel)) = (&wish.id, present)
            && fits(&*kernel, wish.name.as_deref())
        {
            return Ok(KernelChoice::Kernel { kernel, is_new: false });
        }
        let is_new = wish.id.as_deref() == Some("NEW");
        let id = match &wish.id {
            Some(id) if !is_new => Some(find_kernel(&*self.place, id).await?.id().clone()),
            _ => None,
        };
        let request = KernelRequest {
            notebook: Some(self.path().to_owned()),
            id,
            is_new,
            is_needed: is_for_run || wish.id.is_some() || wish.name.is_some(),
            name: wish.name.clone(),
            preferred: self.document.snapshot().await?.kernelspec(),
            progress,
        };
        let choice = self.place.kernel(request).await?;
        if let KernelChoice::Kernel { kernel, is_new } = &choice {
            telemetry::kernel_chosen(&**kernel, *is_new);
            let mut binding = self.binding();
            if binding.kernel.as_ref().is_none_or(|bound| bound.id() != kernel.id()) {
                binding.brought_by = is_new.then_some(session);
                binding.kernel = Some(kernel.clone());
            }
        }
        Ok(choice)
    }

    /// What is heard of changes by others than this session.
    pub(crate) fn changes(&self, session: SessionId) -> Changes {
        Changes::new(self.document.changes(), self.changed.subscribe(), session)
    }

    /// An agent has changed the notebook.
    pub(crate) fn changed_by(&self, session: SessionId) {
        self.changed.send_modify(|(count, by)| (*count, *by) = (*count + 1, session));
    }

    /// Shows others that an agent works here.
    pub(crate) fn show_presence(&self, session: SessionId, name: String, cell: Option<String>) {
        self.document.set_presence(session, Some(Presence { name, cell }));
    }

    pub(crate) fn enter(&self, session: SessionId) {
        let mut binding = self.binding();
        binding.users.insert(session);
        binding.left = None;
    }

    /// Lets a session go that has ended. Its kernel stays.
    pub(crate) fn forget(&self, session: SessionId) {
        {
            let mut binding = self.binding();
            if binding.users.remove(&session) && binding.users.is_empty() {
                binding.left = Some(Instant::now());
            }
        }
        self.document.set_presence(session, None);
    }

    /// How long nobody has used it; `None` if somebody does, or it is at rest.
    pub(crate) fn unused_for(&self) -> Option<Duration> {
        self.binding().left.map(|left| left.elapsed())
    }

    /// Lets go of what only serves those who use it. Its kernel stays.
    pub(crate) async fn suspend(&self) {
        self.binding().left = None;
        self.document.suspend().await;
    }

    /// Lets a session go. Gives the kernel if no other uses the notebook and that session brought it, or, with
    /// `takes_orphans`, any session did.
    pub(crate) fn leave(&self, session: SessionId, takes_orphans: bool) -> Option<Arc<dyn Kernel>> {
        self.forget(session);
        let mut binding = self.binding();
        let is_ours = binding.brought_by.is_some_and(|by| takes_orphans || by == session);
        if binding.users.is_empty() && is_ours { binding.kernel.take() } else { None }
    }

    /// Gives the kernel if a session brought it, whoever uses the notebook.
    pub(crate) fn give_up(&self) -> Option<Arc<dyn Kernel>> {
        let mut binding = self.binding();
        if binding.brought_by.is_some() { binding.kernel.take() } else { None }
    }

    fn binding(&self) -> MutexGuard<'_, KernelBinding> {
        self.binding.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fits(kernel: &dyn Kernel, name: Option<&str>) -> bool {
    name.is_none_or(|name| kernel.description().name == name)
}

/// The kernel of the place with this id, or the only one whose id begins so.
pub(crate) async fn find_kernel(place: &dyn Place, id: &str) -> Result<Arc<dyn Kernel>, Error> {
    let kernels = place.kernels().await?;
    let mut found = kernels.iter().filter(|kernel| kernel.id().starts_with(id));
    match (found.next(), found.next()) {
        (Some(kernel), None) => Ok(kernel.clone()),
        (Some(_), Some(_)) => Err(Error::new(
            ErrorKind::InvalidArgument,
            format!("More than one kernel has an id that begins with {id:?}."),
            NextStep::ListKernels,
        )),
        (None, _) => Err(Error::no_kernel(id)),
    }
}
