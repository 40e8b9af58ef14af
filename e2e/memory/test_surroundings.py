"""The modules, attributes and files that a notebook lacks, without importing anything."""

import subprocess
import sys
import sysconfig
from pathlib import Path
from types import ModuleType

import pytest

from e2e.support.memory_handler import Memory

SITE = [sysconfig.get_path("purelib")]


def lacking(modules: list[str] = [], attributes: list[str] = [], files: list[str] = [], **given: object) -> dict[str, list[list[str]]]:  # noqa: B006
    answered = Memory().ask("lacking", modules=modules, attributes=attributes, files=files, **given)
    assert answered["status"] == "ok", answered
    return answered["answer"]


@pytest.mark.parametrize("given", [{}, {"site": SITE}])
def test_what_is_not_there_is_found(given: dict[str, object], tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data/small.csv").touch()
    (tmp_path / "beside.py").touch()
    found = lacking(
        ["numpy", "os.path", "xml.etree", "beside", "no_such.part", "scipy.no_such", "matplotlib.pyplot"],
        ["numpy.zeros", "numpy.int", "numpy.linalg.norm", "pandas.Panel", "scipy.integrate.simps", "polars.anything"],
        ["data/small.csv", "data/smal.csv", "other.txt"],
        folder=str(tmp_path),
        **given,
    )
    assert found["modules"] == [["no_such.part", "no_such"], ["scipy.no_such", "scipy.no_such"]]
    assert [path for path, _, _ in found["attributes"]] == ["numpy.int", "pandas.Panel", "scipy.integrate.simps"]
    assert found["files"] == [["data/smal.csv", "data/small.csv"], ["other.txt", ""]]


def test_no_attribute_of_a_real_module_is_missed() -> None:
    names = ["numpy", "numpy.random", "pandas", "matplotlib.pyplot", "matplotlib.cm", "scipy.stats", "scipy.sparse", "polars", "PIL.Image"]
    names += ["json", "re", "os", "sys", "time", "collections", "datetime", "unittest.mock", "xml.etree.ElementTree", "requests", "jax.numpy"]
    for name in names:
        __import__(name)
        public = [f"{name}.{attribute}" for attribute in dir(sys.modules[name]) if not attribute.startswith("_")]
        assert lacking(attributes=public, site=SITE)["attributes"] == [], name
        assert lacking(attributes=public)["attributes"] == [], name


def test_a_loaded_module_is_known_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert lacking(attributes=["time.clock", "itertools.izip", "PIL.Image.ANTIALIAS"])["attributes"][0] == ["time.clock", "time", "clock"]
    loaded = ModuleType("made_here")
    loaded.there = 1
    monkeypatch.setitem(sys.modules, "made_here", loaded)
    found = lacking(["made_here"], ["made_here.there", "made_here.missing"])
    assert (found["modules"], found["attributes"]) == ([], [["made_here.missing", "made_here", "missing"]])


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
    assert lacking(attributes=[f"{name}.b" for name in ("lazy", "updated", "starred", "broken")], **folders)["attributes"] == []
    assert lacking(["own", "other"], **folders)["modules"] == [["other", "other"]]
    assert lacking(attributes=["native.b"], **folders)["attributes"] == [["native.b", "native", "b"]]


def test_nothing_is_imported(tmp_path: Path) -> None:
    package = tmp_path / "package"
    package.mkdir()
    (package / "__init__.py").write_text("raise SystemExit")
    (package / "part.py").write_text("raise SystemExit")
    program = "import sys; from e2e.support.memory_handler import Memory; before = set(sys.modules); "
    program += f"print(Memory().ask('lacking', modules=['package.part'], attributes=['package.x', 'package.part.x'], files=[], site=[{str(tmp_path)!r}])"
    program += "['answer'], sorted(it for it in set(sys.modules) - before if it.partition('.')[0] == 'package'))"
    shown = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    assert "'modules': []" in shown and "['package.part.x', 'package.part', 'x']" in shown and shown.rstrip().endswith("[]")
