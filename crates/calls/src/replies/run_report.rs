//! How a run is shown to agents.

use std::borrow::Cow;
use std::time::Duration;

use notebook::{Output, one_line};
use place::{Death, LossCause, RunState, SkipReason};
use render::{Budget, Priority, Reply, merged, terminal_text, without_data_uris};
use runs::{Run, RunView};
use workspace::Session;

use crate::answer::Answer;
use crate::next_step::message;
use crate::replies::causes::Causes;
use crate::replies::cell_text::shortened;
use crate::replies::seen_outputs::{NewPart, SeenOutputs};
use crate::replies::{failed_install, missing_package};

/// A shorter time in the queue is not worth saying.
const MIN_QUEUED: Duration = Duration::from_secs(1);
/// From this size on, the outputs of a cell make its file slow to open.
const MANY_BYTES: usize = 1_000_000;
/// How much of an exception's message, or of a prompt, the last line shows, in characters.
const MAX_ERROR: usize = 200;
/// The same in a reply of fewer characters than this, which must have room for the next call.
const TIGHT: usize = 600;
const MAX_TIGHT_ERROR: usize = 60;

/// The run as an agent reads it: `heading`, outputs, notes, a line with its state and the next call to make, and one with what
/// it has changed in memory. `place` says where it belongs.
pub async fn report(session: &Session, run: &Run, budget: Budget, heading: &str, place: &str) -> Answer {
    whole(session, run, budget, (heading, place), None).await
}

/// The run with what came since an earlier reply about it.
pub async fn report_since(
    session: &Session,
    run: &Run,
    budget: Budget,
    since: Option<SeenOutputs>,
) -> Answer {
    whole(session, run, budget, ("", &place_of(run)), since).await
}

async fn whole(
    session: &Session,
    run: &Run,
    budget: Budget,
    (heading, place): (&str, &str),
    since: Option<SeenOutputs>,
) -> Answer {
    let mut view = run.view();
    view.may_fail |= may_fail(session, run).await;
    let mut reply = Reply::new(budget).after(session.shown_outputs());
    // The heading says to which cell it belongs.
    let place = if heading.is_empty() { place } else { "" };
    if !heading.is_empty() {
        reply.note(heading);
    }
    if view.outputs.is_empty() && view.notes.is_empty() && view.state == RunState::Done {
        reply.note("[No output generated]");
    }
    add_outputs(&mut reply, run, &view, since);
    let shown = if budget.characters < TIGHT { MAX_TIGHT_ERROR } else { MAX_ERROR };
    for line in closing(session, run, &view, Scope::Alone(place), shown).await.iter().chain(&view.notices) {
        reply.note_last(line);
    }
    let is_expected = view.may_fail && matches!(view.state, RunState::Error { .. });
    let is_failure = view.state.is_failure() && !is_expected;
    if let Some(line) = view.changes.and_then(|changes| changes.line()) {
        reply.note_last(&line);
    }
    Answer::of_code(reply, is_failure).about(run.id().clone(), view.state)
}

/// Whether the cell of a run that failed has the tag `raises-exception`, as far as its notebook is open.
async fn may_fail(session: &Session, run: &Run) -> bool {
    let (RunState::Error { .. }, Some(cell)) = (run.state(), run.cell()) else { return false };
    let Some(opened) = session.workspace().open_notebook(cell.path.as_str()) else { return false };
    let notebook = opened.document().snapshot().await.ok();
    let tags = notebook.and_then(|notebook| Some(notebook.cell(&cell.id)?.1.tags()));
    tags.is_some_and(|tags| tags.iter().any(|tag| tag == "raises-exception"))
}

/// The run that failed in a line, for a reply that has little room.
pub fn failed_line(index: usize, run: &Run) -> Option<String> {
    const MAX_SHOWN: usize = 80;
    let RunState::Error { name, value } = run.state() else { return None };
    let value = without_data_uris(value.lines().next().unwrap_or_default());
    let error = one_line(&format!("{name}: {value}")).into_owned();
    Some(format!("[ERROR {}] cell {index}, run {}", shortened(&error, MAX_SHOWN), run.id()))
}

/// Adds the run of a cell to a reply about several, which says itself where they are, that their outputs are stored, and what concerns
/// the kernel.
pub async fn add_section(reply: &mut Reply, session: &Session, index: usize, run: &Run, causes: &Causes) {
    let mut view = run.view();
    if causes.covers(index) {
        return;
    }
    let is_quiet = view.outputs.is_empty() && view.notes.is_empty() && view.is_stored();
    match view.state {
        RunState::Done if is_quiet => return reply.quiet(index, "no output"),
        RunState::Skipped { reason: SkipReason::Tag } => {
            return reply.quiet(index, "skipped because of its tag skip-execution");
        }
        _ => {}
    }
    let priority = if run.has_failed() || !view.state.is_over() { Priority::First } else { Priority::IfRoom };
    reply.section(index, priority);
    reply.note(&format!("=====Cell {index}====="));
    add_outputs(reply, run, &view, None);
    // It has waited for those before it.
    view.queued = Duration::ZERO;
    let lines = closing(session, run, &view, Scope::Series, MAX_ERROR).await;
    for line in lines.iter().chain(&causes.lines(index)) {
        reply.note(line);
    }
}

