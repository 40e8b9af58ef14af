//! What cells share without a name: the configuration of matplotlib, and displays that cells update.

use crate::story::{Story, UP, ran};
use crate::table::{check, check_rows};

#[test]
fn what_draws_depends_on_the_configuration() {
    check_rows(
        r"
        import matplotlib.pyplot as plt\nplt.rc('figure', figsize=(16, 8)) | n = 1 | fit().plot_predict()
            | fit() :: a: 16 => 9 :: edited ok input ok :: ac
        plt.rcParams['a.b'] = 1 | df.plot_all() | x :: a: 1 => 2 :: edited input ok :: ab
        mpl.rcParams['a.b'] = 1 | plt.plot(x) :: a: mpl.rcParams['a.b'] = 2 :: edited input :: ab
        rcParams['a.b'] = 1 | plt.plot(x) :: a: rcParams['a.b'] = 2 :: edited input :: ab
        plt.rcParams.update({'a.b': 1}) | plt.plot(x) :: a: 1 => 2 :: edited input :: ab
        s = 9 | plt.rc('font', size=s) | plt.plot(x) :: a: s = 8 :: edited input input :: abc
        plt.style.use('a') | sns.lineplot(df) :: a: plt.style.use('b') :: edited input :: ab
        sns.set_theme() | df.plot_all() | df :: a: sns.set_theme(style='dark') :: edited input ok :: ab
        sns.set() | plt.plot(x) :: a: sns.set(style='dark') :: edited input :: ab
        s = sns.set_palette('a') | plt.plot(x) :: a: s = sns.set_palette('b') :: edited input :: ab
        matplotlib.use('agg') | plt.plot(x) :: a: matplotlib.use('svg') :: edited input :: ab
        %matplotlib inline | plt.plot(x) :: a: %matplotlib notebook :: edited input :: ab
        %config InlineBackend.figure_format = 'svg' | plt.plot(x) :: a: svg => png :: edited input :: ab
        plt.rc('font', size=9) | def draw(): plt.plot(x) | draw() :: a: 9 => 8 :: edited ok input :: ac
        def style(n): plt.rc('font', size=n) | style(9) | plt.plot(x) :: b: style(8) :: ok edited input :: bc
        plt.rc('font', size=9) | print(plt.rcParams['font.size']) :: a: 9 => 8 :: edited input :: ab
        plt.rc('font', size=9) | fig, ax = plt.subplots() | ax.plot(x); fig :: a: plt.rc('font', size=8)
            :: edited input input :: abc
        ",
    );
}

#[test]
fn what_does_not_draw_is_no_matter_of_the_configuration() {
    check_rows(
        r"
        plt.rc('font', size=9) | y = f(x) | print(y) :: a: plt.rc('font', size=8) :: edited ok ok :: a
        plt.rc('font', size=9) | df = sns.load_dataset('a') | df :: a: 9 => 8 :: edited ok ok :: a
        plt.rc('font', size=9) | plt.rc('axes', grid=True) | x :: a: 9 => 8 :: edited ok ok :: a
        import matplotlib.pyplot as plt\nplt.rc('font', size=9)\nn = 1 | plt.plot(x) | n
            :: a: import matplotlib.pyplot as plt\nplt.rc('font', size=9)\nn = 2 :: edited ok input :: ac
        plt.plot(x) | plt.rc('font', size=9) | plt.plot(y) :: b: 9 => 8 :: ok edited input :: bc
        app.use('a') | df.plot_all() :: a: app.use('c') :: edited ok :: a
        ",
    );
    let settings = ["plt.rc('font', size=9)", "plt.plot(x)"];
    ran(&settings, |story| story.run("a"), &[UP, UP]);
}

/// Of the cells, those show arrays and frames that name `array_` and `frame_`.
#[test]
fn what_shows_arrays_frames_and_logs_depends_on_their_options() {
    check_rows(
        r"
        np.set_printoptions(precision=2) | x = np.zeros(3) | print(array_x) | frame_x
            :: a: np.set_printoptions(precision=3) :: edited ok input ok :: ac
        k = 2 | np.set_printoptions(precision=k) | array_x :: a: k = 3 :: edited input input :: abc
        %precision 2 | array_x | x = 1 :: a: %precision 3 :: edited input ok :: ab
        np.set_printoptions(precision=2) | np.get_printoptions() :: a: 2 => 3 :: edited input :: ab
        pd.set_option('display.max_rows', 5) | df = pd.f() | frame_df | array_x
            :: a: pd.set_option('display.max_rows', 6) :: edited ok input ok :: ac
        pd.options.display.precision = 2 | pd.f() | frame_df :: a: 2 => 3 :: edited ok input :: ac
        def setup(n): pd.set_option('display.max_rows', n) | setup(5) | frame_df :: b: setup(6)
            :: ok edited input :: bc
        pd.set_option('display.width', 5) | pd.get_option('display.width') :: a: 5 => 6 :: edited input :: ab
        // Other options of pandas may change anything that pandas does.
        import pandas as pd\npd.options.mode.x = 1 | pd.f() | frame_df :: a: 1 => 2 :: edited input ok :: ab
        log = logging.getLogger('a') | log.info('x') | log.setLevel(40) | log.info('y') :: c: log.setLevel(50)
            :: ok ok edited input :: cd
        log = logging.getLogger('a') | logging.basicConfig(level=10) | log.debug('x') | log
            :: b: logging.basicConfig(level=20) :: ok edited input ok :: bc
        catalog.info(1) | log.setLevel(40) :: b: log.setLevel(50) :: ok edited :: b
        ",
    );
}

