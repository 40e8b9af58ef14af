//! A folder of this machine as a place.

use std::future::ready;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::FutureExt as _;
use futures_util::future::{BoxFuture, join_all};
use workspace::{
    Choice, Document, Error, FileEntry, Future, Kernel, KernelRequest, KernelspecInfo, Mode, Place, Side,
};

use crate::Surroundings;
use crate::environment::{Chooser, Wish};
use crate::launch::{LocalKernel, Recipe};
use crate::listing;
use crate::path::Root;
use crate::store::Store;

/// How long a kernel has until it answers. A first import from a cold disk takes long.
const START: Duration = Duration::from_secs(60);

/// How long all kernels together have to end.
const END: Duration = Duration::from_secs(4);

/// A folder whose notebooks are served with kernels of this machine. Nothing outside of it can be named.
pub struct Folder {
    root: Root,
    surroundings: Arc<Surroundings>,
    store: Store,
    chooser: Chooser,
    kernels: Kernels,
}

/// The kernels that there are; `None` once there are to be no more.
type Kernels = Mutex<Option<Vec<Arc<LocalKernel>>>>;

impl Folder {
    /// The folder `root`, which should exist. Looks at nothing else and starts nothing.
    pub fn new(root: PathBuf, surroundings: Surroundings) -> Arc<Self> {
        let (root, surroundings) = (Root::new(root), Arc::new(surroundings));
        let chooser = Chooser::new(root.real().to_path_buf(), surroundings.clone());
        let kernels = Mutex::new(Some(Vec::new()));
        Arc::new(Self { store: Store::new(root.clone()), root, surroundings, chooser, kernels })
    }

    fn live_kernels(&self) -> Vec<Arc<LocalKernel>> {
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kernels) = &mut *kernels else { return Vec::new() };
        kernels.retain(|kernel| !kernel.is_closed());
        kernels.clone()
    }

    async fn choose(&self, request: KernelRequest) -> Result<Choice, Error> {
        if let Some(id) = &request.id {
            let known = self.live_kernels().into_iter().find(|kernel| kernel.id() == id);
            let kernel = known.ok_or_else(|| Error::no_kernel(id))?;
            return Ok(Choice::Kernel { kernel, is_new: false });
        }
        let notebook = request.notebook.as_deref().map(|path| self.root.resolve(path)).transpose()?;
        let folder = notebook.as_deref().and_then(std::path::Path::parent).unwrap_or(self.root.real());
        let wish = Wish {
            folder,
            name: request.name.as_deref(),
            preferred: request.preferred.as_ref(),
            progress: request.progress.as_ref(),
        };
        let choice = self.chooser.choose(&wish).await?;
        let kernel = LocalKernel::new(Recipe {
            id: uuid::Uuid::new_v4().to_string(),
            choice,
            folder: folder.to_path_buf(),
            notebook: notebook.clone(),
            surroundings: self.surroundings.clone(),
            patience: START,
        });
        let mut kernels = self.kernels.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(kernels) = &mut *kernels else {
            return Err(Error::new(
                Side::Us,
                "the server is ending and starts no more kernels.",
                "Start it again.",
            ));
        };
        kernels.push(kernel.clone());
        Ok(Choice::Kernel { kernel, is_new: true })
    }
}

impl Place for Folder {
    fn description(&self) -> String {
        format!("the folder {}", self.root.real().display())
    }

    fn list_files(&self, path: &str, max_depth: usize) -> Future<'_, Vec<FileEntry>> {
        let (root, path) = (self.root.clone(), path.to_owned());
        on_disk(move || listing::list(&root, &path, max_depth)).boxed()
    }

    fn notebooks(&self, limit: usize) -> Future<'_, Vec<String>> {
        let root = self.root.clone();
        on_disk(move || Ok(listing::notebooks(&root, limit))).boxed()
    }

    fn open(&self, path: &str, mode: Mode) -> Future<'_, Arc<dyn Document>> {
        let path = path.to_owned();
        async move { Ok(self.store.open(&path, mode).await? as Arc<dyn Document>) }.boxed()
    }

    fn kernelspecs(&self) -> Future<'_, Vec<KernelspecInfo>> {
        async { Ok(self.chooser.list(self.root.real()).await) }.boxed()
    }

    fn kernels(&self) -> Future<'_, Vec<Arc<dyn Kernel>>> {
        let kernels = self.live_kernels().into_iter().map(|kernel| kernel as Arc<dyn Kernel>);
        ready(Ok(kernels.collect())).boxed()
    }

    fn kernel(&self, request: KernelRequest) -> Future<'_, Choice> {
        self.choose(request).boxed()
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        async {
            self.chooser.stop();
            let kernels =
                self.kernels.lock().unwrap_or_else(PoisonError::into_inner).take().unwrap_or_default();
            // What is not done by then, the guards do when we are gone.
            let _ = tokio::time::timeout(END, join_all(kernels.iter().map(|kernel| kernel.shutdown()))).await;
        }
        .boxed()
    }
}

async fn on_disk<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(Error::new(Side::Us, format!("the folder could not be looked at: {error}."), "Try again."))
    })
}
