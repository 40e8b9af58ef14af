"""How the handler that answers questions about a kernel's memory describes values, without running code of theirs."""

import datetime
import enum
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray

from e2e.support.memory_handler import Memory, ran
from e2e.support.memory_traps import OwnDict, traps


def test_no_code_of_the_person_runs() -> None:
    memory = traps()
    rows = memory.rows(kinds=["all"])
    assert ran == []
    assert set(rows) == set(memory.shell.user_ns)
    for name in rows:
        memory.inspect(name)
        assert ran == [], name
    assert rows["trap"] == {"name": "trap", "type": "Trap", "kind": "data"}
    assert rows["huge"]["value"] == "<int of 332001 bits>"
    assert rows["own_dict"]["size"] == "1"
    assert rows["own_frame"]["value"] == "<a subclass of pandas.DataFrame>"
    assert rows["items"]["value"] == "{'k': <Trap>, 1: <list>}"
    assert rows["text"]["bytes"] == 50_000_000 and len(rows["text"]["value"]) < 60
    assert memory.inspect("function")["facts"]["signature"] == "(first, trap=<Trap>, *rest, only=3, **named)"
    assert memory.inspect("slots")["items"] == [[".a", "int 3"]]


@pytest.mark.parametrize(
    ("name", "path", "cause"),
    [
        ("trap", ".slow", "is computed by code of its class"),
        ("trap", ".missing", "has no attribute 'missing'"),
        ("trap", "[0]", "would run its own code"),
        ("items", "['x']", "There is no item ['x']"),
        ("items", ".keys()", "only names after a dot"),
        ("items", "[", "cannot be read"),
        ("items", "[f()]", "an integer, a string or a slice"),
        ("nothing", "", "There is no variable 'nothing'"),
        ("TRAP", "", "There is 'trap'"),
    ],
)
def test_what_would_run_code_is_refused(name: str, path: str, cause: str) -> None:
    memory = traps()
    assert cause in memory.refusal(name, path)
    assert ran == []


def test_paths_lead_into_what_is_stored() -> None:
    memory = traps()
    memory.shell.user_ns["nested"] = {"a": [1, {"b": "deep"}]}
    assert memory.inspect("nested", "['a'][1]['b']")["value"] == "'deep'"
    assert memory.inspect("nested", "['a'][-2]")["value"] == "1"
    assert memory.inspect("slots", ".a")["value"] == "3"
    assert memory.inspect("frame", "['a']")["type"] == "pandas.Series"
    assert memory.inspect("np", ".linalg")["type"] == "module"
    assert ran == []


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("frame", "v", "of float64"),
        ("frame", "order date", "of str"),
        ("frame", "shape", "(3, 3)"),
        ("frame", "v[1]", "2.0"),
        ("data", "k", "1"),
        ("data", "a.b", "2"),
        ("data", "n['x'][1]", "6"),
        ("names", "1", "'y'"),
        ("names", "-1", "'y'"),
        ("thing", "count", "3"),
        ("thing", "nope", "SimpleNamespace has no attribute 'nope'."),
        ("frame", "nope", "There is no item, column or attribute 'nope'."),
        ("names", "9", "There is no item [9] (IndexError)."),
        ("names", "v", "list has no attribute 'v'."),
        ("frame", "pwd", "<hidden: its name looks like a secret>"),
    ],
)
def test_a_path_without_a_dot_or_brackets_names_a_member(name: str, path: str, value: str) -> None:
    frame = pd.DataFrame({"v": [1.0, 2, 3], "order date": ["a", "b", "c"], "pwd": ["hush"] * 3})
    memory = Memory(frame=frame, data={"k": 1, "a.b": 2, "n": {"x": [5, 6]}}, names=["x", "y"], thing=SimpleNamespace(count=3))
    answered = memory.ask("inspect", name=name, path=path)
    found = answered.get("answer", {}).get("value") or answered.get("cause")
    assert found == value and "hush" not in str(answered)
    assert memory.inspect("frame", "v")["name"] == "frame.v"


