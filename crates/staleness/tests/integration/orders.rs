//! Edits and runs in the orders in which agents and people work: what is said of the cells then.

use crate::story::Story;
use crate::table::{rows, short};

/// Checks rows of cells, steps, states, and the cells that `run_cells(stale)` then runs. Steps stand between `;;`: `b: 1 => 2` edits a cell,
/// `+b` runs it, `-b` deletes it, `*` runs all, `!` runs the stale ones, `~b` runs one that is interrupted, `#` restarts the kernel, `> code` runs code in no cell,
/// and `= 2` writes the module `helpers`.
fn check(text: &str) {
    let mut wrong = Vec::new();
    for [cells, steps, states, planned] in rows(text) {
        let cells: Vec<&str> = cells.split(" | ").collect();
        let mut story = Story::of(&cells);
        story.write_module("helpers", 1);
        story.run_all();
        for step in steps.split(";;").map(str::trim) {
            match step.split_at(1) {
                ("+", id) => story.run(id),
                ("-", id) => story.delete(id),
                ("*", _) => story.run_all(),
                ("#", _) => story.restart(),
                (">", code) => story.run_code(code.trim()),
                ("=", content) => story.write_module("helpers", content.trim().parse().unwrap()),
                ("~", id) => story.interrupt(id),
                ("!", _) => run_stale(&mut story),
                _ => edit(&mut story, step),
            }
        }
        let found: Vec<_> = story.states().iter().map(|state| short(state.state)).collect();
        let evidence: Vec<_> = story.states().into_iter().map(|state| state.evidence).collect();
        let plan = plan(&story);
        let planned = planned.trim_matches('-');
        run_stale(&mut story);
        let after: Vec<_> = story.states().into_iter().filter(|state| state.state.is_stale()).collect();
        // Some are left out.
        let is_loaded = !steps.contains('=') || steps.contains("reload") || steps.contains('#');
        let is_loaded = is_loaded && !steps.contains('~');
        if found.join(" ") != states || plan.concat() != planned || is_loaded && !after.is_empty() {
            let found = (cells.join(" | "), steps, found.join(" "), plan.concat());
            wrong.push(format!(
                "{found:?}\nexpected {states:?} {planned:?}, {evidence:#?}, stale afterwards: {after:#?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

fn edit(story: &mut Story, step: &str) {
    let (id, change) = step.split_once(": ").unwrap();
    let position = story.ids().iter().position(|other| other == id).unwrap();
    let source = story.sources()[position].clone();
    let source = match change.split_once(" => ") {
        Some((part, other)) => {
            assert!(source.contains(part), "{step}");
            source.replace(part, other)
        }
        None => change.to_owned(),
    };
    story.edit(id, &source);
}

fn plan(story: &Story) -> Vec<String> {
    let ids = story.ids();
    let all: Vec<&str> = ids.iter().map(String::as_str).collect();
    story.planned(&all, true)
}

fn run_stale(story: &mut Story) {
    for id in plan(story) {
        story.run(&id);
    }
}

#[test]
fn what_has_run_again_with_another_source_is_another_input() {
    check(
        r"
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +a :: ok input :: b
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +a;; +b :: ok ok :: -
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +a;; +a :: ok input :: b
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +b;; +a :: ok input :: b
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +a;; a: 2 => 1;; +a :: ok ok :: -
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +a;; +b;; a: 2 => 1;; +a :: ok input :: b
        def g(x): return x + 1 | g(1) :: a: 1 => 2;; +a;; a: 2 => 1 :: edited ok :: a
        def g(x): return x + 1 | g(1) :: # ;; +a;; a: 1 => 2;; +a :: ok other kernel :: b
        def g(x): return x | def f(x): return g(x) | f(1) :: a: return x => return -x;; +a :: ok ok input :: c
        import numpy as np | np.zeros(1) :: a: numpy => cupy;; +a :: ok input :: b
        class A: x = 1 | a = A() | a.x :: a: 1 => 2;; +a :: ok input input :: bc
        scale = 2 | def f(x): return x * scale | f(1) :: a: 2 => 3;; +a :: ok ok input :: c
        f = lambda x: x | f(1) :: a: x: x => x: -x;; +a :: ok input :: b
        from m import f | f(1) :: a: import f => import g as f;; +a :: ok input :: b
        x = 1 | y = x | y :: a: 1 => 2;; +a;; +b :: ok ok input :: c
        x = 1 | y = x | y :: a: 1 => 2;; +a;; +c :: ok input input :: bc
        x = 1 | x += 1 | x :: +b :: ok order input :: abc
        x = 1 | x :: > x = 5;; +b :: ok order :: ab
        ",
    );
}

#[test]
fn what_a_call_has_kept_counts_after_the_call_is_gone() {
    check(
        r"
        from functools import lru_cache\n@lru_cache\ndef f(n):\n print(n)\n return f(n - 1) if n else 0 | f(3) | f(5)
            :: b: 3 => 4 :: ok edited may :: b
        from functools import lru_cache\n@lru_cache\ndef f(n):\n print(n)\n return f(n - 1) if n else 0 | f(3) | f(5)
            :: -b :: ok may :: -
        seen = {}\ndef f(n):\n if n not in seen: seen[n] = n\n return seen[n] | f(3) | print(seen)
            :: b: 3 => 4 :: ok edited input :: abc
        seen = {}\ndef f(n):\n if n not in seen: seen[n] = n\n return seen[n] | f(3) | print(seen)
            :: -b :: ok order :: ac
        def make():\n n = 0\n def up():\n  nonlocal n\n  n += 1\n  return n\n return up\nup = make() | up() | up()
            :: -b :: ok order :: ac
        ",
    );
}

#[test]
fn the_number_of_draws_is_part_of_what_is_drawn() {
    check(
        r"
        import random; random.seed(1) | n = 3\nfor i in range(n): random.random() | random.random()
            :: b: 3 => 4 :: ok edited input :: abc
        import random; random.seed(1) | n = 3\nif n > 2: random.random() | random.random()
            :: b: n = 3 => n = 1 :: ok edited input :: abc
        import random; random.seed(1) | xs = [1, 2]\nys = [random.random() for x in xs] | random.random()
            :: b: 1, 2 => 1 :: ok edited input :: abc
        import random; random.seed(1) | class A:\n def draw(self): return random.random() | a = A() | random.random()
            :: c: a = A() => a = A();print(1) :: ok ok edited ok :: ac
        ",
    );
}

#[test]
fn settings_of_libraries_are_inputs_of_their_users() {
    check(
        r"
        import charts as ch | ch.set_style('a') | c = ch.line() | c :: b: a => b :: ok edited may ok :: b
        import decimal | decimal.getcontext().prec = 5 | decimal.Decimal(1) / 3 :: b: 5 => 9;; +b :: ok ok input :: c
        import charts as ch | ch.config.enable('a') | c = ch.line() | c :: b: a => b :: ok edited may ok :: b
        import pandas as pd | pd.set_option('display.max_rows', 3) | pd.reset_option('display.max_rows') | df = pd.DataFrame() | df
            :: b: 3 => 4 :: ok edited ok ok ok :: b
        ",
    );
}

#[test]
fn what_a_cell_may_set_is_not_believed_below_it() {
    check(
        r"
        n = 1 | exec('m = n * 2') | m :: a: n = 1 => n = 2 :: edited unknown may :: a
        n = 1 | exec('m = n * 2') | m :: b: 2 => 3 :: ok edited may :: b
        n = 1 | exec('m = n * 2') | m :: a: n = 1 => n = 2;; +a :: ok unknown may :: -
        ",
    );
}

#[test]
fn files_are_inputs_of_the_cells_that_read_them() {
    check(
        r"
        df.to_csv('x.csv') | pd.read_csv('x.csv') :: a: df => df.T :: edited input :: ab
        x = 1 | open('x.csv', 'w').write(str(x)) | y = read('x.csv') | y :: a: 1 => 2 :: edited input input input :: abcd
        x = 1 | f = open('x.csv', 'w')\nf.write(str(x))\nf.close() | read('x.csv') :: a: 1 => 2 :: edited input input :: abc
        import sys | sys.setrecursionlimit(2000) | print(sys.getrecursionlimit()) :: b: 2000 => 2500 :: ok edited may :: b
        x = 1 | path = 'x.csv'\nsave(x, path) | load(path) :: a: 1 => 2 :: edited input input :: abc
        df.to_csv('x.csv') | pd.read_csv('x.csv') :: # ;; +b :: other kernel may :: a
        pd.read_csv('x.csv') | df.to_csv('x.csv') :: +a :: ok ok :: -
        pd.read_csv('x.csv') | df.to_csv('x.csv') :: +b :: may ok :: -
        pd.read_csv('x.csv') | df.to_csv('x.csv') :: b: df => df.T;; +b :: may ok :: -
        ",
    );
}

#[test]
fn a_file_that_is_edited_counts_until_it_is_loaded_again() {
    check(
        r"
        import helpers | helpers.f(1) | x = 1 | x :: = 2 :: ok input ok ok :: -
        import helpers as h | y = h.f(1) | y :: = 2 :: ok input input :: -
        from helpers import f | y = f(1) | y :: = 2 :: ok input input :: -
        from helpers import f | y = f(1) | y :: = 2;; +a;; +b :: ok input input :: -
        import helpers | def g(): return helpers.f(1) | g() :: = 2 :: ok ok input :: -
        import helpers | helpers.f(1) :: = 2;; > importlib.reload(helpers) :: ok input :: b
        import helpers | helpers.f(1) :: = 2;; > importlib.reload(helpers);; +b :: ok ok :: -
        from helpers import f | f(1) :: = 2;; > import helpers; importlib.reload(helpers);; +b :: ok input :: ab
        from helpers import f | f(1) :: = 2;; > import helpers; importlib.reload(helpers);; +a;; +b :: ok ok :: -
        import helpers | helpers.f(1) :: = 2;; # ;; +a;; +b :: ok ok :: -
        import helpers | helpers.f(1) :: +a;; +a :: ok ok :: -
        import helpers as h\nh.f(1) | x = 1 :: = 2 :: input ok :: -
        import helpers as h\nh.f(1) :: = 2;; > importlib.reload(helpers) :: input :: a
        import helpers as h\nh.f(1) :: = 2;; > importlib.reload(helpers);; +a :: ok :: -
        import helpers | helpers.f(1) :: = 2;; = 1 :: ok ok :: -
        import helpers | importlib.reload(helpers) | helpers.f(1) :: = 2;; ! :: ok ok ok :: -
        ",
    );
}

#[test]
fn what_was_interrupted_runs_only_if_somebody_says_so() {
    check(
        r"
        x = 1 | y = x | y :: ~b :: ok interrupted input :: -
        x = 1 | y = x | y | x :: a: 1 => 2;; ~b :: edited interrupted input input :: ad
        x = 1 | y = x | y :: ~b;; +b :: ok ok ok :: -
        x = 1 | y = x | y :: ~b;; b: x => x + 1 :: ok edited input :: bc
        x = 1 | y = x | y :: ~b;; # :: other kernel interrupted other kernel :: a
        ",
    );
}