/// Adds the outputs, or those of them that are new since an earlier reply.
fn add_outputs(reply: &mut Reply, run: &Run, view: &RunView, since: Option<SeenOutputs>) {
    let outputs = merged(&view.outputs);
    let Some(since) = since else {
        let id = run.id().clone();
        let shown = without_said_error(&outputs, &view.state);
        return reply
            .outputs_of(&format!("run {id}"), &shown, move |output, offset| more(&id, output, offset));
    };
    let new = since.new_in(&outputs);
    if new.is_empty() {
        reply.note(if outputs.is_empty() { "[No outputs now]" } else { "[Nothing new since then]" });
    }
    for NewPart { first, offset: start, outputs } in new {
        let id = run.id().clone();
        reply.outputs(&outputs, move |output, offset| {
            more(&id, first + output, if output == 0 { start + offset } else { offset })
        });
    }
}

/// The outputs without what the last line of the reply repeats: the name and message of a final error, which may be all of it, as for
/// `%nosuchmagic`; and without the frames of an interrupt that was asked for.
fn without_said_error<'o>(outputs: &'o [Output], state: &RunState) -> Cow<'o, [Output]> {
    let Some((Output::Error { name, value, traceback }, others)) = outputs.split_last() else {
        return outputs.into();
    };
    let said = format!("{name}: {value}");
    let is_end = matches!(state, RunState::Error { .. } | RunState::Interrupted);
    if !is_end || said.len() >= MAX_ERROR || said.contains('\n') {
        return outputs.into();
    }
    let is_new = |entry: &&String| !entry.trim().is_empty() && terminal_text(entry).trim() != said;
    let traceback: Vec<String> = traceback.iter().filter(is_new).cloned().collect();
    let traceback = if *state == RunState::Interrupted {
        Vec::new()
    } else if traceback.is_empty() {
        return others.into();
    } else {
        traceback
    };
    let error = Output::Error { name: name.clone(), value: value.clone(), traceback };
    others.iter().cloned().chain([error]).collect::<Vec<_>>().into()
}

/// The place of the lines about a run.
enum Scope<'p> {
    /// At the end of a reply about it alone, with what they say about its cell.
    Alone(&'p str),
    /// In a reply about several.
    Series,
}

/// The lines after the outputs: notes, what is lacking, and the state with the next call to make.
async fn closing(
    session: &Session,
    run: &Run,
    view: &RunView,
    scope: Scope<'_>,
    max_error: usize,
) -> Vec<String> {
    let (place, is_stored_elsewhere) = match scope {
        Scope::Alone(place) => (place.to_owned(), false),
        // The summary says that outputs are stored.
        Scope::Series => {
            let id = run.cell().map(|cell| format!(" · id {}", one_line(&cell.id))).unwrap_or_default();
            (id, view.is_stored())
        }
    };
    let mut lines = view.notes.clone();
    let is_first = |advice: &String| session.shown_outputs().is_first(advice);
    lines.extend(missing_package::line(session, run, &view.state).await.filter(is_first));
    lines.extend(failed_install::line(run, view).map(str::to_owned).filter(is_first));
    if view.state == RunState::Queued {
        lines.extend(session.reason_to_wait(run).await);
    }
    if view.saved.is_some()
        && view.bytes > MANY_BYTES
        && let Some(cell) = run.cell()
    {
        let size = view.bytes / 1_000_000;
        let clear = format!("clear_cell_output(cell_id=\"{}\")", one_line(&cell.id));
        lines.push(format!("The outputs take {size} MB in the notebook's file: {clear} removes them."));
    }
    let stop = if view.state.is_over() { String::new() } else { stop(session, run) };
    let mut end = end_line(run.id(), view, &place, &stop, max_error);
    if let Some(saved) = view.saved.as_ref().filter(|_| view.state.is_over() && !is_stored_elsewhere) {
        end.push_str(&format!(" · outputs {saved}"));
    }
    lines.push(end);
    lines
}

/// Where a run belongs, as the run itself knows it, for its last line.
pub fn place_of(run: &Run) -> String {
    run.cell()
        .map(|cell| format!(" · cell {} in {}", one_line(&cell.id), one_line(&cell.path)))
        .unwrap_or_default()
}

