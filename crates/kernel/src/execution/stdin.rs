use std::collections::HashMap;
use std::sync::Arc;

use notebook::Json;
use parking_lot::Mutex;

use crate::ExecutionId;

/// For each execution that waits for input, the header of the kernel's `input_request`. Shared by client and driver.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputRequests(Arc<Mutex<HashMap<ExecutionId, Json>>>);

impl InputRequests {
    pub(crate) fn insert(&self, id: ExecutionId, request: Json) {
        self.0.lock().insert(id, request);
    }

    pub(crate) fn remove(&self, id: &ExecutionId) -> Option<Json> {
        self.0.lock().remove(id)
    }
}
