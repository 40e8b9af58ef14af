use std::collections::BTreeSet;

use super::*;

fn begin(known: &mut KnownKernel, process: Option<&str>, instances: &mut Instances) -> (u64, bool) {
    let Begun { instance, is_restarted, .. } = known.begin(process.map(str::to_owned), instances);
    (instance, is_restarted)
}

fn line(instance: &str) -> KernelRun {
    KernelRun { instance: instance.to_owned(), ..KernelRun::default() }
}

#[test]
fn without_names_a_count_that_does_not_grow_is_of_another_instance() {
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    let (first, _) = begin(&mut known, None, &mut instances);
    assert_eq!(known.counted(first, (None, false), Some(3), &mut instances), (first, false));
    assert_eq!(known.counted(first, (None, false), None, &mut instances), (first, false));
    assert_eq!(known.counted(first, (None, false), Some(4), &mut instances), (first, false));
    let (second, is_news) = known.counted(first, (None, false), Some(1), &mut instances);
    assert!(second != first && is_news);
    assert_eq!(known.counted(second, (None, false), Some(2), &mut instances), (second, false));
    assert_eq!(begin(&mut known, None, &mut instances), (second, false), "that was said");
    // A run that a restart ended belongs to the instance in which it began.
    known.restart(None, &mut instances);
    let (third, _) = begin(&mut known, None, &mut instances);
    assert_eq!(known.counted(second, (None, false), Some(3), &mut instances), (second, false));
    assert_eq!(known.counted(third, (None, false), Some(1), &mut instances), (third, false));
}

#[test]
fn a_restart_that_nobody_asked_for_is_noticed_once() {
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    let (first, is_news) = begin(&mut known, Some("p1"), &mut instances);
    assert!(!is_news);
    assert_eq!(known.counted(first, (Some("p1".to_owned()), true), Some(9), &mut instances), (first, false));
    assert_eq!(
        known.counted(first, (Some("p1".to_owned()), true), Some(1), &mut instances),
        (first, false),
        "named"
    );
    let (second, is_news) = begin(&mut known, Some("p2"), &mut instances);
    assert!(second != first && is_news);
    assert_eq!(begin(&mut known, Some("p2"), &mut instances), (second, false));
    // It is noticed only with the run.
    let (third, is_news) = known.counted(second, (Some("p3".to_owned()), true), Some(1), &mut instances);
    assert!(third != second && is_news);
    assert_eq!(begin(&mut known, Some("p3"), &mut instances), (third, false));
}

#[test]
fn a_restart_on_request_is_no_news() {
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    let (first, _) = begin(&mut known, Some("p1"), &mut instances);
    known.restart(Some("p1".to_owned()), &mut instances);
    // The connection does not know yet.
    let present = known.present(Some("p1".to_owned()), &mut instances);
    assert!(present.is_some() && present != Some(first));
    assert_eq!(begin(&mut known, Some("p2"), &mut instances), (present.unwrap(), false));
    assert_eq!(instances.name(present.unwrap()), "p2");
}

#[test]
fn a_process_that_has_ended_is_not_present_before_the_next_one_is_known() {
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    let (first, _) = begin(&mut known, Some("p1"), &mut instances);
    known.ended("p0".to_owned(), &mut instances);
    assert_eq!(known.present(None, &mut instances), Some(first));
    known.ended("p1".to_owned(), &mut instances);
    let second = known.present(None, &mut instances);
    assert!(second.is_some() && second != Some(first));
    // It is said again with every look, and what it ran belongs to it.
    known.ended("p1".to_owned(), &mut instances);
    assert_eq!(known.present(None, &mut instances), second);
    assert_eq!(known.counted(first, (None, true), Some(2), &mut instances), (first, false));
    assert_eq!(begin(&mut known, Some("p2"), &mut instances), (second.unwrap(), true));
    assert_eq!(begin(&mut known, Some("p2"), &mut instances), (second.unwrap(), false));
    assert_eq!(instances.name(second.unwrap()), "p2");
}

