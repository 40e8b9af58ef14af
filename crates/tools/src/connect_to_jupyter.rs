//! `connect_to_jupyter`: another server to work on.

use connection::Secret;
use place::{Connected, Discovered, ServerSpec};
use workspace::Workspace;

use calls::places;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "connect_to_jupyter",
    title: "Connect to a Jupyter server",
    description: "Connect to a Jupyter server, JupyterHub or remote machine, and work there. Open notebooks stay open.",
    discovery: Discovery::FoundBy("remote, cluster, JupyterLab, URL with token"),
    effect: Effect::Connects,
    groups: &[Group::Kernels],
    availability: |session| session.can_connect,
};

arguments! {
    struct Arguments {
        /// As pasted from a browser; default: one running here
        jupyter_url: Option<String>,
        jupyter_token: Option<String>,
        document_provider: Option<String>,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    if !is_named_by_operator(context.session.workspace(), arguments.jupyter_url.as_deref()) {
        context.permit_elsewhere("connect_to_jupyter with a server not named by the operator").await?;
    }
    let server = ServerSpec {
        url: arguments.jupyter_url,
        token: arguments.jupyter_token.and_then(Secret::new),
        provider: arguments.document_provider,
        kernels: None,
    };
    let Connected { place, discovered } = context.session.connect(server).await?;
    let chosen = discovered.map(|chosen| how(&chosen)).unwrap_or_default();
    Ok(format!(
        "Successfully connected to {}.{chosen} list_notebooks shows its notebooks; notebooks of other servers stay open \
         under their names. Paths without a prefix now mean this server.{}",
        place.description(),
        places::others(context.session)
    )
    .into())
}

/// Whether an address is that of a server that the operator has given. Without one, any server of this machine is meant.
fn is_named_by_operator(workspace: &Workspace, address: Option<&str>) -> bool {
    let Some(address) = address else { return false };
    let address = address.trim().split(['?', '#']).next().unwrap_or_default();
    let address = format!("{}/", address.trim_end_matches('/'));
    workspace.places().first().iter().any(|place| place.strip_name(&address).is_some())
}

/// How a server was chosen, as a sentence after a space.
fn how(Discovered { root, others }: &Discovered) -> String {
    let others = match others {
        0 => "no other is running here".to_owned(),
        others => format!("{others} more are running here; name one with jupyter_url"),
    };
    format!(" Its root is {}; {others}.", root.display())
}
