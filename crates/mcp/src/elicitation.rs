//! Asks the person behind an agent for a line, where the agent can.

use futures_util::future::BoxFuture;
use rmcp::model::{ElicitRequestParams, ElicitationAction, ElicitationSchema};
use rmcp::service::{ElicitationMode, Peer, RoleServer};

use crate::tools::Person;

const LINE: &str = "value";

/// The person behind an agent that can show a form.
pub(crate) struct Form<'a>(&'a Peer<RoleServer>);

impl<'a> Form<'a> {
    /// `None` if the agent cannot show forms.
    pub(crate) fn of(peer: &'a Peer<RoleServer>) -> Option<Self> {
        peer.supported_elicitation_modes().contains(&ElicitationMode::Form).then_some(Self(peer))
    }
}

impl Person for Form<'_> {
    fn ask(&self, question: String) -> BoxFuture<'_, Option<String>> {
        Box::pin(async move {
            let requested_schema = ElicitationSchema::builder().required_string(LINE).build().ok()?;
            let request = ElicitRequestParams::FormElicitationParams {
                meta: None,
                message: question,
                requested_schema,
            };
            let result = self.0.create_elicitation(request).await.ok()?;
            let line = result.content?.get(LINE)?.as_str().map(str::to_owned);
            line.filter(|_| result.action == ElicitationAction::Accept)
        })
    }
}
