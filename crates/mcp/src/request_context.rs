//! What a request says about its agent, whichever era and transport it came by.

use axum::http::request::Parts;
use calls::permissions::Permissions;
use calls::replies::cell_text::shortened;
use notebook::one_line;
use rmcp::model::{Implementation, ProtocolVersion};
use rmcp::service::{RequestContext, RoleServer};

use crate::elicitation::shows_forms;

pub(crate) fn is_new_era(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

/// Whether the agent can ask its person.
pub(crate) fn can_ask(context: &RequestContext<RoleServer>) -> bool {
    context.client_capabilities().is_some_and(|capabilities| shows_forms(&capabilities))
}

/// Whether this request may be answered with a task, which there is in the 2026-07-28 era only.
pub(crate) fn declares_tasks(context: &RequestContext<RoleServer>) -> bool {
    is_new_era(context)
        && context.client_capabilities().is_some_and(|capabilities| capabilities.supports_tasks())
}

/// The name of the agent's client, as it says; empty if it says none.
pub(crate) fn client_name(context: &RequestContext<RoleServer>) -> String {
    context.client_info().map(|client| name_of(&client)).unwrap_or_default()
}

/// The name that a client gives itself, as one short line.
pub(crate) fn name_of(client: &Implementation) -> String {
    const MAX_NAME: usize = 60;
    shortened(&one_line(client.title.as_deref().unwrap_or(&client.name)), MAX_NAME)
}

/// What the user of a request may do.
pub(crate) fn permissions(context: &RequestContext<RoleServer>) -> Permissions {
    let parts = context.extensions.get::<Parts>();
    parts.and_then(|parts| parts.extensions.get()).copied().unwrap_or_default()
}