#[test]
fn what_a_module_keeps_of_earlier_sources_is_told() {
    let left = "may have changed: uses sys: an earlier source of cell 1 (run 9:02) changes it until the kernel restarts, and ran before it";
    ran(
        &["import sys", "sys.path.append('/a')", "print(sys.path)"],
        |story| {
            story.edit("b", "sys.path.append('/b')");
            story.run_each(&["b", "c"]);
        },
        &[UP, left, "may have changed"],
    );
    for (before, after) in [
        ("os.environ['A'] = '1'", "os.environ['A'] = '2'"),
        ("os.environ['A'] = '1'", "os.environ['A'] = '1'\nos.environ['B'] = '1'"),
        ("os.x(precision=1)", "os.y()"),
        ("os.set_printoptions(precision=1)", "os.set_printoptions(precision=2)"),
        ("os.filterwarnings('ignore')", "os.filterwarnings('error')"),
    ] {
        ran(
            &["import os", before, "print(os)"],
            |story| {
                story.edit("b", after);
                story.run_each(&["b", "c"]);
            },
            &[UP, UP, UP],
        );
    }
    ran(
        &["import os", "os.environ['A'] = '1'", "print(os)"],
        |story| {
            story.edit("b", "print(1)");
            story.run_each(&["b", "c"]);
        },
        &[UP, UP, "may have changed"],
    );
    // Running it again does the same again.
    ran(
        &["import sys", "sys.path.append('/a')", "sys.x"],
        |story| story.run("b"),
        &[UP, UP, "may have changed"],
    );
}

#[test]
fn a_configuration_that_only_a_restart_takes_back_is_told() {
    let left = "uses matplotlib's configuration: an earlier source of cell 0 (run 9:01) changes it until the kernel restarts, and ran before it";
    ran(
        &["plt.rc('figure', figsize=(16, 8))", "r.plot_predict()"],
        |story| {
            story.edit("a", "plt.rc('figure2', figsize=(16, 8))");
            story.run_each(&["a", "b"]);
        },
        &[UP, &format!("may have changed: {left}")],
    );
    // What a cell below has set, a run from the top would not have.
    ran(
        &["plt.plot(x)", "plt.style.use('ggplot')", "plt.plot(y)"],
        |story| story.run("a"),
        &["may have changed", UP, UP],
    );
    ran(
        &["plt.plot(x)"],
        |story| {
            story.run_code("plt.rc('font', size=20)");
            story.run("a");
        },
        &["may have changed"],
    );
    // Cell 1 may draw in the figure that cell 3 has left open.
    ran(
        &["%matplotlib inline", "plt.plot(x)", "%matplotlib notebook", "plt.plot(y)"],
        |story| story.run_each(&["a", "b"]),
        &[UP, "may have changed", UP, UP],
    );
    // After a restart it is gone.
    ran(
        &["plt.plot(x)", "plt.style.use('ggplot')"],
        |story| {
            story.restart();
            story.run_all();
        },
        &[UP, UP],
    );
}

#[test]
fn a_setting_that_a_cell_below_has_replaced_is_made_again() {
    let cells = ["%matplotlib inline", "plt.plot(x)", "%matplotlib agg", "plt.plot(y)"];
    let mut story = Story::ran(&cells);
    story.edit("b", "plt.plot(x, 'r')");
    assert_eq!(story.planned(&["b"], true), ["a", "b"]);
    story.run_each(&["a", "b"]);
    crate::story::check(&story, &[UP; 4]);
    story.edit("d", "plt.plot(y, 'r')");
    assert_eq!(story.planned(&["d"], true), ["c", "d"]);
    ran(
        &cells,
        |story| story.run("b"),
        &[
            UP,
            "out of order: uses matplotlib's configuration: cell 2 (run 9:03) changed it after cell 0 and before this ran",
            UP,
            UP,
        ],
    );
}

