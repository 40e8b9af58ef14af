//! `list_kernels`: the kernels, and the kernelspecs that could be started.

use place::{Kernel, KernelState};

use calls::places;
use calls::prelude::*;
use calls::replies::time;

pub(crate) static TOOL: Tool = tool! {
    name: "list_kernels",
    title: "List kernels",
    description: "List running kernels and their state, and kernelspecs (languages, environments) to start.",
    discovery: Discovery::FoundBy("which kernels are running; languages, environments, python, R, julia"),
    effect: Effect::Reads,
    groups: &[Group::Kernels],
    arguments: NoArguments,
};

async fn call(_: NoArguments, context: &Context<'_>) -> Outcome {
    let opened = context.session.workspace().open_notebooks();
    let found = places::ask(context.session, |place| {
        let (place, asked) = (place.clone(), place.description());
        Box::pin(async move {
            let (kernels, specs) = tokio::join!(place.kernels(), place.kernelspecs());
            Ok((asked, kernels?, specs?))
        })
    });
    let found = found.await.or_failure(|(_, kernels, specs)| kernels.is_empty() && specs.is_empty())?;
    let kernels = found.given.iter().flat_map(|(_, (_, kernels, _))| kernels);
    let (mut foreign, own): (Vec<_>, Vec<_>) = kernels.partition(|kernel| is_foreign(&***kernel));
    // A Jupyter server of this machine may be a place, too: its kernels are shown there.
    foreign.retain(|kernel| own.iter().all(|it| it.id() != kernel.id()));
    let rows = own.iter().chain(&foreign).map(|kernel| {
        let known = kernel.description();
        let users = opened.iter().filter(|it| it.kernel().is_some_and(|used| used.id() == kernel.id()));
        let connections = known.connections.unwrap_or(users.count() as u64);
        let activity = known.last_activity.map(time).unwrap_or_default();
        let (id, state) = (kernel.id().to_string(), state(&known.state));
        [
            id,
            known.name,
            known.display_name,
            known.language,
            state,
            connections.to_string(),
            activity,
            known.environment,
        ]
    });
    let rows: Vec<_> = rows.collect();
    let kernels = if rows.is_empty() {
        "No kernels are running; the first run of a notebook starts one.".to_owned()
    } else {
        let header = [
            "ID",
            "Name",
            "Display_Name",
            "Language",
            "State",
            "Connections",
            "Last_Activity",
            "Environment",
        ];
        table(header, rows)
    };
    let mut reply = kernels;
    let kept: Vec<String> = own.iter().filter_map(|kernel| kept(&***kernel)).collect();
    if !kept.is_empty() {
        reply.push_str(&format!("\n\nKernels that outlive this server:\n{}", kept.join("\n")));
    }
    let foreign: Vec<String> = foreign.iter().filter_map(|kernel| origin(&***kernel)).collect();
    if !foreign.is_empty() {
        let title = "External kernels of this machine (use_notebook(kernel_id=…) joins one; Cellbridge never stops them)";
        reply.push_str(&format!("\n\n{title}:\n{}", foreign.join("\n")));
    }
    for (index, (_, (place, _, specs))) in found.given.into_iter().enumerate() {
        if index > 0 && specs.is_empty() {
            continue;
        }
        let of = if index > 0 { format!(" of {place}") } else { String::new() };
        let specs = specs.into_iter().map(|it| [it.name, it.display_name, it.language, it.environment]);
        let specs = table(["Name", "Display_Name", "Language", "Environment"], specs);
        reply.push_str(&format!("\n\nKernelspecs{of} (kernel_name of use_notebook):\n{specs}"));
    }
    let text = whole_lines(&reply, &found.warnings, context.characters(), |_, left| {
        format!(
            "… {left} more lines were left out; cellbridge kernels lists the kernels of this machine in a terminal."
        )
    });
    Ok(text.into())
}

/// What to know about a kernel that outlives this server.
fn kept(kernel: &dyn Kernel) -> Option<String> {
    let known = kernel.description();
    let keeping = known.keeping?;
    let ours = std::process::id();
    let process = |id: &u32| if *id == ours { format!("{id}, this one") } else { id.to_string() };
    let processes: Vec<_> = keeping.attached.iter().map(process).collect();
    let servers = match processes.len() {
        0 => "no server attached".to_owned(),
        1 => format!("1 server attached (process {})", processes[0]),
        count => format!("{count} servers attached (processes {})", processes.join("; ")),
    };
    let notebook = keeping.notebook.map(|path| format!("{}, ", one_line(&path))).unwrap_or_default();
    let (started, used) = (time(keeping.started_at), time(keeping.last_request));
    let idle = match (known.state, keeping.last_request.elapsed()) {
        (KernelState::Idle, Ok(idle)) => format!(" ({} min ago)", idle.as_secs() / 60),
        _ => String::new(),
    };
    let memory =
        keeping.memory.map(|bytes| format!(", {} MB in memory", bytes / 1_000_000)).unwrap_or_default();
    Some(format!("{}: {notebook}started {started}, last used {used}{idle}, {servers}{memory}", kernel.id()))
}

fn is_foreign(kernel: &dyn Kernel) -> bool {
    kernel.description().foreign.is_some()
}

/// What to know about a kernel that another program has started.
fn origin(kernel: &dyn Kernel) -> Option<String> {
    let foreign = kernel.description().foreign?;
    Some(format!("{}: {}, {}", kernel.id(), foreign.origin, time(foreign.started_at)))
}

pub(super) fn state(state: &KernelState) -> String {
    match state {
        KernelState::NotStarted => "not started".to_owned(),
        KernelState::Starting => "starting".to_owned(),
        KernelState::Idle => "idle".to_owned(),
        KernelState::Busy => "busy".to_owned(),
        KernelState::Unreachable { how } => format!("unreachable: {how}"),
        KernelState::Dead { how } => format!("dead: {how}"),
    }
}
