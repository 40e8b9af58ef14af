//! `list_machines`: the machines of the person's account, and those that could be started.

use std::sync::Arc;

use place::{Machine, MachineList, MachineOffer, MachineOrigin, Machines, NextStep};
use workspace::Session;

use calls::prelude::*;
use calls::replies::time;

pub(crate) static TOOL: Tool = tool! {
    name: "list_machines",
    title: "List Colab machines",
    description: "List the person's Colab machines, and the types (GPU, TPU, CPU) that can be started.",
    discovery: Discovery::FoundBy("Colab runtime, GPU, TPU, accelerator, cloud machine, compute units"),
    effect: Effect::Reads,
    groups: &[Group::Kernels],
    availability: |session| session.has_machines,
    arguments: NoArguments,
};

async fn call(_: NoArguments, context: &Context<'_>) -> Outcome {
    let machines = machines_of(context.session)?;
    let MachineList { account, running, offers, notices } = machines.list().await?;
    context.session.workspace().places().find_machines().await?;
    let mut lines: Vec<String> = notices.iter().map(|notice| format!("[NOTICE] {notice}")).collect();
    if running.is_empty() {
        lines.push(format!("No machine of {account} runs."));
    } else {
        lines.push(format!("Machines of {account} that run:"));
        let row = |machine: Machine| {
            let path = format!("{}:{}/", machines.scheme(), machine.id);
            [machine.id, machine.kind.to_string(), origin(machine.origin), path]
        };
        lines.push(table(["ID", "Type", "Started_By", "Paths_Begin_With"], running.into_iter().map(row)));
    }
    lines.push("\nTypes (start_machine):".to_owned());
    lines.push(table(["Type", "Available", "Cost"], offers.iter().map(offered)));
    Ok(lines.join("\n").into())
}

fn offered(offer: &MachineOffer) -> [String; 3] {
    let available = if offer.is_eligible { "yes" } else { "not for this account" };
    let cost = if offer.cost.is_some() { "compute units" } else { "free" };
    [offer.kind.to_string(), available.to_owned(), cost.to_owned()]
}

fn origin(origin: MachineOrigin) -> String {
    let ends = |keeps: bool| if keeps { "kept" } else { "ends with it" };
    match origin {
        MachineOrigin::Here { keeps, is_shared } => {
            let others = if is_shared { "; another Cellbridge server uses it, too" } else { "" };
            format!("this server; {}{others}", ends(keeps))
        }
        MachineOrigin::OtherProcess { at, is_running: true, keeps } => {
            format!("another Cellbridge server at {}; {}", time(at), ends(keeps))
        }
        MachineOrigin::OtherProcess { at, is_running: false, .. } => {
            format!("a Cellbridge server at {}, which has ended: runs on until stop_machine", time(at))
        }
        MachineOrigin::Elsewhere => "something else, such as a browser".to_owned(),
    }
}

/// The machines of the person. Fails if nobody has signed in.
pub(crate) fn machines_of(session: &Session) -> Result<Arc<dyn Machines>, Error> {
    session.workspace().machines().cloned().ok_or_else(|| {
        Error::new(
            ErrorKind::Unavailable,
            "Nobody has signed in to Google for Colab machines on this computer.",
            NextStep::SignIn,
        )
    })
}
