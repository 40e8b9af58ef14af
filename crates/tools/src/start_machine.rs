//! `start_machine`: a machine of the person's account, which is a place as long as it runs.

use place::{MachineOffer, WantedMachine};

use super::list_machines::machines_of;
use calls::prelude::*;

pub(crate) static TOOL: Tool = tool! {
    name: "start_machine",
    title: "Start a Colab machine",
    description: "Start a Colab machine of the person (GPU, TPU or CPU) for notebooks. list_machines first: one that runs may do.",
    discovery: Discovery::FoundBy("Colab runtime, GPU, TPU, T4, A100, accelerator, cloud machine"),
    effect: Effect::Adds,
    groups: &[Group::Kernels],
    permission: Permission::Execute,
    availability: |session| session.has_machines,
    shows: Shows::More(|asked| Box::pin(describe(asked))),
};

arguments! {
    struct Arguments {
        /// CPU, GPU or TPU
        machine_type: Option<String>,
        /// Model, such as T4
        accelerator: Option<String>,
        /// standard or high
        ram: Option<String>,
        /// Runs on after this server ends
        keep: bool = false,
        /// It may cost: the person agrees
        confirm: bool = false,
    }
}

impl Arguments {
    fn wanted(&self) -> Result<WantedMachine, Error> {
        let ram = self.ram.as_deref().unwrap_or_default().trim().to_lowercase().replace(['-', '_', ' '], "");
        let has_high_memory = match ram.as_str() {
            "" | "default" => None,
            "standard" | "std" | "normal" | "low" => Some(false),
            "high" | "highmem" | "highmemory" | "highram" | "hm" => Some(true),
            _ => {
                let cause = "ram must be \"standard\" or \"high\".";
                return Err(Error::new(ErrorKind::InvalidArgument, cause, "Correct it, or leave it out."));
            }
        };
        let (variant, accelerator) = (self.machine_type.clone(), self.accelerator.clone());
        Ok(WantedMachine { variant, accelerator, has_high_memory })
    }
}

async fn call(arguments: Arguments, context: &Context<'_>) -> Outcome {
    let machines = machines_of(context.session)?;
    let offer = machines.offer(arguments.wanted()?).await?;
    let effect = effect(&offer);
    // The agent confirms only where the person cannot be asked.
    if offer.cost.is_some() && (!arguments.confirm || context.person.is_some()) {
        context.consent.permit_effects(TOOL.name, &effect, context.preview()).await?;
    }
    context.consent.check_effect(&effect)?;
    context.turn.takes_long();
    let place = machines.start(offer.kind, arguments.keep).await?;
    let (title, path) = (place.description(), place.name());
    context.session.workspace().places().add_machine(&place);
    let end = if arguments.keep {
        "It runs on when this server ends, until stop_machine or Google ends it."
    } else {
        "It ends with this server, unless code is running then; stop_machine ends it before."
    };
    let cost = offer.cost.map(|cost| format!(" {cost}")).unwrap_or_default();
    Ok(format!(
        "Started {title}. Paths on it begin with {path}: use_notebook(notebook_path=\"{path}a.ipynb\", mode=\"create\"), \
         copy_file(from=…, to=\"{path}\"). Only notebooks with such paths run there; other code runs where it did \
         before. {end} Its files and variables end with it, and Google ends idle machines: copy what has to stay.{cost}"
    )
    .into())
}

fn effect(offer: &MachineOffer) -> String {
    match &offer.cost {
        Some(cost) => format!("It starts a machine ({}). {cost}", offer.kind),
        None => format!(
            "It starts a machine ({}), which is free for an account without compute units.",
            offer.kind
        ),
    }
}

async fn describe(asked: &mut Asked<'_>) -> Result<(), Error> {
    let arguments: Arguments = asked.given.read()?;
    let effect = effect(&machines_of(asked.session)?.offer(arguments.wanted()?).await?);
    asked.question.line(&effect);
    asked.shown.effect = Some(effect);
    Ok(())
}
