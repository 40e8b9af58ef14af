//! `stop_machine`: ends a machine, with everything on it.

use place::{Error, ErrorKind, Machine, MachineOrigin, NextStep};

use super::list_machines::machines_of;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "stop_machine",
    title: "Stop a Colab machine",
    description: "End a Colab machine: its files and variables are lost.",
    discovery: Discovery::FoundBy("disconnect and delete Colab runtime, release GPU, stop paying"),
    effect: Effect::Changes,
    groups: &[Group::Kernels, Group::Delete],
    permission: Permission::Execute,
    availability: Availability::WithMachines,
};

arguments! {
    struct Arguments {
        /// As list_machines shows it
        machine_id: String,
        /// Others may use it: the person agrees
        confirm: bool = false,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let machines = machines_of(context.session)?;
    let prefix = format!("{}:", machines.scheme());
    let asked = arguments.machine_id.trim();
    let id = asked.strip_prefix(&prefix).unwrap_or(asked).trim_end_matches('/');
    let running = machines.list().await?.running;
    let machine = running.iter().find(|machine| machine.id == id);
    if let Some(effect) = machine.and_then(effect_on_others)
        && (!arguments.confirm || context.person.is_some())
    {
        context.consent.permit_effects(TOOL.name, &effect, context.preview()).await?;
    }
    let stopped = machines.stop(id).await?;
    if !stopped.was_running && stopped.copies.is_none() {
        let cause = format!("No machine {id:?} runs.");
        return Err(Error::new(ErrorKind::NotFound, cause, NextStep::ListMachines));
    }
    let copies = stopped.copies.map(|folder| {
        format!(
            " Copies of the notebooks that were changed through this program are in {}.",
            folder.display()
        )
    });
    let what = if stopped.was_running { "was ended" } else { "had ended already" };
    Ok(format!(
        "The machine {id} {what}; its files, variables and kernels are gone.{}",
        copies.unwrap_or_default()
    )
    .into())
}

/// What ending it means for somebody else who may use it.
fn effect_on_others(machine: &Machine) -> Option<String> {
    let who = match machine.origin {
        MachineOrigin::Here { .. } | MachineOrigin::OtherProcess { is_running: false, .. } => return None,
        MachineOrigin::OtherProcess { .. } => "another Cellbridge server uses it",
        MachineOrigin::Elsewhere => "something else has started it, such as the person's browser",
    };
    Some(format!("It ends the machine {} ({}), and {who}.", machine.id, machine.kind))
}