#[test]
fn what_a_display_shows_is_updated_again() {
    check_rows(
        r"
        display('x', display_id='here'); | n = 1 | update_display('z', display_id='here')
            :: a: display('y', display_id='here'); :: edited ok input :: ac
        display('x', display_id='here') | IPython.display.update_display('z', display_id='here')
            | display('v', display_id='here', update=True) :: b: update_display('y', display_id='here')
            :: may edited input :: abc
        p = 'a' | display('x', display_id=p) | update_display('z', display_id=p)
            :: b: display('y', display_id=p) :: ok edited input :: bc
        display('x', display_id='here') | update_display('z', display_id='there')
            :: a: display('y', display_id='here') :: edited ok :: a
        display('x', display_id='here') | n = 1 | update_display('z', display_id='here')
            :: c: update_display('y', display_id='here') :: may ok edited :: c
        h = display('x', display_id=True) | n = 2 | h.update(n) :: b: n = 3 :: may edited input :: bc
        h = display('x', display_id=True) | h.display('y') | h.update('z') :: c: h.update('v')
            :: may may edited :: abc
        h = DisplayHandle() | h.display('x') | n = 1 | h.update(n) :: c: n = 2 :: may may edited input :: cd
        h = IPython.display.DisplayHandle('a') | h.display('x') | h.update('z') :: b: h.display('y')
            :: may edited input :: abc
        // What is displayed once more changes no earlier display.
        h = display('x', display_id=True) | h.display('y') :: b: h.display('z') :: ok edited :: ab
        h = display('x', display_id=True) | h.update('z') :: a: x => y :: edited input :: ab
        display('x', display_id=True) | display('y') :: a: x => y :: edited ok :: a
        ",
    );
}

#[test]
fn a_display_that_something_else_has_updated_is_told() {
    let cells = ["display('x', display_id='a')", "update_display('y', display_id='a')"];
    ran(
        &cells,
        |story| story.run_code("update_display('z', display_id='a')"),
        &[
            "may have changed: shows the display 'a': code outside the cells (run 9:03) updated it afterwards",
            "may have changed",
        ],
    );
    ran(&cells, |story| story.run("b"), &[UP, UP]);
    // The handle of another display is used, which a run of the notebook does not have there.
    ran(
        &["h = display('x', display_id=True)", "h.update('y')", "h = display('z', display_id=True)"],
        |story| {
            story.edit("a", "1");
            story.run_each(&["a", "b"]);
        },
        &[UP, "out of order", "may have changed: shows h: cell 1 (run 9:05) updated it afterwards"],
    );
}

#[test]
fn the_environment_is_shared() {
    check_rows(
        r"
        %env A=abc | import os\nprint(os.environ.get('A')) :: a: %env A=abd :: edited input :: ab
        %set_env A abc | import os\nprint(os.getenv('A')) :: a: %set_env A abd :: edited input :: ab
        import os\nos.environ['A'] = '1' | import os\nprint(os.environ['A'])
            :: a: import os\nos.environ['A'] = '2' :: edited input :: ab
        %env A=1 | import os\nprint(os.environ['A']) :: b: ] => ] + '1' :: ok edited :: b
        ",
    );
}

#[test]
fn an_attribute_of_a_class_is_read_without_a_call() {
    let class =
        "class R:\n items = []\n def __init__(self, b):\n  self.b = b\n  R.items.append(self) | a = R(1)";
    check(&[
        (&format!("{class} | print(R.items) | len(R.items)"), "c: print(R.items) ", "ok ok edited ok", "c"),
        (&format!("{class} | print(R.items) | len(R.items)"), "b: a = R(2)", "ok edited input input", "abcd"),
    ]);
}

#[test]
fn settings_of_a_module_count_for_all_that_is_imported_from_it() {
    check_rows(
        r"
        import decimal\nfrom decimal import Decimal | decimal.getcontext().prec = 5 | Decimal(1) / 7 | 1 + 1
            :: b: 5 => 9 :: ok edited input ok :: bc
        from decimal import Decimal, getcontext | getcontext().prec = 5 | Decimal(1) / 7 | 1 + 1
            :: b: 5 => 9 :: ok edited input ok :: bc
        from decimal import Decimal, getcontext\ngetcontext().prec = 5 | Decimal(1) / 7 | 1 + 1
            :: a: 5 => 9 :: edited input ok :: ab
        import decimal\ndecimal.getcontext().prec = 5 | from decimal import Decimal | Decimal(1) / 7
            :: a: 5 => 9 :: edited ok order :: ac
        import decimal\ndecimal.getcontext().prec = 5 | from decimal import Decimal | Decimal(1) / 7 | 1 + 1
            :: d: 1 + 2 :: ok ok ok edited :: d
        import os\nos.environ['A'] = 'b' | from os import path | path.join('a') | 1 + 1
            :: d: 1 + 2 :: ok ok ok edited :: d
        ",
    );
}
