//! A notebook that some agent uses: its document, and the kernel that it runs on.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::mpsc;

use crate::place::{Document, Kernel, KernelRequest, Place};
use crate::{Error, Side};

/// An open notebook, shared by all sessions of the server.
pub struct Opened {
    document: Arc<dyn Document>,
    /// Held from a look at the cells to the change that relies on it, where an edit cannot say what it relies on.
    arranging: tokio::sync::Mutex<()>,
    bound: Mutex<Bound>,
    /// Held while a kernel is being chosen.
    choosing: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct Bound {
    kernel: Option<Arc<dyn Kernel>>,
    /// The session that brought the kernel; `None` for one that was there before.
    brought_by: Option<u64>,
    users: HashSet<u64>,
}

/// Which kernel an agent wants for a notebook.
#[derive(Debug, Clone, Default)]
pub struct KernelWish {
    /// A kernel that is there, by its id, or `NEW`.
    pub id: Option<String>,
    /// A kernelspec by its name.
    pub name: Option<String>,
}

impl Opened {
    pub(crate) fn new(document: Arc<dyn Document>) -> Self {
        Self {
            document,
            arranging: tokio::sync::Mutex::default(),
            bound: Mutex::default(),
            choosing: tokio::sync::Mutex::default(),
        }
    }

    /// The notebook's path, as agents name it.
    pub fn path(&self) -> &str {
        self.document.path()
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
        self.bound().kernel.clone()
    }

    /// Chooses the kernel for this notebook unless that has been done, or the wish asks for another. No process
    /// is started.
    pub(crate) async fn choose(
        &self,
        place: &dyn Place,
        wish: &KernelWish,
        session: u64,
        progress: Option<mpsc::Sender<String>>,
    ) -> Result<Arc<dyn Kernel>, Error> {
        let _one_at_a_time = self.choosing.lock().await;
        // One that was shut down under another notebook is no choice any more.
        let kernels = place.kernels();
        let present = self.kernel().filter(|kernel| kernels.iter().any(|known| known.id() == kernel.id()));
        let (kernel, is_new) = match (&wish.id, present) {
            (Some(id), _) if id != "NEW" => (known(place, id)?, false),
            (None, Some(kernel)) if fits(&*kernel, wish.name.as_deref()) => return Ok(kernel),
            _ => {
                let preferred = self.document.snapshot().await?.kernelspec();
                let notebook = Some(self.path().to_owned());
                let request = KernelRequest { notebook, name: wish.name.clone(), preferred, progress };
                (place.kernel(request).await?, true)
            }
        };
        let mut bound = self.bound();
        if bound.kernel.as_ref().is_some_and(|bound| bound.id() == kernel.id()) {
            return Ok(kernel);
        }
        bound.brought_by = is_new.then_some(session);
        bound.kernel = Some(kernel.clone());
        Ok(kernel)
    }

    pub(crate) fn enter(&self, session: u64) {
        self.bound().users.insert(session);
    }

    /// Lets a session go that has ended. Its kernel stays.
    pub(crate) fn forget(&self, session: u64) {
        self.bound().users.remove(&session);
    }

    /// Lets a session go. Gives the kernel if no other uses the notebook and that session brought it, or, with
    /// `takes_orphans`, any session did.
    pub(crate) fn leave(&self, session: u64, takes_orphans: bool) -> Option<Arc<dyn Kernel>> {
        let mut bound = self.bound();
        bound.users.remove(&session);
        let is_ours = bound.brought_by.is_some_and(|by| takes_orphans || by == session);
        if bound.users.is_empty() && is_ours { bound.kernel.take() } else { None }
    }

    fn bound(&self) -> MutexGuard<'_, Bound> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn fits(kernel: &dyn Kernel, name: Option<&str>) -> bool {
    name.is_none_or(|name| kernel.description().name == name)
}

/// The kernel of the place with this id.
pub(crate) fn known(place: &dyn Place, id: &str) -> Result<Arc<dyn Kernel>, Error> {
    let kernels = place.kernels();
    let mut found = kernels.iter().filter(|kernel| kernel.id().starts_with(id));
    match (found.next(), found.next()) {
        (Some(kernel), None) => Ok(kernel.clone()),
        (Some(_), Some(_)) => Err(Error::new(
            Side::Agent,
            format!("More than one kernel has an id that begins with {id:?}."),
            "Give more of the id; list_kernels shows it.",
        )),
        (None, _) => Err(Error::new(
            Side::Agent,
            format!("There is no kernel with the id {id:?}."),
            "list_kernels shows those that there are; leave kernel_id out to use the notebook's own, or say NEW.",
        )),
    }
}
