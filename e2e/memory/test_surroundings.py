"""Problems of a notebook that are certain before it runs."""

import keyword
import re
import subprocess
import sys
import sysconfig
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from e2e.support.memory_handler import Memory

SITE = [sysconfig.get_path("purelib")]
COMMAND = re.compile(r"^([ \w=]*?)!(.*)$", re.MULTILINE)
RUN = re.compile(r"^(\s*)%run (.*)$", re.MULTILINE)


def problems(*sources: str, path: str = "a/n.ipynb", packages: dict[str, str] = {}, **given: object) -> list[list[object]]:  # noqa: B006
    """The problems of these cells. Commands are replaced as Cellbridge replaces them."""
    python = [None if it.startswith("%%") else COMMAND.sub(r"\1get_ipython().system(\2)", it.replace("'", '"')) for it in sources]
    python = [it and RUN.sub(r"\1get_ipython().run_line_magic('run', '\2')", it) for it in python]
    python = [it and re.sub(r"system\((.*)\)", r"system('\1')", it) for it in python]
    cells = [[index, source, text, 0, True] for index, (source, text) in enumerate(zip(sources, python, strict=True))]
    answered = Memory().ask("lacking", cells=cells, path=path, packages=packages, **given)
    assert answered["status"] == "ok", answered
    return answered["answer"]["problems"]


def causes(*sources: str, **given: object) -> list[str]:
    return sorted(str(cause) for _, cause in problems(*sources, **given))


def reading(*attributes: str) -> str:
    """A cell that reads these attributes of modules."""
    return "\n".join(f"import {it.rpartition('.')[0]}\n{it}" for it in attributes)


