use notebook::{Json, MimeBundle};

use super::*;
use crate::rerun::Ended;

fn cell(index: usize, source: &str, saved: &str, inputs: &[usize]) -> Checked {
    Checked {
        index,
        source: source.to_owned(),
        inputs: inputs.iter().copied().collect(),
        ..Checked::with_saved(outputs(saved))
    }
}

fn outputs(text: &str) -> Vec<Output> {
    let stream = Output::Stream { name: "stdout".to_owned(), text: text.into() };
    if text.is_empty() { Vec::new() } else { vec![stream] }
}

fn ran(texts: &[&str], ended: Ended) -> Ran {
    Ran {
        outputs: texts.iter().map(|text| outputs(text)).collect(),
        other_forms: Vec::new(),
        ended,
        missing: Vec::new(),
        left_out: Vec::new(),
        runtime: "Python 3.12.4".to_owned(),
        introduction: Vec::new(),
        widgets: None,
    }
}

fn verification(cells: &[Checked], first: &Ran, again: Option<&Ran>) -> Verification {
    let now = std::time::SystemTime::now();
    let rerun = Rerun::new(now..now, cells.iter().map(|cell| cell.source.as_str()));
    assert_eq!(differs(cells, first, &rerun), again.is_some());
    Verification {
        cells: verdicts(cells, first, again, &rerun),
        skipped: 0,
        errors: errors(first),
        not_applied: Vec::new(),
        missing: first.missing.clone(),
        runtime: first.runtime.clone(),
        introduction: Vec::new(),
        elapsed: Duration::from_secs(38),
    }
}

#[test]
fn what_is_the_same_is_said_in_one_sentence() {
    let cells = [cell(0, "1", "a", &[]), cell(2, "2", "b", &[])];
    let same = verification(&cells, &ran(&["a", "b"], Ended::Whole), None);
    assert_eq!(same.conclusion(), Conclusion::Identical);
    assert_eq!(
        same.text(),
        "Reruns from a fresh kernel: 2 of 2 cells identical; 0 errors; 38 s; Python 3.12.4"
    );
}

/// A picture with a thin line, whose color is that of all versions of a library or of one.
fn picture(color: &str) -> Vec<Output> {
    let data = serde_json::json!({ "image/png": color, "text/plain": "<Figure size 2x2 with 1 Axes>" });
    vec![Output::Display(MimeBundle { data: Json::from_value(&data), metadata: Json::empty_object() })]
}

#[test]
fn pictures_that_are_only_close_are_not_called_identical() {
    // 4×4 pixels of the gray 100, and of 101.
    let (one, other) = (
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAADklEQVR4nGNIAQIGVAIAPpQGQcvovXgAAAAASUVORK5CYII=",
        "iVBORw0KGgoAAAANSUhEUgAAAAQAAAAECAAAAACMmsGiAAAADklEQVR4nGNIBQIGVAIAPzQGUb5wN2MAAAAASUVORK5CYII=",
    );
    let cells = [cell(0, "1", "a", &[]), Checked { index: 2, ..Checked::with_saved(picture(one)) }];
    let ran = Ran { outputs: vec![outputs("a"), picture(other)], ..ran(&[], Ended::Whole) };
    let found = verification(&cells, &ran, None);
    assert_eq!(found.conclusion(), Conclusion::Close);
    assert_eq!(
        found.text(),
        "Reruns from a fresh kernel: 1 of 2 cells identical; 1 close (#2: 1 picture differs slightly); 0 errors; 38 s; Python 3.12.4"
    );
}

#[test]
fn what_differs_in_each_run_is_not_deterministic_and_others_follow() {
    let cells = [
        cell(1, "from random import random\nx = random()", "", &[]),
        cell(3, "x", "0.5", &[0]),
        cell(5, "x + 1", "1.5", &[0]),
        cell(6, "y", "old", &[]),
        cell(7, "1", "1", &[]),
    ];
    let first = ran(&["", "0.6", "1.6", "new", "1"], Ended::Whole);
    let again = ran(&["", "0.7", "1.7", "new", "1"], Ended::Whole);
    let found = verification(&cells, &first, Some(&again));
    assert_eq!(found.conclusion(), Conclusion::Differs);
    assert_eq!(
        found.sentence(),
        "Reruns from a fresh kernel: 2 of 5 cells identical; 1 not deterministic (#3, unseeded: draws random()), 1 stale or from another \
         environment (#6), 1 follows from them or their inputs; 0 errors; 38 s; Python 3.12.4"
    );
    let text = found.text();
    assert!(text.contains("-0.5\n+0.6") && text.contains("-old\n+new") && !text.contains("1.6"), "{text}");
}

#[test]
fn what_reads_a_file_that_has_changed_is_said_to_do_so() {
    let cells = [cell(1, "import os\nos.listdir('.')", "a", &[])];
    let same = ran(&["a b"], Ended::Whole);
    let found = verification(&cells, &same, Some(&same)).sentence();
    let expected = "1 stale or from another environment (#1, reads a file: os.listdir())";
    assert!(found.contains(expected), "{found}");
}