/// The way to stop a run that has not ended, unless an earlier reply had it.
fn stop(session: &Session, run: &Run) -> String {
    match run.kernel().map(|kernel| kernel.check_interruptible()) {
        Some(Err(error)) => format!(" {}", message(&error)),
        _ if !session.shown_outputs().is_first("interrupt_kernel") => String::new(),
        _ => format!(" interrupt_kernel(run_id=\"{}\") stops it.", run.id()),
    }
}

fn end_line(id: &str, view: &RunView, place: &str, stop: &str, max_error: usize) -> String {
    let seconds = view.elapsed.as_secs_f64();
    let queued = queued(view);
    let count = view.execution_count.map(|count| format!(" · In[{count}]")).unwrap_or_default();
    let label = format!("run {id}{count}{place}");
    match &view.state {
        RunState::Queued | RunState::Running => {
            let outputs = merged(&view.outputs);
            let seen = (!outputs.is_empty()).then(|| SeenOutputs::of(&outputs));
            let since = seen.map(|seen| format!(", since=\"{seen}\"")).unwrap_or_default();
            let doing = if view.state == RunState::Queued { "QUEUED" } else { "STILL RUNNING" };
            format!(
                "[{doing} after {seconds:.1}s{queued}] {label}. It continues: get_run(run_id=\"{id}\", wait_seconds=45{since}) \
                 waits for more.{stop}"
            )
        }
        RunState::WaitingForInput { prompt, is_password } => {
            let secret = if *is_password { " (a secret: ask the person)" } else { "" };
            let prompt = shortened(&without_data_uris(prompt), max_error);
            format!(
                "[WAITING FOR INPUT: {prompt:?}{secret}] {label}. answer_input(run_id=\"{id}\", value=…) answers.{stop}"
            )
        }
        RunState::Done => format!("[COMPLETED in {seconds:.2}s{queued}] {label}"),
        RunState::Error { name, value } => {
            let value = shortened(&without_data_uris(value.lines().next().unwrap_or_default()), max_error);
            let (name, value) = (one_line(name), one_line(&value));
            let expected = if view.may_fail { ", expected" } else { "" };
            format!("[ERROR {name}: {value}{expected}] after {seconds:.2}s{queued} · {label}")
        }
        RunState::Interrupted => format!("[INTERRUPTED after {seconds:.2}s] {label}"),
        RunState::Lost { is_started, cause } => {
            let known = match (is_started, cause) {
                (true, _) => "It started; its result is unknown, and outputs may be missing",
                (false, LossCause::KernelReplaced) => "It is unknown whether it ran; the variables are lost",
                (false, _) => "It is unknown whether it ran",
            };
            format!(
                "[LOST: {cause}] after {seconds:.2}s · {label}. {known}. Check its effects before you run it again."
            )
        }
        RunState::KernelDied { how: Death::Restarted } => format!(
            "[KERNEL RESTARTED by another server or a person after {seconds:.2}s] {label}. The variables are lost: run the cells that \
             this one needs, then run it again."
        ),
        RunState::KernelDied { how } => format!(
            "[KERNEL DIED: {how}] after {seconds:.2}s · {label}. The variables are lost; the next run starts a new kernel."
        ),
        RunState::Failed(error) => format!("[NOT RUN] {label}. {}", message(error)),
        RunState::Skipped { reason } => format!("[SKIPPED] {label}. {reason}"),
    }
}

/// How long a run has waited for its kernel, if that is worth saying. One with which the kernel has not begun has only waited.
fn queued(view: &RunView) -> String {
    if view.queued < MIN_QUEUED || view.state == RunState::Queued {
        return String::new();
    }
    format!(" (queued {:.2}s)", view.queued.as_secs_f64())
}

