//! The executions that wait for a line of input.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use notebook::Json;

use crate::ExecutionId;

/// For each execution that waits for input the header of the kernel's request, shared by handle and connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Inputs(Arc<Mutex<HashMap<ExecutionId, Json>>>);

impl Inputs {
    /// `id` waits for input; `request` is the header of the kernel's request.
    pub(crate) fn put(&self, id: ExecutionId, request: Json) {
        self.lock().insert(id, request);
    }

    /// `id` waits no longer. Gives the header of the request, if it did wait.
    pub(crate) fn remove(&self, id: &ExecutionId) -> Option<Json> {
        self.lock().remove(id)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<ExecutionId, Json>> {
        // A map is whole between two calls, whoever panicked.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