#[test]
fn what_other_servers_have_run_is_in_the_instance_of_its_name() {
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    known.add([line("p1"), line("p1")].into(), &mut instances);
    let first = known.present(None, &mut instances).unwrap();
    assert_eq!(begin(&mut known, Some("p1"), &mut instances), (first, false));
    // Another server has restarted it, and has not run anything since.
    known.add([line("?x")].into(), &mut instances);
    let (second, is_news) = begin(&mut known, Some("p2"), &mut instances);
    assert!(second != first && is_news);
    known.add([line("p2")].into(), &mut instances);
    assert_eq!(begin(&mut known, Some("p2"), &mut instances), (second, false));
}

#[test]
fn a_restart_while_no_server_ran_is_noticed_by_the_next_one() {
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    known.add([line("p1")].into(), &mut instances);
    assert!(begin(&mut known, Some("p2"), &mut instances).1);
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    known.add([line("p1"), line("?x")].into(), &mut instances);
    assert!(!begin(&mut known, Some("p2"), &mut instances).1, "the earlier server was asked for it");
}

#[test]
fn what_was_used_longest_ago_is_forgotten() {
    let mut all: Vec<(usize, ())> = Vec::new();
    for index in 0..MAX_NOTEBOOKS {
        known(&mut all, &index);
    }
    known(&mut all, &0);
    known(&mut all, &MAX_NOTEBOOKS);
    forget_oldest(&mut all, MAX_NOTEBOOKS);
    let kept: Vec<_> = all.iter().map(|(index, ())| *index).collect();
    assert_eq!((kept.len(), kept[0], kept.contains(&0)), (MAX_NOTEBOOKS, 2, true));
}

#[test]
fn what_the_kernel_said_of_a_run_is_known_to_other_servers_too() {
    let names = |name: &str| BTreeSet::from([name.to_owned()]);
    let loaded = |name: &str, file: &str| (name.to_owned(), (file.to_owned(), Some(7)));
    let run = KernelRun {
        cell: Some("c".into()),
        source: "heappush(h, 1)".to_owned(),
        language: "python".to_owned(),
        is_interrupted: true,
        assigned: Some(names("h")),
        drew: names("Python's random state"),
        unchanged: names("x"),
        random_states: BTreeMap::from([("Python's random state".to_owned(), 5)]),
        loaded: BTreeMap::from([loaded("a.b", "/work/a/b.py"), loaded("c", "/other/c.py")]),
        changed_files: Some(BTreeMap::from([("c".to_owned(), 8)])),
        outputs: Some(9),
        ..KernelRun::default()
    };
    let mut home = Notebook::default();
    home.add(&run, 1, Some(Path::new("/work")));
    let [known] = home.history.runs() else { panic!("one run") };
    assert_eq!((known.assigned.as_deref(), &known.drew), (run.assigned.as_ref(), &run.drew));
    assert!(known.is_interrupted);
    assert_eq!(*known.unchanged, run.unchanged);
    assert_eq!((&known.random_states, known.outputs), (&run.random_states, run.outputs));
    let files: Vec<_> = known.loaded.values().map(|module| (module.file.as_str(), module.content)).collect();
    assert_eq!(files, [("a/b.py", Some(7)), ("/other/c.py", Some(7))]);
    let (files, digests) = home.history.modules(Some(1));
    assert_eq!((files.len(), digests), (2, BTreeMap::from([("a.b".to_owned(), 7), ("c".to_owned(), 8)])));
}

#[test]
fn a_restart_is_said_once_though_its_process_is_known_later() {
    fn begin(known: &mut KnownKernel, process: Option<&str>, instances: &mut Instances) -> (bool, bool) {
        let begun = known.begin(process.map(str::to_owned), instances);
        (begun.is_restarted, begun.is_said)
    }
    let (mut known, mut instances) = (KnownKernel::default(), Instances::default());
    assert_eq!(begin(&mut known, Some("p"), &mut instances), (false, false));
    known.ended("p".to_owned(), &mut instances);
    assert_eq!(begin(&mut known, None, &mut instances), (true, false));
    assert_eq!(begin(&mut known, Some("q"), &mut instances), (false, true));
    assert_eq!(begin(&mut known, Some("q"), &mut instances), (false, false));
    assert_eq!(begin(&mut known, Some("r"), &mut instances), (true, false));
    assert_eq!(begin(&mut known, Some("r"), &mut instances), (false, false));
}