/// The call that shows an output of a run from a character on.
pub fn more(run: &str, output: usize, offset: usize) -> String {
    format!("get_run(run_id=\"{run}\", output={output}, offset={offset})")
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    fn view(state: RunState) -> RunView {
        RunView {
            state,
            outputs: Arc::from([]),
            execution_count: None,
            notes: Vec::new(),
            notices: Vec::new(),
            elapsed: Duration::from_millis(10),
            queued: Duration::from_millis(2040),
            may_fail: false,
            saved: None,
            changes: None,
            bytes: 0,
        }
    }

    #[test]
    fn an_error_of_one_line_is_only_said_at_the_end() {
        let error = |lines: &[&str]| {
            let traceback = lines.iter().map(ToString::to_string).collect();
            [Output::Error { name: "UsageError".into(), value: "no %x".into(), traceback }]
        };
        let shown = |lines: &[&str], state: &RunState| {
            let outputs = without_said_error(&error(lines), state).into_owned();
            outputs.iter().map(render::full_text).collect::<Vec<_>>()
        };
        let failed = RunState::Error { name: "UsageError".to_owned(), value: "no %x".to_owned() };
        assert_eq!(shown(&["UsageError: no %x\n"], &failed), [""; 0]);
        let whole = ["UsageError  Traceback", "Cell In[1], line 1", "\u{1b}[31mUsageError\u{1b}[0m: no %x"];
        assert_eq!(shown(&whole, &failed), ["UsageError  Traceback\nCell In[1], line 1"]);
        let caught = &shown(&whole, &RunState::Done)[0];
        assert!(
            caught.ends_with("UsageError: no %x"),
            "an Output widget took it, so the run completed: {caught}"
        );
        assert_eq!(shown(&whole, &RunState::Interrupted), ["UsageError: no %x"]);
    }

    #[test]
    fn the_time_in_the_queue_is_said_apart() {
        let line = |view: &RunView| end_line("r1", view, "", "stop", MAX_ERROR);
        assert_eq!(line(&view(RunState::Done)), "[COMPLETED in 0.01s (queued 2.04s)] run r1");
        let brief = RunView { queued: Duration::from_millis(200), ..view(RunState::Done) };
        assert_eq!(line(&brief), "[COMPLETED in 0.01s] run r1");
        assert!(line(&view(RunState::Queued)).starts_with("[QUEUED after 0.0s] run r1"));
        let error = RunState::Error { name: "E\nx".to_owned(), value: "v".to_owned() };
        assert_eq!(line(&view(error.clone())), "[ERROR E\\nx: v] after 0.01s (queued 2.04s) · run r1");
        let expected = RunView { may_fail: true, queued: Duration::ZERO, ..view(error) };
        assert_eq!(line(&expected), "[ERROR E\\nx: v, expected] after 0.01s · run r1");
    }

    #[test]
    fn a_restart_by_others_is_no_death() {
        let state = RunState::KernelDied { how: Death::Restarted };
        assert_eq!(
            end_line("r1", &view(state), " · cell c", "stop", MAX_ERROR),
            "[KERNEL RESTARTED by another server or a person after 0.01s] run r1 · cell c. The variables are lost: run the cells \
             that this one needs, then run it again."
        );
    }

    #[test]
    fn a_run_that_never_ran_has_a_reason_and_no_time() {
        let skipped = view(RunState::Skipped { reason: SkipReason::Cancelled });
        assert_eq!(
            end_line("r1", &skipped, " · cell c", "stop", MAX_ERROR),
            "[SKIPPED] run r1 · cell c. The run was cancelled before it started."
        );
    }

    #[test]
    fn a_long_prompt_leaves_room_for_the_next_call() {
        let state = RunState::WaitingForInput { prompt: "q".repeat(9000), is_password: false };
        let line = end_line("r1", &view(state), "", "stop", MAX_ERROR);
        assert!(
            line.contains("…") && line.contains("answer_input(run_id=\"r1\"") && line.len() < 400,
            "{line}"
        );
    }

    #[test]
    fn a_data_uri_is_described() {
        let uri = format!("data:image/png;base64,{}", "iVBORw0K".repeat(1500));
        let error = RunState::Error { name: "E".to_owned(), value: format!("no {uri}") };
        let input = RunState::WaitingForInput { prompt: uri, is_password: false };
        for state in [error, input] {
            let line = end_line("r1", &view(state), "", "stop", MAX_ERROR);
            assert!(line.contains("data:image/png;base64,… (9 kB)") && !line.contains("iVBOR"), "{line}");
        }
    }

    #[test]
    fn each_cause_of_a_loss_reads_differently() {
        let line = |cause| {
            let view = RunView {
                elapsed: Duration::from_secs(2),
                queued: Duration::ZERO,
                ..view(RunState::Lost { is_started: false, cause })
            };
            end_line("r1", &view, "", "", MAX_ERROR)
        };
        assert_eq!(
            line(LossCause::Disconnected { cause: "the server closed it".to_owned() }),
            "[LOST: the connection to the kernel was cut (the server closed it), and no reply came after it was restored] \
             after 2.00s · run r1. It is unknown whether it ran. Check its effects before you run it again."
        );
        assert_eq!(
            line(LossCause::KernelReplaced),
            "[LOST: a new process replaced the kernel before it reported that this started] after 2.00s · run r1. It \
             is unknown whether it ran; the variables are lost. Check its effects before you run it again."
        );
        assert_eq!(
            line(LossCause::Superseded),
            "[LOST: another client connected to the kernel, and the server sent the reply there] after 2.00s · run \
             r1. It is unknown whether it ran. Check its effects before you run it again."
        );
    }
}
