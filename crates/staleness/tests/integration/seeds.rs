//! Seeds, what is drawn from the states that they set, and random states that a cell keeps.

use staleness::StaleState;

use crate::story::{Story, check as states};
use crate::table::{check, check_rows};

const SEED: &str = "import numpy as np, random\nnp.random.seed(0)";

#[test]
fn random_numbers_come_from_the_state_of_a_fresh_run() {
    let seed = |rest: &str| format!("{SEED} | {rest}");
    for (cells, edit, states, planned) in [
        ("x = np.random.rand(3) | print(x)", "b: x = np.random.rand(4)", "ok edited input", "abc"),
        (
            "x = np.random.rand(3) | y = np.random.rand(3) | print(y)",
            "c: y = np.random.rand(4)",
            "ok ok edited input",
            "abcd",
        ),
        (
            "x = np.random.rand(3) | y = np.random.rand(3) | print(y)",
            "b: x = np.random.rand(4)",
            "ok edited input input",
            "abcd",
        ),
        (
            "x = np.random.rand(3) | y = np.random.rand(3) | print(y)",
            "b: x = np.random.rand(3); print(x)",
            "ok edited ok ok",
            "ab",
        ),
        (
            "k = 1 | x = np.random.normal(k, 1, 3) | y = np.random.rand(3) | y",
            "b: k = 2",
            "ok edited input ok ok",
            "abc",
        ),
        (
            "n = 1 | x = np.random.normal(0, 1, n) | y = np.random.rand(3) | y",
            "b: n = 2",
            "ok edited input input input",
            "abcde",
        ),
        ("x = random.random() | x", "b: x = random.random() + 1", "ok edited input", "bc"),
        ("x = f() | x", "b: x = g()", "ok edited input", "bc"),
        (
            "from sklearn.model_selection import train_test_split\nX = np.random.randn(9) | a, b = train_test_split(X, test_size=0.5) | print(a.mean())",
            "c: a, b = train_test_split(X, test_size=0.25)",
            "ok ok edited input",
            "abcd",
        ),
    ] {
        check(&[(&seed(cells), edit, states, planned)]);
    }
}

#[test]
fn generators_and_functions_draw_from_the_right_state_too() {
    check_rows(
        r"
        import random; random.seed(1) | xs = [1, 2]; random.shuffle(xs) | xs
            :: b: xs = [1, 2, 3]; random.shuffle(xs) :: ok edited input :: abc
        import torch; torch.manual_seed(0) | w = torch.randn(3) | w :: a: 0 => 1 :: edited input input :: abc
        import torch; torch.manual_seed(0) | w = torch.randn(3) | w :: b: 3 => 4 :: ok edited input :: abc
        import numpy as np | x = np.random.rand(3) | y = np.random.rand(3) | y :: b: x = np.random.rand(4)
            :: ok edited ok ok :: b
        import numpy as np; np.random.seed(0) | def draw(n): return np.random.rand(n) | x = draw(3) | x
            :: c: x = draw(4) :: ok ok edited input :: acd
        rng = default_rng(0) | x = rng.normal(size=3) | x :: b: 3 => 4 :: ok edited input :: abc
        rng = default_rng(0) | x = rng.normal(size=3) | y = rng.normal(size=3) | y
            :: c: y = rng.normal(size=4) :: ok ok edited input :: abcd
        rng = default_rng(0) | x = rng.normal(size=3) | y = rng.normal(size=3) | y
            :: b: x = rng.normal(size=4) :: ok edited input input :: abcd
        rng = default_rng(0) | x = f() | a = split(x, random_state=rng) | a
            :: c: a = split(x, 2, random_state=rng) :: ok ok edited input :: acd
        import numpy as np | np.random.seed(0); x = np.random.rand(3) | x
            :: b: np.random.seed(1); x = np.random.rand(3) :: ok edited input :: bc
        ",
    );
}

