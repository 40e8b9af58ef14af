//! Every text of the page, from harmless to hostile: no text becomes markup.

use std::collections::{HashMap, HashSet};
use std::time::SystemTime;

use futures_util::FutureExt as _;
use html::Libraries;
use html5ever::driver::ParseOpts;
use html5ever::parse_document;
use html5ever::tendril::TendrilSink as _;
use markup5ever_rcdom::{Handle, NodeData, RcDom};
use notebook::{CellId, CellType, Json, MimeBundle, NewCell, Notebook, Output};
use place::{FoundNotebooks, NotebookPath, RunId, RunState, SearchExtent};
use workspace::{
    Activity, BlobId, CellState, Operation, OperationChange, OperationId, OperationKind, OutputsState,
    PastOperation, StaleJudgement, StaleState,
};

use crate::actions::{check_prompt, reply};
use crate::cells::{Digests, Mark, Near, Trust, Viewed};
use crate::hub::{SeenAgent, Verification};
use crate::kernels::{SeenKernel, SeenRun, SeenSource};
use crate::notices::Notices;
use crate::parts::{Known, Section, updates};
use crate::questions::{Answer, OpenQuestion, OpenQuestions, Question};
use crate::tabs::OpenTab;
use crate::{cells, now, timeline};

const CORPUS: &str = include_str!("../../html/src/testing/corpus.txt");

fn attacks() -> impl Iterator<Item = &'static str> {
    CORPUS.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// The HTML of all parts, by id.
