//! `connect_to_jupyter`: another server to work on.

use workspace::{Secret, ServerSpec};

use super::shared::answer::Outcome;
use super::shared::arguments::{Schema, arguments};
use super::shared::context::Context;
use super::{Availability, Discovery, Effect, Tool};
use crate::permissions::{Group, Permission};

pub(super) const TOOL: Tool = Tool {
    name: "connect_to_jupyter",
    title: "Connect to a Jupyter server",
    description: "Connect to a Jupyter server, JupyterHub or remote machine, and work there. Notebooks that are open stay open.",
    discovery: Discovery::FoundBy("remote, cluster, JupyterLab, URL with token"),
    effect: Effect::Connects,
    groups: &[Group::Kernels],
    permission: Permission::Write,
    availability: Availability::WithConnector,
    schema: Schema::of::<Arguments>,
    call: |given, context| Box::pin(async move { call(given.read()?, context).await }),
};

arguments! {
    struct Arguments {
        /// As pasted from a browser
        jupyter_url: String,
        jupyter_token: Option<String>,
        document_provider: Option<String>,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let server = ServerSpec {
        url: arguments.jupyter_url,
        token: arguments.jupyter_token.and_then(Secret::new),
        provider: arguments.document_provider,
        kernels: None,
    };
    let place = context.session.connect(server).await?;
    Ok(format!(
        "Successfully connected to {}. list_notebooks shows its notebooks; notebooks of other servers stay open under \
         their names.",
        place.description()
    )
    .into())
}