/// Whatever they are called.
#[test]
fn generators_of_random_numbers_are_made_again() {
    check_rows(
        r"
        gen = np.random.default_rng(0) | x = gen.normal(size=3) | x :: b: 3 => 4 :: ok edited input :: abc
        rs = np.random.RandomState(0) | x = rs.rand(3); a = 5 | x :: b: 5 => 3 :: ok edited ok :: abc
        r = random.Random(1) | x = r.random() | y = r.random() | y :: c: y = r.random() + 1
            :: ok ok edited input :: abcd
        gen = np.random.default_rng(0) | a, b = split(x, random_state=gen) | a
            :: b: a, b = split(x, 2, random_state=gen) :: ok edited input :: abc
        ",
    );
}

#[test]
fn what_a_cell_makes_that_fails_in_a_fresh_run_is_stale() {
    // From statsmodels' ols: without its first line, the second cell fails before it draws.
    let mut story =
        Story::ran(&[SEED, "t = 1\ny = t + np.random.normal()", "z = np.random.normal()", "print(z)"]);
    story.edit("b", "y = t + np.random.normal()");
    story.run_each(&["a", "b", "c", "d"]);
    states(&story, &["up to date", "undefined name", "input changed", "input changed"]);
}

#[test]
fn what_a_run_has_drawn_counts_where_names_do_not_show_it() {
    let cells = [SEED, "X = load()", "m = KMeans(3).fit(X)", "b = 5", "y = draw(m)", "print(y)"];
    let run = || {
        let mut story = Story::of(&cells);
        story.run_each(&["a", "b"]);
        story.run_drawing("c");
        story.run("d");
        story.run_drawing("e");
        story.run("f");
        story
    };
    let all = ["a", "b", "c", "d", "e", "f"];
    let mut story = run();
    assert!(story.states().iter().all(|state| state.state == StaleState::UpToDate));
    // What it draws comes from where the seed and the draws before it leave the state.
    story.edit("e", "y = draw(m, 2)");
    states(&story, &["up to date", "up to date", "up to date", "up to date", "edited", "input changed"]);
    assert_eq!(story.planned(&all, true), ["a", "c", "e", "f"]);
    let mut story = run();
    story.edit("a", "import numpy as np, random\nnp.random.seed(1)");
    assert_eq!(story.planned(&all, true), ["a", "c", "e", "f"]);
    let mut story = run();
    story.edit("d", "b = 6");
    assert_eq!(story.planned(&all, true), ["d"]);
    // Without a seed, no state can be repeated.
    let mut story = Story::of(&["import numpy as np", "m = KMeans(3)", "print(m)"]);
    story.run("a");
    story.run_drawing("b");
    story.run("c");
    story.edit("b", "m = KMeans(4)");
    assert_eq!(story.planned(&["a", "b", "c"], true), ["b", "c"]);
}

#[test]
fn draws_count_as_often_as_they_are_made() {
    let est = "import random; random.seed(0) | def est(n): return sum(random.random() < 0.5 for _ in range(n)) | s = [est(5) for _ in range(3)] | random.random()";
    check(&[
        (est, "c: s = [est(5) for _ in range(2)]", "ok ok edited input", "acd"),
        (
            "import random; random.seed(0) | s = [random.random() for _ in range(3)] | random.random()",
            "b: s = [random.random() for _ in range(2)]",
            "ok edited input",
            "abc",
        ),
        (
            "import random; random.seed(0) | k = 3 | for _ in range(k): random.random() | random.random()",
            "b: k = 2",
            "ok edited input input",
            "abcd",
        ),
    ]);
    // A draw that a fresh run does not make any longer.
    let rand = "print(np.random.rand(2))";
    let mut story = Story::ran(&["import numpy as np\nnp.random.seed(3)", rand, rand]);
    story.delete("b");
    let states: Vec<_> = story.states().into_iter().map(|state| state.state).collect();
    assert_eq!(states, [StaleState::UpToDate, StaleState::OutOfOrder]);
    assert_eq!(story.planned(&["a", "c"], true), ["a", "c"]);
    story.run_each(&["a", "c"]);
    assert!(story.states().iter().all(|state| state.state == StaleState::UpToDate));
    // One that only its run has shown.
    let mut story = Story::of(&["import numpy as np\nnp.random.seed(3)", "fit(X)", rand]);
    story.run("a");
    story.run_drawing("b");
    story.run("c");
    story.delete("b");
    let states: Vec<_> = story.states().into_iter().map(|state| state.state).collect();
    assert_eq!(states, [StaleState::UpToDate, StaleState::OutOfOrder]);
}