fn rendered(sections: &[Section<'_>]) -> Vec<(String, String)> {
    let mut known = Known::new();
    let (updates, _) = updates(&mut known, sections);
    updates.into_iter().flat_map(|update| update.parts).map(|(id, _, html)| (id, html)).collect()
}

/// The elements of a document with their attributes' names, as a browser has them.
fn shape(html: &str) -> Vec<String> {
    fn walk(handle: &Handle, found: &mut Vec<String>) {
        if let NodeData::Element { name, attrs, .. } = &handle.data {
            let names: Vec<_> = attrs.borrow().iter().map(|it| it.name.local.to_string()).collect();
            found.push(format!("{} {}", name.local, names.join(" ")));
        }
        handle.children.borrow().iter().for_each(|child| walk(child, found));
    }
    let dom = parse_document(RcDom::default(), ParseOpts::default()).one(html);
    let mut found = Vec::new();
    walk(&dom.document, &mut found);
    found
}

fn run(text: &str, state: RunState) -> SeenRun {
    SeenRun {
        id: RunId::from(text),
        notebook: Some(NotebookPath::from(text)),
        cell: Some(CellId::from(text)),
        source: text.to_owned(),
        state,
        since: Some(SystemTime::UNIX_EPOCH),
        execution_count: None,
        outputs: None,
        version: 0,
        is_recent: false,
        takes_input: true,
        is_interruptible: true,
    }
}

fn kernel(text: &str, runs: Vec<SeenRun>) -> SeenKernel {
    SeenKernel {
        id: text.to_owned(),
        process: Some(1),
        language: None,
        display_name: text.to_owned(),
        state: text.to_owned(),
        notebook: Some(NotebookPath::from(text)),
        started_at: Some(SystemTime::UNIX_EPOCH),
        memory: Some(1),
        servers: 2,
        runs,
    }
}

fn asks(prompt: &str, is_password: bool) -> RunState {
    RunState::WaitingForInput { prompt: prompt.to_owned(), is_password }
}

/// The sections about now, in which everything that others have named has this name.
fn now(text: &str) -> Vec<(String, String)> {
    let kernels = [kernel(text, vec![run(text, RunState::Running), run(text, asks(text, false))])];
    let notebooks = FoundNotebooks { paths: vec![NotebookPath::from(text)], extent: SearchExtent::Truncated };
    let question = Question {
        client: text.to_owned(),
        text: text.to_owned(),
        asked_at: SystemTime::UNIX_EPOCH,
        input: None,
    };
    let questions = now::questions(&[OpenQuestion { number: 1, question }]);
    let activity = Activity {
        notebook: text.to_owned(),
        agent: text.to_owned(),
        session: text.to_owned(),
        tool: text.to_owned(),
        cell: Some(text.into()),
        first: 1,
        last: 2,
        is_connected: false,
    };
    let elsewhere =
        SeenAgent { notebook: None, activity: Activity { session: "x".to_owned(), ..activity.clone() } };
    let of_tab = Activity { notebook: format!("of {text}"), session: "y".to_owned(), ..activity.clone() };
    let at_tab = SeenAgent { notebook: None, activity: of_tab };
    let agents = [SeenAgent { notebook: Some(NotebookPath::from(text)), activity }, elsewhere, at_tab];
    let tabs = [OpenTab { root: text.to_owned(), path: text.to_owned(), identity: format!("of {text}") }];
    let mut sections: Vec<_> = now::sections(&kernels, &notebooks, &agents, &tabs).into();
    sections.push(now::source(Some(SeenSource { read_at: SystemTime::UNIX_EPOCH, is_connected: false })));
    sections.push(questions);
    rendered(&sections)
}

#[test]
fn a_verdict_says_whether_it_is_of_the_notebook_as_it_is() {
    let at = SystemTime::UNIX_EPOCH;
    let (same, other) = (notebook("x"), notebook("y"));
    let verdict = Ok((same.clone(), "2 of 2 cells identical".to_owned()));
    for (verdict, seen, is_verified, is_older) in [
        (verdict.clone(), &same, true, false),
        (verdict, &other, true, true),
        (Err("The verification was interrupted.".to_owned()), &same, false, false),
    ] {
        let ended = Verification::Ended { at, verdict };
        let html = rendered(&[timeline::verified(Some(ended), seen)]).remove(0).1;
        assert_eq!(html.contains("<p>Verified "), is_verified, "{html}");
        assert_eq!(html.contains("before the last change"), is_older, "{html}");
    }
}

fn past(id: u64, agent: &str) -> PastOperation {
    let operation = Operation {
        id: OperationId::new(id),
        agent: agent.to_owned(),
        tool: agent.to_owned(),
        kind: if id == 1 {
            OperationKind::Checkpoint { name: agent.to_owned(), is_automatic: false }
        } else {
            OperationKind::EDIT
        },
        ..Operation::default()
    };
    PastOperation { operation, is_undone: id == 2, live_cells: Vec::new(), is_changed_since: true }
}

fn notebook(source: &str) -> Notebook {
    let mut notebook = Notebook::new();
    for kind in [CellType::Code, CellType::Markdown] {
        let index = notebook.cells().len();
        let cell = NewCell::new(kind, source);
        notebook.apply(&notebook::Edit::Insert { index, cell }).unwrap();
    }
    notebook
}

/// The cells of a notebook in which everything but the sources has this text.
/// Trust in the outputs of a notebook as if runs had made them.
fn trusting(notebook: &Notebook) -> Trust {
    let made: HashSet<_> = notebook.cells().iter().map(workspace::outputs_digest).collect();
    Trust { made: made.into(), ..Trust::default() }
}

fn bars(text: &str) -> Vec<(String, String)> {
    let notebook = notebook("x");
    let ids: Vec<_> = notebook.cells().iter().map(|cell| cell.id().clone()).collect();
    let mark = Mark { operation: OperationId::new(1), by: text.to_owned(), at: 1 };
    let (asking, libraries) = (run(text, asks(text, true)), Libraries::default());
    let viewed = Viewed {
        notebook: &notebook,
        states: vec![Some(StaleJudgement::new(StaleState::Edited, text)), None],
        marks: &HashMap::from([(ids[0].clone(), mark)]),
        runs: HashMap::from([(&ids[0], &asking)]),
        trust: Trust::default(),
        libraries: &libraries,
        is_brief: false,
    };
    rendered(&[cells::section(&viewed, &Near::Top, &mut Digests::default())])
}

/// Fails unless each part has the elements that it has with a harmless text.
fn assert_same_shape(make: impl Fn(&str) -> Vec<(String, String)>) {
    let shapes = |text: &str| make(text).iter().map(|(_, html)| shape(html)).collect::<Vec<_>>();
    let harmless = shapes("harmless");
    assert!(harmless.len() > 1);
    for attack in attacks() {
        assert_eq!(shapes(attack), harmless, "{attack}");
    }
}

#[test]
fn no_name_becomes_markup_now() {
    assert_same_shape(now);
}

#[test]
fn no_name_becomes_markup_in_the_history() {
    assert_same_shape(|text| {
        let verdict = Ok((notebook("x"), text.to_owned()));
        let ended = Verification::Ended { at: SystemTime::UNIX_EPOCH, verdict };
        rendered(&[
            timeline::verified(Some(ended), &notebook("y")),
            timeline::section(&[past(1, text), past(2, text), past(3, text)]),
        ])
    });
}

#[test]
fn no_text_about_a_cell_becomes_markup() {
    assert_same_shape(bars);
}

#[test]
fn no_code_of_a_run_without_a_cell_becomes_markup() {
    let (notebook, marks, libraries) = (notebook("x"), HashMap::new(), Libraries::default());
    let viewed = Viewed {
        notebook: &notebook,
        states: Vec::new(),
        marks: &marks,
        runs: HashMap::new(),
        trust: trusting(&notebook),
        libraries: &libraries,
        is_brief: false,
    };
    assert_same_shape(|text| {
        let runs = [run(text, asks(text, false)), run(&format!("{text}, over"), RunState::Done)];
        rendered(&[Section {
            name: "cells",
            parts: runs.iter().map(|run| cells::run_part(run, &viewed)).collect(),
        }])
    });
}

#[test]
fn no_cell_has_a_button_or_an_element_of_the_page() {
    let libraries = Libraries::default();
    for attack in attacks() {
        let notebook = notebook(attack);
        let marks = HashMap::new();
        let viewed = Viewed {
            notebook: &notebook,
            states: vec![None, None],
            marks: &marks,
            runs: HashMap::new(),
            trust: trusting(&notebook),
            libraries: &libraries,
            is_brief: false,
        };
        for (id, html) in rendered(&[cells::section(&viewed, &Near::Top, &mut Digests::default())]) {
            for element in shape(&html) {
                let name = element.split(' ').next().unwrap();
                let bad = ["script", "button", "form", "input", "iframe", "object", "style", "dialog"];
                assert!(!bad.contains(&name) && !element.contains("data-"), "{attack}: {element}");
            }
            assert_eq!(html.matches(&format!("id=\"{id}\"")).count(), 1, "{attack}");
        }
    }
}

#[test]
fn a_part_is_one_element_that_has_its_id() {
    let history = rendered(&[timeline::section(&[past(1, "a"), past(3, "b")])]);
    for (id, html) in now("a").into_iter().chain(bars("a")).chain(history) {
        let open = html.find('>').unwrap();
        assert!(html[..open].contains(&format!("id=\"{id}\"")), "{html}");
        let body = shape(&format!("<!doctype html><body>{html}"));
        assert!(body.len() > 3);
    }
}

#[test]
fn only_cells_that_are_near_are_rendered() {
    let mut notebook = Notebook::new();
    for index in 0..100 {
        let cell = NewCell::new(CellType::Code, format!("cell_{index}()\nsecond_line"));
        notebook.apply(&notebook::Edit::Insert { index, cell }).unwrap();
    }
    let (marks, libraries) = (HashMap::new(), Libraries::default());
    let viewed = Viewed {
        notebook: &notebook,
        states: Vec::new(),
        marks: &marks,
        runs: HashMap::new(),
        trust: Trust::default(),
        libraries: &libraries,
        is_brief: false,
    };
    let whole = |near: &Near| {
        let parts = rendered(&[cells::section(&viewed, near, &mut Digests::default())]);
        assert_eq!(parts.len(), 100);
        parts.iter().filter(|(_, html)| html.contains("second_line")).count()
    };
    assert_eq!(whole(&Near::Top), 20);
    let far = cells::part_id(notebook.cells()[90].id());
    assert_eq!(whole(&Near::Parts(vec![far, "unknown".to_owned()])), 1);
    assert_eq!(whole(&Near::Parts(Vec::new())), 0);
}

#[test]
fn a_running_cell_shows_what_its_run_has_printed_and_changes_with_it() {
    let notebook = notebook("print(1)");
    let id = notebook.cells()[0].id().clone();
    let (marks, libraries, mut digests) = (HashMap::new(), Libraries::default(), Digests::default());
    let mut known = Known::new();
    let mut sent = |text: &str, version: u64, state: RunState, is_recent: bool| {
        let output = Output::Stream { name: "stdout".to_owned(), text: text.into() };
        let outputs = Some(vec![output].into());
        let running = SeenRun { outputs, version, is_recent, ..run("r1", state) };
        let viewed = Viewed {
            notebook: &notebook,
            states: Vec::new(),
            marks: &marks,
            runs: HashMap::from([(&id, &running)]),
            trust: Trust::default(),
            libraries: &libraries,
            is_brief: false,
        };
        let (updates, _) = updates(&mut known, &[cells::section(&viewed, &Near::Top, &mut digests)]);
        updates
            .into_iter()
            .flat_map(|update| update.parts)
            .map(|(_, _, html)| html)
            .next()
            .unwrap_or_default()
    };
    assert!(sent("one\n", 1, RunState::Running, false).contains("one"));
    assert_eq!(sent("one\n", 1, RunState::Running, false), "");
    let second = sent("one\ntwo\n", 2, RunState::Running, false);
    assert!(second.contains("two") && second.contains("data-do=\"interrupt\""));
    let asking = sent("one\ntwo\n", 2, asks("name?", false), false);
    assert!(asking.contains("name?") && asking.contains("type=\"text\""));
    // Its outputs may not be in the file yet.
    let over = sent("one\ntwo\n", 2, RunState::Done, true);
    assert!(over.contains("two") && !over.contains("interrupt"));
    assert!(!sent("", 0, RunState::Done, false).contains("two"));
}

/// A notebook whose first cell shows this HTML.
fn showing(html: &str) -> Notebook {
    let mut notebook = notebook("x");
    let id = notebook.cells()[0].id().clone();
    let outputs = [displayed(html)].into();
    notebook.apply(&notebook::Edit::SetOutputs { id, outputs, execution_count: Some(1) }).unwrap();
    notebook
}

fn displayed(html: &str) -> Output {
    let data = Json::from_value(&serde_json::json!({ "text/html": html }));
    Output::Display(MimeBundle { data, metadata: Json::empty_object() })
}

/// The cells of a notebook as one text.
fn cells_of(notebook: &Notebook, trust: Trust, runs: HashMap<&CellId, &SeenRun>) -> String {
    let (marks, libraries) = (HashMap::new(), Libraries::default());
    let (states, is_brief) = (Vec::new(), false);
    let viewed = Viewed { notebook, states, marks: &marks, runs, trust, libraries: &libraries, is_brief };
    rendered(&[cells::section(&viewed, &Near::Top, &mut Digests::default())])
        .into_iter()
        .map(|(_, html)| html)
        .collect()
}

#[test]
fn scripts_of_outputs_run_only_if_a_run_here_has_made_them() {
    let notebook = showing("<script>1</script>");
    let id = notebook.cells()[0].id();
    let skipped = RunState::Skipped { reason: place::SkipReason::Cancelled };
    for (state, outputs, is_run) in [
        (skipped, Some(Vec::new().into()), false),
        (RunState::Queued, None, false),
        (RunState::Done, None, false),
        (RunState::Running, Some([displayed("<script>1</script>")].into()), true),
    ] {
        let seen = SeenRun { outputs, is_recent: false, ..run("r1", state) };
        let html = cells_of(&notebook, Trust::default(), HashMap::from([(id, &seen)]));
        assert_eq!(
            (html.contains("<iframe"), html.contains("data-do=\"trust\"")),
            (is_run, !is_run),
            "{:?}",
            seen.state
        );
    }
}

#[test]
fn trust_is_for_the_outputs_that_were_recorded_or_seen() {
    let (ours, replaced) = (showing("<script>1</script>"), showing("<script>2</script>"));
    let outputs = Some(OutputsState {
        digest: workspace::outputs_digest(&ours.cells()[0]),
        execution_count: Some(1),
        items: 1,
        is_retained: false,
        times: None,
    });
    let after = CellState {
        index: 0,
        previous: None,
        next: None,
        revision: String::new(),
        outputs,
        content: BlobId::of(b"x"),
    };
    let change =
        OperationChange { id: ours.cells()[0].id().clone(), before: None, after: Some(after), moved: false };
    let recorded = |kind: OperationKind| PastOperation {
        operation: Operation { kind, cells: vec![change.clone()], ..Operation::default() },
        ..past(1, "a")
    };
    let by_run = [recorded(OperationKind::Change { runs: vec!["r1".into()] })];
    let made = |past: &[PastOperation]| Trust { made: timeline::made(past), ..Trust::default() };
    let accepted = Trust {
        accepted: HashSet::from([workspace::outputs_digest(&ours.cells()[0]).as_str().to_owned()]),
        ..Trust::default()
    };
    let shown = |notebook: &Notebook, trust: &Trust| {
        let html = cells_of(notebook, trust.clone(), HashMap::new());
        let has = |action: &str| html.contains(&format!("data-do=\"{action}\""));
        (html.contains("<iframe"), has("trust"), has("distrust"))
    };
    assert_eq!(shown(&ours, &made(&by_run)), (true, false, false));
    assert_eq!(shown(&replaced, &made(&by_run)), (false, true, false), "another program has replaced them");
    assert_eq!(
        shown(&ours, &made(&[recorded(OperationKind::EDIT)])),
        (false, true, false),
        "an edit runs nothing"
    );
    assert_eq!(shown(&ours, &accepted), (true, false, true));
    assert_eq!(shown(&replaced, &accepted), (false, true, false), "the person has seen others");
}

#[tokio::test]
async fn an_answer_is_for_the_question_that_was_seen() {
    let questions = OpenQuestions::default();
    let question = |text: &str| Question {
        client: "c".to_owned(),
        text: text.to_owned(),
        asked_at: SystemTime::UNIX_EPOCH,
        input: None,
    };
    let mut asking = Box::pin(questions.ask(question("Run this: rm -r x\u{200b}")));
    assert!((&mut asking).now_or_never().is_none());
    let [open] = questions.all().try_into().unwrap();
    let html = rendered(&[now::questions(&[open])]).remove(0).1;
    assert!(html.contains("rm -r x\\u{200b}</pre>"), "{html}");
    assert!(
        html.contains("<button type=\"button\" data-do=\"accept\"") && html.contains(" disabled=\"\""),
        "{html}"
    );
    let shown = html.split("data-shown=\"").nth(1).unwrap().split('"').next().unwrap();
    let accept = |shown: &str| {
        let seen = serde_json::from_value(serde_json::json!({ "question": 1, "shown": shown })).unwrap();
        reply(&questions, &seen, Answer::Accepted)["said"].as_str().unwrap().to_owned()
    };
    let other = now::question_digest(&question("Read x"));
    assert!(accept(&other).contains("is closed") && (&mut asking).now_or_never().is_none());
    assert_eq!(accept(shown), "Accepted.");
    assert_eq!(asking.await, Answer::Accepted);
}

#[test]
fn a_line_is_for_the_prompt_that_was_seen() {
    let id = RunId::from("r1");
    let shown = now::prompt_digest(&id, "name? ", false);
    let check = |state: RunState| check_prompt(&id, Some(&state), &shown).is_ok();
    assert!(check(asks("name? ", false)) && check(RunState::Running));
    assert!(!check(asks("name? ", true)) && !check(asks("password? ", false)));
}

#[test]
fn a_run_that_the_kernel_has_not_started_waits_for_the_one_before() {
    let states = |counts: [Option<u64>; 2]| {
        let runs = counts.map(|execution_count| SeenRun { execution_count, ..run("r", RunState::Running) });
        let mut kernel = kernel("k", runs.into());
        kernel.queue();
        kernel.runs.into_iter().map(|run| run.state).collect::<Vec<_>>()
    };
    assert_eq!(states([Some(1), None]), [RunState::Running, RunState::Queued]);
    assert_eq!(states([None, None]), [RunState::Running, RunState::Running], "a kernel that answers nothing");
}

#[test]
fn what_ends_or_waits_is_told_once() {
    let mut notices = Notices::default();
    let mut told = |runs: Vec<SeenRun>, questions: &[OpenQuestion]| {
        let notices = notices.of(&[kernel("k", runs)], questions);
        let lines: Vec<_> = notices.iter().map(|notice| serde_json::to_string(notice).unwrap()).collect();
        lines.join(" ")
    };
    let question = Question {
        client: "bare".to_owned(),
        text: String::new(),
        asked_at: SystemTime::UNIX_EPOCH,
        input: None,
    };
    let question = [OpenQuestion { number: 1, question }];
    assert_eq!(told(vec![run("r1", RunState::Running), run("r2", asks("a?", false))], &[]), "");
    assert_eq!(
        told(vec![run("r1", asks("name? ", false)), run("r2", RunState::Running)], &question),
        r#"{"title":"r1","body":"Cell r1 waits for input: name?"} {"title":"bare","body":"asks for your consent"}"#
    );
    assert_eq!(told(vec![run("r1", asks("name? ", false)), run("r2", RunState::Running)], &question), "");
    assert_eq!(
        told(vec![run("r1", RunState::Done), run("r2", RunState::Running)], &[]),
        r#"{"title":"r1","body":"Cell r1: done"}"#
    );
    assert_eq!(told(Vec::new(), &[]), r#"{"title":"r2","body":"Cell r2: has ended"}"#);
}

#[test]
fn only_a_run_that_can_be_answered_has_a_field() {
    let section = |takes_input| {
        let asking = SeenRun { takes_input, ..run("r1", asks("name?", false)) };
        let found = now::sections(&[kernel("k", vec![asking])], &FoundNotebooks::default(), &[], &[]);
        rendered(&found).into_iter().map(|(_, html)| html).collect::<String>()
    };
    assert!(section(true).contains("name?"));
    let without = section(false);
    assert!(
        without.contains("waits for input") && without.contains("Interrupt") && !without.contains("<form")
    );
}

#[test]
fn the_last_change_of_a_cell_by_somebody_else_is_marked_where_it_is_in_effect() {
    let edit = |id: u64, agent: &str, cells: &[&str]| PastOperation {
        live_cells: cells.iter().map(|cell| CellId::from(*cell)).collect(),
        ..past(id, agent)
    };
    let marked = |past: &[PastOperation]| {
        let marks = timeline::marks(past);
        let mut marked: Vec<_> =
            marks.iter().map(|(cell, mark)| format!("{cell} {}", mark.operation)).collect();
        marked.sort();
        marked.join(", ")
    };
    let mut story =
        vec![edit(1, "claude", &["a", "b"]), edit(2, "codex", &["b"]), edit(3, workspace::PERSON, &["c"])];
    assert_eq!(marked(&story), "a o1, b o2");
    story[1].live_cells.clear();
    assert_eq!(marked(&story), "a o1, b o1");
}