@pytest.mark.parametrize("given", [{}, {"site": SITE}])
def test_what_is_not_there_is_found(given: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/small.csv").touch()
    (tmp_path / "beside.py").touch()
    cell = "import numpy as np, os.path, xml.etree, beside, no_such.part, pandas, scipy.integrate, polars\nimport scipy.no_such\n"
    cell += "np.zeros, np.int, np.linalg.norm, np.random.rnd, pandas.Panel, scipy.integrate.simps, polars.DataFrame, os.path.join\n"
    cell += "open('data/small.csv'), open('data/smal.csv'), open('other.txt')"
    assert causes(cell, folder=str(tmp_path), **given) == [
        "`numpy.random` has no `rnd`",
        "`numpy` has no `int`",
        "`pandas` has no `Panel`",
        "`scipy.integrate` has no `simps`",
        "file `data/smal.csv` does not exist; the nearest is `data/small.csv`",
        "file `other.txt` does not exist",
        "module `no_such` is not installed",
        "module `scipy.no_such` is not installed",
    ]


@pytest.mark.parametrize("given", [{}, {"site": SITE}, {"site": []}])
def test_names_that_parts_of_python_lost_are_found(given: dict[str, object]) -> None:
    cell = "import time, sys, os, itertools, string\ntime.clock, sys.maxint, os.getcwdu, itertools.izip, string.letters, time.time, os.sep"
    expected = [("itertools", "izip"), ("os", "getcwdu"), ("string", "letters"), ("sys", "maxint"), ("time", "clock")]
    assert causes(cell, **given) == [f"`{module}` has no `{name}`" for module, name in expected]


def test_statements_that_python_reads_and_does_not_compile_are_found() -> None:
    for source, line, cause in (
        ("x = 1\nreturn x", 2, "'return' outside function"),
        ("break", 1, "'break' outside loop"),
        ("if x:\n    continue", 2, "'continue' not properly in loop"),
        ("def f():\n    await x", 2, "'await' outside async function"),
        ("yield 1", 1, "'yield' outside function"),
    ):
        assert causes(source) == [f"syntax error in line {line}: {cause}"], source
    for source in ("await x", "async with x: pass", "[y async for y in x]", "x = 1\nfrom __future__ import annotations", "x = 1\nglobal x"):
        assert causes(source) == [], source


def test_reading_a_cell_shows_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    filters = list(warnings.filters)
    assert causes("x = '\\d'\nx is 'a'") == []
    assert not recwarn.list and warnings.filters == filters


def test_no_attribute_of_a_real_module_is_missed() -> None:
    names = ["numpy", "numpy.random", "pandas", "matplotlib.pyplot", "matplotlib.cm", "scipy.stats", "scipy.sparse", "polars", "PIL.Image"]
    names += ["json", "re", "os", "sys", "time", "collections", "datetime", "unittest.mock", "xml.etree.ElementTree", "requests", "jax.numpy"]
    names += ["inspect", "socket", "signal", "ssl", "typing", "os.path", "importlib.util"]
    for name in names:
        __import__(name)
        public = [f"{name}.{it}" for it in dir(sys.modules[name]) if not it.startswith("_") and not keyword.iskeyword(it)]
        for given in ({"site": SITE}, {"site": []}, {}):
            if given.get("site") == [] and name.partition(".")[0] not in sys.stdlib_module_names:
                continue
            assert causes(reading(*public), **given) == [], (name, given)


def test_a_loaded_module_is_known_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert causes(reading("PIL.Image.ANTIALIAS")) == ["`PIL.Image` has no `ANTIALIAS`"]
    loaded = ModuleType("made_here")
    loaded.there = 1
    monkeypatch.setitem(sys.modules, "made_here", loaded)
    assert causes(reading("made_here.there", "made_here.missing")) == ["`made_here` has no `missing`"]


def test_what_may_define_more_lacks_nothing(tmp_path: Path) -> None:
    sources = {
        "lazy": "def __getattr__(name): return 1",
        "updated": "globals().update(a=1)",
        "starred": "from lazy import *",
        "broken": "x = = 1",
        "native": "import _no_such",
        "editable_finder": "",
    }
    for name, source in sources.items():
        (tmp_path / f"{name}.py").write_text(source)
    (tmp_path / "__editable___own_finder.py").write_text("MAPPING = {'own': '/src/own'}")
    folders = {"site": [str(tmp_path)], "folder": str(tmp_path)}
    assert causes(reading(*(f"{name}.b" for name in ("lazy", "updated", "starred", "broken"))), **folders) == []
    assert causes("import own, other", **folders) == ["module `other` is not installed"]
    assert causes(reading("native.b"), **folders) == ["`native` has no `b`"]


def test_nothing_of_a_folder_is_imported(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit")
    (package / "part.py").write_text("raise SystemExit")
    (tmp_path / "string.py").write_text("raise SystemExit")
    cell = reading("package.x", "package.part.x", "string.x")
    cells = [[0, cell, cell, 0, True]]
    for site in ([str(tmp_path)], []):
        program = "import sys; from e2e.support.memory_handler import Memory; before = set(sys.modules); "
        program += f"print(Memory().ask('lacking', cells={cells!r}, path='n.ipynb', packages={{}}, folder={str(tmp_path)!r}, site={site!r})"
        program += "['answer'], sorted(it for it in set(sys.modules) - before if it.partition('.')[0] == 'package'))"
        shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
        assert "`package.part` has no `x`" in shown and "`string` has no `x`" in shown and shown.rstrip().endswith("[]"), shown


def test_modules_are_wanted_unless_a_command_installs_them_or_the_path_changes() -> None:
    def modules(*sources: str, **packages: str) -> str:
        found = sorted(problems(*sources, packages=packages, site=[]), key=lambda it: str(it[1]))
        return "; ".join(f"{cause.split('`')[1]} {','.join(map(str, cells))}" for cells, cause in found)

    assert modules("import na, nb.c", "from na import d") == "na 0,1; nb 0"
    assert modules("!pip install scikit-other x", "import skother, ny", skother="scikit-other") == "ny 1"
    assert modules("!pip install -r all.txt", "import ny") == ""
    assert modules("import ny", "!pip install ny") == "ny 0"
    assert modules("import ny, sys", "sys.path.append('src')\nimport own") == "ny 0"
    assert modules("%%writefile ny.py\na = 1", "import ny") == ""
    assert modules("open('ny.py', 'w').write('a = 1')", "import ny, nz") == "nz 1"
    assert modules("%%bash\nmkdir ny && touch ny/z.py", "from ny import z") == ""
    for source in (
        "try: import ny\nexcept ImportError: pass",
        "if old: import ny",
        "with suppress(ImportError): import ny",
        "from . import ny",
    ):
        assert modules(source) == "", source


def test_attributes_are_wanted_of_names_that_stand_for_one_module() -> None:
    lack = "`string` has no `letters`"
    assert problems("import string as s", "s.letters; x.int", "s.letters", site=[]) == [[[1, 2], lack]]
    assert causes("from string import letters", site=[]) == [lack]
    for source in ("x = s.letters", "def f(a=s.letters): pass", "def f(): s.letters"):
        assert causes("import string as s", source, site=[]) == [lack], source
    for sources in (
        ["s = 1", "s.letters"],
        ["import jax as s", "s.letters"],
        ["def f(s): return s.letters"],
        ["s.letters = 1", "s.letters"],
        ["if not hasattr(s, 'letters'): s.letters = 1", "s.letters.x"],
        ["setattr(s, 'letters', 1)", "s.letters"],
        ["if old: s.letters"],
        ["x = s.letters if old else 1"],
        ["try: s.letters\nexcept AttributeError: pass"],
        ["with suppress(AttributeError): s.letters"],
        ["def f(x: s.letters): pass"],
        ["f(s).letters"],
        ["%%bash\ns.letters"],
    ):
        assert [it for it in causes("import string as s", *sources, site=SITE) if "string" in it] == [], sources


def test_files_are_those_that_a_call_reads_by_a_text(tmp_path: Path) -> None:
    for source, expected in (
        ("pd.read_csv('a/b.csv')", ["a/b.csv"]),
        ("pd.read_csv(filepath_or_buffer='b.csv')", ["b.csv"]),
        ("with open('x.txt') as f: f.read()", ["x.txt"]),
        ("open('x.txt', mode='rb')", ["x.txt"]),
        ("open('../y.txt')", ["../y.txt"]),
        ("np.load('x.npy'); pl.scan_parquet('y.parquet')", ["x.npy", "y.parquet"]),
        ("%run -i x.py\n%run y", ["x.py"]),
        ("%run x", ["x.py"]),
        ("if old:\n    %run x.py", []),
        ("open('x.txt', 'w'); open('y.txt', 'r+'); open('z.txt', mode)", []),
        ("pd.read_csv('https://a.org/b.csv')", []),
        ("pd.read_csv('data/*.csv'); pd.read_csv('/tmp/x.csv'); pd.read_csv('~/x.csv')", []),
        ("pd.read_sql('select a.b', c); pd.read_json('{\"a\": 1.5}'); load('iris')", []),
        ("if os.path.exists('x.csv'): pd.read_csv('x.csv')", []),
    ):
        assert causes(source, folder=str(tmp_path)) == [f"file `{it}` does not exist" for it in expected], source


def test_files_are_wanted_unless_something_may_have_written_them(tmp_path: Path) -> None:
    for sources in (
        ["df.to_csv('x.csv')", "pd.read_csv('x.csv')"],
        ["name = 'x.csv'\ndf.to_csv(name)", "pd.read_csv('x.csv')"],
        ["plt.savefig(f'{x}.png')", "pd.read_csv('x.csv')"],
        ["%%writefile x.csv\na", "pd.read_csv('x.csv')"],
        ["!wget $URL", "pd.read_csv('x.csv')"],
        ["import os\nos.chdir('..')", "pd.read_csv('x.csv')"],
        ["pd.read_csv('../../x.csv')"],
        ["MODE = 'w'\nf = open('x.csv', MODE)", "open('x.csv')"],
        ["with open(file='x.csv', mode='a') as f: f.write('a')", "open('x.csv')"],
        ["open('x.csv', mode=MODE)", "open('x.csv', 'rb')"],
        ["Path('x.csv').open('w').write('read')", "open('x.csv')"],
        ["p = Path(folder, name)\np.open('w')", "open('x.csv')"],
        ["import io, codecs\nio.open('x.csv', 'x')", "open('x.csv')"],
        ["print(1, file=open('x.csv', 'w'))", "pd.read_csv('x.csv')"],
        ["open(path, mode=MODE)", "pd.read_csv('x.csv')"],
        ["%%perl\nmake()", "pd.read_csv('x.csv')"],
        ["lines = !make", "pd.read_csv('x.csv')"],
        ["%%writefile y.py\na", "%run y.py", "pd.read_csv('x.csv')"],
        ["!cp a y.py", "%run y.py"],
    ):
        assert causes(*sources, folder=str(tmp_path)) == [], sources
