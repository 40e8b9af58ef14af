use std::collections::HashMap;
use std::sync::Arc;

use notebook::Json;
use parking_lot::Mutex;

use crate::MessageId;

/// For each execution that waits for input, the header of the kernel's `input_request`. Shared by client and driver.
#[derive(Debug, Clone, Default)]
pub(crate) struct InputRequests(Arc<Mutex<HashMap<MessageId, Json>>>);

impl InputRequests {
    pub(crate) fn insert(&self, id: MessageId, request: Json) {
        self.0.lock().insert(id, request);
    }

    /// Removes the request with this `msg_id`, and returns the execution that made it.
    pub(crate) fn answered(&self, request: &str) -> Option<MessageId> {
        let mut waiting = self.0.lock();
        let is_it = |header: &Json| {
            header.member("msg_id").is_some_and(|id| id.as_str().trim_matches('"') == request)
        };
        let id = waiting.iter().find(|(_, header)| is_it(header)).map(|(id, _)| id.clone())?;
        waiting.remove(&id);
        Some(id)
    }

    pub(crate) fn remove(&self, id: &MessageId) -> Option<Json> {
        self.0.lock().remove(id)
    }
}