#[test]
fn a_reason_fits_what_two_runs_show() {
    let source = "import time, random\nd = open('a').read()\nprint(d, random.random())";
    let cells = [cell(1, source, "a 1", &[])];
    let random = verification(&cells, &ran(&["a 2"], Ended::Whole), Some(&ran(&["a 3"], Ended::Whole)));
    assert!(random.sentence().contains("(#1, unseeded: draws random.random())"), "{}", random.sentence());
    let same = ran(&["b 1"], Ended::Whole);
    let stale = verification(&cells, &same, Some(&same)).sentence();
    assert!(stale.contains("(#1, reads a file: open())"), "{stale}");
    let cells = [cell(1, "d = open('a').read()\nimport seaborn as sns\nsns.lineplot(d)", "1", &[])];
    let bootstrap = verification(&cells, &ran(&["2"], Ended::Whole), Some(&ran(&["3"], Ended::Whole)));
    assert!(bootstrap.sentence().contains("1 not deterministic (#1);"), "{}", bootstrap.sentence());
}

#[test]
fn lines_of_parallel_code_come_in_any_order() {
    let of = |source: &str, fresh: &str| {
        let same = ran(&[fresh], Ended::Whole);
        verification(&[cell(1, source, "a\nb\n", &[])], &same, Some(&same)).sentence()
    };
    let fork = "import os\npid = os.fork()\nprint('b' if pid else 'a')";
    let found = of(fork, "b\na\n");
    assert!(found.contains("1 not deterministic (#1, runs in parallel: os.fork())"), "{found}");
    assert!(of(fork, "b\nc\n").contains("1 stale"));
    assert!(of("print('b')", "b\na\n").contains("1 stale"));
}

#[test]
fn only_what_a_cell_depends_on_is_named_as_the_reason() {
    let cells = [
        cell(0, "import time, random, uuid", "", &[]),
        cell(1, "x = random.random()", "", &[]),
        cell(2, "print(time.time())", "a", &[]),
        cell(3, "print(x)", "a", &[1]),
        cell(4, "print(open('a').read())", "a", &[]),
        cell(5, "print(id(object()))", "a", &[]),
        cell(6, "print(1)", "a", &[]),
    ];
    let named = |position| causes(&cells, position).into_iter().map(|(cause, _)| cause).collect::<Vec<_>>();
    assert_eq!(named(2), [Cause::Clock]);
    assert_eq!(named(3), [Cause::Random]);
    assert_eq!(named(4), [Cause::File]);
    assert_eq!(named(5), [Cause::Counter]);
    assert_eq!(named(6), []);
    let seeded =
        [cell(0, "import random\nrandom.seed(1)", "", &[]), cell(1, "print(random.random())", "a", &[])];
    assert_eq!(causes(&seeded, 1), []);
}

#[test]
fn errors_that_are_saved_and_recur_are_counted() {
    let error = Output::Error { name: "E".to_owned(), value: "no".to_owned(), traceback: Vec::new() };
    let cells = [Checked { saved: vec![error.clone()], ..cell(0, "1", "", &[]) }, cell(1, "2", "b", &[])];
    let first = Ran { outputs: vec![vec![error], outputs("b")], ..ran(&[], Ended::Whole) };
    assert_eq!(
        verification(&cells, &first, None).sentence(),
        "Reruns from a fresh kernel: 2 of 2 cells identical; 1 error, expected; 38 s; Python 3.12.4"
    );
}

#[test]
fn a_long_difference_is_cut() {
    let text = |word: &str| (0..9000).map(|line| format!("{word} {line}")).collect::<Vec<_>>().join("\n");
    let (old, new) = (text("old"), text("new"));
    let found = verification(
        &[cell(0, "1", &old, &[])],
        &ran(&[&new], Ended::Whole),
        Some(&ran(&[&new], Ended::Whole)),
    );
    let text = found.text();
    assert!(text.len() < 7000, "{}", text.len());
    assert!(
        text.contains("-old 0\n") && text.contains("left out") && text.ends_with("+new 8999\n```"),
        "{text}"
    );
}

#[test]
fn a_cell_that_fails_the_second_time_is_named_and_what_follows_it_is_not_explained() {
    let cells = [cell(0, "1", "", &[]), cell(1, "2", "b", &[0]), cell(2, "3", "c", &[])];
    let first = ran(&["", "x", "y"], Ended::Whole);
    let ended = Ended::At { position: 0, cause: "FileExistsError".to_owned() };
    let found = verification(&cells, &first, Some(&ran(&["Traceback"], ended)));
    assert_eq!(found.conclusion(), Conclusion::Differs);
    assert_eq!(
        found.sentence(),
        "Reruns from a fresh kernel: 0 of 3 cells identical; 1 fails in the second run (#0), 1 differs, for unknown \
         reasons (#2), 1 follows from them or their inputs; 0 errors; 38 s; Python 3.12.4"
    );
    assert!(found.text().contains("the second time:\nTraceback"));
}

#[test]
fn a_cell_that_fails_does_not_run_once_more() {
    let cells = [cell(0, "1", "a", &[]), cell(1, "x", "b", &[])];
    let ended = Ended::At { position: 1, cause: "it took longer than 60 s".to_owned() };
    let first = ran(&["a", "half of b"], ended);
    assert_eq!(first.passed(), 1);
    assert_eq!(verification(&cells, &first, None).conclusion(), Conclusion::Fails);
}

#[test]
fn a_failure_ends_it() {
    let cells = [cell(0, "1", "a", &[]), cell(1, "x", "b", &[]), cell(2, "2", "c", &[])];
    let ended = Ended::At { position: 1, cause: "NameError: name 'x' is not defined".to_owned() };
    let found = verification(&cells, &ran(&["a", "b"], ended), None);
    assert_eq!(found.conclusion(), Conclusion::Fails);
    assert_eq!(
        found.sentence(),
        "Does not rerun from a fresh kernel: cell #1 fails (NameError: name 'x' is not defined); 1 of 1 cells before it identical; \
         1 not run; 38 s; Python 3.12.4"
    );
}
