//! `stop_machine`: ends a machine, with everything on it.

use std::sync::Arc;
use std::time::Duration;

use place::{Kernel, KernelState, Machine, MachineOrigin, Machines, NextStep};
use tokio::time::timeout;
use workspace::Session;

use super::list_machines::machines_of;
use calls::prelude::*;

/// How long a machine may take to say whether code runs on it.
const KERNELS_TIMEOUT: Duration = Duration::from_secs(2);

pub(crate) static TOOL: Tool = tool! {
    name: "stop_machine",
    title: "Stop a Colab machine",
    description: "End a Colab machine: its files and variables are lost.",
    discovery: Discovery::FoundBy("disconnect and delete Colab runtime, release GPU, stop paying"),
    effect: Effect::Changes,
    groups: &[Group::Kernels, Group::Delete],
    permission: Permission::Execute,
    availability: |session| session.has_machines,
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        /// As list_machines shows it
        machine_id: String,
        /// Others use it, or code runs: the person agrees
        confirm: bool = false,
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let machines = machines_of(context.session)?;
    let id = id(&*machines, &arguments.machine_id);
    let ending = ending(context.session, id).await?;
    // The agent confirms only where the person cannot be asked.
    if ending.needs_consent && (!arguments.confirm || context.person.is_some()) {
        context.consent.permit_effects(TOOL.name, &ending.effect, context.preview()).await?;
    }
    if context.consent.has_accepted_effect() {
        // The person may have taken a while.
        context.consent.check_effect(&self::ending(context.session, id).await?.effect)?;
    }
    let stopped = machines.stop(id).await?;
    context.session.workspace().places().remove_machine(&format!("{}:{id}/", machines.scheme()));
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

/// The id in what an agent has written.
fn id<'a>(machines: &dyn Machines, written: &'a str) -> &'a str {
    let written = written.trim();
    let rest = written.strip_prefix(machines.scheme()).and_then(|rest| rest.strip_prefix(':'));
    rest.unwrap_or(written).trim_end_matches('/')
}

/// What ending a machine means.
struct Ending {
    /// A sentence.
    effect: String,
    /// Whether somebody else may use it, or code runs on it.
    needs_consent: bool,
}

async fn ending(session: &Session, id: &str) -> Result<Ending, Error> {
    let machines = machines_of(session)?;
    let running = machines.list().await?.running;
    let Some(Machine { kind, origin, .. }) = running.into_iter().find(|machine| machine.id == id) else {
        return Ok(Ending { effect: "No such machine runs.".to_owned(), needs_consent: false });
    };
    let prefix = format!("{}:{id}/", machines.scheme());
    let place = session.places().into_iter().find(|place| place.prefix() == prefix);
    let kernels = match place {
        Some(place) => timeout(KERNELS_TIMEOUT, place.kernels()).await.ok().and_then(Result::ok),
        None => None,
    };
    let is_busy = |kernel: &Arc<dyn Kernel>| kernel.description().state == KernelState::Busy;
    let is_busy = kernels.is_some_and(|kernels| kernels.iter().any(is_busy));
    let who = match origin {
        MachineOrigin::Here { is_shared: false, .. }
        | MachineOrigin::OtherProcess { is_running: false, .. } => None,
        MachineOrigin::Here { .. } => Some("another Cellbridge server uses it, too"),
        MachineOrigin::OtherProcess { .. } => Some("another Cellbridge server uses it"),
        MachineOrigin::Elsewhere => Some("something else has started it, such as the person's browser"),
    };
    let more: Vec<_> = [is_busy.then_some("code runs on it"), who].into_iter().flatten().collect();
    let needs_consent = !more.is_empty();
    let more = if needs_consent { format!(", and {}", more.join("; ")) } else { String::new() };
    let effect = format!("It ends the machine {id} ({kind}) with its files and variables{more}.");
    Ok(Ending { effect, needs_consent })
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let arguments: Arguments = asked.given.read()?;
    let machines = machines_of(asked.session)?;
    let Ending { effect, .. } = ending(asked.session, id(&*machines, &arguments.machine_id)).await?;
    asked.question.line(&effect);
    asked.shown.effect = Some(effect);
    Ok(())
}