def test_frames_and_arrays_are_described() -> None:
    day = pd.Timestamp("2026-01-02")
    frame = pd.DataFrame({"n": range(1000), "s": ["x"] * 1000, "t": [day] * 1000, "gaps": [None, 1.5] * 500})
    memory = Memory(frame=frame, array=np.arange(12.0).reshape(3, 4), when=datetime.date(2026, 1, 2), number=np.float32(1.5))
    memory.shell.user_ns.update(flat=np.arange(9), column=frame["n"], numbers=pa.array(range(9)))
    rows = memory.rows()
    assert rows["frame"]["size"] == "1000×4" and rows["frame"]["value"].startswith("n: int64, s: str")
    assert rows["array"] == {"name": "array", "type": "ndarray", "kind": "data", "size": "3×4", "bytes": 96, "value": "of float64"}
    assert rows["when"]["value"] == "2026-01-02" and rows["number"]["value"] == "1.5"
    found = memory.inspect("frame", rows=2, stats=True)
    assert found["header"] == ["column", "type", "nulls"]
    assert [row[2] for row in found["columns"]] == [0, 0, 0, 500]
    assert found["rows"] == [["0", "x", str(day), "nan"], ["1", "x", str(day), "1.5"]]
    assert found["stats"]["rows"][0][:4] == ["n", "0", "999", "499.5"]
    assert memory.inspect("frame", is_busy=True)["header"] == ["column", "type"]
    assert memory.inspect("array")["facts"]["max"] == "11.0"
    assert memory.inspect("array", rows=2)["items"] == [["0", "0.0, 1.0, 2.0, 3.0"], ["1", "4.0, 5.0, 6.0, 7.0"]]
    assert [len(memory.inspect(name, rows=3)["items"]) for name in ("flat", "column", "numbers")] == [3, 3, 3]


class Color(enum.Enum):
    RED = 1


class Point(NamedTuple):
    x: int


def test_paths_lead_to_what_is_there_at_once() -> None:
    memory = Memory(color=Color.RED, Color=Color, point=Point(7), when=datetime.datetime(2020, 1, 2), file=Path("/a/b.txt"))
    paths = [("color", ".value"), ("color", ".name"), ("Color", ".RED.value"), ("point", ".x"), ("when", ".year"), ("file", ".name")]
    values = [memory.inspect(name, path)["value"] for name, path in paths]
    assert values == ["1", "'RED'", "1", "7", "2020", "'b.txt'"]
    memory.shell.user_ns["frame"] = pd.DataFrame([[1, 2], [3, 4]], index=pd.date_range("2020-01-01", periods=2), columns=["a", "a"])
    assert memory.inspect("frame", ".index")["items"][1][1] == "2020-01-02 00:00:00"
    assert memory.inspect("frame", "['a']")["size"] == "2"
    figures = memory.inspect("frame", stats=True)["stats"]["rows"]
    assert [row[:4] for row in figures] == [["a", "1", "3", "2.0"], ["a", "2", "4", "3.0"]]


def test_indexes_and_arrays_of_all_kinds_are_described(tmp_path: Path) -> None:
    days = np.array(["2020-01-01", "NaT"], dtype="M8[ns]")
    fields = np.array([(1, 2.5)], dtype=[("a", "i4"), ("b", "f8")])
    arrays = {
        "objects": (np.array([None, "x"], dtype=object), "None"),
        "days": (days, "2020-01-01T00:00:00.000000000"),
        "fields": (fields, "(1, 2.5)"),
        "records": (fields.view(np.recarray), "(1, 2.5)"),
        "matrix": (np.matrix([[3, 4]]), "3, 4"),
        "mapped": (np.memmap(tmp_path / "mapped", dtype="i8", mode="w+", shape=(2,)), "0"),
        "range": (pd.RangeIndex(3), "0"),
        "dates": (pd.date_range("2020-01-01", periods=2), "2020-01-01 00:00:00"),
        "pairs": (pd.MultiIndex.from_tuples([("a", 1)]), "('a', 1)"),
        "gaps": (pd.Series(pd.to_datetime([None, "2020-01-01"])), "NaT"),
    }
    memory = Memory(**{name: value for name, (value, _) in arrays.items()})
    rows = memory.rows()
    for name, (value, first) in arrays.items():
        found = memory.inspect(name)
        assert found["items"][0] == ["0", first], (name, found)
        assert rows[name]["size"] and rows[name]["value"].startswith("of "), name
        assert np.size(value) and found["facts"]["type"]