#[test]
fn a_seed_in_a_function_depends_on_what_it_reads() {
    let fresh = "import numpy as np\nS = 1\ndef fresh(): np.random.seed(S) | fresh()\na = np.random.rand(2) | b = np.random.rand(2) | fresh(); np.random.rand() | np.random.rand()";
    check(&[
        (
            fresh,
            "a: import numpy as np\nS = 2\ndef fresh(): np.random.seed(S)",
            "edited input input input input",
            "abcde",
        ),
        (fresh, "b: fresh()\na = np.random.rand(3)", "ok edited input ok ok", "bc"),
        (fresh, "d: fresh(); np.random.rand(2)", "ok ok ok edited input", "de"),
        (
            "import random\nS = 1 | def one(): random.seed(S)\ndef two(): one() | two(); random.random() | random.random()",
            "a: import random\nS = 2",
            "edited ok input input",
            "acd",
        ),
        // How much a function draws decides about what is drawn below.
        (
            "import numpy as np\nnp.random.seed(0) | N = 3 | def draw(): return np.random.rand(N) | x = draw() | np.random.rand()",
            "b: N = 4",
            "ok edited ok input input",
            "abde",
        ),
        (
            "import numpy as np\nnp.random.seed(0) | K = 3 | def draw(n):\n    print(K)\n    return np.random.rand(n) | x = draw(2) | np.random.rand()",
            "b: K = 4",
            "ok edited ok input ok",
            "abd",
        ),
        (
            "import numpy as np\nnp.random.seed(0) | n = 3 | def draw(n): return np.random.rand(n) | x = draw(2); print(n) | np.random.rand()",
            "b: n = 4",
            "ok edited ok input ok",
            "abd",
        ),
    ]);
}

#[test]
fn a_state_that_is_kept_is_a_use_of_it() {
    let kept = "import numpy as np\nnp.random.seed(3) | a = np.random.rand(2) | st = np.random.get_state() | b = np.random.rand(2) | np.random.set_state(st); np.random.rand(2) - b | np.random.rand()";
    check(&[
        (kept, "b: a = np.random.rand(3)", "ok edited input input input input", "abcdef"),
        (kept, "a: import numpy as np\nnp.random.seed(4)", "edited input input input input input", "abcdef"),
        // From there on, all is as it was.
        (kept, "d: b = np.random.rand(1)", "ok ok ok edited input ok", "abde"),
        (
            "import random\nrandom.seed(7) | a = random.random() | st = random.getstate() | b = random.random() | random.setstate(st)\nrandom.random()",
            "b: a = random.random(), random.random()",
            "ok edited input input input",
            "abcde",
        ),
        // To keep it changes nothing.
        (
            "import random\nrandom.seed(7) | st = random.getstate() | b = random.random() | b",
            "b: st = random.getstate()  # again",
            "ok edited ok ok",
            "ab",
        ),
    ]);
}

#[test]
fn a_state_that_a_run_leaves_as_before_is_no_other_input() {
    let cells = [SEED, "n = 3\nfor i in range(n): np.random.rand()", "np.random.rand()"];
    let mut story = Story::of(&cells);
    for (id, state) in [("a", 1), ("b", 2), ("c", 3)] {
        story.run_leaving(id, state);
    }
    // Where the kernel has seen the states, a guess at what an edit changes ends with its run.
    story.edit("b", "n = 2 + 1\nfor i in range(n): np.random.rand()");
    states(&story, &["up to date", "edited", "input changed"]);
    story.run_leaving("a", 1);
    story.run_leaving("b", 2);
    states(&story, &["up to date", "up to date", "up to date"]);
    story.edit("b", "n = 4\nfor i in range(n): np.random.rand()");
    story.run_leaving("a", 1);
    story.run_leaving("b", 5);
    states(&story, &["up to date", "up to date", "input changed"]);
    // A draw that is not repeated from the seed on leaves another state.
    story.run_leaving("c", 6);
    states(&story, &["up to date", "up to date", "up to date"]);
    story.run_leaving("c", 7);
    states(&story, &["up to date", "up to date", "out of order"]);
}
