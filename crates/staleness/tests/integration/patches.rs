//! Functions of the notebook in classes of libraries, and `vars`.

use crate::table::check;

#[test]
fn what_the_notebook_gives_to_a_class_of_a_library_is_used_by_its_name() {
    let total = "import pandas as pd\ndf = f() | def total(self): return self.sum()\npd.DataFrame.total = total | print(df.total())";
    check(&[
        // A method that is not known may change its object.
        (
            total,
            "b: def total(self): return self.max()\npd.DataFrame.total = total",
            "ok edited input",
            "abc",
        ),
        (
            "import pandas as pd\ndf = f() | K = 1 | def total(self): return self.sum() * K\npd.DataFrame.total = total | x = df.total() | x",
            "b: K = 2",
            "ok edited input input input",
            "abcde",
        ),
        (
            "from pandas import DataFrame\nDataFrame.total = lambda self: 1 | print(df.total()) | print(df.head())",
            "a: from pandas import DataFrame\nDataFrame.total = lambda self: 2",
            "edited input ok",
            "ab",
        ),
        (
            "import pandas as pd\ndf = f() | @pd.api.extensions.register_dataframe_accessor('stats2')\nclass S:\n    def total(self): return self._o.sum() | print(df.stats2.total()) | print(df.stats)",
            "b: @pd.api.extensions.register_dataframe_accessor('stats2')\nclass S:\n    def total(self): return self._o.max()",
            "ok edited input input",
            "abcd",
        ),
        (
            "import pandas as pd\ndf = f() | K = 1 | @pd.api.extensions.register_dataframe_accessor('s2')\nclass S:\n    def total(self): return K | print(df.s2.total())",
            "b: K = 2",
            "ok edited input input",
            "abcd",
        ),
        (
            "import pandas as pd\ndf = f() | pd.options.mode.copy = True | df.copy",
            "b: pd.options.mode.copy = False",
            "ok edited ok",
            "b",
        ),
    ]);
}

#[test]
fn what_vars_gives_is_the_object_itself() {
    check(&[
        ("c = C() | vars(c)['depth'] = 3 | print(c.depth)", "b: 3 => 4", "ok edited input", "bc"),
        ("c = C() | vars(c).update(depth=3) | print(c.depth)", "b: 3 => 4", "ok edited input", "abc"),
        ("c = C() | print(vars(c)) | print(c.depth)", "b: print(vars(c), 1)", "ok edited ok", "b"),
    ]);
}

#[test]
fn what_ipython_shows_of_a_cell_is_an_option() {
    let set = |value: &str| {
        format!(
            "from IPython.core.interactiveshell import InteractiveShell\nInteractiveShell.ast_node_interactivity = '{value}'"
        )
    };
    let (all, last) = (set("all"), format!("a: {}", set("last_expr")));
    let rest = "x = 5 | x + 1\nx + 2 | print(x)\nx | xs = []\nxs.append(1)\nxs";
    let magic = "%config InteractiveShell.ast_node_interactivity = 'all' | df.head()\ndf.tail() | df.head()";
    check(&[
        (&format!("{all} | {rest}"), &last, "edited ok input ok ok", "ac"),
        (magic, "a: %config InteractiveShell.ast_node_interactivity = 'last_expr'", "edited input ok", "ab"),
    ]);
}