def test_labelled_arrays_are_described() -> None:
    array = xarray.DataArray([1.5, 2.5], dims="t", coords={"t": [10, 20]})
    memory = Memory(array=array, data=xarray.Dataset({"a": array}))
    found = memory.inspect("array")
    assert found["items"] == [["0", "1.5"], ["1", "2.5"]] and found["columns"] == [["t", "int64", "t", "coordinate"]]
    assert sorted(memory.inspect("data")["columns"]) == [["a", "float64", "t", "data"], ["t", "int64", "t", "coordinate"]]
    assert memory.inspect("data", ".a")["items"][0] == ["0", "1.5"]


def test_sources_of_functions_and_classes_are_shown() -> None:
    memory = Memory(traps=traps, Slots=OwnDict, memory=Memory)
    assert memory.inspect("traps")["text"].startswith("def traps() -> Memory:")
    assert memory.inspect("memory")["text"].startswith("class Memory:")
    assert "def items" in memory.inspect("Slots")["text"]
    device = compile("def endless(): ...", "/dev/zero", "exec")
    exec(device, memory.shell.user_ns)
    assert "text" not in memory.inspect("endless")


def test_a_path_may_have_slices() -> None:
    memory = Memory(items=list(range(100)), array=np.arange(100), frame=pd.DataFrame({"a": [1], ("b", 1): [2]}))
    assert memory.inspect("items", "[90:93]")["value"] == "[90, 91, 92]"
    memory.shell.user_ns.update(text="abcdef", data=b"abcdef", column=pd.Series([1, 2, 3], index=list("abc")))
    assert memory.inspect("text", "[1:3]")["text"] == "bc" and memory.inspect("text", "[-1]")["text"] == "f"
    assert memory.inspect("data", "[1:3]")["value"] == "b'bc'"
    assert "Index it with an integer" in memory.refusal("text", "['a']")
    assert [it for _, it in memory.inspect("column", "[1:]")["items"]] == ["2", "3"]
    memory.shell.user_ns.update(long=pd.DataFrame({"a": range(9)}), other=pl.DataFrame({"a": range(9)}), table=pa.table({"a": range(9)}))
    for name in ("long", "other", "table"):
        assert memory.inspect(name, "[5:7]")["rows"] == [["5"], ["6"]], name
    assert memory.inspect("array", "[-3:]")["items"][0] == ["0", "97"]
    assert memory.inspect("frame", "[:, ::-1]")["columns"] == [["('b', 1)", "int64", 0], ["a", "int64", 0]]
    assert "There is no item" in memory.refusal("items", "[::0]")
    assert memory.inspect("frame", "[:]")["rows"] == [["1", "2"]]
    for path in ("[f():]", "['a':]"):
        assert memory.refusal("frame", path)


def test_a_value_is_shown_in_lines_of_columns() -> None:
    memory = Memory(frame=pd.DataFrame({"a": [1, 2], "b": ["x\ty", "nan"]}), text="abc")
    answered = memory.ask("inspected", name="frame")
    assert answered["answer"]["lines"] == [
        ["frame: pandas.DataFrame"],
        ["rows: 2, columns: 2, index: RangeIndex"],
        ["column", "type", "nulls"],
        ["a", "int64", "0"],
        ["b", "str", "0"],
        ["first rows:"],
        ["a", "b"],
        ["1", '"x\\ty"'],
        ["2", "nan"],
    ]
    assert memory.ask("inspected", name="text")["answer"] == {"lines": [["text: str 3 'abc'"]], "text": "abc", "text_length": 3}
    wide = pd.DataFrame([[1] * 40], columns=[f"c{at}" for at in range(40)])
    assert ["first rows of the first 30 columns:"] in Memory(wide=wide).ask("inspected", name="wide")["answer"]["lines"]
