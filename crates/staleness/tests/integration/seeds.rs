//! Seeds in functions, and random states that a cell keeps.

use crate::table::check;

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
            "abde",
        ),
        (
            "import numpy as np\nnp.random.seed(0) | n = 3 | def draw(n): return np.random.rand(n) | x = draw(2); print(n) | np.random.rand()",
            "b: n = 4",
            "ok edited ok input ok",
            "abde",
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
        (kept, "d: b = np.random.rand(1)", "ok ok ok edited input ok", "abcdef"),
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
            "abcd",
        ),
    ]);
}
